"""Win rates of models under one judge: wins, losses and ties, each with its denominator.

The unit is a pair verdict (both orders combined), counted once for each of its two models, as
FastChat's `show_result` counts a line of `*_pair.jsonl`: a win where both games name the same
model, a tie where either game is a tie or the games differ, nothing where a game failed.
So inconsistent pair verdicts are ties; `both_bad` is a tie too, and counted beside them.

Source: L. Zheng et al., Judging LLM-as-a-Judge with MT-Bench and Chatbot Arena (2023),
https://arxiv.org/abs/2306.05685, and `fastchat/llm_judge/show_result.py` of its repository.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from annotate.errors import UsageError
from annotate.records import Outcome

ONE_NAME = "two versions of one model"
"""Both answers carry one name, so that neither can win under it."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One pair verdict; without an outcome, `failure` says why."""

    model_a: str
    model_b: str
    outcome: Outcome | None
    failure: str = ""
    question: str = ""
    """What is resampled for intervals: verdicts on one question belong together."""


@dataclass(frozen=True, slots=True)
class Share:
    """A rate as its two counts; a tie may add a half to the numerator."""

    numerator: float
    denominator: int

    @property
    def value(self) -> float | None:
        """The rate in [0, 1]; None with nothing to count."""
        return self.numerator / self.denominator if self.denominator else None


@dataclass(frozen=True, slots=True)
class WinRates:
    """One model's record against the others, or against one baseline."""

    model: str
    wins: int
    losses: int
    ties: int
    """All verdicts without a winner: tie, both_bad, inconsistent."""
    both_bad: int
    """How many of the ties are `both_bad`."""
    excluded: Mapping[str, int]
    """Verdicts without an outcome, by reason; they are in no rate."""
    by_question: Mapping[str, tuple[int, int, int]]
    """Wins, losses and ties per question."""

    @property
    def n(self) -> int:
        """Usable verdicts."""
        return self.wins + self.losses + self.ties

    @property
    def adjusted(self) -> Share:
        """(wins + ties / 2) / n: FastChat's `win_rate_adjusted`, also called ties-half.

        1 wins all, ½ as good as the others, 0 loses all.
        """
        return Share(self.wins + self.ties / 2, self.n)

    @property
    def decisive(self) -> Share:
        """Wins / (wins + losses): of the verdicts that name a winner."""
        return Share(self.wins, self.wins + self.losses)

    @property
    def strict(self) -> Share:
        """Wins / n: a tie is no win; FastChat's `win_rate`."""
        return Share(self.wins, self.n)


def win_rates(
    comparisons: Iterable[Comparison], baseline: str | None = None
) -> tuple[WinRates, ...]:
    """Every model's record, best adjusted rate first; models without a usable verdict last.

    With a baseline only comparisons with it count, and it has no row of its own, as in
    FastChat's `--mode pairwise-baseline`.

    Raises:
        UsageError: no comparison is with the baseline.
    """
    totals: dict[str, _Record] = {}
    met = baseline is None
    for one in comparisons:
        names = (one.model_a, one.model_b)
        if baseline is not None and baseline not in names:
            continue
        met = True
        for model, won in zip(names, (Outcome.A, Outcome.B), strict=True):
            if model != baseline:
                totals.setdefault(model, _Record()).add(one, won)
    if not met:
        raise UsageError(f"baseline {baseline!r}: no verdict compares a model with it")
    rows = [record.frozen(model) for model, record in totals.items()]
    return tuple(sorted(rows, key=_best_first))


class _Record:
    """What a model's comparisons come to so far."""

    def __init__(self) -> None:
        self.both_bad = 0
        self.excluded: Counter[str] = Counter()
        self.questions: dict[str, list[int]] = {}

    def add(self, one: Comparison, won: Outcome) -> None:
        if one.model_a == one.model_b:
            # Both sides come here under one name; the verdict is one.
            self.excluded[ONE_NAME] += won is Outcome.A
        elif one.outcome is None:
            self.excluded[one.failure or "no value"] += 1
        else:
            counts = self.questions.setdefault(one.question, [0, 0, 0])
            tied = one.outcome in (Outcome.TIE, Outcome.BOTH_BAD)
            counts[2 if tied else 0 if one.outcome is won else 1] += 1
            self.both_bad += one.outcome is Outcome.BOTH_BAD

    def frozen(self, model: str) -> WinRates:
        wins, losses, ties = (sum(c[i] for c in self.questions.values()) for i in range(3))
        by_question = {q: (c[0], c[1], c[2]) for q, c in self.questions.items()}
        excluded = dict(sorted((+self.excluded).items()))
        return WinRates(model, wins, losses, ties, self.both_bad, excluded, by_question)


def _best_first(row: WinRates) -> tuple[bool, float, str]:
    value = row.adjusted.value
    return value is None, -(value or 0.0), row.model
