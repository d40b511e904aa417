"""Which calibration goes with a judge's run: of this judge, of this score, and holding one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from annotate.errors import UsageError
from judge.calibration.artefact import opened, to_text
from judge.commands.calibrate_command import artefact_key, latest_moment, read_artefact
from judge.commands.calibration_basis import GRADE, HARM_SCORE, Asked, score_name
from judge.commands.unedited import unedited
from judge.database.calibrations import Calibrations
from judge.database.runs import Run


def artefact_for(kept: Calibrations, run: Run, asked: Asked, file: Path | None) -> dict[str, Any]:
    """The calibration in a file, or the study's newest of this judge and score.

    Raises:
        UsageError: there is none, or it is of another judge or score, or was refused.
        DataError: the file was tampered with, or the study was edited.
    """
    own = untouched(kept)
    if file is not None:
        found = read_artefact(file)
    else:
        known = [one for one in own if one["status"] == "ok" and same_score(one, asked)]
        mine = [one for one in known if _judge(one) == (run.requested_model, run.fingerprint)]
        if not known:
            raise UsageError(
                f"run {run.name}: no calibration of this score in the study; name one with"
                " --calibration FILE, or make it: evenhand plan … --draw, then evenhand calibrate"
            )
        found = reopened((mine or known)[-1])
    where = str(file) if file else f"calibration {found['hash'][:12]}"
    _check(found, run, asked, where)
    return found


def untouched(kept: Calibrations) -> list[dict[str, Any]]:
    """The study's calibrations, oldest first, if all that they rest on is as it was written.

    Raises:
        DataError: a vote, a verdict, a calibration, a plan, the ledger or an attempt was edited.
    """
    unedited(kept.store, artefact_key())
    return kept.artefacts()


def reopened(artefact: Mapping[str, Any]) -> dict[str, Any]:
    """A kept calibration, checked like one from a file.

    Raises:
        DataError: as for :func:`judge.calibration.artefact.opened`.
    """
    where = f"calibration {str(artefact['hash'])[:12]}"
    return opened(to_text(artefact), where, artefact_key(), latest=latest_moment())


def _check(artefact: Mapping[str, Any], run: Run, asked: Asked, where: str) -> None:
    """A calibration is of one judge and one score, and holds one."""
    model, fingerprint = _judge(artefact)
    if artefact["status"] != "ok":
        raise UsageError(f"{where}: holds no score, it was refused; calibrate again")
    if model != run.requested_model:
        raise UsageError(
            f"{where}: is of model {model}, run {run.name} is of {run.requested_model}; expected"
            " one judge: calibrate this one"
        )
    if fingerprint != run.fingerprint:
        raise UsageError(
            f"{where}: is of fingerprint {fingerprint[:12] or 'none'}, run {run.name} of"
            f" {run.fingerprint[:12] or 'none'}; another prompt or setting is another judge:"
            " calibrate this one"
        )
    if not same_score(artefact, asked):
        raise UsageError(
            f"{where}: is of {artefact['score']['name']}; expected {score_name(asked)}"
        )


def _judge(artefact: Mapping[str, Any]) -> tuple[str, str]:
    return artefact["judge"]["requested_model"], artefact["judge"]["fingerprint"]


def same_score(artefact: Mapping[str, Any], asked: Asked) -> bool:
    """The same question; of a win rate the target may be a new model."""
    name = str(artefact["score"]["name"])
    if asked.score in (HARM_SCORE, GRADE):
        return name == score_name(asked)
    # As score_name writes it: a colon within a name is none between parts.
    score, dimension, _target, reference = score_name(asked).split(":")
    return name.startswith(f"{score}:{dimension}:") and name.endswith(f":{reference}")
