"""Figures from one joint cluster bootstrap: functions of counts that add up over questions.

A :class:`Figure` is a statistic with its counts per question. All figures that go through
:func:`estimates` together see the same resampled questions, so a difference of two shares is
simply a figure with the columns of both. With the same questions and seed the resamples are
also those of the agreement report.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from judge.stats.coefficients import FloatArray, ratio
from judge.stats.estimate import Estimate
from judge.stats.intervals import CHUNK_CELLS, cluster_weights, percentile_interval, skew

IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]
Key = TypeVar("Key", bound=Hashable)

Statistic: TypeAlias = Callable[[FloatArray], FloatArray]
"""Column totals, shape (..., columns), to values of shape (...); nan is undefined."""

SPARSE = 16
"""Figures on fewer than 1 in SPARSE questions have their weights picked out; multiplying by
zeros costs less than that for all others, which then go through one matrix product."""

IDENTICAL = "exact: the two judgments are the same on every row"


@dataclass(frozen=True, slots=True)
class Figure:
    """One statistic, before its value and interval are computed."""

    name: str
    questions: IntArray
    """Indices of the questions that contribute, ascending; shape (questions,)."""
    counts: FloatArray
    """Shape (questions, columns)."""
    statistic: Statistic
    population: str
    n: int
    """Rows."""
    undefined: str
    """Why there is no value, should there be none."""
    excluded: Mapping[str, int] = field(default_factory=dict)
    numerator: int | None = None
    denominator: int | None = None
    identical: bool = False
    """A difference of two judgments that are equal row by row: 0 in any sample."""
    skewed: bool = False
    """Plain percentiles hold the truth too seldom: the interval is corrected (BCa)."""

    def value(self) -> float | None:
        """The point value; None is undefined."""
        found = float(self.statistic(self.counts.sum(0)))
        return None if np.isnan(found) else found

    def left_out(self) -> FloatArray:
        """The value without each contributing question; shape (questions,), nan is undefined."""
        return self.statistic(self.counts.sum(0) - self.counts)


def estimates(
    figures: Mapping[Key, Figure], clusters: int, *, level: float, resamples: int, seed: int
) -> dict[Key, Estimate]:
    """Values with bootstrap intervals, all from the same resampled questions.

    Args:
        figures: any number of them.
        clusters: questions in all: the indices of every figure are below it.
        level: confidence level, in (0, 1).
        resamples: how many, ≥ 1.
        seed: same seed and counts, same intervals.
    """
    draws = drawn(figures, clusters, resamples=resamples, seed=seed)
    return {key: estimate(one, draws[key], level=level) for key, one in figures.items()}


def drawn(
    figures: Mapping[Key, Figure], clusters: int, *, resamples: int, seed: int
) -> dict[Key, FloatArray]:
    """The value of every figure in every resample of the questions, each of shape (resamples,).

    Undefined is nan; so is everything where there is no question at all.
    """
    found = {key: np.full(resamples, np.nan) for key in figures}
    if clusters == 0:
        return found
    groups = _alike(figures, clusters)
    start = 0
    for chunk in cluster_weights(clusters, resamples=resamples, seed=seed):
        stop = start + len(chunk)
        for group in groups:
            for key, values in group.resampled(chunk).items():
                found[key][start:stop] = values
        start = stop
    return found


def estimate(figure: Figure, draws: FloatArray, *, level: float) -> Estimate:
    """One figure's value with the interval that its draws, shape (resamples,), give."""
    value = figure.value()
    made = Estimate(
        name=figure.name,
        value=value,
        reason="" if value is not None else figure.undefined,
        population=figure.population,
        n=figure.n,
        clusters=len(figure.questions),
        level=level,
        excluded=figure.excluded,
        numerator=figure.numerator,
        denominator=figure.denominator,
    )
    if value is None:
        return made
    if figure.identical:
        return replace(made, low=0.0, high=0.0, method=IDENTICAL)
    corrected = skew(draws, value, figure.left_out()) if figure.skewed else None
    interval = percentile_interval(
        draws, clusters=len(figure.questions), level=level, corrected=corrected
    )
    return replace(
        made,
        low=interval.low,
        high=interval.high,
        method=interval.method,
        reason=interval.reason,
    )


def share(
    name: str,
    top: FloatArray,
    bottom: FloatArray,
    question: IntArray,
    population: str,
    undefined: str,
    excluded: Mapping[str, int] | None = None,
    *,
    n: int | None = None,
) -> Figure:
    """Σ top / Σ bottom over rows: a share, or a weighted mean.

    Args:
        name: of the statistic.
        top: shape (rows,), the hits, or their weights.
        bottom: shape (rows,), 1 per row, or its weight.
        question: index of each row's question, shape (rows,).
        population: whose judgments about what, in words.
        undefined: why there is no value when `bottom` comes to 0.
        excluded: what is not in the figure, by reason.
        n: how many rows, where `top` and `bottom` are sums of several already.
    """
    columns = np.column_stack([top, bottom]).astype(np.float64)
    questions, counts = summed(columns, question)
    hits, total = float(columns[:, 0].sum()), float(columns[:, 1].sum())
    whole = hits.is_integer() and total.is_integer()
    return Figure(
        name,
        questions,
        counts,
        quotient,
        population,
        n=len(columns) if n is None else n,
        undefined=undefined,
        excluded=excluded or {},
        numerator=int(hits) if whole else None,
        denominator=int(total) if whole else None,
    )


def difference(
    name: str,
    first: FloatArray,
    second: FloatArray,
    bottom: FloatArray,
    question: IntArray,
    population: str,
    undefined: str,
    excluded: Mapping[str, int] | None = None,
    *,
    n: int | None = None,
) -> Figure:
    """(Σ first − Σ second) / Σ bottom: two shares of the same rows, subtracted.

    Above 0 the first is larger, 0 they are equal. Arguments as in :func:`share`.
    """
    gap = first - second
    made = share(name, gap, bottom, question, population, undefined, excluded, n=n)
    equal = bool(len(first)) and bool(np.array_equal(first, second))
    return replace(made, numerator=None, denominator=None, identical=equal)


def summed(columns: FloatArray, question: IntArray) -> tuple[IntArray, FloatArray]:
    """Rows of shape (rows, columns) added up by question: (indices, counts) of those that occur."""
    used = (columns != 0).any(1)
    questions, place = np.unique(question[used], return_inverse=True)
    added = [np.bincount(place, column, minlength=len(questions)) for column in columns[used].T]
    return questions.astype(np.int64), np.column_stack(added)


def quotient(totals: FloatArray) -> FloatArray:
    """First column / second; shape (..., 2) → (...)."""
    return ratio(totals[..., 0], totals[..., 1])


def _alike(figures: Mapping[Key, Figure], clusters: int) -> list[_Stack[Key]]:
    """Figures on many questions together, others with those on the same few."""
    wide: dict[Key, Figure] = {}
    groups: dict[bytes, dict[Key, Figure]] = {}
    for key, one in figures.items():
        if len(one.questions) * SPARSE >= clusters:
            wide[key] = one
        else:
            groups.setdefault(one.questions.tobytes(), {})[key] = one
    stacks = [_Stack(group, next(iter(group.values())).questions) for group in groups.values()]
    everything = np.arange(clusters, dtype=np.int64)
    return [*stacks, _Stack(wide, everything)] if wide else stacks


class _Stack(Generic[Key]):
    """Figures side by side on a list of questions, each array of counts once."""

    def __init__(self, figures: Mapping[Key, Figure], questions: IntArray) -> None:
        self._figures = figures
        self._questions = questions
        distinct = {id(one.counts): one for one in figures.values()}
        ends = np.cumsum([one.counts.shape[1] for one in distinct.values()])
        columns = {
            name: slice(int(end) - one.counts.shape[1], int(end))
            for (name, one), end in zip(distinct.items(), ends, strict=True)
        }
        self._counts = np.zeros((len(questions), int(ends[-1])))
        for name, one in distinct.items():
            self._counts[np.searchsorted(questions, one.questions), columns[name]] = one.counts
        self._columns = {key: columns[id(one.counts)] for key, one in figures.items()}

    def resampled(self, weights: FloatArray) -> dict[Key, FloatArray]:
        """Values per row of weights, in pieces: wide counts must not fill the memory."""
        everything = len(self._questions) == weights.shape[1]
        chosen = weights if everything else weights[:, self._questions]
        step = max(1, CHUNK_CELLS // max(1, self._counts.shape[1]))
        pieces: dict[Key, list[FloatArray]] = {key: [] for key in self._figures}
        for start in range(0, len(weights), step):
            totals = chosen[start : start + step] @ self._counts
            for key, one in self._figures.items():
                pieces[key].append(one.statistic(totals[:, self._columns[key]]))
        return {key: np.concatenate(piece) for key, piece in pieces.items()}
