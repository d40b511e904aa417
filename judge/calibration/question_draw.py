"""Whole questions drawn at random, whatever the verdicts, and all their items.

So tune and test samples are drawn: a sample that goes by verdicts would leave a set to be scored
that is easier, or harder, than the whole. What these leave is a random part of it.

The number of questions is fixed before the draw, not the number of items: to stop at so many
items would draw questions with many of them more often.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class QuestionDraw:
    """The questions drawn, and their items in the order in which they are to be labelled."""

    questions: tuple[str, ...]
    of: int
    """Questions of the set."""
    items: tuple[str, ...]
    size: int
    """Items of the set."""

    @property
    def chance(self) -> float:
        """Of every question, and so of every item, to be drawn."""
        return len(self.questions) / self.of

    @property
    def left(self) -> int:
        """Items that were not drawn."""
        return self.size - len(self.items)


def draw_questions(
    ids: Sequence[str], questions: Sequence[str], labels: int, seed: int
) -> QuestionDraw:
    """As many questions as hold `labels` items on average, by simple random sampling.

    The seed decides everything; so does the order of names, which are sorted first.

    Args:
        ids: the items of the set.
        questions: the question of each.
        labels: wanted, about.
        seed: of the draw and of the order.

    Raises:
        ValueError: there are no items, or fewer than one is wanted.
    """
    if not len(ids) or labels < 1:
        raise ValueError(f"{labels} labels of {len(ids)} items: expected one or more of both")
    names = sorted(set(questions))
    wanted = min(len(names), -(-labels * len(names) // len(ids)))
    rng = np.random.default_rng(seed)
    chosen = sorted(names[int(n)] for n in rng.permutation(len(names))[:wanted])
    known = set(chosen)
    items = sorted(one for one, question in zip(ids, questions, strict=True) if question in known)
    # Mixed, so that a rater does not read the answers to one question one after the other.
    mixed = tuple(items[int(n)] for n in rng.permutation(len(items)))
    return QuestionDraw(tuple(chosen), len(names), mixed, len(ids))
