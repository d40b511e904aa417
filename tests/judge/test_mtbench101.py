"""MT-Bench-101's scores, worked out by hand; a dialogue without a grade never counts as one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotate.readers import mtbench101 as reader
from judge.stats.mtbench101 import (
    TASKS,
    TAXONOMY,
    Dialogue,
    Grade,
    How,
    ability_scores,
    areas,
    dialogue_score,
    overall,
    scored_turns,
    task_scores,
)

grades = st.integers(1, 10)


def dialogue(number: int, task: str, *given: Grade) -> Dialogue:
    """A dialogue whose grades stand on turns 1, 2, … (0: no entry for that turn)."""
    graded = {turn: grade for turn, grade in enumerate(given, start=1) if grade != 0}
    return Dialogue(str(number), task, len(given), graded)


def one_of_each(low: Sequence[str] = ()) -> list[Dialogue]:
    """One two-turn dialogue a task: 10 and 8, in `low` tasks 10 and 4."""
    return [dialogue(n, task, 10, 4 if task in low else 8) for n, task in enumerate(TASKS)]


def test_the_taxonomy_has_3_abilities_7_sub_abilities_and_13_tasks() -> None:
    inner = [names for ability in TAXONOMY.values() for names in ability.values()]
    codes = [code for names in inner for code in names]
    assert (len(TAXONOMY), len(inner), len(codes)) == (3, 7, 13)
    assert list(TASKS) == codes == list(reader.TASKS)
    assert len(set(TASKS.values())) == 13
    assert {name: " ".join(tasks) for name, tasks in areas().items()} == {
        "perceptivity": "CM SI AR TS CC",
        "context memory": "CM",
        "context understanding": "SI AR",
        "context interference": "TS CC",
        "adaptability": "CR FR SC SA MR GR",
        "rephrasing": "CR FR",
        "reflection": "SC SA",
        "reasoning": "MR GR",
        "interactivity": "IC PI",
        "questioning": "IC PI",
    }


@pytest.mark.parametrize(
    ("task", "turns", "scored"),
    [(task, 3, [2, 3]) for task in ("FR", "CR", "AR", "SA", "SC", "CM")]
    + [(task, 3, [1, 2, 3]) for task in ("SI", "TS", "CC", "MR", "GR", "IC", "PI")]
    + [("CM", 1, []), ("MR", 0, [])],
)
def test_six_tasks_do_not_score_their_first_turn(task: str, turns: int, scored: list[int]) -> None:
    assert scored_turns(task, turns) == scored


@pytest.mark.parametrize(
    ("given", "lowest", "mean"),
    [
        ((10, 4), 4, Fraction(7)),
        ((4, 10), 4, Fraction(7)),
        ((9,), 9, Fraction(9)),
        ((10, 9, 5), 5, Fraction(8)),
        ((7.5, 8), 7.5, Fraction(31, 4)),
    ],
)
def test_a_dialogue_is_as_good_as_its_worst_turn(
    given: tuple[float, ...], lowest: float, mean: Fraction
) -> None:
    assert dialogue_score(given).value == lowest
    assert dialogue_score(given, "mean").value == pytest.approx(float(mean))
    assert (dialogue_score(given).how, dialogue_score(given, "mean").how) == (How.MIN, How.MEAN)


@pytest.mark.parametrize("how", How)
@pytest.mark.parametrize(
    ("given", "n", "reasons"),
    [
        ((10, "unparseable"), 1, {"unparseable": 1}),
        (("api_error", 4, "api_error"), 1, {"api_error": 2}),
        (("missing", "refused"), 0, {"missing": 1, "refused": 1}),
        ((), 0, {"missing": 1}),
    ],
)
def test_a_turn_without_a_grade_leaves_its_dialogue_without_a_score(
    how: How, given: tuple[Grade, ...], n: int, reasons: dict[str, int]
) -> None:
    score = dialogue_score(given, how)
    assert (score.value, score.n, score.missing) == (None, n, sum(reasons.values()))
    assert dict(score.reasons) == reasons


@pytest.mark.parametrize("grade", [0, 10.5, -1, math.nan, math.inf])
def test_what_is_no_grade_is_refused(grade: float) -> None:
    """A −1 for a failed call once made the worst turn of its dialogue."""
    with pytest.raises(ValueError, match="expected 1–10"):
        dialogue_score([10, grade])


def test_an_unknown_way_or_task_is_refused() -> None:
    with pytest.raises(ValueError, match="median"):
        dialogue_score([10], "median")
    with pytest.raises(ValueError, match="expected one of CM"):
        task_scores([dialogue(1, "XX", 10)])


@given(st.lists(grades, min_size=1, max_size=6))
def test_the_minimum_is_never_over_the_mean(given: list[int]) -> None:
    low, mean = dialogue_score(given), dialogue_score(given, How.MEAN)
    assert low.value is not None
    assert mean.value is not None
    assert 1 <= low.value <= mean.value <= 10


def test_a_task_is_the_mean_of_its_dialogues_and_counts_those_without_a_score() -> None:
    scores = task_scores(
        [
            dialogue(1, "MR", 10, 4),
            dialogue(2, "MR", 7, 9),
            dialogue(3, "MR", 10, "unparseable"),
            dialogue(4, "MR", 10, 0),
            dialogue(5, "MR", "timeout", "timeout"),
            dialogue(6, "MR", "timeout", "refused"),
        ]
    )
    mr = scores["MR"]
    # (4 + 7) / 2
    assert (mr.value, mr.n, mr.name) == (5.5, 2, "mtbench101")
    assert dict(mr.excluded) == {
        "unparseable": 1,
        "missing": 1,
        "timeout": 1,
        "refused and timeout": 1,
    }
    assert list(scores) == list(TASKS)
    assert (scores["GR"].value, scores["GR"].n) == (None, 0)
    assert scores["GR"].reason == "no GR dialogue"


def test_a_first_turn_that_is_not_scored_changes_nothing() -> None:
    for first in (0, 1, "refused"):
        cm = task_scores([dialogue(1, "CM", first, 9)])["CM"]
        assert (cm.value, cm.n, dict(cm.excluded)) == (9, 1, {})
    # 9 alone: nothing else is scored.
    assert task_scores([dialogue(1, "CM", 1, 9)], "mean")["CM"].value == 9
    # The same grades where the first turn counts.
    assert task_scores([dialogue(1, "MR", 1, 9)])["MR"].value == 1


def test_tasks_weigh_the_same_however_many_dialogues_they_have() -> None:
    many = [dialogue(100 + n, "MR", 1, 10) for n in range(50)]
    score = overall(task_scores([*one_of_each(), *many]))
    # MR: (8 + 50 × 1) / 51; the other twelve 8.
    assert score.value == pytest.approx(float((12 * 8 + Fraction(58, 51)) / 13))
    assert (score.n, score.population) == (63, "all 13 tasks")


def test_abilities_are_means_over_their_tasks() -> None:
    scores = ability_scores(task_scores(one_of_each(low=("CM", "MR", "PI"))))
    assert {name: score.value for name, score in scores.items()} == {
        "perceptivity": pytest.approx((4 + 4 * 8) / 5),
        "context memory": 4,
        "context understanding": 8,
        "context interference": 8,
        "adaptability": pytest.approx((4 + 5 * 8) / 6),
        "rephrasing": 8,
        "reflection": 8,
        "reasoning": 6,
        "interactivity": 6,
        "questioning": 6,
    }


def test_one_task_without_a_score_leaves_the_whole_without_one() -> None:
    """A mean over twelve tasks must not stand in a table beside means over thirteen."""
    kept = [d for d in one_of_each() if d.task != "TS"]
    tasks = task_scores([*kept, dialogue(99, "TS", 10, "filtered")])
    score = overall(tasks)
    assert (score.value, score.reason) == (None, "no score for TS")
    assert (score.n, dict(score.excluded)) == (12, {"filtered": 1})
    assert tasks["TS"].reason == "none of 1 TS dialogues has a score"
    scores = ability_scores(tasks)
    assert [name for name, s in scores.items() if s.value is None] == [
        "perceptivity",
        "context interference",
    ]


def test_the_variant_carries_its_name_and_never_mixes_with_the_score() -> None:
    low, mean = (task_scores(one_of_each(), how) for how in How)
    assert overall(low).value == 8
    # 10 and 8 are 9 in seven tasks; in six the 8 stands alone.
    assert overall(mean).value == pytest.approx((7 * 9 + 6 * 8) / 13)
    assert overall(mean).name == "mtbench101 (variant: mean over turns)"
    with pytest.raises(ValueError, match="expected one kind"):
        overall({**low, "MR": mean["MR"]})


def test_a_dialogue_that_stands_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="dialogue 1 stands twice"):
        task_scores([dialogue(1, "MR", 10), dialogue(1, "MR", 9)])
