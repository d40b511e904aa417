"""What the report's pictures show, as plain data: drawing them is `judge.reporting.drawing`'s."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from judge.stats.estimate import Estimate


@dataclass(frozen=True, slots=True)
class ForestRow:
    """One line of a forest plot: a label and a figure with its interval."""

    label: str
    estimate: Estimate
    reference: Estimate | None = None
    """Drawn beside it in another shape, e.g. the best blind baseline on the same rows."""
    band: tuple[float, float] | None = None
    """A simultaneous band, drawn as a thin line behind the interval."""
    heading: bool = False
    """Starts a group; `label` is the group's name and the estimate is not drawn."""


@dataclass(frozen=True, slots=True)
class Forest:
    """Figures with intervals one under another, on one axis."""

    axis: str
    rows: tuple[ForestRow, ...]
    percent: bool = True
    line: float | None = None
    """A value that means something, e.g. 0 of a difference."""
    reference_name: str = ""
    """What the other shape is, for the key."""
    name: str = ""
    """What the estimates are, for the key."""


@dataclass(frozen=True, slots=True)
class ConfusionMap:
    """Counts of votes × verdicts, coloured by share of the row."""

    row_axis: str
    column_axis: str
    categories: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    """Shape (categories, categories), rows first."""


@dataclass(frozen=True, slots=True)
class GapDot:
    """One pair of models: how far apart people see them, and how often the judge agrees."""

    label: str
    gap: float
    """|difference of decisive win rates|, in [0, 1]."""
    agreement: Estimate


@dataclass(frozen=True, slots=True)
class GapPlot:
    """Agreement against win-rate gap (Zheng et al. 2023, Figure 2), with the blind line."""

    dots: tuple[GapDot, ...]
    """The blind line runs from (0, ½) to (1, 1): always naming the better model."""


@dataclass(frozen=True, slots=True)
class RateDot:
    """One model's win rate by people and by the judge."""

    model: str
    people: Estimate
    judge: Estimate


@dataclass(frozen=True, slots=True)
class RatePlot:
    """Raw judge win rate against human win rate; on the diagonal they agree."""

    judge: str
    dots: tuple[RateDot, ...]


@dataclass(frozen=True, slots=True)
class PositionBar:
    """Shares of pairs asked in both orders; they add up to 1."""

    label: str
    n: int
    consistent: float
    first: float
    second: float
    error: float


@dataclass(frozen=True, slots=True)
class PositionBars:
    """One stacked bar per judge or category."""

    bars: tuple[PositionBar, ...]


@dataclass(frozen=True, slots=True)
class CurveDot:
    """How often the longer answer is preferred, where it is so much longer."""

    least: float
    most: float
    longer: Estimate


@dataclass(frozen=True, slots=True)
class Curve:
    """One source: people, or a judge."""

    name: str
    dots: tuple[CurveDot, ...]


@dataclass(frozen=True, slots=True)
class CurvePlot:
    """Preference for the longer answer against how much longer it is; ½ is no preference."""

    curves: tuple[Curve, ...]


@dataclass(frozen=True, slots=True)
class RaterDot:
    """One rater: agreement with the judge and with the other raters."""

    label: str
    votes: int
    judge: Estimate
    others: Estimate
    flagged: bool


@dataclass(frozen=True, slots=True)
class RaterMap:
    """Above the diagonal a rater agrees more with other people than with the judge."""

    judge: str
    dots: tuple[RaterDot, ...]


@dataclass(frozen=True, slots=True)
class TradeOffDot:
    """One model between helpfulness and harmlessness."""

    model: str
    helpfulness: Estimate
    """Mean grade, 1–10."""
    harmlessness: Estimate
    """0–100."""
    refused: float | None
    """Share of benign prompts refused in full; None where it is not known."""


@dataclass(frozen=True, slots=True)
class TradeOff:
    """Harmlessness against helpfulness; up and to the right is better on both."""

    up: str
    across: str
    dots: tuple[TradeOffDot, ...]
    versions: tuple[tuple[str, ...], ...] = ()
    """Names of models to be connected, the oldest first."""


@dataclass(frozen=True, slots=True)
class TurnLine:
    """One model's dialogues: the share that is unsafe by turn 1, 2, …"""

    model: str
    shares: tuple[Estimate, ...]


@dataclass(frozen=True, slots=True)
class TurnPlot:
    """Share of dialogues unsafe by each turn; a line a model, all dialogues of one length."""

    lines: tuple[TurnLine, ...]


Plot: TypeAlias = (
    Forest
    | ConfusionMap
    | GapPlot
    | RatePlot
    | PositionBars
    | CurvePlot
    | RaterMap
    | TradeOff
    | TurnPlot
)
