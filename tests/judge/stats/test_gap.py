"""Agreement against the gap between models: by hand, the blind line, laws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge.stats.gap import (
    EITHER_TIE,
    NO_DECISIVE,
    NO_ROWS,
    NO_VERDICT,
    TIE_VOTE,
    GapPoint,
    gap_points,
)

NAN = float("nan")
Row = tuple[str, str, str, float, float]
"""Question, model a, model b, vote, verdict."""
ROWS: list[Row] = [
    ("1", "p", "q", 1.0, 1.0),
    ("1", "q", "p", 0.0, 0.5),
    ("2", "p", "q", 0.0, 1.0),
    ("2", "p", "q", 0.5, 0.5),
    ("3", "p", "q", 1.0, 1.0),
    ("3", "p", "q", 1.0, NAN),
    ("3", "q", "r", 0.5, 0.5),
    ("3", "r", "s", 1.0, NAN),
    ("3", "s", "s", 1.0, 1.0),
]
scores = st.sampled_from([0.0, 0.5, 1.0])
some_rows = st.lists(
    st.tuples(
        st.sampled_from("123"),
        st.sampled_from("pqr"),
        st.sampled_from("pqr"),
        scores,
        scores | st.just(NAN),
    ),
    max_size=25,
)


def points(rows: list[Row]) -> tuple[GapPoint, ...]:
    if not rows:
        return gap_points([], [], [], [], [], "people")
    question, a, b, vote, verdict = zip(*rows, strict=True)
    return gap_points(question, a, b, vote, verdict, "people", resamples=20)


def test_by_hand() -> None:
    question, a, b, vote, verdict = zip(*ROWS, strict=True)
    near, tied, nothing = gap_points(question, a, b, vote, verdict, "people", resamples=200)
    assert [(x.model_a, x.model_b) for x in (near, tied, nothing)] == [
        ("p", "q"),
        ("q", "r"),
        ("r", "s"),
    ]
    # p against q: votes p, p, q, tie, p have a verdict.
    assert near.difference.value == pytest.approx((3 - 1) / 5)
    assert near.decisive.value == near.gap == pytest.approx((3 - 1) / 4)
    assert near.blind == pytest.approx(3 / 4)
    assert (near.s1.numerator, near.s1.n, near.s1.excluded) == (3, 5, {NO_VERDICT: 1})
    assert (near.s2.numerator, near.s2.n) == (2, 3)
    assert near.s2.excluded == {NO_VERDICT: 1, EITHER_TIE: 2}
    assert near.decisive.excluded == {NO_VERDICT: 1, TIE_VOTE: 1}
    assert near.s1.clusters == 3
    assert (tied.gap, tied.blind, tied.s1.value) == (None, None, 1.0)
    assert tied.decisive.reason == NO_DECISIVE
    assert nothing.s1.reason == NO_ROWS


def test_a_judge_that_knows_only_the_better_model_lies_on_the_line() -> None:
    rng = np.random.default_rng(0)
    question = [str(q) for q in range(50) for _ in range(4)]
    vote = rng.choice([0.0, 0.5, 1.0], 200, p=[0.2, 0.2, 0.6])
    (point,) = gap_points(question, ["p"] * 200, ["q"] * 200, vote, np.ones(200), "x", resamples=9)
    assert point.s2.value == pytest.approx(point.blind)
    assert point.s1.value == pytest.approx((vote == 1).mean())


@settings(deadline=None)
@given(some_rows)
def test_naming_and_order_of_rows_change_nothing(rows: list[Row]) -> None:
    turned = [
        (q, b, a, 1 - x, 1 - y) if n % 2 else (q, a, b, x, y)
        for n, (q, a, b, x, y) in enumerate(rows)
    ]
    assert points(turned[::-1]) == points(rows)


def test_renamed_models_mirror_the_difference_only() -> None:
    question, a, b, vote, verdict = zip(*ROWS[:6], strict=True)
    new = {"p": "z", "q": "y"}
    (plain,) = gap_points(question, a, b, vote, verdict, "x", resamples=99)
    (other,) = gap_points(
        question, [new[x] for x in a], [new[x] for x in b], vote, verdict, "x", resamples=99
    )
    assert plain.decisive.value is not None
    assert plain.decisive.low is not None
    assert other.decisive.value == -plain.decisive.value
    assert other.decisive.high == pytest.approx(-plain.decisive.low)
    assert (other.gap, other.s1, other.s2) == (plain.gap, plain.s1, plain.s2)
