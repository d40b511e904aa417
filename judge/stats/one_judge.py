"""Figures about one judge alone: win rates of the models under it, and its position figures.

No vote is needed for them. All intervals of a judge come from the same resampled questions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from annotate.records import Outcome
from judge.stats.both_orders import NO_VERDICT, PositionLine, count_positions
from judge.stats.estimate import Estimate
from judge.stats.ratios import Ratio, estimated
from judge.stats.win_rates import Comparison, WinRates, win_rates

MOST_HEAD_TO_HEAD = 12
"""Models up to which each is also set against every other one."""

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
        self._positions = count_positions(rows)
        self.ratios |= self._positions.ratios
        if self._positions.unknown:
            self._notes.append(
                f"{self._positions.unknown} of {len(rows)} verdicts came as one combined verdict,"
                " their orders unknown: they are in no position figure"
            )

    def figures(
        self, judge: str, turn: int | None, estimates: Mapping[_Key, Estimate]
    ) -> JudgeFigures:
        """The frozen result, with every ratio estimated."""
        positions = self._positions.figures(estimates)
        return JudgeFigures(
            judge=judge,
            turn=turn,
            questions=self._questions,
            wins=tuple(
                WinTable(baseline, tuple(_row(baseline, row, estimates) for row in rows))
                for baseline, rows in self._tables.items()
            ),
            position=positions.lines,
            inconsistent=positions.inconsistent,
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
