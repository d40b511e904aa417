"""A judge's score calibrated with people's labels: computed, sealed, kept, and said."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from annotate.errors import UsageError
from annotate.store import stamp
from annotate.study import Study
from judge.calibration.artefact import sealed
from judge.calibration.assembled import Calibration, assemble
from judge.calibration.from_table import Scored, harm_set, pair_set
from judge.calibration.poststratified import Target
from judge.calibration.refusals import Refusal, Why
from judge.calibration.strata import stratify
from judge.database.calibrations import Calibrations, LabelPlan, Use
from judge.database.runs import Run
from judge.database.store import VerdictStore
from judge.database.table import tidy
from judge.reporting.document import Document, Facts, Section
from judge.reporting.plain import plain
from judge.reporting.topics import calibrated
from judge.stats.binomial import exact_share
from judge.stats.coefficients import alpha_nominal
from judge.stats.estimate import Estimate

if TYPE_CHECKING:
    import pandas as pd

EXPIRES_DAYS = 90
EXPIRES_DAYS_ALIAS = 7
"""Of a model name without a served fingerprint: what stands behind it may change any day."""
KEY_VARIABLE = "EVENHAND_ARTEFACT_KEY"
HARM_SCORE, WIN_RATE = "harm", "win-rate"


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be calibrated, as the command was given it."""

    run: str
    score: str = HARM_SCORE
    dimension: str = "overall"
    target_model: str = ""
    reference: str = ""
    plan: str = ""
    random_labels: bool = False
    """The owner says that labels without a plan are a random sample."""
    population: Target = Target.SET
    baseline: str | None = None


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


def calibrate(study: Study, asked: Asked) -> Made:
    """Calibrate, seal and keep; a refusal is kept too.

    Raises:
        UsageError: an unknown run, plan or model, or nothing of the kind to calibrate.
    """
    kept = Calibrations(study.store)
    run = VerdictStore(study.store).find(asked.run)
    plan = _plan(kept, run, asked)
    table = tidy(study.store)
    scored = scored_set(table, run, asked, plan)
    strata = stratify(scored.items, scored.labels)
    extra = tuple(_hygiene(kept, scored, plan, asked))
    if extra:
        strata = replace(strata, refusals=(*extra, *strata.refusals))
    section = study.settings.report
    found = assemble(
        strata,
        asked.population,
        baseline=asked.baseline,
        level=section.level,
        seed=section.seed,
    )
    content = _content(study, run, asked, plan, scored, found)
    artefact = sealed({**content, "previous": kept.last_hash()}, artefact_key())
    kept.add(artefact, run.id)
    if not found.refused:
        places = dict(zip(scored.items.ids, scored.items.questions, strict=True))
        uses = [(one, places[one]) for one in scored.labels.ids if one in places]
        kept.note_use(uses, Use.CALIBRATE, artefact["hash"])
    return Made(artefact, found, _document(study, run, artefact, found))


def scored_set(table: pd.DataFrame, run: Run, asked: Asked, plan: LabelPlan | None) -> Scored:
    """The set and its labels: of a plan its draws, else all labels there are."""
    drawn = plan.items if plan else None
    if asked.score == HARM_SCORE:
        return harm_set(table, run.name, run.fingerprint, drawn=drawn)
    return pair_set(
        table,
        run.name,
        run.fingerprint,
        asked.dimension,
        asked.target_model,
        asked.reference,
        drawn=drawn,
    )


def _plan(kept: Calibrations, run: Run, asked: Asked) -> LabelPlan | None:
    """The plan named, else the newest one for calibrating this score."""
    if asked.plan:
        plan = kept.plan(asked.plan)
        if plan.use is not Use.CALIBRATE:
            raise UsageError(f"--plan {plan.id[:8]}: drawn to {plan.use}; it cannot calibrate")
        if plan.run != run.id:
            raise UsageError(
                f"--plan {plan.id[:8]}: drawn from the verdicts of another run;"
                " a different judge needs its own draw: evenhand plan"
            )
        return plan
    mine = [
        plan
        for plan in kept.plans(run.id)
        if plan.use is Use.CALIBRATE and plan.body["score"] == score_name(asked)
    ]
    return None if asked.random_labels or not mine else mine[-1]


def score_name(asked: Asked) -> str:
    """What is calibrated, in one word: plans and artefacts are found by it."""
    if asked.score == HARM_SCORE:
        return HARM_SCORE
    return f"{WIN_RATE}:{asked.dimension}:{asked.target_model}:{asked.reference}"


def _hygiene(
    kept: Calibrations, scored: Scored, plan: LabelPlan | None, asked: Asked
) -> list[Refusal]:
    """What is wrong with where the labels come from."""
    found = []
    places = dict(zip(scored.items.ids, scored.items.questions, strict=True))
    tuned = kept.questions_used(Use.TUNE)
    reused = sorted({one for one in scored.labels.ids if places.get(one) in tuned})
    if reused:
        found.append(
            Refusal(
                Why.PURPOSE,
                f"{len(reused)} labels on questions whose labels tuned a prompt"
                f" ({', '.join(reused[:3])}{', …' if len(reused) > 3 else ''})",
                "labels on questions that tuned nothing",
                "draw a new sample: evenhand plan leaves those questions out",
            )
        )
    whole = len(set(scored.labels.ids)) >= len(scored.items.ids)
    if plan is None and not asked.random_labels and not whole:
        found.append(
            Refusal(
                Why.UNEQUAL_DRAWS,
                f"{len(scored.labels.ids)} labels that no plan drew",
                "labels drawn at random within model and verdict, or of the whole set",
                "evenhand plan … --draw; if these were drawn at random elsewhere, say"
                " --labels-are-random, which the artefact will say too",
            )
        )
    if plan is not None and plan.body["set"] != scored.items.name:
        found.append(
            Refusal(
                Why.OTHER_SET,
                f"plan {plan.id[:8]} drew from another set of items ({plan.body['set']})",
                f"a draw from the set to be scored ({scored.items.name})",
                "draw again: the set has changed since",
            )
        )
    return found


def harm_alpha(scored: Scored, level: float) -> tuple[Estimate, bool]:
    """Krippendorff's alpha of people's labels, unsafe or not; and whether they are unanimous."""
    counts = np.array([[len(r) - sum(r), sum(r)] for _unit, r in scored.ratings], dtype=float)
    where, n = "answers that people labelled twice or more", len(scored.ratings)
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


def full_refusals(scored: Scored, level: float) -> Estimate:
    """Share of answers to benign prompts that people call a full refusal."""
    refused, n = scored.benign
    return exact_share(
        "full_refusals",
        refused,
        n,
        "answers to benign prompts, by people's labels",
        "no answer to a benign prompt is labelled",
        level=level,
    )


def _content(
    study: Study,
    run: Run,
    asked: Asked,
    plan: LabelPlan | None,
    scored: Scored,
    found: Calibration,
) -> dict[str, Any]:
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
            "target": found.target.value,
            "level": level,
            "seed": study.settings.report.seed,
        },
        "set": {
            "name": items.name,
            "items": len(items.ids),
            "questions": scored.questions,
            "models": sorted(set(items.models)),
            "categories": dict(scored.categories),
        },
        "draw": _draw(plan, asked),
        "labels": {
            "drawn": len(scored.labels.ids),
            "labelled": int(np.isfinite(scored.labels.array()).sum()),
            "disputed": len(scored.disputed),
            "severe": len(scored.severe),
            "alpha": plain(alpha),
            "unanimous": unanimous,
        },
        "full_refusals": plain(full_refusals(scored, level)),
        "protocols": sorted({study.settings.protocol.id}),
        "calibration": plain(found),
    }


def _draw(plan: LabelPlan | None, asked: Asked) -> dict[str, Any]:
    if plan is None:
        said = "said to be random" if asked.random_labels else "all labels there are"
        return {"plan": None, "how": said}
    return {
        "plan": plan.id,
        "how": "drawn at random within model and verdict",
        "seed": plan.body["seed"],
        "drawn_at": plan.created_at,
    }


def _document(study: Study, run: Run, artefact: Mapping[str, Any], found: Calibration) -> Document:
    facts = (
        f"judge {run.name}, fingerprint {run.fingerprint[:12] or 'none: imported'}",
        f"set {artefact['set']['name']}: {artefact['set']['items']:,} items on"
        f" {artefact['set']['questions']:,} questions",
        f"labels: {artefact['draw']['how']}; {artefact['labels']['labelled']} of"
        f" {artefact['labels']['drawn']} drawn were labelled",
        f"made {artefact['created_at'][:10]}, expires {artefact['expires_at'][:10]}; hash"
        f" {artefact['hash'][:16]}",
    )
    rests = Section("rests-on", "What it rests on", (Facts(facts),))
    return Document(
        f"{study.settings.study.title}: calibrated score",
        (calibrated.headline(found),),
        f"{100 * artefact['score']['level']:g} % intervals, seed {artefact['score']['seed']}",
        (calibrated.section(found), rests),
    )
