"""Runs of one button: by hand, exact p by enumeration, level under chance."""

from __future__ import annotations

from itertools import groupby, permutations

import numpy as np
import pytest

from judge.stats.straight_lining import ONE_BUTTON, ONE_PAIR, longest_run


def longest(buttons: tuple[str, ...]) -> int:
    return max(len(list(run)) for _, run in groupby(buttons))


@pytest.mark.parametrize(
    ("buttons", "length", "button", "entropy"),
    [
        ("LLRRRL", 3, "R", 1.0),
        ("LRLR", 1, "L", 1.0),
        ("LRTB", 1, "L", 2.0),
        ("LLLR", 3, "L", 0.811278),
    ],
)
def test_by_hand(buttons: str, length: int, button: str, entropy: float) -> None:
    run = longest_run(list(buttons), [str(n) for n in range(len(buttons))], seed=0)
    assert (run.length, run.button) == (length, button)
    assert run.entropy == pytest.approx(entropy, abs=1e-6)


@pytest.mark.parametrize("buttons", ["LLLRRR", "LLLLRT", "LRLRLT", "TTLLRRB"])
def test_p_is_the_share_of_all_orders(buttons: str) -> None:
    observed = longest(tuple(buttons))
    orders = list(permutations(buttons))
    exact = sum(longest(order) >= observed for order in orders) / len(orders)
    # Stopped at 20 hits the p-value has a relative sd of about a fifth, so many seeds.
    pairs = [str(n) for n in range(len(buttons))]
    found = [longest_run(list(buttons), pairs, seed=seed).p for seed in range(200)]
    assert np.mean([p for p in found if p is not None]) == pytest.approx(exact, rel=0.08)


def test_votes_on_one_pair_stay_together() -> None:
    # Six pairs of three turns each, alike within a pair: in any order runs are 3, 6, 9.
    buttons = [x for x in "LRLRLR" for _ in range(3)]
    pairs = [str(n) for n in range(6) for _ in range(3)]
    assert longest_run(buttons, pairs, seed=0).p == 1.0
    apart = longest_run(buttons, [str(n) for n in range(18)], seed=0).p
    assert apart is not None
    assert apart < 1


def test_a_long_run_is_unlikely_and_p_is_never_0() -> None:
    run = longest_run(list("L" * 20 + "R" * 20), [str(n) for n in range(40)], seed=0)
    assert run.p == pytest.approx(1 / 4001)


@pytest.mark.parametrize(
    ("buttons", "pairs", "reason"),
    [("LLLL", "abcd", ONE_BUTTON), ("LRL", "aaa", ONE_PAIR), ("L", "a", ONE_BUTTON)],
)
def test_nothing_to_shuffle(buttons: str, pairs: str, reason: str) -> None:
    run = longest_run(list(buttons), list(pairs), seed=0)
    assert (run.p, run.reason) == (None, reason)
    assert run.length == (len(buttons) if reason == ONE_BUTTON else 1)


def test_p_keeps_its_level_under_chance() -> None:
    rng = np.random.default_rng(6)
    pairs = [str(n) for n in range(30)]
    ps = []
    for seed in range(400):
        p = longest_run(rng.choice(["L", "R", "T"], 30).tolist(), pairs, seed=seed).p
        assert p is not None
        ps.append(p)
    # sd of a share of 400 at .05: .011; the run's length is coarse, so the share is below.
    assert np.mean(np.array(ps) <= 0.05) <= 0.075
