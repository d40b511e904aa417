"""The report's pictures as SVG, PDF and PNG, at the width of a journal's column.

matplotlib is loaded by the first picture, not by this package: nothing else waits for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, assert_never, get_args

from judge.reporting.pictures import (
    ConfusionMap,
    CurvePlot,
    Forest,
    GapPlot,
    Plot,
    PositionBars,
    RatePlot,
    RaterMap,
    TradeOff,
    TurnPlot,
)

if TYPE_CHECKING:
    from judge.reporting.drawing.sheet import Sheet

Format: TypeAlias = Literal["svg", "pdf", "png"]


def draw(plot: Plot, format: Format) -> bytes:
    """The picture as a file's bytes, 3.3 inches wide; PNG at 300 dots per inch.

    The same plot gives the same SVG, byte for byte, wherever the same matplotlib draws it: fonts
    are those that come with it, and nobody's settings are read. Threads may draw; they take turns.

    Raises:
        ValueError: there is nothing to draw, the plot contradicts itself, or the format is
            unknown.
    """
    from judge.reporting.drawing.library import ready

    if format not in get_args(Format):
        raise ValueError(f"format {format!r}; expected one of {', '.join(get_args(Format))}")
    with ready():
        return _drawn(plot).printed(format, salt=repr(plot))


def _drawn(plot: Plot) -> Sheet:
    from judge.reporting.drawing import (
        confusion_map,
        curve_plot,
        forest,
        gap_plot,
        position_bars,
        rate_plot,
        rater_map,
        trade_off,
        turn_plot,
    )

    match plot:
        case Forest():
            return forest.drawn(plot)
        case ConfusionMap():
            return confusion_map.drawn(plot)
        case GapPlot():
            return gap_plot.drawn(plot)
        case RatePlot():
            return rate_plot.drawn(plot)
        case PositionBars():
            return position_bars.drawn(plot)
        case CurvePlot():
            return curve_plot.drawn(plot)
        case RaterMap():
            return rater_map.drawn(plot)
        case TradeOff():
            return trade_off.drawn(plot)
        case TurnPlot():
            return turn_plot.drawn(plot)
        case _:
            assert_never(plot)
