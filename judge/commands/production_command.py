"""A new set scored with a calibrated judge: with labels of its own, else marked as transported."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from annotate.store import stamp
from annotate.study import Study
from judge.calibration.artefact import sealed
from judge.calibration.poststratified import Target
from judge.calibration.transported import known_means, transported
from judge.commands.artefact_choice import artefact_for
from judge.commands.calibrate_command import artefact_key, by_word_only, calibrate
from judge.commands.calibration_basis import (
    HARM_SCORE,
    WIN_RATE,
    Asked,
    Basis,
    basis,
    score_name,
    scored_set,
)
from judge.commands.calling import CallOptions
from judge.commands.drift import check_drift
from judge.commands.production_labels import (
    changed,
    drawn_here,
    label_words,
    labelled,
    whence,
)
from judge.database.calibrations import Calibrations
from judge.database.runs import Run
from judge.database.store import VerdictStore
from judge.database.table import tidy
from judge.reporting.document import Document, Text, Weight
from judge.reporting.plain import plain
from judge.reporting.topics import production
from judge.reporting.topics.production import Drift, Production
from judge.stats.estimate import from_json

SCHEMA = "evenhand.production/1"
"""Another one than a calibration's: the gate refuses it."""
TRANSPORTED, CALIBRATED = "transported", "calibrated"
LABELS = 200
"""How many fresh labels are asked for."""


@dataclass(frozen=True, slots=True)
class Produced:
    """What a set was scored to: sealed, and in words."""

    body: Mapping[str, Any]
    document: Document
    artefact: Mapping[str, Any] | None
    """A calibration made of this set's own labels on the way."""


def produce(study: Study, asked: Asked, calls: CallOptions, file: Path | None = None) -> Produced:
    """Score the run's set.

    Args:
        study: with the run.
        asked: the run and the score.
        calls: where the judge can be asked again; without an endpoint drift is not checked.
        file: the calibration; None takes the study's newest of this judge and score.

    Raises:
        UsageError: an unknown run or model, or a calibration of another judge or score.
        DataError: the calibration was tampered with.
    """
    run = VerdictStore(study.store).find(asked.run)
    artefact = artefact_for(Calibrations(study.store), run, asked, file)
    on = basis(study, asked)
    drift = check_drift(study, run, artefact["created_at"], calls)
    expired = artefact["expires_at"] < stamp(datetime.now(UTC))
    head = _head(study, run, asked, artefact, on, drift, expired=expired)
    if _is_of(artefact, on):
        return _as_calibrated(study, head, artefact, on, drift, expired=expired)
    if not on.strata.refusals:
        # Of what the score is was decided when it was calibrated; new labels do not change that.
        target = Target(artefact["score"]["target"])
        made = calibrate(study, replace(asked, population=target), on)
        body = {**head, **_used(made.artefact)}
        told = replace(
            made.document,
            lead=(*made.document.lead, production.drift_text(drift)),
            sections=(*made.document.sections, production.drift_section(drift)),
        )
        sealed_body = sealed({**body, "scores": _scores(made.artefact)}, artefact_key())
        return Produced(sealed_body, told, made.artefact)
    return _as_transported(study, run, asked, head, artefact, on, drift, expired=expired)


def plan_command(study: Study, asked: Asked) -> str:
    """The command that draws fresh labels from this set."""
    words = ["evenhand", "plan", str(study.folder), "--run", asked.run]
    if asked.score != HARM_SCORE:
        words += ["--score", asked.score, "--dimension", asked.dimension]
    if asked.score == WIN_RATE:
        words += ["--target", asked.target_model, "--reference", asked.reference]
    return shlex.join([*words, "--labels", str(LABELS), "--draw"])


def _is_of(artefact: Mapping[str, Any], on: Basis) -> bool:
    """Whether it scores this very set; labels that changed since calibrate anew if they can."""
    same = artefact["set"]["name"] == on.scored.items.name
    return same and (bool(on.strata.refusals) or not changed(artefact, on))


def _head(
    study: Study,
    run: Run,
    asked: Asked,
    artefact: Mapping[str, Any],
    on: Basis,
    drift: Drift,
    *,
    expired: bool,
) -> dict[str, Any]:
    items, (draws, with_label) = on.scored.items, labelled(on)
    return {
        "schema": SCHEMA,
        "created_at": stamp(datetime.now(UTC)),
        "program": f"evenhand {version('evenhand')}",
        "study": study.store.study_id,
        "judge": {
            "name": run.name,
            "fingerprint": run.fingerprint,
            "requested_model": run.requested_model,
        },
        "score": score_name(asked),
        "set": {
            "name": items.name,
            "items": len(items.ids),
            "questions": on.scored.questions,
            "models": sorted(set(items.models)),
        },
        "calibration": {
            "hash": artefact["hash"],
            "set": artefact["set"]["name"],
            "models": artefact["set"]["models"],
            "expires_at": artefact["expires_at"],
            "expired": expired,
        },
        "labels": {
            "plan": on.plan.id if on.plan is not None and drawn_here(on) else None,
            "drawn": draws,
            "labelled": with_label,
            "words": label_words(on),
        },
        "drift": {"checked": drift.check is not None, "words": drift.words}
        | {"check": plain(drift.check)},
    }


def _scores(artefact: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {"model": one["model"], "score": one["score"], "raw": one["raw"]}
        for one in artefact["calibration"]["scores"]
    ]


def _used(artefact: Mapping[str, Any]) -> dict[str, Any]:
    """What a calibrated score rests on, and of what it is."""
    return {
        "status": CALIBRATED,
        "calibrated": True,
        "used": artefact["hash"],
        "draw": artefact["draw"]["how"],
        "population": artefact["score"]["target"],
    }


def _as_calibrated(
    study: Study,
    head: Mapping[str, Any],
    artefact: Mapping[str, Any],
    on: Basis,
    drift: Drift,
    *,
    expired: bool,
) -> Produced:
    """The calibration is of this very set: its score stands, as of its labels."""
    since = changed(artefact, on)
    body = {**head, **_used(artefact), "changed": since}
    scores = [(one["model"], from_json(one["score"])) for one in artefact["calibration"]["scores"]]
    document = Document(
        _title(study),
        (
            production.calibrated_headline(
                scores[0][1], Target(artefact["score"]["target"]), whence(artefact)
            ),
            *_since(since, on),
            *_old(artefact, expired=expired),
            production.drift_text(drift),
        ),
        f"{100 * artefact['score']['level']:g} % intervals",
        (
            production.calibrated_section(scores, artefact["hash"], artefact["expires_at"][:10]),
            production.drift_section(drift),
        ),
    )
    found = sealed({**body, "scores": _scores(artefact)}, artefact_key())
    return Produced(found, document, None)


def _title(study: Study) -> str:
    return f"{study.settings.study.title}: score in production"


def _since(changed: str, on: Basis) -> list[Text]:
    """Why the score is no longer of what there is, and why it was not made anew."""
    if not changed:
        return []
    why = f"; it cannot be made anew yet: {on.strata.refusals[0].words()}"
    return [Text(f"Read it as of its date: {changed}{why}.", Weight.WARNING)]


def _old(artefact: Mapping[str, Any], *, expired: bool) -> list[Text]:
    if not expired:
        return []
    words = f"The calibration expired on {artefact['expires_at'][:10]}: draw fresh labels."
    return [Text(words, Weight.WARNING)]


def _as_transported(
    study: Study,
    run: Run,
    asked: Asked,
    head: Mapping[str, Any],
    artefact: Mapping[str, Any],
    on: Basis,
    drift: Drift,
    *,
    expired: bool,
) -> Produced:
    items = on.scored.items
    if asked.score != HARM_SCORE:
        # Classes are merged for labelling only; the artefact has means of each.
        items = scored_set(tidy(study.store), run, asked, None, merged=False).items
    means = known_means(artefact["calibration"]["strata"])
    values = Production(
        items.kind,
        transported(items, means),
        artefact["hash"],
        artefact["set"]["name"],
        artefact["expires_at"][:10],
        expired,
        label_words(on),
        _todo(study, asked, on),
        by_word_only(artefact),
    )
    body = {
        **head,
        "status": TRANSPORTED,
        "calibrated": False,
        "todo": values.todo,
        "transport": plain(values.transport),
    }
    lead = (
        production.headline(values),
        *_old(artefact, expired=expired),
        production.drift_text(drift),
    )
    document = Document(
        _title(study),
        lead,
        "no interval holds for a transported score",
        (*production.sections(values), production.drift_section(drift)),
    )
    return Produced(sealed(body, artefact_key()), document, None)


def _todo(study: Study, asked: Asked, on: Basis) -> str:
    if drawn_here(on):
        return "let raters finish the plan (evenhand serve), then run this again"
    return f"draw them: {plan_command(study, asked)}"
