"""The length effect: statsmodels' GLM, what cannot be told, simulation, laws."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st

from judge.stats import length_effect as module
from judge.stats.length_effect import length_effect
from judge.stats.verbosity import NO_LENGTH, NO_VALUE, Preferences
from judge.stats.wins import ONE_NAME

MODELS = ("p", "q", "r", "s")


def study(seed: int, beta: float = 0.8, questions: int = 40, per_question: int = 8) -> Preferences:
    """Verdicts with model strengths, ties, and one length habit per question."""
    rng = np.random.default_rng(seed)
    strength = dict(zip(MODELS, (0.8, 0.2, 0.0, -1.0), strict=True))
    names, a, b, score, long_a, long_b = [], [], [], [], [], []
    for question in range(questions):
        mood = rng.normal(0, 0.3)
        for _ in range(per_question):
            one, other = rng.choice(MODELS, 2, replace=False)
            x, y = rng.lognormal(5, 0.7, 2).round() + 1
            lead = strength[one] - strength[other] + (beta + mood) * np.log2(x / y)
            won = float(rng.random() < 1 / (1 + np.exp(-lead)))
            names.append(str(question))
            a.append(str(one))
            b.append(str(other))
            score.append(0.5 if rng.random() < 0.15 else won)
            long_a.append(x)
            long_b.append(y)
    return Preferences(names, a, b, np.array(score), np.array(long_a), np.array(long_b))


def turned(source: Preferences, flips: list[bool]) -> Preferences:
    """The same verdicts, some with the two models named the other way round, rows reversed."""
    rows = zip(
        source.question, source.model_a, source.model_b,
        np.asarray(source.score), np.asarray(source.length_a), np.asarray(source.length_b),
        flips, strict=True,
    )  # fmt: skip
    new = [
        (q, b, a, 1 - s, y, x) if flip else (q, a, b, s, x, y) for q, a, b, s, x, y, flip in rows
    ]
    q, a, b, s, x, y = zip(*new[::-1], strict=True)
    return Preferences(q, a, b, s, x, y)


@pytest.mark.parametrize("pairs", [True, False])
@pytest.mark.parametrize("seed", [1, 2])
def test_estimate_and_standard_error_are_those_of_statsmodels(pairs: bool, seed: int) -> None:
    source = study(seed)
    ours = length_effect(source, "x", pairs=pairs)
    ratio = np.log2(np.asarray(source.length_a) / np.asarray(source.length_b))
    columns = [ratio]
    names = list(zip(source.model_a, source.model_b, strict=True))
    if pairs:
        for pair in sorted({tuple(sorted(x)) for x in names}):
            columns.append(np.array([(x == pair) - (x[::-1] == pair) for x in names], float))
    fit = sm.GLM(source.score, np.stack(columns, 1), family=sm.families.Binomial()).fit(
        cov_type="cluster",
        cov_kwds={"groups": np.array(source.question, dtype=int)},
        use_t=True,
        df_resid=39,
        tol=1e-12,
    )
    assert ours.value == pytest.approx(fit.params[0], abs=1e-8)
    assert ours.high is not None
    assert ours.value is not None
    # t with 39 degrees of freedom at 97.5 %: 2.02269.
    assert (ours.high - ours.value) / 2.0226909 == pytest.approx(fit.bse[0], rel=1e-6)
    assert (ours.n, ours.clusters) == (320, 40)
    assert "39 degrees of freedom" in ours.method


def test_intervals_cover_in_simulation() -> None:
    hits = 0
    for seed in range(300):
        source = study(seed, questions=25)
        # Without the ties, which are half a win each and so shrink what they are made from.
        decisive = np.where(np.asarray(source.score) == 0.5, np.nan, source.score)
        made = length_effect(replace(source, score=decisive), "x")
        assert made.low is not None
        assert made.high is not None
        hits += made.low <= 0.8 <= made.high
    # sd of a share of 300 at .95: .013
    assert 0.91 <= hits / 300 <= 0.985


def of(*rows: tuple[str, str, str, float, float, float]) -> Preferences:
    q, a, b, s, x, y = zip(*rows, strict=True)
    return Preferences(q, a, b, s, x, y)


EVEN = [("1", "p", "q", 1.0, 200.0, 100.0), ("2", "p", "q", 0.0, 210.0, 100.0)]


@pytest.mark.parametrize("pairs", [True, False])
@pytest.mark.parametrize(
    ("source", "with_pairs", "without"),
    [
        (of(("1", "p", "q", np.nan, 2, 1)), module.NO_ROWS, module.NO_ROWS),
        (of(("1", "p", "q", 1, np.nan, 1)), module.NO_ROWS, module.NO_ROWS),
        # One model always wins: with a term of its own the pair says nothing.
        (of(("1", "p", "q", 1, 2, 1), ("2", "p", "q", 1, 1, 2)), module.NO_ROWS, None),
        # p is always twice as long as q.
        (of(("1", "p", "q", 1, 2, 1), ("2", "p", "q", 0, 4, 2)), module.NO_VARIATION, None),
        (
            of(("1", "p", "q", 1, 2, 2), ("2", "p", "q", 0, 3, 3)),
            module.NO_VARIATION,
            module.ALL_EQUAL,
        ),
        # The longer answer always wins.
        (
            of(("1", "p", "q", 1, 2, 1), ("2", "p", "q", 0, 1, 3)),
            module.SEPARATED,
            module.SEPARATED,
        ),
        # ... and a tie of equals is no exception.
        (
            of(("1", "p", "q", 1, 2, 1), ("2", "p", "q", 0, 1, 3), ("3", "p", "q", 0.5, 1, 1)),
            module.SEPARATED,
            module.SEPARATED,
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_told_is_undefined_with_the_reason(
    source: Preferences, with_pairs: str, without: str | None, pairs: bool
) -> None:
    made = length_effect(source, "x", pairs=pairs)
    reason = with_pairs if pairs else without
    assert (made.value is None) == (reason is not None)
    assert reason is None or made.reason == reason


def test_one_separated_pair_does_not_hide_the_others() -> None:
    source = of(
        ("1", "p", "q", 1, 2, 1), ("2", "p", "q", 0, 1, 3),
        ("1", "p", "r", 1, 2, 1), ("2", "p", "r", 1, 1, 3), ("3", "p", "r", 0, 4, 1),
    )  # fmt: skip
    made = length_effect(source, "x")
    assert made.value is not None
    assert made.n == 5


def test_left_out_is_counted() -> None:
    rows = [
        *EVEN,
        ("1", "p", "q", 1.0, 300.0, 100.0),
        ("3", "p", "q", 1.0, 100.0, 0.0),
        ("3", "p", "p", 1.0, 100.0, 50.0),
        ("3", "p", "r", 1.0, 100.0, 50.0),
        ("3", "p", "q", np.nan, 100.0, 50.0),
        ("3", "p", "q", 1.0, np.nan, 50.0),
    ]
    made = length_effect(of(*rows), "x")
    assert made.n == 3
    assert made.excluded == {
        module.EMPTY: 1,
        ONE_NAME: 1,
        module.ONE_SIDED: 1,
        NO_VALUE: 1,
        NO_LENGTH: 1,
    }


def test_one_question_has_a_value_and_no_interval() -> None:
    rows = [("1", *row[1:]) for row in (*EVEN, ("1", "p", "q", 1.0, 300.0, 100.0))]
    made = length_effect(of(*rows), "x")
    assert made.value is not None
    assert (made.low, made.reason) == (None, module.ONE_QUESTION)


def test_level_is_checked_before_anything_else() -> None:
    with pytest.raises(ValueError, match="level 95: expected a number between 0 and 1"):
        length_effect(of(("1", "p", "q", np.nan, 2, 1)), "x", level=95)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 9), st.lists(st.booleans(), min_size=64, max_size=64), st.booleans())
def test_naming_and_order_change_nothing_mirrors_mirror(
    seed: int, flips: list[bool], pairs: bool
) -> None:
    source = study(seed, questions=8)
    plain = length_effect(source, "x", pairs=pairs)
    same = length_effect(turned(source, flips), "x", pairs=pairs)
    assert same.value == pytest.approx(plain.value, abs=1e-9)
    assert same.low == pytest.approx(plain.low, abs=1e-9)
    mirrored = replace(source, score=1 - np.asarray(source.score))
    other = length_effect(mirrored, "x", pairs=pairs)
    assert plain.value is not None
    assert plain.low is not None
    assert other.value == pytest.approx(-plain.value, abs=1e-9)
    assert other.high == pytest.approx(-plain.low, abs=1e-9)
