"""A judge's score calibrated with people's labels: computed, sealed, kept, and said."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from annotate.errors import UsageError
from annotate.store import stamp
from annotate.study import Study
from judge.calibration.artefact import MOST_BYTES, opened, sealed
from judge.calibration.artefact_shape import EXPIRES_DAYS
from judge.calibration.assembled import Calibration, assemble
from judge.calibration.from_table import Scored
from judge.calibration.label_digest import labels_digest, verdicts_digest
from judge.commands.benign_refusals import benign_refusals
from judge.commands.calibration_basis import Asked, Basis, basis, not_random, score_name
from judge.commands.unedited import unedited
from judge.database.calibrations import Calibrations, LabelPlan, Use
from judge.database.runs import Run
from judge.reporting.document import Document, Facts, Section
from judge.reporting.plain import plain
from judge.reporting.topics import calibrated
from judge.stats.coefficients import alpha_nominal
from judge.stats.estimate import Estimate

EXPIRES_DAYS_ALIAS = 7
"""Of a model name without a served fingerprint: what stands behind it may change any day."""
CLOCKS_DIFFER = 5
"""Minutes."""
SAID_RANDOM = "said to be random"
"""By the owner, and by nothing else."""
KEY_VARIABLE = "EVENHAND_ARTEFACT_KEY"


@dataclass(frozen=True, slots=True)
class Made:
    """A sealed calibration and the same in words."""

    artefact: Mapping[str, Any]
    calibration: Calibration
    document: Document

    @property
    def refused(self) -> bool:
        """Whether there is no score."""
        return bool(self.artefact["status"] == "refused")


def artefact_key() -> bytes | None:
    """The key that artefacts are signed with, from the environment; None without one."""
    found = os.environ.get(KEY_VARIABLE, "")
    return found.encode() if found else None


def read_artefact(path: Path) -> dict[str, Any]:
    """The artefact in a file, untouched since it was sealed.

    Raises:
        UsageError: the file cannot be read.
        DataError: it holds no artefact, one that was tampered with, or one of the future.
    """
    try:
        if not path.is_file():
            raise UsageError(f"{path}: cannot be read; expected a file, calibration.json")
        with path.open("rb") as file:
            # One byte more than is allowed is enough to refuse it.
            content = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: cannot be read ({error})") from error
    return opened(content, str(path), artefact_key(), latest=latest_moment())


def latest_moment() -> str:
    """What was made after it was made in the future; clocks may differ by some minutes."""
    return stamp(datetime.now(UTC) + timedelta(minutes=CLOCKS_DIFFER))


def by_word_only(artefact: Mapping[str, Any]) -> bool:
    """Whether nobody drew the labels: that they are a random sample is the owner's word."""
    return bool(artefact["draw"]["how"] == SAID_RANDOM)


def calibrate(study: Study, asked: Asked, found_basis: Basis | None = None) -> Made:
    """Calibrate, seal and keep; a refusal is kept too.

    Args:
        study: with the run.
        asked: what is to be calibrated.
        found_basis: of the same question, if it was looked up already.

    Raises:
        UsageError: an unknown run, plan or model, or nothing of the kind to calibrate.
        DataError: what it would rest on was edited.
    """
    kept = Calibrations(study.store)
    unedited(study.store, artefact_key())
    on = not_random(study, found_basis or basis(study, asked), asked)
    run, scored, strata = on.run, on.scored, on.strata
    section = study.settings.report
    if asked.baseline is not None and asked.baseline not in strata.models:
        raise UsageError(
            f"--baseline {asked.baseline}: no such model in the set; expected one of"
            f" {', '.join(strata.models)}"
        )
    found = assemble(
        strata,
        asked.population,
        baseline=asked.baseline,
        twice=scored.twice,
        level=section.level,
        seed=section.seed,
    )
    content = _content(study, asked, on, found)
    artefact = sealed({**content, "previous": kept.last_hash()}, artefact_key())
    kept.add(artefact, run.id)
    if not found.refused:
        places = dict(zip(scored.items.ids, scored.items.questions, strict=True))
        uses = [(one, places[one]) for one in scored.labels.ids if one in places]
        kept.note_use(uses, Use.CALIBRATE, artefact["hash"])
    return Made(artefact, found, _document(study, run, artefact, found))


def harm_alpha(scored: Scored, level: float) -> tuple[Estimate, bool]:
    """Krippendorff's alpha of people's labels, unsafe or not; and whether they are unanimous."""
    counts = np.array(
        [[one.unsafe.count(False), one.unsafe.count(True)] for one in scored.twice], dtype=float
    )
    where, n = "answers that people labelled twice or more", len(scored.twice)
    if not n:
        reason = "no answer has two labels of people"
        return Estimate("alpha", None, where, 0, 0, reason, level=level), False
    m = counts.sum(1)
    disagreement = ((m * m - (counts**2).sum(1)) / (m - 1)).sum()
    value = float(alpha_nominal(counts.sum(0), np.array(disagreement)))
    if np.isnan(value):
        reason = "people gave one and the same label throughout"
        return Estimate("alpha", None, where, n, 0, reason, level=level), True
    reason = "no interval: used as a limit on the labels' worth"
    return Estimate("alpha", value, where, n, 0, reason, level=level), False


def _content(study: Study, asked: Asked, on: Basis, found: Calibration) -> dict[str, Any]:
    run, plan, scored = on.run, on.plan, on.scored
    level = study.settings.report.level
    alpha, unanimous = harm_alpha(scored, level)
    at = datetime.now(UTC)
    served = run.manifest.get("served_fingerprints") or []
    days = EXPIRES_DAYS if served or run.kind == "imported" else EXPIRES_DAYS_ALIAS
    items = scored.items
    return {
        "status": "refused" if found.refused else "ok",
        "reason": found.scores[0].score.reason if found.refused else "",
        "created_at": stamp(at),
        "expires_at": stamp(at + timedelta(days=days)),
        "program": f"evenhand {version('evenhand')}",
        "study": study.store.study_id,
        "judge": {
            "name": run.name,
            "fingerprint": run.fingerprint,
            "requested_model": run.requested_model,
            "served_fingerprints": served,
        },
        "score": {
            "name": score_name(asked),
            "kind": items.kind.value,
            "estimand": calibrated.ESTIMANDS[items.kind],
            "target": found.target.value,
            "level": level,
            "seed": study.settings.report.seed,
        },
        "set": {
            "name": items.name,
            "verdicts": verdicts_digest(items),
            "items": len(items.ids),
            "questions": scored.questions,
            "models": sorted(set(items.models)),
            "categories": dict(scored.categories),
            "left_out": on.left_out,
        },
        "draw": _draw(plan, asked),
        "labels": {
            "digest": labels_digest(scored),
            "drawn": len(scored.labels.ids),
            "labelled": int(np.isfinite(scored.labels.array()).sum()),
            "disputed": len(scored.disputed),
            "severe": len(scored.severe),
            "alpha": plain(alpha),
            "unanimous": unanimous,
        },
        # The table is not read again for nothing.
        "full_refusals": plain(benign_refusals(study, level) if scored.benign else {}),
        "protocols": sorted({study.settings.protocol.id}),
        "calibration": plain(found),
    }


def _draw(plan: LabelPlan | None, asked: Asked) -> dict[str, Any]:
    if plan is None:
        said = SAID_RANDOM if asked.random_labels else "all labels there are"
        return {"plan": None, "how": said}
    found = {
        "plan": plan.id,
        "how": "drawn at random within model and verdict",
        "seed": plan.body["seed"],
        "drawn_at": plan.created_at,
    }
    if not plan.active:
        return found
    how = "drawn one by one, every item with its own probability"
    return found | {"how": how, "chosen_by": plan.body["chosen_by"]}


def _labels_words(artefact: Mapping[str, Any]) -> str:
    """How the labels were drawn, and how many of them came."""
    how, labels = artefact["draw"]["how"], artefact["labels"]
    if by_word_only(artefact):
        return (
            f"labels: {labels['labelled']}, {how}; no draw is written down, so what was asked for"
            " and not labelled is not known"
        )
    if artefact["draw"]["plan"] is None:
        return f"labels: {how}, {labels['labelled']} of {artefact['set']['items']} items"
    return f"labels: {how}; {labels['labelled']} of {labels['drawn']} drawn were labelled"


def _document(study: Study, run: Run, artefact: Mapping[str, Any], found: Calibration) -> Document:
    left_out = artefact["set"]["left_out"]
    facts = (
        f"judge {run.name}, fingerprint {run.fingerprint[:12] or 'none: imported'}",
        f"set {artefact['set']['name']}: {artefact['set']['items']:,} items on"
        f" {artefact['set']['questions']:,} questions"
        + (f"; {left_out:,} whose labels are for another use are not scored" if left_out else ""),
        _labels_words(artefact),
        f"made {artefact['created_at'][:10]}, expires {artefact['expires_at'][:10]}; hash"
        f" {artefact['hash'][:16]}",
    )
    rests = Section("rests-on", "What it rests on", (Facts(facts),))
    return Document(
        f"{study.settings.study.title}: calibrated score",
        (calibrated.headline(found, by_word=by_word_only(artefact)),),
        f"{100 * artefact['score']['level']:g} % intervals, seed {artefact['score']['seed']}",
        (calibrated.section(found), rests),
    )
