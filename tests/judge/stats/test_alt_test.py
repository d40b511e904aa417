"""The alternative annotator test: against a naive second implementation, and at its edges."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from judge.stats.alt_test import AltTest, advantage_figure, alt_test
from judge.stats.joint import estimates
from tests.judge.stats.tables import OUTCOMES, WHO, made, row, study, units


def run(rows: list[dict[str, Any]], **settings: Any) -> AltTest:
    study_ = made(rows)
    return alt_test(study_.votes, study_.verdicts, study_.questions, **settings)


def naive(
    rows: list[dict[str, Any]], epsilon: float, rate: float, least: int
) -> tuple[float, float]:
    """ω and ρ from dictionaries, unit by unit, with scipy's own t-test."""
    people: dict[str, dict[Any, str]] = defaultdict(dict)
    judge = {}
    for one in rows:
        unit = (one["unit_id"], one["turn"])
        if one["source_id"] == "judge":
            judge[unit] = one["value"]
        else:
            people[one["source_id"]][unit] = one["value"]
    p_values, ahead = [], []
    for rater, own in people.items():
        gaps, wins = [], []
        for unit, value in own.items():
            others = [said[unit] for who, said in people.items() if who != rater and unit in said]
            if not others or unit not in judge:
                continue
            human = np.mean([value == other for other in others])
            model = np.mean([judge[unit] == other for other in others])
            gaps.append(int(human >= model) - int(model >= human))
            wins.append(model >= human)
        if len(gaps) >= least:
            p_values.append(ttest_1samp(gaps, epsilon, alternative="less").pvalue)
            ahead.append(np.mean(wins))
    m = len(p_values)
    harmonic = sum(1 / i for i in range(1, m + 1))
    passed = [i for i, p in enumerate(sorted(p_values), 1) if p <= i / m * rate / harmonic]
    return max(passed, default=0) / m, float(np.mean(ahead))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("epsilon", [0.0, 0.2, 0.5])
def test_as_in_the_paper_it_equals_a_naive_implementation(seed: int, epsilon: float) -> None:
    rows = study(seed, questions=30, raters=4)
    found = run(rows, epsilon=epsilon, min_units=10, by_question=False)
    omega, rho = naive(rows, epsilon, 0.05, 10)
    assert found.winning_rate == pytest.approx(omega)
    assert found.average_advantage == pytest.approx(rho)
    assert found.epsilon == epsilon


def test_with_one_unit_per_question_clustering_changes_nothing() -> None:
    rng = np.random.default_rng(5)
    texts = ["".join(rng.choice(list("abt"), 3)) + "/" + rng.choice(list("abt")) for _ in range(40)]
    alone, clustered = (run(units(*texts), by_question=how) for how in (False, True))
    assert [one.p_value for one in clustered.raters] == pytest.approx(
        [one.p_value for one in alone.raters]
    )
    assert {one.questions for one in alone.raters} == {40}


def test_units_that_repeat_within_a_question_are_no_new_evidence() -> None:
    # Every unit four times in its question: clustered, the p-value stays as with one.
    rng = np.random.default_rng(6)
    texts = ["".join(rng.choice(list("abt"), 3)) + "/" + rng.choice(list("abt")) for _ in range(40)]
    once = run(units(*texts))
    rows = [{**one, "turn": turn} for one in units(*texts) for turn in (1, 2, 3, 4)]
    again, iid = run(rows), run(rows, by_question=False)
    assert [one.p_value for one in again.raters] == pytest.approx(
        [one.p_value for one in once.raters]
    )
    assert [one.p_value for one in iid.raters] != pytest.approx(
        [one.p_value for one in once.raters], rel=0.1
    )


def test_a_judge_that_is_never_behind_wins_against_everyone() -> None:
    found = run(units(*["aaa/a", "bbb/b"] * 20))
    assert (found.winning_rate, found.average_advantage, found.passes) == (1, 1, True)
    assert [one.p_value for one in found.raters] == [0, 0, 0]
    assert (found.won, found.left_out) == (3, ())


def test_a_judge_that_is_always_behind_wins_against_nobody() -> None:
    found = run(units(*["aaa/b", "bbb/a"] * 20))
    assert (found.winning_rate, found.average_advantage, found.passes) == (0, 0, False)


def test_raters_with_few_units_are_left_out_and_named() -> None:
    found = run(units(*["aaaa/a"] * 5, *["aaa/a"] * 25))
    assert found.left_out == (("r3", 5),)
    assert [one.rater for one in found.raters] == ["r0", "r1", "r2"]


def test_fewer_than_three_raters_are_no_test() -> None:
    found = run(units(*["aa/a", "ab/b"] * 20))
    assert (found.winning_rate, found.average_advantage, found.passes) == (None, None, None)
    assert found.reason.startswith("2 of 2 raters have 30 units")
    alone = run(units(*["a/a"] * 40))
    assert alone.reason.startswith("0 of 1 raters")
    study_ = made(units(*["aa/a", "ab/b"] * 20))
    figure = advantage_figure(study_.votes, study_.verdicts, study_.questions, WHO)
    assert figure.value() is None
    assert figure.undefined.startswith("2 raters with 30 units")


def test_one_question_has_no_variance_by_question() -> None:
    rows = [
        row("q:alder-birch", who, OUTCOMES[turn % 3], turn=turn)
        for turn in range(1, 41)
        for who in ("r0", "r1", "r2", "judge")
    ]
    assert run(rows, by_question=False).winning_rate == 1
    found = run(rows)
    assert found.winning_rate is None
    assert "one question" in found.reason


def test_the_average_advantage_has_an_interval_from_the_joint_bootstrap() -> None:
    rows = study(2, questions=40, raters=4)
    study_ = made(rows)
    figure = advantage_figure(study_.votes, study_.verdicts, study_.questions, WHO, min_units=10)
    assert figure.value() == pytest.approx(run(rows, min_units=10).average_advantage)
    (found,) = estimates({1: figure}, 40, level=0.95, resamples=300, seed=7).values()
    assert found.low is not None
    assert found.value is not None
    assert found.high is not None
    assert found.low < found.value < found.high


@pytest.mark.parametrize(
    "settings", [{"epsilon": 1.0}, {"false_discovery_rate": 0.0}, {"min_units": 1}]
)
def test_settings_out_of_range_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="expected"):
        run(units("aaa/a"), **settings)
