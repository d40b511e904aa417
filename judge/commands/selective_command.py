"""Where a judge may be believed: verdicts kept only from a confidence on that keeps a promise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from annotate.errors import UsageError
from annotate.harm import HARM
from annotate.records import SourceKind
from annotate.study import Study
from judge.calibration.columns import FAILED
from judge.calibration.from_table import harm_set
from judge.calibration.rows import question_of
from judge.calibration.selective import DELTA, STEPS, selective
from judge.database.store import VerdictStore
from judge.database.table import tidy
from judge.reporting.topics.selective import KeptVerdict, Selective
from judge.stats.self_consistency import confidences
from judge.stats.suspects import ESTIMATES, HARMFUL, SAFE, Unit, judged_units

EVEN = 1.5
"""Inclusion probabilities may differ by this factor: rounding in small classes, no design."""


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
        table, run.name, promise, dimension=dimension, others=panel, delta=delta, seed=seed
    )


def selected(
    table: pd.DataFrame,
    judge: str,
    promise: float,
    *,
    dimension: str = "",
    others: Sequence[str] = (),
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
        delta: the chance that the promise is broken all the same, in (0, 1).
        seed: of the vote drawn per pair, and the unit per question.

    Raises:
        UsageError: an unknown dimension, no labels, or labels drawn unequally.
    """
    asked = _dimension(table, judge, dimension)
    found = _answers(table, judge) if asked == HARM else _pairs(table, judge, asked)
    sure = confidences(table, judge, asked, others)
    units = [unit for unit in sorted(found.verdicts) if unit in sure and found.labels.get(unit)]
    if not units:
        raise UsageError(
            f"run {judge}: none of its {len(found.verdicts)} verdicts on {asked} has a label of"
            " people; expected some: evenhand serve, or import votes"
        )
    _even(table, asked, {unit for unit, _turn in units})
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
        labelled=len(units),
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


def _even(table: pd.DataFrame, dimension: str, units: set[str]) -> None:
    """The exact bound counts labels as equally likely: a stratified draw is not."""
    rows = table[
        (table["source_kind"] == SourceKind.RATER)
        & (table["dimension"] == dimension)
        & table["purpose"].isin(ESTIMATES)
        & table["unit_id"].isin(units)
    ]
    found = rows["inclusion_probability"].dropna().astype(float)
    if len(found) and found.max() > EVEN * found.min():
        raise UsageError(
            f"labels on {dimension} were drawn with probabilities from {found.min():.3f} to"
            f" {found.max():.3f}; the bound counts equally likely ones: label all items, or a"
            " proportional draw (evenhand plan --allocate proportional --use test --draw)"
        )


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
