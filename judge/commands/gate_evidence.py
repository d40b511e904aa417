"""What the gate can know of a judge: its pairs, its calibration, people's labels as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotate.records import Status
from annotate.store import now
from annotate.study import Study
from judge.calibration.evidence import Bounds, Doubt, Evidence, Refusing, Thresholds
from judge.calibration.exact_gap import by_question
from judge.calibration.severe import severe_answers
from judge.commands.benign_refusals import benign_refusals, resamples_for
from judge.commands.gate_standing import Standing, standing
from judge.database.material import material
from judge.database.runs import Run
from judge.reporting.scope import Material, Settings, scopes
from judge.reporting.topics import excess, reference
from judge.stats.agreement import select_verdicts
from judge.stats.estimate import Estimate, from_json
from judge.stats.one_judge import JudgeFigures, judge_figures


@dataclass(frozen=True, slots=True)
class Gathered:
    """Evidence, and whether a calibrated harm rate was looked at for it."""

    evidence: Evidence
    looked: bool
    """Looking again on new labels costs from the error budget."""
    level: float
    """Of every interval."""


def gather(
    study: Study,
    run: Run,
    artefact: Mapping[str, Any] | None,
    thresholds: Thresholds,
    *,
    here: bool,
    spent: Doubt | None = None,
) -> Gathered:
    """Everything that the criteria need, every interval at the level that attempts leave.

    Args:
        study: with the run.
        run: the judge's, on pairs.
        artefact: a calibration of harm, checked; None without one.
        thresholds: whose `attempts` share the error budget.
        here: whether this study made the calibration.
        spent: why its harm rates may not be looked at; None if they may.
    """
    section = study.settings.report
    level = 1 - (1 - section.level) / thresholds.attempts
    settings = Settings(level, resamples_for(level, section.resamples), section.seed)
    made_from = material(study.store)
    stands = standing(study, artefact, level, here=here) if artefact is not None else None
    rows = made_from.everything
    mine = rows[rows["source_id"] == run.name]
    models = _models(artefact, mine)
    above, gap = _agreement(made_from, run.name, settings)
    inconsistent, prefers = _position(made_from, run.name, settings)
    counts = _counts(rows, run, artefact, stands)
    labelled = _of_calibration(artefact)
    severe = severe_answers(rows, models)
    evidence = Evidence(
        run_ok=int((mine["status"] == Status.OK).sum()),
        ok_verdicts=counts[0],
        verdicts=counts[1],
        questions=labelled.questions if artefact else int(mine["question_id"].nunique()),
        calibrated=artefact is not None,
        harm_rates=stands.rates if stands else (),
        doubt=stands.doubt if stands else None,
        failure_bounds=labelled.bounds,
        judged_safe=labelled.safe,
        judged_safe_labelled=labelled.safe_labelled,
        items=labelled.items,
        # Where the labels are not here, what the calibration counted is all there is.
        severe=max(len(severe.confirmed), 0 if here else labelled.severe),
        harm_alpha=labelled.alpha,
        unanimous=labelled.unanimous,
        excess=above,
        matched_gap=gap,
        inconsistency=inconsistent,
        prefers=prefers,
        full_refusals=_refusals(study, level, made_from, models),
        expired=labelled.expired,
        active=artefact is not None and artefact["calibration"].get("active") is not None,
        spent=spent,
        severe_claimed=len(severe.claimed),
    )
    seen = evidence.doubt is None and spent is None
    looked = seen and any(one.rate.value is not None for one in evidence.harm_rates)
    return Gathered(evidence, looked, level)


def _models(artefact: Mapping[str, Any] | None, mine: Any) -> list[str]:
    """The models of the scope; without a calibration those that the judge has judged."""
    if artefact is not None:
        return [str(one) for one in artefact["set"]["models"]]
    both = {*mine["model_a"], *mine["model_b"]}
    return sorted(one for one in both if isinstance(one, str) and one)


def _counts(
    rows: Any, run: Run, artefact: Mapping[str, Any] | None, stands: Standing | None
) -> tuple[int, int]:
    """Usable verdicts and all of them, on pairs and on harm, those of one run counted once."""
    named = {run.name}
    more_ok = more = 0
    if stands is not None and stands.run is not None:
        named.add(stands.run.name)
    elif artefact is not None:
        strata = artefact["calibration"]["strata"]
        more = sum(one["size"] for one in strata)
        more_ok = sum(one["size"] for one in strata if one["verdict"] != "failed")
    mine = rows[rows["source_id"].isin(named)]
    return int((mine["status"] == Status.OK).sum()) + more_ok, len(mine) + more


@dataclass(frozen=True, slots=True)
class _Labelled:
    """What an artefact says beside its scores."""

    questions: int
    bounds: tuple[Bounds, ...]
    safe: int
    safe_labelled: int
    items: int
    severe: int
    alpha: Estimate
    unanimous: bool
    expired: str


def _of_calibration(artefact: Mapping[str, Any] | None) -> _Labelled:
    if artefact is None:
        nothing = none("no answer has two labels of people")
        return _Labelled(0, (), 0, 0, 0, 0, nothing, False, "")
    strata = artefact["calibration"]["strata"]
    safe = [one for one in strata if one["verdict"] == "safe"]
    expired = artefact["expires_at"] < now()
    return _Labelled(
        artefact["set"]["questions"],
        tuple(_bounds(strata)),
        sum(one["size"] for one in safe),
        sum(map(_labels_drawn_alike, safe)),
        sum(one["size"] for one in strata),
        artefact["labels"]["severe"],
        from_json(artefact["labels"]["alpha"]),
        artefact["labels"]["unanimous"],
        f"expired {artefact['expires_at'][:10]}" if expired else "",
    )


def _labels_drawn_alike(stratum: Mapping[str, Any]) -> int:
    """Labels that would show misses; of an active draw as many as the least probability draws."""
    labelled, least = int(stratum["labelled"]), stratum.get("least_chance")
    return labelled if least is None else min(labelled, int(least * stratum["size"] + 1e-9))


def _bounds(strata: Sequence[Mapping[str, Any]]) -> list[Bounds]:
    """What failed verdicts could hide, of all models together and of each with any."""
    models = sorted({one["model"] for one in strata})
    found = []
    for name in ["", *models] if len(models) > 1 else models:
        of = [one for one in strata if name in ("", one["model"])]
        items, harmful, failed = (
            sum(one["size"] for one in of if kind in ("", one["verdict"]))
            for kind in ("", "harmful", "failed")
        )
        if failed:
            found.append(Bounds(name, harmful / items, (harmful + failed) / items))
    return found


def _refusals(
    study: Study, level: float, made_from: Material, models: Sequence[str]
) -> tuple[Refusing, ...]:
    """Of every model in the scope; where any has labels, one without is said to have none."""
    known = benign_refusals(study, level, made_from.everything)
    if not known.keys() & set(models):
        return ()
    found = []
    for model in models:
        if (one := known.get(model)) is None:
            found.append(Refusing(model, none("no answer to a benign prompt is labelled")))
        else:
            found.append(Refusing(model, one.rate, one.unknown, one.most))
    return tuple(found)


def _agreement(made_from: Material, judge: str, settings: Settings) -> tuple[Estimate, Estimate]:
    """The worst excess and matched gap over the dimensions that people voted on (S1)."""
    aboves, gaps = [], []
    for scope in scopes(made_from, settings, judges=[judge]):
        if scope.simulated:
            continue
        first = excess.found(scope).setups[0]
        aboves.append(_excess(first))
        gaps.append(by_question(reference.found(scope).setups[0].pairs.difference))
    nothing = none("no vote of people stands beside this judge's verdicts")
    return _worst(aboves, nothing), _worst(gaps, nothing)


def _excess(first: excess.ExcessSetup) -> Estimate:
    """Over the best guess; agreement by itself is no excess over anything."""
    if first.best_line is not None:
        return by_question(first.best_line.excess)
    return none(first.agreement.reason or "no blind guess can be made to compare with")


def _worst(found: Sequence[Estimate], nothing: Estimate) -> Estimate:
    open_ = [one for one in found if one.low is None]
    if open_ or not found:
        return open_[0] if open_ else nothing
    return min(found, key=lambda one: one.low or 0.0)


def _position(made_from: Material, judge: str, settings: Settings) -> tuple[Estimate, str]:
    """The dimension on which the judge contradicts itself most, and what it then favours."""
    found: list[JudgeFigures] = []
    rows = made_from.judgments
    mine = rows[rows["source_id"] == judge]
    for dimension in sorted(set(mine["dimension"])):
        found += judge_figures(
            select_verdicts(rows, dimension, judge),
            judge,
            dimension,
            level=settings.level,
            resamples=settings.resamples,
            seed=settings.seed,
        )
    known = [one for one in found if one.inconsistent.value is not None]
    if not known:
        return none("no pair was judged in both orders"), ""
    worst = max(known, key=lambda one: one.inconsistent.value or 0.0)
    line = worst.position[0]
    first, second = line.first.value or 0.0, line.second.value or 0.0
    if first + second == 0:
        return worst.inconsistent, ""
    place = "first" if first >= second else "second"
    share = max(first, second) / (first + second)
    return worst.inconsistent, f"{100 * share:.0f} % of these for the answer shown {place}"


def none(reason: str) -> Estimate:
    """A figure that is not known, and why."""
    return Estimate("evidence", None, "", 0, 0, reason)
