"""Does a calibration stand for the study as it is now: this set, these verdicts, these labels?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any

from annotate.errors import UsageError
from annotate.study import Study
from judge.ask.modes import Mode
from judge.calibration.assembled import Calibration, assemble
from judge.calibration.evidence import Doubt, OfModel
from judge.calibration.label_digest import labels_digest, verdicts_digest
from judge.calibration.poststratified import Target
from judge.commands.calibrate_command import by_word_only
from judge.commands.calibration_basis import Asked, Basis, basis
from judge.database.runs import Run
from judge.database.store import VerdictStore
from judge.stats.estimate import from_json

SAME = 1e-9


@dataclass(frozen=True, slots=True)
class Standing:
    """What of a calibration holds here."""

    run: Run | None
    """The judge's harm run whose set was calibrated; None where the set is another one."""
    rates: tuple[OfModel, ...]
    """At the level asked for; where there is a doubt, as the artefact has them."""
    doubt: Doubt | None


def standing(study: Study, artefact: Mapping[str, Any], level: float, *, here: bool) -> Standing:
    """The calibrated scores computed again from the study's labels, at a level of one's own.

    The artefact's interval is of the level it was made at; attempts that share an error budget
    need a higher one. Its labels are in the study, so nothing is lost by computing again.

    Args:
        study: with the labels.
        artefact: a harm calibration.
        level: confidence level, in (0, 1).
        here: whether this study made it.
    """
    on = _same_set(study, artefact)
    if on is None:
        rates = _rates_of(artefact)
        first = rates[0].rate
        shown = "" if first.value is None else f": harm rate {100 * first.value:.1f} %"
        found = f"transported, uncalibrated{shown} of another set"
        todo = "label a sample of this set: a judge errs differently on another"
        return Standing(None, rates, Doubt(found, todo))
    if doubt := _doubt(artefact, on, here=here):
        return Standing(on.run, _rates_of(artefact), doubt)
    if artefact["status"] == "refused":
        # Made again it might come to a value: what refuses it need not be in the labels.
        why = artefact["calibration"]["refusals"]
        return Standing(on.run, _shortly(_rates_of(artefact), why), None)
    seed, target = artefact["score"]["seed"], Target(artefact["score"]["target"])
    made = assemble(on.strata, target, level=level, seed=seed)
    if not _same_values(made, artefact):
        found = "its score does not follow from the labels and verdicts that it names"
        return Standing(on.run, _rates_of(artefact), Doubt(found, "calibrate again"))
    rates = tuple(OfModel(one.model, one.score) for one in made.scores)
    return Standing(on.run, _shortly(rates, list(map(asdict, made.refusals))), None)


def _same_set(study: Study, artefact: Mapping[str, Any]) -> Basis | None:
    judge, draw = artefact["judge"], artefact["draw"]
    for run in VerdictStore(study.store).runs():
        same = (run.requested_model, run.fingerprint) == (
            judge["requested_model"],
            judge["fingerprint"],
        )
        if not same or run.mode != Mode.HARM:
            continue
        # Without a plan it took all labels, whatever was drawn later. A run without a verdict has
        # no set; a plan that is not here drew in another study.
        all_labels = Asked(run.name, random_labels=True)
        plan = draw["plan"]
        for one in (replace(all_labels, plan=plan), all_labels) if plan else (all_labels,):
            with suppress(UsageError):
                found = basis(study, one)
                if found.scored.items.name == artefact["set"]["name"]:
                    return found
    return None


def _doubt(artefact: Mapping[str, Any], on: Basis, *, here: bool) -> Doubt | None:
    again = "calibrate again"
    if not here:
        found = "the calibration was made in another study, from labels that are not here"
        return Doubt(found, "calibrate in this study")
    if artefact["status"] == "ok" and by_word_only(artefact):
        found = "its labels are random by word only: what was asked for and not given is not known"
        return Doubt(found, "evenhand plan … --draw, label that sample, calibrate")
    if artefact["set"]["verdicts"] != verdicts_digest(on.scored.items):
        return Doubt("verdicts have changed since the calibration", again)
    if artefact["labels"]["digest"] != labels_digest(on.scored):
        return Doubt("labels are newer than the calibration, or were changed since", again)
    return None


def _rates_of(artefact: Mapping[str, Any]) -> tuple[OfModel, ...]:
    scores = artefact["calibration"]["scores"]
    return tuple(OfModel(one["model"], from_json(one["score"])) for one in scores)


def _same_values(made: Calibration, artefact: Mapping[str, Any]) -> bool:
    said = {one.model: one.rate.value for one in _rates_of(artefact)}
    if said.keys() != {one.model for one in made.scores}:
        return False
    for one in made.scores:
        value, before = one.score.value, said[one.model]
        if (value is None) != (before is None):
            return False
        if value is not None and before is not None and abs(value - before) > SAME:
            return False
    return True


def _shortly(
    rates: tuple[OfModel, ...], refusals: Sequence[Mapping[str, Any]]
) -> tuple[OfModel, ...]:
    """Where there is no rate the first reason, and how many more there are: a card is one page."""
    return tuple(
        one
        if one.rate.value is not None
        else replace(one, rate=replace(one.rate, reason=_reason(one, refusals)))
        for one in rates
    )


def _reason(one: OfModel, refusals: Sequence[Mapping[str, Any]]) -> str:
    mine = [why for why in refusals if not one.model or why["model"] in (None, one.model)]
    if not mine:
        return one.rate.reason or "refused"
    first, others = mine[0], len(mine) - 1
    where = f"{first['where']}: " if first["where"] else ""
    more = f" (and {others} more: evenhand calibrate says them)" if others else ""
    return f"refused: {where}{first['found']}; expected {first['expected']}{more}"
