"""Agreement beyond what knowing the two models explains: kappa with chance per model pair."""

from __future__ import annotations

import numpy as np

from judge.stats.agreement import S2
from judge.stats.coefficients import FloatArray, ratio, total, trace
from judge.stats.joint import Figure, IntArray, Statistic
from judge.stats.rows import NO_ROW, Rows, mirrored, model_pairs

NAME = "kappa_within_pair"
NO_VARIATION = "within each model pair only one category occurs, so chance agreement is already 1"


def within_pair_kappa(confusions: FloatArray) -> FloatArray:
    """(p − e) / (1 − e), p = Σ_g Σ_c n_gcc / n, e = Σ_g (1 / n) Σ_c n_gc. n_g.c / n_g.

    n_gij counts the rows of model pair g with vote i and verdict j; n_g are its rows, n all
    rows. Chance is what two independent judges would reach who know, for each pair of
    models, how often people and the judge choose each outcome, and nothing else. So

    - 1: always the same;
    - 0: no more than the names of the models explain. A judge with one fixed verdict per
      pair has exactly 0, however high its agreement;
    - below 0: less often than that.

    A pair in which vote or verdict never varies adds as much to p as to e. It is Cohen's
    kappa when there is one pair. Undefined without rows, and when e is 1.

    It is the average of the pairs' own kappas with weights n_g (1 − e_g). Source: W. Barlow,
    M.-Y. Lai and S. P. Azen, A comparison of methods for calculating a stratified kappa,
    Statistics in Medicine 10 (1991) 1465–1472, https://doi.org/10.1002/sim.4780100913, whose
    weights by table size, n_g, would give a pair without variation, whose own kappa is 0/0,
    no value.

    Args:
        confusions: shape (..., pairs, k, k).

    Returns:
        Shape (...).
    """
    rows, columns = total(confusions), total(confusions, -2)
    per_pair, margins = total(rows), total(rows * columns)
    expected = np.where(per_pair > 0, margins / np.where(per_pair > 0, per_pair, 1), 0)
    chance = expected.sum(-1)
    n = per_pair.sum(-1)
    agree = trace(confusions).sum(-1)
    # Rounding leaves 1e-16 where chance is 1, which a division would blow up.
    room = np.where(np.isclose(chance, n, rtol=1e-12, atol=0), 0, n - chance)
    return ratio(agree - chance, room)


def within_pair_figure(rows: Rows, population: str) -> Figure:
    """Within-pair kappa of a judge's rows.

    Rows of one pair are first named alike, whichever model is called a, so the value does
    not depend on naming. Where both models have one name (two versions, or both known only
    by a hash) which is a means nothing, and every row enters half as it is and half
    mirrored.
    """
    pair, turned, pairs = model_pairs(rows.frame)
    vote, verdict = mirrored(rows.vote, turned), mirrored(rows.verdict, turned)
    same_name = np.array([first == second for first, second in pairs], dtype=bool)[pair]
    cells = [9 * pair + 3 * vote + verdict, 9 * pair + 8 - (3 * vote + verdict)]
    weights = [np.where(same_name, 0.5, 1.0), np.where(same_name, 0.5, 0.0)]
    width = 9 * len(pairs)
    questions, counts = _spread(
        np.concatenate(cells), np.concatenate(weights), np.tile(rows.question, 2), width
    )
    return Figure(
        NAME,
        questions,
        counts,
        _statistic(rows.setup),
        population,
        n=len(vote),
        undefined=NO_VARIATION if len(vote) else NO_ROW[rows.setup],
        excluded=rows.excluded,
    )


def _spread(
    cell: IntArray, weight: FloatArray, question: IntArray, width: int
) -> tuple[IntArray, FloatArray]:
    """Weights added up by (question, cell), for the questions that occur."""
    questions, place = np.unique(question, return_inverse=True)
    flat = np.bincount(place * width + cell, weight, minlength=len(questions) * width)
    return questions.astype(np.int64), flat.astype(np.float64).reshape(len(questions), width)


def _statistic(setup: str) -> Statistic:
    kept = slice(None, None, 2) if setup == S2 else slice(None)

    def statistic(totals: FloatArray) -> FloatArray:
        tables = totals.reshape(*totals.shape[:-1], -1, 3, 3)
        return within_pair_kappa(tables[..., kept, kept])

    return statistic
