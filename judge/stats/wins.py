"""Verdicts on pairs of models as counts per question: what rankings are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judge.stats.coefficients import FloatArray, ratio

ONE_NAME = "two versions of one model"
NO_VALUE = "no value"

SCORES = (0.0, 0.5, 1.0)
"""What a verdict gives its first model: lost, tied, won."""


@dataclass(frozen=True, slots=True)
class Wins:
    """Who was preferred to whom, per question; a tie is half a win for each.

    Sums over questions are all that Bradley–Terry and win rates need, so a resample of the
    questions is a product of weights with :attr:`table`.
    """

    models: tuple[str, ...]
    """Sorted; every model that a verdict names, counted or not."""
    questions: tuple[str, ...]
    """Sorted: their order decides the resamples."""
    pairs: NDArray[np.int64]
    """Shape (pairs, 2): indices into `models`, first < second."""
    table: FloatArray
    """Shape (questions, pairs, 2): wins of the pair's first model, of its second."""
    excluded: Mapping[str, int]
    """Verdicts that count nowhere, by reason."""

    def rates(self, totals: FloatArray) -> FloatArray:
        """(wins + ties / 2) / n of every model, from totals of shape (..., pairs, 2).

        1 preferred to all others always, ½ as good as they, 0 never preferred; nan without
        a verdict. Shape (..., models).
        """
        gained = np.zeros((*totals.shape[:-2], len(self.models)))
        played = np.zeros_like(gained)
        for index, (first, second) in enumerate(self.pairs):
            both = totals[..., index, :].sum(-1)
            for side, model in enumerate((first, second)):
                gained[..., model] += totals[..., index, side]
                played[..., model] += both
        return ratio(gained, played)


def count_wins(
    question: Sequence[str],
    model_a: Sequence[str],
    model_b: Sequence[str],
    score: Sequence[float] | FloatArray,
    *,
    questions: Sequence[str] = (),
) -> Wins:
    """Count verdicts; which model is called a or b, and the order of rows, change nothing.

    Args:
        question: what is resampled, one per verdict; shape (verdicts,).
        model_a: likewise.
        model_b: likewise.
        score: of a: 1 preferred, ½ tie, 0 b preferred, nan no value (excluded, counted).
        questions: questions that are resampled too though they have no verdict here, so
            that two sources of verdicts can share their resamples.

    Raises:
        ValueError: another score, or sequences of unequal length.
    """
    values = scores(score)
    if not len(question) == len(model_a) == len(model_b) == len(values):
        raise ValueError("question, model_a, model_b, score: expected one entry per verdict each")
    models = sorted({*model_a, *model_b})
    names = sorted({*question, *questions})
    a, b = codes(model_a, models), codes(model_b, models)
    same, missing = a == b, np.isnan(values)
    reasons = {ONE_NAME: int(same.sum()), NO_VALUE: int((missing & ~same).sum())}
    kept = ~(same | missing)
    a, b, values = a[kept], b[kept], values[kept]
    first, second = np.minimum(a, b), np.maximum(a, b)
    first_score = np.where(a < b, values, 1 - values)
    flat, place = np.unique(first * len(models) + second, return_inverse=True)
    pairs = np.stack(np.divmod(flat, max(1, len(models))), axis=-1).astype(np.int64)
    cell = codes(question, names)[kept] * len(pairs) + place
    size = len(names) * len(pairs)
    sides = [np.bincount(cell, part, minlength=size) for part in (first_score, 1 - first_score)]
    table = np.stack(sides, axis=-1).astype(np.float64).reshape(len(names), len(pairs), 2)
    excluded = {reason: n for reason, n in reasons.items() if n}
    return Wins(tuple(models), tuple(names), pairs, table, excluded)


def scores(values: Sequence[float] | FloatArray) -> FloatArray:
    """Scores as an array: 1 for the first model, ½ tie, 0 for the second, nan no value.

    Raises:
        ValueError: another number.
    """
    found = np.asarray(values, dtype=np.float64)
    strange = found[~np.isnan(found) & ~np.isin(found, SCORES)]
    if len(strange):
        raise ValueError(f"score {strange[0]}: expected 1, 0.5, 0 or nan")
    return found


def codes(names: Sequence[str], known: Sequence[str]) -> NDArray[np.int64]:
    """The place of every name in `known`; shape as `names`."""
    place = {name: index for index, name in enumerate(known)}
    return np.fromiter((place[name] for name in names), dtype=np.int64, count=len(names))
