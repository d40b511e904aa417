"""Bradley–Terry strengths from verdicts on pairs, with intervals that respect questions.

P(i is preferred to j) = 1 / (1 + exp(θ_j − θ_i)). A tie counts as half a win for each side.

The likelihood has a maximum only where a chain of wins leads from every model to every other
(Ford's condition: the graph of "was preferred to at least once", ties both ways, is strongly
connected). Where it is not, some strengths run off to infinity or cannot be compared. Such
models are unranked, with the reason; the largest group of models that are connected with each
other is ranked by the verdicts within it.

Sources: R. A. Bradley and M. E. Terry, Rank Analysis of Incomplete Block Designs, Biometrika 39
(1952) 324–345, https://doi.org/10.2307/2334029; L. R. Ford, Solution of a Ranking Problem from
Binary Comparisons, American Mathematical Monthly 64 (1957) 28–33,
https://doi.org/10.2307/2308513; D. R. Hunter, MM Algorithms for Generalized
Bradley–Terry Models, Annals of Statistics 32 (2004) 384–406,
https://doi.org/10.1214/aos/1079120141 (when the maximum exists).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judge.stats.coefficients import FloatArray
from judge.stats.estimate import Estimate
from judge.stats.intervals import percentile_interval, resampled_totals
from judge.stats.wins import Wins

NAME = "bradley_terry"
NO_VERDICT = "unranked: no usable verdict"
NEVER_WINS = "unranked: never wins, so its strength is below any number"
NEVER_LOSES = "unranked: never loses, so its strength is above any number"
APART = "unranked: not compared with the ranked models, directly or through others"
NO_GROUP = "unranked: no two models are connected by wins in both directions"
ONE_WAY = "unranked: no chain of wins leads both to and from the ranked models"
OUTSIDE = "verdict with an unranked model"

CELLS = 2_000_000
"""Numbers held per resample chunk and array (16 MB)."""
STEPS = 60
"""Newton needs 5 to 10; more means that the maximum is beyond reach of floating point."""
TOLERANCE = 1e-10


@dataclass(frozen=True, slots=True)
class Strength:
    """One model's mean-centred log strength over the ranked models.

    0 is the average of the ranked models; a difference of θ between two models is odds of
    e^θ for the stronger: 0 is ½, 1 is .73, −1 is .27.
    """

    model: str
    strength: Estimate
    """`value` is None where the model is unranked; `n` counts the model's verdicts."""

    @property
    def ranked(self) -> bool:
        """Whether it has a strength."""
        return self.strength.value is not None


def bradley_terry(
    wins: Wins,
    population: str,
    *,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> tuple[Strength, ...]:
    """Strengths of all models, strongest first; unranked ones last, by name.

    Intervals are percentiles over resampled questions. A resample whose verdicts no longer
    connect the ranked models has no strengths; it is dropped, and counted in the method.

    Args:
        wins: from :func:`judge.stats.wins.count_wins`.
        population: whose judgments about what, in words.
        level: confidence level, in (0, 1).
        resamples: how many, ≥ 1.
        seed: same seed and verdicts, same intervals.
    """
    totals = wins.table.sum(0)
    group = ranked_group(len(wins.models), wins.pairs, totals)
    inside = np.isin(wins.pairs, group).all(-1)
    pairs = np.searchsorted(group, wins.pairs[inside])
    values = strengths(len(group), pairs, totals[None, inside])[0]
    drawn = np.empty((0, len(group)))
    if len(group):
        flat = wins.table[:, inside].reshape(len(wins.questions), -1)
        sums = resampled_totals(flat, resamples=resamples, seed=seed)
        drawn = strengths(len(group), pairs, sums.reshape(resamples, -1, 2), start=values)
    rows = []
    for model, name in enumerate(wins.models):
        part = (wins.pairs == model).any(-1)
        if model not in group:
            n, clusters = _counted(wins.table[:, part])
            reason = _why(model, wins.pairs, totals, group)
            made = Estimate(NAME, None, population, n, clusters, reason, level=level)
        else:
            n, clusters = _counted(wins.table[:, part & inside])
            at = int(np.searchsorted(group, model))
            interval = percentile_interval(drawn[:, at], clusters=clusters, level=level)
            made = Estimate(
                name=NAME,
                value=float(values[at]),
                population=population,
                n=n,
                clusters=clusters,
                reason=interval.reason,
                low=interval.low,
                high=interval.high,
                level=level,
                method=interval.method,
                excluded=_outside(totals[part & ~inside]),
            )
        rows.append(Strength(name, made))
    return tuple(sorted(rows, key=_best_first))


def ranked_group(models: int, pairs: NDArray[np.int64], totals: FloatArray) -> NDArray[np.int64]:
    """Indices of the most models that are connected with each other by wins, sorted.

    Between groups of one size the one with more verdicts counts, then the one that holds the
    first model. Empty where no two models are connected. `totals` has shape (pairs, 2).
    """
    reach = _reach(_preferred(models, pairs, totals[None]))[0]
    mutual = reach & reach.T
    best, key = np.empty(0, dtype=np.int64), (1, 0.0)
    for members in np.unique(mutual, axis=0)[::-1]:
        played = float(totals[members[pairs].all(-1)].sum())
        if (int(members.sum()), played) > key:
            best, key = np.flatnonzero(members), (int(members.sum()), played)
    return best


def strengths(
    models: int,
    pairs: NDArray[np.int64],
    totals: FloatArray,
    *,
    start: FloatArray | None = None,
) -> FloatArray:
    """Maximum-likelihood log strengths with mean 0, of many resamples at once.

    Args:
        models: how many.
        pairs: shape (pairs, 2), indices of the two models.
        totals: shape (resamples, pairs, 2), wins of the first and of the second.
        start: shape (models,), e.g. the strengths in the whole sample; None for all equal.

    Returns:
        Shape (resamples, models); a row is nan where there is no maximum.
    """
    found = np.full((len(totals), models), np.nan)
    if models < 2:
        return found
    origin = np.zeros(models) if start is None else start
    size = max(1, CELLS // (models * models))
    for begin in range(0, len(totals), size):
        part = totals[begin : begin + size]
        exists = _reach(_preferred(models, pairs, part)).all((-2, -1))
        chunk = found[begin : begin + size]
        chunk[exists] = _newton(pairs, part[exists], np.tile(origin, (int(exists.sum()), 1)))
    return found


def _newton(pairs: NDArray[np.int64], totals: FloatArray, theta: FloatArray) -> FloatArray:
    """Climb from `theta`, halving each step that would lower the likelihood.

    The log likelihood is strictly concave once the mean is fixed, so this ends at its maximum.
    """
    first, second = pairs.T
    played = totals.sum(-1)
    models = theta.shape[-1]
    height = _log_likelihood(pairs, totals, theta)
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(theta[:, second] - theta[:, first]))
        surplus = totals[..., 0] - played * chance
        bend = played * chance * (1 - chance)
        slope = np.zeros_like(theta)
        # The added constant fixes the mean: strengths are known up to a shift only.
        curve = np.full((len(theta), models, models), 1 / models)
        for pair, (i, j) in enumerate(pairs):
            slope[:, i] += surplus[:, pair]
            slope[:, j] -= surplus[:, pair]
            curve[:, i, i] += bend[:, pair]
            curve[:, j, j] += bend[:, pair]
            curve[:, i, j] -= bend[:, pair]
            curve[:, j, i] -= bend[:, pair]
        step = np.linalg.solve(curve, slope[..., None])[..., 0]
        climbed = _log_likelihood(pairs, totals, theta + step)
        while (lower := climbed < height - 1e-9 * np.abs(height)).any():
            step[lower] /= 2
            climbed = _log_likelihood(pairs, totals, theta + step)
        theta, height = theta + step, climbed
        moved = np.abs(step).max(-1, initial=0)
        if (moved < TOLERANCE).all():
            break
    theta[moved >= TOLERANCE] = np.nan
    centred: FloatArray = theta - theta.mean(-1, keepdims=True)
    return centred


def _log_likelihood(pairs: NDArray[np.int64], totals: FloatArray, theta: FloatArray) -> FloatArray:
    lead = theta[:, pairs[:, 0]] - theta[:, pairs[:, 1]]
    lost = totals[..., 0] * np.logaddexp(0, -lead) + totals[..., 1] * np.logaddexp(0, lead)
    height: FloatArray = -lost.sum(-1)
    return height


def _preferred(models: int, pairs: NDArray[np.int64], totals: FloatArray) -> NDArray[np.bool_]:
    """Shape (resamples, models, models): whether i was preferred to j, or tied, at least once."""
    edges = np.zeros((len(totals), models, models), dtype=np.bool_)
    edges[:, pairs[:, 0], pairs[:, 1]] = totals[..., 0] > 0
    edges[:, pairs[:, 1], pairs[:, 0]] = totals[..., 1] > 0
    return edges


def _reach(edges: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether a chain of edges leads from i to j; every model reaches itself."""
    models = edges.shape[-1]
    reach = (edges | np.eye(models, dtype=np.bool_)).astype(np.float32)
    for _ in range(max(1, models - 1).bit_length()):
        if reach.all():
            break
        reach = (reach @ reach > 0).astype(np.float32)
    return reach > 0


def _why(model: int, pairs: NDArray[np.int64], totals: FloatArray, group: NDArray[np.int64]) -> str:
    """The reason why a model is in no ranking."""
    mine = pairs == model
    won, lost = totals[mine].sum(), totals[mine[:, ::-1]].sum()
    if not won + lost:
        return NO_VERDICT
    either = _preferred(int(pairs.max()) + 1, pairs, totals[None] + totals[None, :, ::-1])
    if len(group) and not _reach(either)[0, model, group[0]]:
        return APART
    if not won:
        return NEVER_WINS
    if not lost:
        return NEVER_LOSES
    return ONE_WAY if len(group) else NO_GROUP


def _counted(table: FloatArray) -> tuple[int, int]:
    """Verdicts, and questions with one."""
    return round(float(table.sum())), int((table.sum((-2, -1)) > 0).sum())


def _outside(totals: FloatArray) -> dict[str, int]:
    n = round(float(totals.sum()))
    return {OUTSIDE: n} if n else {}


def _best_first(row: Strength) -> tuple[float, str]:
    value = row.strength.value
    return (np.inf if value is None else -value), row.model
