"""By which turn dialogues of one length have become unsafe: a line with intervals a model."""

from __future__ import annotations

from matplotlib.ticker import FixedLocator, FuncFormatter

from judge.reporting.drawing import field, series
from judge.reporting.drawing.field import Field
from judge.reporting.drawing.lettering import plain
from judge.reporting.drawing.sheet import Sheet
from judge.reporting.drawing.style import FAINT
from judge.reporting.pictures import TurnPlot

_HEIGHT = 1.9
_MOST = 12
"""Numbers on the axis of turns, at most."""


def drawn(plot: TurnPlot) -> Sheet:
    """From 0 %: the lines rise from nothing, and a cut axis would make a small rise look large."""
    lengths = sorted({len(line.shares) for line in plot.lines})
    if not lengths or lengths[0] == 0:
        raise ValueError("a plot of turns without a turn; expected at least one in each line")
    if len(lengths) > 1:
        raise ValueError(
            f"a plot of turns with lines of {lengths} turns; expected one length: more turns give"
            " more chances to become unsafe"
        )
    turns = range(1, lengths[0] + 1)
    place = Field(
        "turn",
        "dialogues unsafe by this turn (%)",
        (0.6, lengths[0] + 0.4),
        field.shares([one for line in plot.lines for one in line.shares], (0.0,)),
        _HEIGHT,
        series.key([(line.model, line.shares) for line in plot.lines]),
        _undefined(plot),
    )
    axes = place.axes
    field.percent(axes.yaxis)
    axes.grid(axis="y", color=FAINT, linewidth=0.4)
    axes.set_axisbelow(True)
    axes.xaxis.set_major_locator(FixedLocator(list(turns[:: -(-lengths[0] // _MOST)])))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda turn, _: f"{turn:.0f}"))
    for index, line in enumerate(plot.lines):
        series.line(place, index, len(plot.lines), turns, line.shares)
    return place.sheet


def _undefined(plot: TurnPlot) -> list[str]:
    """A model once: all of its turns, or which."""
    found = []
    for line in plot.lines:
        missing = [str(i) for i, one in enumerate(line.shares, start=1) if one.value is None]
        if len(missing) == len(line.shares):
            found.append(f"{plain(line.model)} at every turn")
        elif missing:
            turns = "turn" if len(missing) == 1 else "turns"
            found.append(f"{plain(line.model)} at {turns} {', '.join(missing)}")
    return found
