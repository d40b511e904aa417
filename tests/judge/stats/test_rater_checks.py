"""How raters voted: each habit is found, none is invented, and what is unknown stays so."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import binomtest

from judge.stats import rater_checks as module
from judge.stats.rater_checks import Ballots, RaterCheck, rater_checks

NAN = float("nan")


@dataclass
class Row:
    rater: str
    pair: str
    choice: str
    order: str = "ab"
    ms: float = 10_000
    sequence: float = 0


def ballots(rows: list[Row]) -> Ballots:
    return Ballots(
        [x.rater for x in rows],
        [x.pair for x in rows],
        [x.choice for x in rows],
        [x.order for x in rows],
        [x.ms for x in rows],
        [x.sequence for x in rows],
    )


def check(rows: list[Row]) -> dict[str, RaterCheck]:
    return {row.rater: row for row in rater_checks(ballots(rows), "people")}


def honest(rater: str, seed: int, votes: int = 60, speed: float = 10_000) -> list[Row]:
    """Sides drawn at random, the better answer chosen three times of four, some ties."""
    rng = np.random.default_rng(seed)
    rows = []
    for n in range(votes):
        order = str(rng.choice(["ab", "ba"]))
        better_left = (order == "ab") == (rng.random() < 0.75)
        choice = "tie" if rng.random() < 0.2 else "left" if better_left else "right"
        rows.append(Row(rater, f"pair {n}", choice, order, speed * rng.lognormal(0, 0.5), n))
    return rows


def panel(raters: int = 8) -> list[Row]:
    speeds = np.random.default_rng(99).lognormal(9.2, 0.25, raters)
    return [row for n in range(raters) for row in honest(f"r{n}", n, speed=float(speeds[n]))]


def test_nobody_is_flagged_without_a_habit() -> None:
    assert {name: row.flags for name, row in check(panel()).items() if row.flags} == {}


def test_flags_keep_their_level_over_studies() -> None:
    flagged = 0
    for study in range(60):
        rows = [x for n in range(6) for x in honest(f"r{n}", 1000 + 10 * study + n, 40)]
        found = check(rows).values()
        flagged += any("prefers" in flag or "runs" in flag for row in found for flag in row.flags)
    # Two families at 5 % each: 6 of 60 expected at most, sd 2.3.
    assert flagged <= 12


def habit(choices: str, *, order: str = "ab", ms: float = 1e4) -> list[Row]:
    words = {"l": "left", "r": "right", "t": "tie"}
    return [Row("x", f"{n}", words[x], order, ms, n) for n, x in enumerate(choices)]


HABITS = {
    "prefers the left": habit("rlllllll" * 5),
    "prefers the right": habit("lrrrrrrr" * 5, order="ba"),
    "much faster than others": habit("lrtrlltrt", ms=900),
    "much slower than others": habit("lrtrlltrt", ms=9e5),
    "long runs of one button": habit("l" * 20 + "r" * 20),
    "one button throughout": habit("t" * 10),
}


@pytest.mark.parametrize("flag", HABITS)
def test_each_habit_is_found(flag: str) -> None:
    found = check([*panel(), *HABITS[flag]])
    assert flag in found["x"].flags
    assert all(flag not in found[f"r{n}"].flags for n in range(8))


def test_side_by_hand_a_pair_counts_once() -> None:
    rows = [
        Row("x", "1", "left"), Row("x", "1", "left"), Row("x", "1", "right"),  # leans left
        Row("x", "2", "right", "ba"), Row("x", "2", "tie", "ba"),  # right
        Row("x", "3", "left"), Row("x", "3", "right"),  # neither
        Row("x", "4", "both_bad"),
        Row("x", "5", "left", "unknown"), Row("x", "5", "left", "unknown"),
        Row("x", "6", "left", "ba"),
    ]  # fmt: skip
    found = check(rows)["x"]
    assert (found.left.numerator, found.left.denominator) == (2, 3)
    assert found.left.excluded == {module.ORDER_UNKNOWN: 1, module.NOT_DECISIVE: 2}
    assert found.a_left == (3, 5)
    assert (found.ties.numerator, found.ties.denominator) == (2, 11)
    assert found.ties_others is None


@pytest.mark.parametrize("lefts", [0, 3, 10, 17, 20])
def test_side_interval_and_p_are_exact(lefts: int) -> None:
    rows = [Row("x", f"{n}", "left" if n < lefts else "right") for n in range(20)]
    found = check(rows)["x"]
    exact = binomtest(lefts, 20)
    ends = exact.proportion_ci(0.95, method="exact")
    assert found.left_p == pytest.approx(exact.pvalue)
    assert (found.left.low, found.left.high) == pytest.approx((ends.low, ends.high))


def test_p_is_adjusted_over_raters() -> None:
    rows = [Row("x", f"{n}", "left" if n else "right") for n in range(10)]
    alone = check(rows)["x"].left_p
    quiet = [
        Row(f"r{m}", f"{n}", "left" if n % 2 else "right") for m in range(4) for n in range(10)
    ]
    assert alone == pytest.approx(22 / 1024)
    assert check([*rows, *quiet])["x"].left_p == pytest.approx(5 * 22 / 1024)


def test_speed_by_hand() -> None:
    medians = {"a": 1.0, "b": 2.0, "c": 4.0, "d": 8.0, "x": 64.0}
    rows = [Row(name, f"{n}", "left", ms=1000 * s) for name, s in medians.items() for n in range(5)]
    found = check([*rows, Row("x", "9", "left", ms=NAN), Row("x", "8", "left", ms=0)])
    assert found["x"].seconds == pytest.approx(64)
    # In log₂ s the others are 0, 1, 2, 3: median 1.5, deviations 1.5, .5, .5, 1.5, of median 1.
    assert found["x"].speed_z == pytest.approx((6 - 1.5) / (1.4826 * 1))


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([Row("x", f"{n}", "left", ms=NAN) for n in range(9)], module.NO_TIME),
        ([Row("x", f"{n}", "left", ms=5) for n in range(4)], module.NO_TIME),
        ([Row("x", f"{n}", "left", ms=5) for n in range(5)], module.FEW_RATERS),
        ([Row(r, f"{n}", "left", ms=5) for r in "xabcd" for n in range(5)], module.SAME_SPEED),
    ],
)
def test_no_speed_with_the_reason(rows: list[Row], reason: str) -> None:
    found = check(rows)["x"]
    assert (found.speed_z, found.speed_reason) == (None, reason)


def test_without_orders_nothing_is_said_about_sides_and_runs() -> None:
    found = check([Row("x", f"{n}", "left", "unknown") for n in range(12)])["x"]
    assert (found.left.value, found.left.reason) == (None, module.NO_DECISIVE)
    assert (found.left_p, found.run, found.a_left, found.flags) == (None, None, (0, 0), ())


def test_nobody_voted() -> None:
    assert rater_checks(ballots([]), "people") == ()


def test_order_of_rows_changes_nothing_and_names_only_the_names() -> None:
    rows = panel()
    plain = check(rows)
    shuffled = [rows[n] for n in np.random.default_rng(1).permutation(len(rows))]
    assert check(shuffled) == plain
    new = {f"r{n}": f"z{7 - n}" for n in range(8)}
    renamed = check([Row(new[x.rater], x.pair, x.choice, x.order, x.ms, x.sequence) for x in rows])
    for name, row in plain.items():
        other = renamed[new[name]]
        assert (other.left, other.run, other.ties) == (row.left, row.run, row.ties)
        assert (other.left_p, other.speed_z) == (row.left_p, row.speed_z)


def test_left_and_right_mirror() -> None:
    swap = {"left": "right", "right": "left"}
    plain = check(panel())
    mirrored = check(
        [
            Row(x.rater, x.pair, swap.get(x.choice, x.choice), x.order, x.ms, x.sequence)
            for x in panel()
        ]
    )
    for name, row in plain.items():
        other = mirrored[name]
        assert row.left.value is not None
        assert other.left.value == pytest.approx(1 - row.left.value)
        assert (other.left_p, other.ties) == (row.left_p, row.ties)
