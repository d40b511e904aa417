"""Does a rater press one button again and again? The longest run against shuffled votes.

The rater's own votes are put into random orders, which keeps how often each button was pressed.
p is the share of orders with a run at least as long: small means that equal presses come one
after another more than the buttons' frequencies explain. Votes on one pair follow each other
with the sides unchanged, so they agree for good reasons; whole pairs are shuffled.

A rater who presses one button throughout has no order to shuffle; that is said instead.

Source: J. Besag and P. Clifford, Sequential Monte Carlo p-values, Biometrika 78 (1991) 301–304,
https://doi.org/10.1093/biomet/78.2.301; on straight-lining: M. Schonlau and V. Toepoel,
Straightlining in Web survey panels over time, Survey Research Methods 9 (2015) 125–137,
https://doi.org/10.18148/srm/2015.v9i2.6128
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

ONE_BUTTON = "one button throughout"
ONE_PAIR = "fewer than two pairs"

SHUFFLES = 4_000
"""The most orders tried; the smallest p is then 1 / 4,001."""
ENOUGH = 20
"""Orders with a run as long after which p is known well enough to stop."""
BATCH = 50
CELLS = 1_000_000
"""Votes shuffled at one time, over the orders of a batch."""


@dataclass(frozen=True, slots=True)
class Run:
    """The longest run of one button, by one rater."""

    length: int
    button: str
    entropy: float
    """−Σ p log₂ p of the buttons, in bits. 0: one button; 1: two equally; 2: four equally."""
    p: float | None
    reason: str
    """Why there is no p."""


def longest_run(buttons: Sequence[str], pairs: Sequence[str], *, seed: int) -> Run:
    """The longest run and its p-value, for one rater's votes in the order they were cast.

    Args:
        buttons: what was pressed, one per vote; at least one.
        pairs: the pair of each vote; neighbours on one pair stay together.
        seed: of the shuffles.
    """
    names, code = np.unique(np.array(buttons, dtype=np.str_), return_inverse=True)
    shares = np.bincount(code) / len(code)
    entropy = float(-(shares * np.log2(shares)).sum())
    lengths = _running(code[None])[0]
    end = int(lengths.argmax())
    length, button = int(lengths[end]), str(names[code[end]])
    block = np.cumsum([0, *(x != y for x, y in pairwise(pairs))])
    reason = ONE_BUTTON if len(names) == 1 else ONE_PAIR if block[-1] == 0 else ""
    p = None if reason else _p(code, block, length, np.random.default_rng(seed))
    # Entropy of a single button is −0.0 by rounding.
    return Run(length, button, entropy + 0.0, p, reason)


def _p(
    code: NDArray[np.int64], block: NDArray[np.int64], observed: int, rng: np.random.Generator
) -> float:
    """Orders are drawn until enough of them have a run as long, or `SHUFFLES` were tried."""
    as_long = tried = 0
    size = max(1, min(BATCH, CELLS // len(code)))
    while tried < SHUFFLES:
        keys = rng.random((size, block[-1] + 1))[:, block]
        shuffled = code[np.argsort(keys, axis=1, kind="stable")]
        hits = np.cumsum(_running(shuffled).max(1) >= observed)
        if as_long + hits[-1] >= ENOUGH:
            last = int(np.searchsorted(hits, ENOUGH - as_long))
            return ENOUGH / (tried + last + 1)
        as_long, tried = as_long + int(hits[-1]), tried + size
    return (as_long + 1) / (tried + 1)


def _running(code: NDArray[np.int64]) -> NDArray[np.int64]:
    """How long the run is that each vote ends; shape (orders, votes)."""
    place = np.arange(code.shape[1])
    begins = np.ones(code.shape, dtype=np.bool_)
    begins[:, 1:] = code[:, 1:] != code[:, :-1]
    lengths: NDArray[np.int64] = place - np.maximum.accumulate(np.where(begins, place, 0), axis=1)
    return lengths + 1
