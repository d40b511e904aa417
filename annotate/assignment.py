"""Which pair does a rater see next, and which answer stands left? Pure arithmetic.

Every pair has pre-made `ab` and `ba` slots, as many of each as half the overlap rounded
up, so its raters split evenly (±1 at odd overlap). Within that, a rater is given the
(pair, order) that keeps their own left–right balance: on the canonical side and per model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from .records import Order, digest

WINDOW = 32
"""How far from the head of the draw order balance may reach for a better pair."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A pair that a rater may be given now, with the orders whose slots are free."""

    pair_id: str
    question_id: str
    model_a: str
    model_b: str
    orders: tuple[Order, ...]


@dataclass
class Balance:
    """What a rater has been shown so far: +1 where canonical A / the model stood left."""

    canonical: int = 0
    models: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, shown: Iterable[tuple[str, str, Order]]) -> Balance:
        """Balance over (model_a, model_b, order) of the pairs shown."""
        balance = cls()
        for model_a, model_b, order in shown:
            balance.add(model_a, model_b, order)
        return balance

    def add(self, model_a: str, model_b: str, order: Order) -> None:
        """Count one more pair."""
        step = 1 if order is Order.AB else -1
        self.canonical += step
        self.models[model_a] += step
        self.models[model_b] -= step

    def cost(self, model_a: str, model_b: str, order: Order) -> int:
        """How lopsided the rater would be after one more pair (sum of squares)."""
        step = 1 if order is Order.AB else -1
        return (
            2 * (self.canonical + step) ** 2
            + (self.models[model_a] + step) ** 2
            + (self.models[model_b] - step) ** 2
            - self.models[model_a] ** 2
            - self.models[model_b] ** 2
        )


def slot_orders(overlap: int) -> list[Order]:
    """The orders of a pair's pre-made slots: equally many of both, at least `overlap` in all."""
    return [Order.AB, Order.BA] * ((overlap + 1) // 2)


def choose(
    candidates: Sequence[Candidate],
    shown: Balance,
    *,
    last_question: str | None,
    seed: str,
) -> tuple[Candidate, Order] | None:
    """The pair and order to show next, or None without candidates.

    `candidates` come in serving order. Pairs that leave only one order are weighed into the
    balance beforehand, as if shown: they will be, and the free ones must make up for them.
    Among equals the earlier pair wins; between two equal orders chance does (from `seed`).
    """
    window = candidates[:WINDOW]
    planned = Balance(shown.canonical, Counter(shown.models))
    for candidate in window:
        if len(candidate.orders) == 1:
            planned.add(candidate.model_a, candidate.model_b, candidate.orders[0])
    best: tuple[int, Candidate, list[Order]] | None = None
    for candidate in window:
        forced = len(candidate.orders) == 1
        repeat = 3 * (candidate.question_id == last_question)
        for order in candidate.orders:
            now = shown.cost(candidate.model_a, candidate.model_b, order)
            later = 0 if forced else planned.cost(candidate.model_a, candidate.model_b, order)
            score = now + later + repeat
            if best is None or score < best[0]:
                best = (score, candidate, [order])
            elif score == best[0] and candidate is best[1]:
                best[2].append(order)
    if best is None:
        return None
    _, candidate, equal = best
    return candidate, equal[int(digest([seed, candidate.pair_id])[:8], 16) % len(equal)]


def dimension_order(names: Sequence[str], seat: int) -> list[str]:
    """The order in which a rater is asked the dimensions: rotated by seat number.

    Over as many raters as there are dimensions, each stands once in every place.
    """
    shift = seat % len(names)
    return [*names[shift:], *names[:shift]]
