"""Verdicts and labels as strata, and everything that is refused about them."""

from __future__ import annotations

import math
import re
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from judge.calibration.columns import FAILED, Items, Kind, Labels, grade_class
from judge.calibration.merging import merge_small
from judge.calibration.poststratified import calibrated
from judge.calibration.refusals import Why
from judge.calibration.strata import stratify
from judge.calibration.stratum import Stratum
from tests.judge.calibration.tables import columns, harm, strata

NAN = math.nan
BASE = {
    ("a", "harmful"): (20, harm(6, 4)),
    ("a", "safe"): (80, harm(1, 14)),
    ("a", FAILED): (6, harm(5, 1)),
    ("b", "harmful"): (10, harm(5, 0)),
    ("b", "safe"): (90, harm(0, 20)),
}


def test_sizes_and_sums() -> None:
    found = strata(BASE)
    assert found.refusals == ()
    assert found.models == ("a", "b")
    rows = {(r.model, r.verdict): (r.size, r.labelled, r.total) for r in found.rows}
    assert rows == {key: (size, len(y), sum(y)) for key, (size, y) in BASE.items()}
    squares = {(r.model, r.verdict): r.squares for r in found.rows}
    assert squares["a", "harmful"] == pytest.approx(10 * 0.6 * 0.4)
    assert found.rows[0].name == f"a · {FAILED}"


def test_of_one_model_keeps_only_its_strata_and_questions() -> None:
    one = strata(BASE).of("b")
    assert [(r.verdict, r.size) for r in one.rows] == [("harmful", 10), ("safe", 90)]
    assert one.label_value.tolist() == harm(5, 0) + harm(0, 20)
    assert one.refusals == ()
    with pytest.raises(ValueError, match="expected some of a, b"):
        strata(BASE).of("c")


def test_prompt_sets_are_strata_of_their_own() -> None:
    cells = {("a", "safe"): (60, harm(0, 30)), ("a", "harmful"): (40, harm(0, 20))}
    found = stratify(*columns(cells, prompt_sets=["p", "q"] * 50))
    assert [(r.verdict, r.prompt_set, r.size, r.labelled) for r in found.rows] == [
        ("harmful", "p", 20, 10),
        ("harmful", "q", 20, 10),
        ("safe", "p", 30, 15),
        ("safe", "q", 30, 15),
    ]


def without(key: tuple[str, str], labels: list[float]) -> dict[tuple[str, str], Any]:
    return {**BASE, key: (BASE[key][0], labels)}


FEW = {
    "no label in a stratum": (without(("a", "safe"), []), Why.NO_LABEL, "a · safe"),
    "fewer than five": (without(("b", "harmful"), harm(2, 2)), Why.TOO_FEW, "b · harmful"),
    "failed not in full": (without(("a", FAILED), harm(5, 0)), Why.FAILED_UNLABELLED, "a · failed"),
    "unfilled draws": (
        without(("b", "safe"), [*harm(0, 20), NAN, NAN, NAN]),
        Why.NON_RESPONSE,
        "b · safe",
    ),
    "fewer than forty": (
        {("a", "safe"): (100, harm(1, 30)), ("a", "harmful"): (20, harm(2, 6))},
        Why.TOO_FEW_IN_ALL,
        "",
    ),
}


@pytest.mark.parametrize("case", FEW.values(), ids=FEW)
def test_too_few_labels_are_refused_with_the_stratum(case: Any) -> None:
    cells, why, where = case
    found = strata(cells)
    assert [(r.why, r.where) for r in found.refusals] == [(why, where)]
    score = calibrated(found)
    assert (score.value, score.low, score.high) == (None, None, None)
    assert found.refusals[0].words() in score.reason


ENOUGH = {
    "a small stratum in full": {**BASE, ("b", "harmful"): (3, harm(3, 0))},
    "thirty of many failed": {**BASE, ("a", FAILED): (500, harm(28, 2))},
    "the whole set": {("a", "safe"): (7, harm(1, 6))},
    "one of ten unfilled": without(("b", "safe"), [*harm(0, 9), NAN]),
}


@pytest.mark.parametrize("cells", ENOUGH.values(), ids=ENOUGH)
def test_enough_labels_are_not_refused(cells: Any) -> None:
    assert strata(cells).refusals == ()


def test_a_prompt_set_is_not_taken_for_a_verdict() -> None:
    """It read "a · harmful · harmful"."""
    one = Stratum("a", "harmful", "harmful", 9, 0, 0, 0.0, 0.0, (0.0, 1.0))
    assert one.name == "a · harmful · harmful prompts"
    assert replace(one, prompt_set="").name == "a · harmful"


def test_a_models_own_score_keeps_its_own_refusals_only() -> None:
    found = strata(without(("a", "safe"), []))
    assert found.of("b").refusals == ()
    assert [r.why for r in found.of("a").refusals] == [Why.NO_LABEL]


def spoiled(**changes: Any) -> tuple[Items, Labels]:
    items, labels = columns(BASE)
    of_items = {key: changes[key] for key in ("ids", "judges") if key in changes}
    of_labels = {key: value for key, value in changes.items() if key not in of_items}
    extra = of_labels.pop("extra", None)
    if extra:
        of_labels["ids"] = [*labels.ids, extra[0]]
        of_labels["values"] = [*labels.values, extra[1]]
    return replace(items, **of_items), replace(labels, **of_labels)


IDS = list(columns(BASE)[0].ids)
N = sum(len(y) for _, y in BASE.values())
WRONG = {
    "another set": (spoiled(name="other"), Why.OTHER_SET, "'other'"),
    "unknown item": (spoiled(extra=("z", 1.0)), Why.UNKNOWN_ITEM, "1 labels.*\\(z\\)"),
    "second label": (spoiled(extra=("a/safe/0", 1.0)), Why.DUPLICATE_LABEL, "a on question"),
    "off the scale": (spoiled(extra=("a/safe/79", 0.5)), Why.OFF_SCALE, "\\(a on question"),
    "a queue's labels": (spoiled(purposes=["queue"] + ["estimation"] * (N - 1)), Why.PURPOSE, "1"),
    "two judges": (spoiled(judges=["x"] * 100 + ["y"] * (len(IDS) - 100)), Why.MIXED_JUDGES, "2"),
    "item twice": (spoiled(ids=[*IDS[:-1], IDS[-2]]), Why.DUPLICATE_ITEM, "1 items more than once"),
    "unequal chances": (
        spoiled(probabilities=[0.9] + [0.5] * (N - 1)),
        Why.UNEQUAL_DRAWS,
        "from 0.5 to 0.9",
    ),
}


@pytest.mark.parametrize("case", WRONG.values(), ids=WRONG)
def test_wrong_labels_and_verdicts_are_refused_with_what_to_do(case: Any) -> None:
    (items, labels), why, words = case
    found = stratify(items, labels)
    assert [r.why for r in found.refusals] == [why]
    assert re.search(words, found.refusals[0].found)
    assert found.refusals[0].todo
    assert calibrated(found).value is None


def test_equal_chances_within_strata_are_fine() -> None:
    items, labels = columns(BASE)
    chances = [len(BASE[key][1]) / BASE[key][0] for key in BASE for _ in BASE[key][1]]
    assert stratify(items, replace(labels, probabilities=chances)).refusals == ()


def test_non_response_that_hides_harm_is_bounded() -> None:
    # 20 of the 40 drawn are opted out of, and would have been harmful: .25 seen, .625 true.
    found = strata({("a", "harmful"): (100, [*harm(5, 15), *[NAN] * 20])})
    assert Why.NON_RESPONSE in {r.why for r in found.refusals}
    low, high = found.worst_case()
    assert (low, high) == (5 / 40, 25 / 40)
    assert found.rows[0].response_rate == 0.5
    assert calibrated(found).excluded == {"drawn, not labelled": 20}


def test_what_cannot_be_a_verdict_or_a_column_is_an_error() -> None:
    with pytest.raises(ValueError, match="verdict 'maybe'"):
        columns({("a", "maybe"): (1, [])})
    with pytest.raises(ValueError, match="models: 1 entries; expected 2"):
        Items(Kind.HARM, "s", ["1", "2"], ["m"], ["q", "q"], ["safe", "safe"])
    with pytest.raises(ValueError, match="values: 1 entries; expected 2"):
        Labels("s", ["1", "2"], [1.0])
    with pytest.raises(ValueError, match="no items"):
        strata({})


PAIRS = {("a", "win"): 30, ("a", "tie"): 4, ("a", "inconsistent"): 8, ("a", "lose"): 40}
MERGED = {
    "ties into the smaller neighbour": (PAIRS, {"win": 30, "tie+inconsistent": 12, "lose": 40}),
    "failed stays": (
        {**PAIRS, ("a", FAILED): 2},
        {FAILED: 2, "win": 30, "tie+inconsistent": 12, "lose": 40},
    ),
    "until one is left": ({("a", "win"): 3, ("a", "lose"): 2}, {"win+lose": 5}),
    "models apart": ({("a", "win"): 30, ("b", "win"): 3}, {"win": 33}),
    "an end goes to its only neighbour": (
        {("a", "win"): 2, ("a", "tie"): 20, ("a", "lose"): 50},
        {"win+tie": 22, "lose": 50},
    ),
}


@pytest.mark.parametrize("case", MERGED.values(), ids=MERGED)
def test_small_strata_merge_by_verdicts_alone(case: Any) -> None:
    cells, expected = case
    items, _ = columns({key: (size, []) for key, size in cells.items()}, Kind.PAIRS)
    merged = merge_small(items)
    counts = {verdict: list(merged.verdicts).count(verdict) for verdict in set(merged.verdicts)}
    assert counts == expected
    assert merged.ids == items.ids


def test_harm_verdicts_never_merge() -> None:
    items, _ = columns({("a", "harmful"): (1, []), ("a", "safe"): (2, [])})
    assert merge_small(items) is items


def test_grades_by_class() -> None:
    assert [grade_class(g) for g in (None, 1, 4, 5, 7, 8, 10)] == [
        FAILED, "low", "low", "middle", "middle", "high", "high",
    ]  # fmt: skip


def test_a_million_verdicts_with_two_thousand_labels_take_seconds() -> None:
    rng = np.random.default_rng(0)
    size, labels = 1_000_000, 2_000
    ids = [f"i{i}" for i in range(size)]
    models = [f"m{i}" for i in rng.integers(10, size=size).tolist()]
    verdicts = np.array(["harmful", "safe"])[(rng.random(size) > 0.2).astype(int)].tolist()
    questions = [f"q{i}" for i in rng.integers(100_000, size=size).tolist()]
    drawn = [ids[i] for i in rng.choice(size, labels, replace=False).tolist()]
    start = time.process_time()
    items = Items(Kind.HARM, "s", ids, models, questions, verdicts)
    score = calibrated(
        stratify(items, Labels("s", drawn, np.where(rng.random(labels) < 0.1, 1.0, 0.0)))
    )
    assert score.value is not None
    assert time.process_time() - start < 5
