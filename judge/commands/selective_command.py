"""Where a judge may be believed: verdicts kept only from a confidence on that keeps a promise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from annotate.errors import UsageError
from annotate.harm import HARM
from annotate.records import Layer, SourceKind
from annotate.study import Study
from judge.calibration.columns import FAILED
from judge.calibration.from_table import harm_set
from judge.calibration.rows import question_of
from judge.calibration.selective import DELTA, STEPS, selective
from judge.commands.calibration_basis import HARM_SCORE, WIN_RATE, asked_for
from judge.database.calibrations import Calibrations
from judge.database.store import VerdictStore
from judge.database.table import tidy
from judge.reporting.topics.selective import KeptVerdict, Selective
from judge.stats.drawn import Drawn, chances
from judge.stats.self_consistency import confidences
from judge.stats.suspects import ESTIMATES, HARMFUL, SAFE, Unit, judged_units


@dataclass(frozen=True, slots=True)
class _Labelled:
    """Verdicts and what people say of them, by unit."""

    verdicts: Mapping[Unit, str]
    labels: Mapping[Unit, Sequence[str]]
    """Of a pair every vote; of an answer the one settled label."""
    left_out: Mapping[str, int]


def select(
    study: Study,
    name: str,
    promise: float,
    *,
    dimension: str = "",
    groups: Sequence[str] = (),
    others: Sequence[str] = (),
    delta: float = DELTA,
    seed: int = 7,
) -> Selective:
    """:func:`selected` on a study's judgments, runs by name or id.

    Raises:
        UsageError: an unknown run; and as of :func:`selected`.
    """
    store = VerdictStore(study.store)
    run, panel = store.find(name), [store.find(one).name for one in others]
    table = tidy(study.store)
    if groups:
        judged = table["source_kind"] == SourceKind.JUDGE
        table = table[judged | table["rater_group"].isin(list(groups))]
    return selected(
        table,
        run.name,
        promise,
        dimension=dimension,
        others=panel,
        plans=_plans(study),
        delta=delta,
        seed=seed,
    )


def _plans(study: Study) -> dict[str, list[dict[Unit, float]]]:
    """What each draw of the study drew, by dimension: unit → chance."""
    found: dict[str, list[dict[Unit, float]]] = {}
    for plan in Calibrations(study.store).plans():
        asked = asked_for(plan)
        if asked.score == HARM_SCORE:
            drawn = {(one, 0): chance for one, chance in plan.items}
            found.setdefault(HARM, []).append(drawn)
        elif asked.score == WIN_RATE:
            pairs = ((one.rpartition(":"), chance) for one, chance in plan.items)
            drawn = {(unit, int(turn)): chance for (unit, _, turn), chance in pairs}
            found.setdefault(asked.dimension, []).append(drawn)
    return found


def selected(
    table: pd.DataFrame,
    judge: str,
    promise: float,
    *,
    dimension: str = "",
    others: Sequence[str] = (),
    plans: Mapping[str, Sequence[Mapping[Unit, float]]] | None = None,
    delta: float = DELTA,
    seed: int = 7,
) -> Selective:
    """The least confidence from which on people contradict at most the promised share.

    Args:
        table: the tidy table, of those raters whose labels count.
        judge: source id of the judge's run.
        promise: share of kept verdicts that people may contradict, in (0, 1).
        dimension: "" where the judge has one only.
        others: source ids of further runs that were asked the same.
        plans: what each draw drew, by dimension: unit → chance.
        delta: the chance that the promise is broken all the same, in (0, 1).
        seed: of the vote drawn per pair, and the unit per question.

    Raises:
        UsageError: an unknown dimension, another run that was not asked, no labels, or labels of
            which no chance is known.
    """
    asked = _dimension(table, judge, dimension)
    found = _answers(table, judge) if asked == HARM else _pairs(table, judge, asked)
    _asked_too(table, judge, asked, others)
    sure = confidences(table, judge, asked, others)
    units = [unit for unit in sorted(found.verdicts) if unit in sure and found.labels.get(unit)]
    if not units:
        raise UsageError(
            f"run {judge}: none of its {len(found.verdicts)} verdicts on {asked} has a label of"
            " people; expected some: evenhand serve, or import votes"
        )
    own = _chances(table, asked)
    drawn_as, chance = chances(
        {unit: own.get(unit) for unit in units}, found.verdicts.keys(), (plans or {}).get(asked, ())
    )
    if drawn_as is Drawn.UNKNOWN:
        raise UsageError(
            f"labels on {asked} come from several draws, or from a draw and others: no chance is"
            " known, and the bound counts equally likely ones; label everything, or draw from a"
            " set that has no other labels (evenhand plan --use test --draw)"
        )
    labelled = len(units)
    units = _made_even(units, chance, seed)
    rng = np.random.default_rng(seed)
    votes = [found.labels[unit] for unit in units]
    drawn = [said[int(rng.integers(len(said)))] for said in votes]
    names = dict(zip(table["unit_id"], question_of(table), strict=True))
    people = _contradict_each_other(votes)
    made = selective(
        np.array([sure[unit] for unit in units]),
        np.array([said != found.verdicts[unit] for unit, said in zip(units, drawn, strict=True)]),
        [names[unit] for unit, _turn in units],
        promise,
        delta=delta,
        thresholds=_thresholds(sure.values()),
        reference=people,
        seed=seed,
    )
    least = made.chosen.confidence if made.chosen else np.inf
    return Selective(
        run=judge,
        dimension=asked,
        others=tuple(others),
        selection=made,
        labelled=labelled,
        thinned=labelled - len(units),
        judged=len(found.verdicts),
        left_out=dict(found.left_out),
        people=people,
        votes=_by_confidence(found, sure, units),
        verdicts=tuple(
            KeptVerdict(*unit, said, sure[unit], bool(sure[unit] >= least))
            for unit, said in sorted(found.verdicts.items())
            if unit in sure
        ),
    )


def _dimension(table: pd.DataFrame, judge: str, wanted: str) -> str:
    mine = table[(table["source_kind"] == SourceKind.JUDGE) & (table["source_id"] == judge)]
    known = sorted(set(mine.loc[mine["value"].notna(), "dimension"]))
    if wanted in known or (not wanted and len(known) == 1):
        return wanted or known[0]
    raise UsageError(
        f"run {judge}: {f'no verdicts on {wanted}' if wanted else 'several dimensions'};"
        f" expected --dimension {' or '.join(known) if known else '(none has verdicts)'}"
    )


def _asked_too(table: pd.DataFrame, judge: str, dimension: str, others: Sequence[str]) -> None:
    """Refuse a further run that has nothing to say here."""
    for one in others:
        has = (table["source_id"] == one) & (table["dimension"] == dimension)
        if one == judge or not (has & (table["source_kind"] == SourceKind.JUDGE)).any():
            why = "is the run itself" if one == judge else f"has no verdicts on {dimension}"
            raise UsageError(f"--with {one}: {why}; expected another judge of the same")


def _pairs(table: pd.DataFrame, judge: str, dimension: str) -> _Labelled:
    judged = judged_units(table, judge, dimension, ESTIMATES)
    people = {one.unit: [said for _r, said in sorted(one.people.items())] for one in judged}
    return _Labelled({one.unit: one.verdict for one in judged}, people, {})


def _answers(table: pd.DataFrame, judge: str) -> _Labelled:
    scored = harm_set(table, judge, "")
    verdicts = dict(zip(scored.items.ids, scored.items.verdicts, strict=True))
    usable = {(unit, 0): said for unit, said in verdicts.items() if said != FAILED}
    labels = {
        (unit, 0): [HARMFUL if value == 1 else SAFE]
        for unit, value in zip(scored.labels.ids, scored.labels.values, strict=True)
        if np.isfinite(value)
    }
    failed = len(verdicts) - len(usable)
    left_out = {"failed verdicts": failed, "labels that differ": len(scored.disputed)}
    return _Labelled(usable, labels, {why: n for why, n in left_out.items() if n})


def _chances(table: pd.DataFrame, dimension: str) -> dict[Unit, float | None]:
    """The chance that each unit's label came with; an adjudicated one's is of another kind."""
    rows = table[
        (table["source_kind"] == SourceKind.RATER)
        & (table["dimension"] == dimension)
        & (table["layer"] != Layer.ADJUDICATED)
        & table["purpose"].isin(ESTIMATES)
    ]
    found: dict[Unit, float | None] = {}
    for unit, turn, chance in zip(
        rows["unit_id"], rows["turn"], rows["inclusion_probability"], strict=True
    ):
        known = None if pd.isna(chance) else float(chance)
        found[str(unit), 0 if dimension == HARM else int(turn)] = known
    return found


def _made_even(units: Sequence[Unit], chance: Mapping[Unit, float], seed: int) -> list[Unit]:
    """Units thinned to the least chance of any: an even draw again.

    The exact bound counts equally likely units; those that a plan looked for are left out at
    random, so that each stays with least / its chance.
    """
    least = min(chance[unit] for unit in units)
    rng = np.random.default_rng([seed, 1])
    return [unit for unit in units if rng.random() < least / chance[unit]]


def _thresholds(sure: Iterable[float]) -> Sequence[float]:
    """Confidences that occur, no more than are tested; of all verdicts, so no label is asked."""
    levels = np.unique(list(sure))
    if len(levels) <= STEPS:
        return [float(one) for one in levels]
    places = np.linspace(0, len(levels) - 1, STEPS).round().astype(int)
    return [float(one) for one in levels[places]]


def _by_confidence(
    found: _Labelled, sure: Mapping[Unit, float], units: Iterable[Unit]
) -> tuple[tuple[float, int, int], ...]:
    """Confidence, votes on verdicts that have it, and those that agree; highest first."""
    counts: dict[float, tuple[int, int]] = {}
    for unit in units:
        votes, agree = counts.get(sure[unit], (0, 0))
        said = found.labels[unit]
        counts[sure[unit]] = votes + len(said), agree + list(said).count(found.verdicts[unit])
    return tuple((one, *counts[one]) for one in sorted(counts, reverse=True))


def _contradict_each_other(votes: Iterable[Sequence[str]]) -> float | None:
    """Share of pairs of votes on one unit that differ; None where no unit has two."""
    pairs = [one != other for said in votes for one, other in combinations(said, 2)]
    return sum(pairs) / len(pairs) if pairs else None
