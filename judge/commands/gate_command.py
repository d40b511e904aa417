"""The gate: evidence gathered from a study, judged by gate.toml, logged, and put on a card."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

from annotate.errors import DataError, UsageError
from annotate.store import now
from annotate.study import Study
from judge.calibration.artefact import sealed
from judge.calibration.columns import Kind
from judge.calibration.error_budget import Budget, Look, budget
from judge.calibration.evidence import Exit, Thresholds, Verdict
from judge.calibration.gate import judged
from judge.commands.artefact_choice import reopened, untouched
from judge.commands.calibrate_command import artefact_key, read_artefact
from judge.commands.gate_evidence import gather
from judge.database.answer_places import unjudged
from judge.database.calibrations import Calibrations
from judge.database.runs import Run
from judge.database.store import VerdictStore
from judge.reporting.plain import plain
from judge.reporting.topics.gate_card import Card

SCHEMA = "evenhand.gate/1"
LEVEL = "level"
"""Beside an attempt's thresholds: of the study's intervals, before attempts share the error."""


@dataclass(frozen=True, slots=True)
class Gated:
    """What the gate says, on what, and the same as a sealed JSON object."""

    verdict: Verdict
    card: Card
    body: Mapping[str, Any]


def gate(
    study: Study, run_name: str, thresholds: Thresholds, calibration: Path | None = None
) -> Gated:
    """Judge a run: its pairs, the calibration of its harm verdicts, and labels as they are now.

    Args:
        study: with the run.
        run_name: the judge, as its pair run is named.
        thresholds: from gate.toml.
        calibration: an artefact's file; None takes the study's newest of this judge.

    Raises:
        UsageError: no such run; a calibration of another judge or score.
        DataError: a calibration, plan, ledger or attempt was tampered with.
    """
    kept = Calibrations(study.store)
    verdicts = VerdictStore(study.store)
    run = verdicts.find(run_name)
    known = untouched(kept)
    artefact = _of_file(calibration, study) if calibration else _newest(known, run)
    if artefact is not None:
        _same_judge(verdicts, run, artefact)
    here = artefact is not None and artefact["hash"] in {one["hash"] for one in known}
    if artefact is not None and not here and artefact["study"] == study.store.study_id:
        raise DataError(
            f"{calibration}: says that this study made it, and it did not: expected one of its"
            " own; calibrate again"
        )
    said = {one.name: getattr(thresholds, one.name) for one in fields(thresholds)}
    allowed = _budget(study, known, artefact, thresholds)
    found = gather(study, run, artefact, thresholds, here=here, spent=allowed.spent)
    verdict = judged(found.evidence, thresholds)
    noted = said | {LEVEL: study.settings.report.level}
    changed = any(noted | one["thresholds"] != noted for one in kept.attempts())
    name = artefact["hash"] if artefact is not None and found.looked else ""
    kept.note_attempt(name, noted, verdict.exit, verdict.words)
    card = Card(
        judge=run.name,
        model=run.requested_model,
        fingerprint=run.fingerprint,
        verdict=verdict,
        scope=_scope(artefact),
        expires=artefact["expires_at"][:10] if artefact else "",
        calibration=artefact["hash"] if artefact else "",
        thresholds=said,
        thresholds_changed=changed,
        attempt=allowed.number if found.looked else 0,
        level=found.level,
        unjudged=_unjudged(study, artefact),
    )
    return Gated(verdict, card, _body(study, card))


def _of_file(path: Path, study: Study) -> dict[str, Any]:
    """The artefact in a file: of harm, or it is no evidence here."""
    found = read_artefact(path)
    if found["score"]["kind"] != Kind.HARM:
        raise UsageError(
            f"{path}: calibrates {found['score']['name']}; gate.toml limits a harm rate and"
            " says nothing of it; expected a calibration of"
            f" harm: evenhand calibrate {study.folder} --run RUN --score harm"
        )
    return found


def _newest(known: list[dict[str, Any]], run: Run) -> dict[str, Any] | None:
    """The newest harm calibration of this judge, else of another: it is then refused by name."""
    harm = [one for one in known if one["score"]["kind"] == Kind.HARM]
    mine = [one for one in harm if one["judge"]["requested_model"] == run.requested_model]
    found = mine or harm
    return reopened(found[-1]) if found else None


def _same_judge(verdicts: VerdictStore, run: Run, artefact: Mapping[str, Any]) -> None:
    """A calibration is of one judge: another model's is worth nothing here."""
    said = artefact["judge"]["requested_model"]
    if said != run.requested_model:
        raise UsageError(
            f"run {run.name}: model {run.requested_model}, but the calibration is of {said};"
            " calibrate this judge"
        )
    if not any(one.fingerprint == artefact["judge"]["fingerprint"] for one in verdicts.runs()):
        raise UsageError(
            f"calibration {artefact['hash'][:12]}: its fingerprint is of no run of this study;"
            " calibrate again"
        )


def _budget(
    study: Study,
    known: list[dict[str, Any]],
    artefact: Mapping[str, Any] | None,
    thresholds: Thresholds,
) -> Budget:
    """Which attempt this is; the same labels calibrated again are the same attempt.

    What decided nothing by a calibrated harm rate (refused, stale, of another set) was no attempt,
    and neither was one that ended unusable.
    """
    if artefact is None or artefact["status"] != "ok":
        return Budget(0, None)
    labels = {one["hash"]: one["labels"]["digest"] for one in known if "digest" in one["labels"]}
    level = study.settings.report.level
    made = [
        Look(
            labels.get(one["calibration"], one["calibration"]),
            one["thresholds"]["attempts"],
            one["thresholds"].get(LEVEL, level),
        )
        for one in Calibrations(study.store).attempts()
        if one["calibration"] and one["exit"] != Exit.UNUSABLE
    ]
    return budget(made, Look(artefact["labels"]["digest"], thresholds.attempts, level))


def _scope(artefact: Mapping[str, Any] | None) -> tuple[str, ...]:
    if artefact is None:
        return ()
    found, models = artefact["set"], ", ".join(artefact["set"]["models"])
    kinds = ", ".join(name or "no category" for name in found["categories"])
    return (
        f"answers of {models}",
        f"{found['items']:,} items on {found['questions']:,} questions (set {found['name']})",
        f"categories: {kinds}",
        f"labels: {artefact['draw']['how']}",
    )


def _unjudged(study: Study, artefact: Mapping[str, Any] | None) -> dict[str, int]:
    """Of the scope's models, where the calibrated set is this study's; a grown set is not seen."""
    if artefact is None or artefact["study"] != study.store.study_id:
        return {}
    judge = artefact["judge"]
    runs = [
        run
        for run in VerdictStore(study.store).runs()
        if (run.name, run.fingerprint) == (judge["name"], judge["fingerprint"])
    ]
    models = [str(one) for one in artefact["set"]["models"]]
    return unjudged(study.store, runs[-1].id, models) if runs else {}


def _body(study: Study, card: Card) -> dict[str, Any]:
    """The decision for programs: gate.json."""
    verdict = card.verdict
    content = {
        "schema": SCHEMA,
        "created_at": now(),
        "program": f"evenhand {version('evenhand')}",
        "study": study.store.study_id,
        "decision": verdict.exit.name.lower(),
        "exit": int(verdict.exit),
        "words": verdict.words,
        "judge": {
            "name": card.judge,
            "requested_model": card.model,
            "fingerprint": card.fingerprint,
        },
        "scope": list(card.scope),
        "expires": card.expires,
        "unjudged": dict(card.unjudged),
        "calibration": card.calibration,
        "level": card.level,
        "attempt": card.attempt,
        "thresholds": dict(card.thresholds),
        "thresholds_changed": card.thresholds_changed,
        "criteria": plain(verdict.criteria),
    }
    return sealed(content, artefact_key())
