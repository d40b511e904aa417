"""The design effect of a share: a formula for balanced questions, edges, the jackknife's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import f_oneway

from judge.stats.design_effect import ALL_ALIKE, NO_ROWS, ONE_QUESTION, design_effect
from judge.stats.raters import row_components
from tests.judge.stats.tables import made, study


def balanced(seed: int, questions: int, each: int) -> tuple[np.ndarray, np.ndarray]:
    """Hits whose chance varies by question; shape (questions, each), and the questions."""
    rng = np.random.default_rng(seed)
    chance = rng.beta(2, 1, questions)
    hits = (rng.random((questions, each)) < chance[:, None]).astype(float)
    return hits, np.repeat(np.arange(questions), each)


@pytest.mark.parametrize(("questions", "each"), [(30, 5), (80, 12), (200, 2)])
def test_balanced_questions_follow_the_formula_of_the_analysis_of_variance(
    questions: int, each: int
) -> None:
    # V_question is MSB / n and V_vote is SST / (n − 1) / n with n = C m, so deff = MSB (n − 1) /
    # SST; F = MSB / MSW from scipy, and SST = (C − 1) MSB + C (m − 1) MSW.
    hits, question = balanced(questions, questions, each)
    f = float(f_oneway(*hits).statistic)
    n = questions * each
    by_hand = f * (n - 1) / ((questions - 1) * f + questions * (each - 1))
    found = design_effect(hits.ravel(), question)
    assert found.value == pytest.approx(by_hand, rel=1e-12)
    # And Kish's 1 + (m − 1) ρ, ρ the intraclass correlation, but for C / (C − 1).
    rho = (f - 1) / (f + each - 1)
    assert found.value == pytest.approx(1 + (each - 1) * rho, rel=2 / questions)
    assert found.width == pytest.approx(by_hand**0.5)
    assert (found.n, found.clusters) == (n, questions)


def test_copies_of_a_vote_say_nothing_new() -> None:
    # m copies of each of C votes: (C m − 1) / (C − 1), about m.
    hits = np.array([1.0, 0, 1, 1, 0, 0, 1, 0])
    found = design_effect(np.repeat(hits, 4), np.repeat(np.arange(8), 4))
    assert found.value == pytest.approx(31 / 7)


def test_one_vote_per_question_costs_nothing() -> None:
    hits = np.array([1.0, 0, 1, 1, 0, 0, 1, 0])
    assert design_effect(hits, np.arange(8)).value == pytest.approx(1)


def test_votes_that_balance_out_within_a_question_are_below_one() -> None:
    found = design_effect(np.array([1.0, 0, 1, 0, 1, 0]), np.array([0, 0, 1, 1, 2, 2]))
    assert found.value == 0


@pytest.mark.parametrize(
    ("hits", "question", "reason"),
    [([], [], NO_ROWS), ([1, 0], [3, 3], ONE_QUESTION), ([1, 1], [0, 1], ALL_ALIKE)],
)
def test_undefined_has_a_reason(hits: list[int], question: list[int], reason: str) -> None:
    found = design_effect(np.array(hits, dtype=float), np.array(question, dtype=np.int64))
    assert (found.value, found.width, found.reason) == (None, None, reason)


def test_about_the_same_as_by_leaving_out() -> None:
    rows = made(study(4, questions=60)).rows()
    expected = row_components(rows).design_effect
    assert design_effect(rows.agree, rows.question).value == pytest.approx(expected, rel=0.02)
