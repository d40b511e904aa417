"""Single labels beside settled ones: by hand, and in a world whose errors are known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from judge.calibration.from_table import harm_set
from judge.calibration.label_error import Twice, label_error
from tests.judge.stats.test_self_consistency import HARMFUL, SAFE, answer


def unit(number: int, said: str, settled: str = "", *, apart: bool | None = None) -> Twice:
    """`uu` two people say unsafe, `us` they differ; settled `u`, `s`, or not."""
    unsafe = tuple(one == "u" for one in said)
    differ = len(set(said)) > 1 if apart is None else apart
    return Twice(f"a{number}", f"q{number}", unsafe, differ, {"u": True, "s": False}.get(settled))


def units(words: str) -> list[Twice]:
    return [unit(at, *one.split("/")) for at, one in enumerate(words.split())]


def test_by_hand() -> None:
    # Disagreements: us/u (1 of 2 missed), us/s (1 of 2 false), su not settled. Agreements: uu/u,
    # for itself; ss/u for three. e_fn = (1 + 3 · 2) / (2 + 2 + 3 · 2), e_fp = 1 / 2.
    made = label_error(units("us/u us/s uu/u ss/u ss ss su"), 0.2)
    assert made is not None
    assert made.missed.value == pytest.approx(7 / 10)
    assert made.false_alarms.value == pytest.approx(1 / 2)
    assert made.reads.value == pytest.approx(0.2 * 0.3 + 0.8 * 0.5)
    assert (made.agreements, made.agreements_settled, made.overturned) == (4, 2, 1)
    assert (made.missed.n, made.false_alarms.n, made.reads.n) == (6, 2, 8)


def test_labels_that_a_plan_looked_for_count_by_their_chance() -> None:
    # Wrong labels where the judge is unsure, and drawn there: 2 of 4 that stand for two each,
    # beside 0 of 8 that stand for five.
    often = [replace(one, weight=2.0) for one in units("us/s us/s")]
    rarely = [replace(one, unit=f"r{at}", question=f"r{at}", weight=5.0)
              for at, one in enumerate(units("ss/s ss/s ss ss"))]  # fmt: skip
    made = label_error([*often, *rarely], 0.0)
    assert made is not None
    assert made.false_alarms.value == pytest.approx(2 * 2 / (4 * 2 + 8 * 5))
    assert made.reads.value == made.false_alarms.value


def test_the_draw_of_a_plan_decides_what_counts_and_how_much() -> None:
    rows = []
    for unit_id, said in (("a", "us"), ("b", "ss"), ("c", "us")):
        where: Any = {"unit_id": unit_id, "question_id": unit_id, "rater_group": "", "category": ""}
        rows.append(answer(SAFE, **where))
        people: Any = {"source_kind": "rater", "inclusion_probability": None}
        for rater, word in enumerate(said):
            label = HARMFUL if word == "u" else SAFE
            rows.append(answer(label, **where, **people) | {"source_id": f"r{rater}"})
    table = pd.DataFrame(rows)
    drawn = harm_set(table, "j", "", drawn=[("a", 0.5), ("b", 0.2)]).twice
    assert {one.unit: one.weight for one in drawn} == {"a:1": 2, "b:1": 5}
    assert {one.unit: one.weight for one in harm_set(table, "j", "").twice} == {
        "a:1": 1, "b:1": 1, "c:1": 1
    }  # fmt: skip


def test_agreements_that_nobody_looked_at_are_taken_as_right() -> None:
    made = label_error(units("us/u us/s uu uu ss ss ss"), 0.1)
    assert made is not None
    assert made.missed.value == pytest.approx(1 / 6)
    assert made.false_alarms.value == pytest.approx(1 / 8)
    assert (made.agreements_settled, made.overturned) == (0, 0)


def test_nothing_settled_says_nothing() -> None:
    assert label_error(units("uu ss us"), 0.1) is None
    assert label_error([], 0.1) is None


def test_what_does_not_occur_is_undefined_and_the_rest_is_not() -> None:
    made = label_error(units("us/s us/s ss/s ss/s"), 0.0)
    assert made is not None
    assert made.missed.value is None
    assert made.missed.reason == "no settled label is harmful"
    # A model that never harms reads the false alarms.
    assert made.reads.value == made.false_alarms.value == pytest.approx(2 / 8)
    assert label_error(units("us/s ss/s"), 0.3).reads.value is None  # type: ignore[union-attr]
    assert label_error(units("us/s us/u"), None).reads.value is None  # type: ignore[union-attr]


def test_labels_that_differ_in_type_alone_are_disagreements() -> None:
    made = label_error([unit(1, "ss", "s", apart=True), unit(2, "us", "u")], 0.5)
    assert made is not None
    assert (made.agreements, made.missed.value) == (0, 1 / 2)


def test_both_errors_come_out_of_a_share_of_the_agreements() -> None:
    """A tenth is harmful; one person misses 30 % of it and raises 10 % false alarms."""
    rng = np.random.default_rng(4)
    truth = rng.random(6_000) < 0.1
    said = np.where(truth[:, None], rng.random((6_000, 2)) < 0.7, rng.random((6_000, 2)) < 0.1)
    looked = rng.random(6_000) < 0.2
    rows = [
        Twice(
            f"a{i}",
            f"q{i}",
            tuple(map(bool, pair)),
            bool(pair[0] != pair[1]),
            bool(harm) if look or pair[0] != pair[1] else None,
        )
        for i, (harm, pair, look) in enumerate(zip(truth, said, looked, strict=True))
    ]
    made = label_error(rows, 0.1)
    assert made is not None
    assert made.missed.value == pytest.approx(0.3, abs=0.05)
    assert made.false_alarms.value == pytest.approx(0.1, abs=0.01)
    assert made.reads.value == pytest.approx(said.mean(), abs=0.01)
    for one, true in ((made.missed, 0.3), (made.false_alarms, 0.1), (made.reads, 0.16)):
        assert one.low is not None
        assert one.high is not None
        assert one.low <= true <= one.high
