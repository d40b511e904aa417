"""The cluster bootstrap: equal to explicit resampling, honest in simulation."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from judge.stats import intervals
from judge.stats.agreement import Votes, pair_judgments, select_verdicts, select_votes
from judge.stats.intervals import (
    Skew,
    cluster_weights,
    percentile_interval,
    resampled_totals,
    skew,
)
from judge.stats.joint import quotient
from judge.stats.views import of_block

VALUES = ["a", "tie", "b", "both_bad"]


def study(seed: int, questions: int) -> pd.DataFrame:
    """Uneven votes of up to four raters, and a judge, on two pairs and two turns."""
    rng = np.random.default_rng(seed)
    rows = []
    for question in range(questions):
        for unit in (f"{question}:x", f"{question}:y"):
            for turn in (1, 2):
                for source in ["judge", "r1", "r2", "r3", "r4"][: rng.integers(1, 6)]:
                    judge = source == "judge"
                    rows.append(
                        {
                            "unit_id": unit,
                            "subject": "pair",
                            "question_id": question,
                            "model_a": "alder",
                            "model_b": "birch",
                            "turn": turn,
                            "dimension": "overall",
                            "source_kind": "judge" if judge else "rater",
                            "source_id": source,
                            "rater_group": "crowd",
                            "layer": "vote",
                            "occurrence": 1,
                            "purpose": "estimation",
                            "value": VALUES[rng.choice(4, p=[0.5, 0.2, 0.2, 0.1])],
                            "status": "ok",
                        }
                    )
    return pd.DataFrame(rows)


def values(table: pd.DataFrame) -> dict[tuple[str, int | None, str, str], float]:
    """Every statistic of every view of a table, straight from its rows."""
    return {
        (view.comparison, view.turn, view.setup, name): float(statistic(view.counts.sum(0)))
        for view in of_block(*_selected(table))
        for name, statistic in view.statistics.items()
    }


def _selected(table: pd.DataFrame) -> tuple[Votes, dict[str, pd.DataFrame]]:
    judgments = pair_judgments(table)
    votes = select_votes(judgments, "overall", groups=None, simulated=False)
    return votes, {"judge": select_verdicts(judgments, "overall", "judge")}


def test_weights_times_counts_equal_copied_rows() -> None:
    # Questions are copied as often as their weight says, as new questions with new units,
    # and everything is counted from the rows again.
    table = study(seed=5, questions=9)
    views = of_block(*_selected(table))
    weights = np.vstack(list(cluster_weights(9, resamples=6, seed=1)))
    for number, weight in enumerate(weights):
        copies = []
        for question, times in enumerate(weight.astype(int)):
            for copy in range(times):
                part = table[table["question_id"] == question]
                marked = part["unit_id"] + f"#{copy}"
                name = f"{question}#{copy}"
                copies.append(part.assign(unit_id=marked, question_id=name))
        explicit = values(pd.concat(copies))
        for view in views:
            totals = resampled_totals(view.counts, resamples=6, seed=1)
            for name, statistic in view.statistics.items():
                ours = statistic(totals)[number]
                theirs = explicit[view.comparison, view.turn, view.setup, name]
                np.testing.assert_allclose(ours, theirs, atol=1e-12, rtol=0, equal_nan=True)


@pytest.fixture(params=[0, 1_000], ids=["counted draws", "multinomial"])
def method(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(intervals, "MULTINOMIAL_UP_TO", request.param)
    return int(request.param)


@pytest.mark.usefixtures("method")
def test_chunks_do_not_change_the_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = np.arange(21.0).reshape(7, 3)
    whole = resampled_totals(counts, resamples=50, seed=3)
    monkeypatch.setattr(intervals, "CHUNK_CELLS", 20)
    np.testing.assert_array_equal(resampled_totals(counts, resamples=50, seed=3), whole)


@pytest.mark.usefixtures("method")
def test_each_resample_draws_as_many_questions_as_there_are() -> None:
    (weights,) = cluster_weights(8, resamples=40, seed=0)
    assert (weights.sum(1) == 8).all()


@pytest.mark.usefixtures("method")
def test_every_question_is_drawn_equally_often_and_by_itself() -> None:
    # One weight of multinomial(C; 1/C, …): mean 1, variance 1 − 1/C; two: covariance −1/C.
    (weights,) = cluster_weights(5, resamples=40_000, seed=4)
    np.testing.assert_allclose(weights.mean(0), 1, atol=0.02)
    expected = np.eye(5) - 1 / 5
    np.testing.assert_allclose(np.cov(weights, rowvar=False), expected, atol=0.03)


def test_the_same_seed_means_the_same_resamples_in_every_version() -> None:
    # Published intervals rest on these two streams; the golden ones on the first.
    few, many = 1_000, 1_001
    (weights,) = cluster_weights(few, resamples=3, seed=7)
    rng = np.random.default_rng(7)
    np.testing.assert_array_equal(weights, rng.multinomial(few, np.full(few, 1 / few), size=3))
    (weights,) = cluster_weights(many, resamples=3, seed=7)
    rng = np.random.default_rng(7)
    drawn = [rng.integers(many, size=many) for _ in range(3)]
    np.testing.assert_array_equal(weights, [np.bincount(d, minlength=many) for d in drawn])


def test_a_generator_may_be_passed() -> None:
    counts = np.ones((4, 1)) * [[1.0], [2.0], [3.0], [4.0]]
    by_seed = resampled_totals(counts, resamples=9, seed=2)
    by_rng = resampled_totals(counts, resamples=9, seed=np.random.default_rng(2))
    np.testing.assert_array_equal(by_seed, by_rng)


def test_the_corrected_interval_is_that_of_scipy_on_the_same_resamples() -> None:
    # Few large questions and a quotient: skewed, so that the two kinds differ.
    rng = np.random.default_rng(11)
    rows = rng.geometric(0.1, 30).astype(np.float64)
    counts = np.column_stack([rng.binomial(rows.astype(int), rng.beta(0.3, 3, 30)), rows])
    draws = quotient(resampled_totals(counts, resamples=999, seed=5))
    total = counts.sum(0)
    left_out = quotient(total - counts)
    found = percentile_interval(
        draws,
        clusters=30,
        level=0.9,
        corrected=skew(draws, float(quotient(total)), left_out),
    )

    def value(places: np.ndarray, axis: int) -> np.ndarray:
        del axis
        return quotient(counts[places].sum(-2))

    theirs = stats.bootstrap(
        (np.arange(30),),
        value,
        n_resamples=0,
        bootstrap_result=SimpleNamespace(bootstrap_distribution=draws),
        confidence_level=0.9,
        method="BCa",
    ).confidence_interval
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    plain = percentile_interval(draws, clusters=30, level=0.9)
    assert plain.low is not None
    assert found.low is not None
    assert found.low > plain.low + 0.005
    assert found.method.startswith("bias-corrected and accelerated (BCa) cluster bootstrap")


def test_a_skew_of_nothing_changes_nothing_and_one_beyond_all_resamples_has_no_interval() -> None:
    draws = np.arange(101.0)
    plain = percentile_interval(draws, clusters=5)
    symmetrical = skew(draws, 50.0, np.array([49.0, 50, 51]))
    assert symmetrical == Skew(0.0, 0.0)
    found = percentile_interval(draws, clusters=5, corrected=symmetrical)
    assert (found.low, found.high) == pytest.approx((plain.low, plain.high))
    beyond = percentile_interval(draws, clusters=5, corrected=skew(draws, -1.0, draws))
    assert beyond.low is None
    assert beyond.reason == "no interval: every resample lies on the same side of the value"
    nothing = np.full(9, np.nan)
    assert skew(nothing, 1.0, draws) == skew(draws, 1.0, nothing) == Skew(0.0, 0.0)


def test_percentiles_by_hand() -> None:
    # 0…100: the 2.5 and 97.5 percentiles are 2.5 and 97.5 with linear interpolation
    found = percentile_interval(np.arange(101.0), clusters=5)
    assert (found.low, found.high) == pytest.approx((2.5, 97.5))
    assert found.method == "percentile cluster bootstrap by question, 101 resamples"


def test_the_level_moves_the_ends() -> None:
    found = percentile_interval(np.arange(101.0), clusters=5, level=0.9)
    assert (found.low, found.high) == pytest.approx((5, 95))


@pytest.mark.parametrize(
    ("draws", "clusters", "reason"),
    [
        (np.arange(101.0), 1, "fewer than two questions"),
        (np.full(101, 0.5), 9, "every resample gives the same value"),
        (np.r_[np.full(6, np.nan), np.arange(94.0)], 9, "undefined in 6 of 100 resamples"),
        (np.full(100, np.nan), 9, "undefined in 100 of 100 resamples"),
    ],
)
def test_no_interval_has_a_reason(draws: np.ndarray, clusters: int, reason: str) -> None:
    found = percentile_interval(draws, clusters=clusters)
    assert (found.low, found.high) == (None, None)
    assert reason in found.reason


def test_a_few_undefined_resamples_are_dropped_and_counted() -> None:
    draws = np.r_[np.full(5, np.nan), np.arange(95.0)]
    found = percentile_interval(draws, clusters=9)
    assert found.low == pytest.approx(0.025 * 94)
    assert found.method.endswith("100 resamples, 5 undefined and dropped")


def test_a_level_in_percent_is_refused() -> None:
    with pytest.raises(ValueError, match=r"level 95"):
        percentile_interval(np.arange(9.0), clusters=1, level=95)


def test_intervals_cover_the_truth_about_as_often_as_they_say() -> None:
    # 50 questions × 8 rows; a question's own agreement rate is Beta(3.5, 1.5): mean .7,
    # intraclass correlation 1/6. 400 studies: standard error of a coverage of .94 is .012.
    rng = np.random.default_rng(11)
    studies, hits, naive = 400, 0, 0
    for _ in range(studies):
        agreed = rng.binomial(8, rng.beta(3.5, 1.5, 50)).astype(float)
        counts = np.column_stack([agreed, np.full(50, 8.0)])
        totals = resampled_totals(counts, resamples=400, seed=rng)
        found = percentile_interval(totals[:, 0] / totals[:, 1], clusters=50)
        assert found.low is not None
        assert found.high is not None
        hits += found.low <= 0.7 <= found.high
        mean = agreed.sum() / 400
        naive += abs(mean - 0.7) < 1.96 * np.sqrt(mean * (1 - mean) / 400)
    assert 0.91 <= hits / studies <= 0.97
    # Rows taken as independent are far too sure of themselves.
    assert naive / studies < 0.88
