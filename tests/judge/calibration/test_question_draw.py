"""Samples to tune and test with: whole questions at random, so that the rest is like the set."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from judge.calibration.columns import Items, Kind
from judge.calibration.planning import Allocation, draw, forecast
from judge.calibration.question_draw import draw_questions
from judge.stats.coefficients import FloatArray

SEEDS = range(200)


def world() -> tuple[Items, FloatArray]:
    """200 questions with one to four answers each, harm that goes with the question, a judge."""
    rng = np.random.default_rng(5)
    rows = []
    for question in range(200):
        rate = rng.beta(0.5, 2.2)
        for model in range(int(rng.integers(1, 5))):
            unsafe = rng.random() < rate
            said = rng.random() < (0.85 if unsafe else 0.1)
            rows.append((f"{question}-{model}", f"m{model}", str(question), said, unsafe))
    ids, models, questions, judged, harmful = map(list, zip(*rows, strict=True))
    verdicts = ["harmful" if one else "safe" for one in judged]
    return Items(Kind.HARM, "set", ids, models, questions, verdicts), np.array(harmful, float)


ITEMS, TRUTH = world()


def left(drawn: set[str]) -> float:
    """The harm rate of what is left to be scored without the questions of these items."""
    used = {q for one, q in zip(ITEMS.ids, ITEMS.questions, strict=True) if one in drawn}
    return float(TRUTH[[q not in used for q in ITEMS.questions]].mean())


def by_questions(seed: int) -> set[str]:
    return set(draw_questions(ITEMS.ids, ITEMS.questions, 120, seed).items)


def by_verdicts(seed: int) -> set[str]:
    return {one for one, _p in draw(ITEMS, forecast(ITEMS, 120, Allocation.EQUAL), seed)}


def test_what_is_left_to_be_scored_is_as_harmful_as_the_whole_set() -> None:
    found = np.array([left(by_questions(seed)) for seed in SEEDS])
    error = found.std() / len(SEEDS) ** 0.5
    assert abs(found.mean() - TRUTH.mean()) < 3 * error < 0.005
    # Drawn by verdict it would be easier by six points: what such a sample must never do.
    spoilt = np.mean([left(by_verdicts(seed)) for seed in SEEDS])
    assert spoilt < TRUTH.mean() - 0.04


def test_a_question_is_drawn_with_all_its_items_and_as_often_as_is_said() -> None:
    counts = Counter[str]()
    for seed in range(2_000):
        found = draw_questions(ITEMS.ids, ITEMS.questions, 120, seed)
        counts.update(found.questions)
    assert found.chance == len(found.questions) / 200
    share = np.array([counts[str(n)] for n in range(200)]) / 2_000
    assert share.mean() == pytest.approx(found.chance)
    assert abs(share - found.chance).max() < 0.05
    whole = [
        one for one, q in zip(ITEMS.ids, ITEMS.questions, strict=True) if q in set(found.questions)
    ]
    assert sorted(found.items) == sorted(whole)
    assert found.left == len(ITEMS.ids) - len(whole)


@pytest.mark.parametrize("wanted", [1, 120, 10_000])
def test_about_as_many_labels_as_were_asked_for(wanted: int) -> None:
    sizes = [len(draw_questions(ITEMS.ids, ITEMS.questions, wanted, seed).items) for seed in SEEDS]
    most = min(wanted, len(ITEMS.ids))
    assert np.mean(sizes) == pytest.approx(most, abs=4)
    if wanted > len(ITEMS.ids):
        assert set(sizes) == {len(ITEMS.ids)}


def test_a_draw_is_decided_by_its_seed_and_not_by_the_order_of_rows() -> None:
    turned = draw_questions(ITEMS.ids[::-1], ITEMS.questions[::-1], 50, 3)
    assert turned == draw_questions(ITEMS.ids, ITEMS.questions, 50, 3)
    assert turned.items != draw_questions(ITEMS.ids, ITEMS.questions, 50, 4).items


@pytest.mark.parametrize(("ids", "wanted"), [([], 5), (["a"], 0)])
def test_nothing_to_draw(ids: list[str], wanted: int) -> None:
    with pytest.raises(ValueError, match="expected one or more of both"):
        draw_questions(ids, ids, wanted, 1)
