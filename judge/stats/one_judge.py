"""Figures about one judge alone: win rates of the models under it, and its position figures.

No vote is needed for them. All intervals of a judge come from the same resampled questions.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from annotate.records import Game, Outcome, Status
from judge.ask.verdicts import INCONSISTENT
from judge.stats.estimate import Estimate
from judge.stats.position import Orders, Position, classify, position
from judge.stats.ratios import Ratio, estimated
from judge.stats.win_rates import Comparison, WinRates, win_rates

MOST_HEAD_TO_HEAD = 12
"""Models up to which each is also set against every other one."""

UNKNOWN_ORDERS = "orders unknown"
UNMARKED = "orders unknown, and none of these is marked as inconsistent"
NO_VERDICT = "no usable verdict"
RATES = ("adjusted", "decisive", "strict")

_Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ModelRates:
    """One model's record with intervals; see `judge.stats.win_rates.WinRates`."""

    model: str
    wins: int
    losses: int
    ties: int
    both_bad: int
    adjusted: Estimate
    decisive: Estimate
    strict: Estimate


@dataclass(frozen=True, slots=True)
class WinTable:
    """Records over all pairs (baseline ""), or against one model, best first."""

    baseline: str
    rows: tuple[ModelRates, ...]


@dataclass(frozen=True, slots=True)
class PositionLine:
    """The columns of `judge.stats.position` on all questions (category ""), or one category's."""

    category: str
    consistent: Estimate
    first: Estimate
    second: Estimate
    error: Estimate
    ties_in_one_order: int


@dataclass(frozen=True, slots=True)
class JudgeFigures:
    """Everything about one judge on one dimension, whole dialogues apart from turns."""

    judge: str
    turn: int | None
    """None is all turns ≥ 1 together; 0 is the whole dialogue."""
    questions: int
    wins: tuple[WinTable, ...]
    """First over all pairs, then, for not too many models, against each of them."""
    position: tuple[PositionLine, ...]
    """First all questions, then each category where there are several."""
    inconsistent: Estimate
    """Usable pair verdicts whose two orders disagree."""
    notes: tuple[str, ...]


def judge_figures(
    verdicts: pd.DataFrame, judge: str, dimension: str, *, level: float, resamples: int, seed: int
) -> tuple[JudgeFigures, ...]:
    """Figures of one judge's pair verdicts: of all turns, then of whole dialogues, where any.

    Args:
        verdicts: from `judge.stats.agreement.select_verdicts`.
        judge: whose they are.
        dimension: on which they are.
        level: confidence level, in (0, 1).
        resamples: bootstrap resamples.
        seed: same seed, same figures.
    """
    parts = ((None, verdicts[verdicts["turn"] >= 1]), (0, verdicts[verdicts["turn"] == 0]))
    found = []
    for turn, rows in parts:
        if len(rows):
            words = "all turns" if turn is None else "whole dialogues"
            where = f"verdicts of judge {judge}; dimension {dimension}; {words}"
            made = _Made(rows)
            estimates = estimated(
                made.ratios,
                sorted(set(rows["cluster"])),
                where,
                level=level,
                resamples=resamples,
                seed=seed,
            )
            found.append(made.figures(judge, turn, estimates))
    return tuple(found)


class _Made:
    """One judge's counts, and the ratios to estimate from them."""

    def __init__(self, rows: pd.DataFrame) -> None:
        self.ratios: dict[_Key, Ratio] = {}
        self._notes: list[str] = []
        self._questions = int(rows["cluster"].nunique())
        self._tables = self._win_tables(_comparisons(rows))
        self._lines = self._position_lines(rows)
        self._inconsistent(rows)

    def figures(
        self, judge: str, turn: int | None, estimates: Mapping[_Key, Estimate]
    ) -> JudgeFigures:
        """The frozen result, with every ratio estimated."""
        return JudgeFigures(
            judge=judge,
            turn=turn,
            questions=self._questions,
            wins=tuple(
                WinTable(baseline, tuple(_row(baseline, row, estimates) for row in rows))
                for baseline, rows in self._tables.items()
            ),
            position=tuple(
                PositionLine(
                    category,
                    **{kind.value: estimates["position", category, kind] for kind in Position},
                    ties_in_one_order=half,
                )
                for category, half in self._lines.items()
            ),
            inconsistent=estimates["inconsistent",],
            notes=tuple(self._notes),
        )

    def _win_tables(self, comparisons: list[Comparison]) -> dict[str, tuple[WinRates, ...]]:
        tables = {"": win_rates(comparisons)}
        models = sorted({row.model for row in tables[""]})
        if len(models) > MOST_HEAD_TO_HEAD:
            self._notes.append(
                f"{len(models)} models: not set against each other one by one"
                f" (done for up to {MOST_HEAD_TO_HEAD})"
            )
        elif len(models) > 1:
            tables |= {model: win_rates(comparisons, model) for model in models}
        for baseline, rows in tables.items():
            for row in rows:
                for name in RATES:
                    self.ratios["wins", baseline, row.model, name] = _win_ratio(row, name)
        return tables

    def _position_lines(self, rows: pd.DataFrame) -> dict[str, int]:
        """Ties in one order per category; the shares become ratios."""
        known = rows[rows["orders"] != "unknown"]
        unknown = len(rows) - len(known)
        if unknown:
            self._notes.append(
                f"{unknown} of {len(rows)} verdicts came as one combined verdict, their orders"
                " unknown: they are in no position figure"
            )
        orders = [_orders(*pair) for pair in zip(known["ab"], known["ba"], strict=True)]
        categories = sorted(set(known["category"]) - {""})
        lines = {}
        for category in ["", *(categories if len(categories) > 1 else [])]:
            chosen = [not category or category == own for own in known["category"]]
            lines[category] = self._position_line(
                category,
                [o for o, take in zip(orders, chosen, strict=True) if take],
                [q for q, take in zip(known["cluster"], chosen, strict=True) if take],
                unknown if not category else 0,
            )
        return lines

    def _position_line(
        self, category: str, orders: Sequence[Orders], questions: Sequence[str], unknown: int
    ) -> int:
        counted = position(orders)
        excluded = dict(counted.excluded) | ({UNKNOWN_ORDERS: unknown} if unknown else {})
        per_kind: dict[str, Counter[str]] = defaultdict(Counter)
        asked: Counter[str] = Counter()
        for (ab, ba), question in zip(orders, questions, strict=True):
            kind = classify(ab, ba)
            if isinstance(kind, Position):
                per_kind[kind][question] += 1
                asked[question] += 1
        why = UNKNOWN_ORDERS if unknown and not orders else "no pair was asked in both orders"
        for kind in Position:
            self.ratios["position", category, kind] = Ratio(
                f"position {kind}", per_kind[kind], asked, why, excluded
            )
        return counted.ties_in_one_order

    def _inconsistent(self, rows: pd.DataFrame) -> None:
        usable = rows[rows["failure"] == ""]
        unknown = usable["orders"] == "unknown"
        marked = bool((usable.loc[unknown, "reason"] == INCONSISTENT).any())
        excluded = Counter(rows.loc[rows["failure"] != "", "failure"])
        why = NO_VERDICT
        # A file that marks no verdict may still hold inconsistent ones: 0 % would be a guess.
        if unknown.any() and not marked:
            excluded[UNMARKED] = int(unknown.sum())
            usable, why = usable[~unknown], UNMARKED
        disagree = usable[usable["reason"] == INCONSISTENT]
        self.ratios["inconsistent",] = Ratio(
            "inconsistent", Counter(disagree["cluster"]), Counter(usable["cluster"]), why, excluded
        )


def _comparisons(rows: pd.DataFrame) -> list[Comparison]:
    columns = (rows[name] for name in ("model_a", "model_b", "value", "failure", "cluster"))
    return [
        Comparison(a, b, None if failure else Outcome(value), failure, question)
        for a, b, value, failure, question in zip(*columns, strict=True)
    ]


def _win_ratio(row: WinRates, name: str) -> Ratio:
    """A rate of one record as counts per question."""
    tops = {"adjusted": (1, 0, 0.5), "decisive": (1, 0, 0), "strict": (1, 0, 0)}
    bottoms = {"adjusted": (1, 1, 1), "decisive": (1, 1, 0), "strict": (1, 1, 1)}
    why = NO_VERDICT if not row.n else "every verdict is a tie"
    return Ratio(
        name,
        {q: _weighed(counts, tops[name]) for q, counts in row.by_question.items()},
        {q: _weighed(counts, bottoms[name]) for q, counts in row.by_question.items()},
        why,
        row.excluded,
        whole=name != "adjusted",
    )


def _weighed(counts: Sequence[int], weights: Sequence[float]) -> float:
    return sum(count * weight for count, weight in zip(counts, weights, strict=True))


def _row(baseline: str, row: WinRates, estimates: Mapping[_Key, Estimate]) -> ModelRates:
    adjusted, decisive, strict = (estimates["wins", baseline, row.model, name] for name in RATES)
    return ModelRates(
        row.model, row.wins, row.losses, row.ties, row.both_bad, adjusted, decisive, strict
    )


def _orders(ab: str, ba: str) -> Orders:
    return _game(ab), _game(ba)


def _game(word: str) -> Game | None:
    if not word:
        return None
    return Outcome(word) if word in set(Outcome) else Status(word)
