"""How often the longer answer is preferred, against how much longer it is."""

from __future__ import annotations

import math

from matplotlib.ticker import FixedFormatter, FixedLocator

from judge.reporting.drawing import field, series
from judge.reporting.drawing.field import Field
from judge.reporting.drawing.lettering import plain, width
from judge.reporting.drawing.sheet import Sheet
from judge.reporting.drawing.style import FAINT, GREY
from judge.reporting.pictures import Curve, CurveDot, CurvePlot

_HEIGHT = 1.9


def drawn(plot: CurvePlot) -> Sheet:
    """A line with intervals a source, over the line of no preference."""
    dots = [dot for curve in plot.curves for dot in curve.dots]
    if not dots:
        raise ValueError("a plot of preference for length without dots; expected at least one")
    known = [dot.longer for dot in dots]
    finite = {edge for dot in dots for edge in (dot.least, dot.most) if 0 < edge < math.inf}
    edges = sorted(math.log(edge) for edge in finite) or [0.0]
    # The last step has no end: it is drawn as wide as the one before it.
    wide = edges[-1] - edges[-2] if len(edges) > 1 else math.log(2)
    open_end = wide if any(dot.most == math.inf for dot in dots) else 0.05 * wide
    place = Field(
        "longer answer ÷ shorter answer, in length (log scale)",
        "longer one preferred (%)",
        (edges[0] - 0.05 * wide, edges[-1] + open_end),
        field.shares(known, (0.4, 0.6)),
        _HEIGHT,
        series.key([(curve.name, [dot.longer for dot in curve.dots]) for curve in plot.curves]),
        _undefined(plot.curves),
    )
    axes = place.axes
    field.percent(axes.yaxis)
    axes.grid(axis="x", color=FAINT, linewidth=0.4)
    axes.set_axisbelow(True)
    _ticks(place, edges, open_end > wide / 2)
    axes.axhline(0.5, color=GREY, linewidth=0.8)
    for index, curve in enumerate(plot.curves):
        xs = [_middle(dot, wide) for dot in curve.dots]
        series.line(place, index, len(plot.curves), xs, [dot.longer for dot in curve.dots])
    return place.sheet


def _middle(dot: CurveDot, wide: float) -> float:
    """The logarithm of the step's geometric middle; of an open step, of half the one before."""
    if dot.least > 0 and dot.most < math.inf:
        return (math.log(dot.least) + math.log(dot.most)) / 2
    if dot.least > 0:
        return math.log(dot.least) + wide / 2
    return math.log(dot.most) - wide / 2 if dot.most < math.inf else 0.0


def _ticks(place: Field, edges: list[float], further: bool) -> None:
    """The steps' edges, as long as their numbers have room."""
    names = [f"{math.exp(edge):.3g}" for edge in edges]
    shown: list[tuple[float, str]] = []
    free = -math.inf
    for edge, name in zip(edges, names, strict=True):
        middle = place.inches(edge, 0)[0]
        if middle - width(name) / 2 >= free:
            shown.append((edge, name))
            free = middle + width(name) / 2 + 0.05
        else:
            shown.append((edge, ""))
    if further:
        shown.append((place.x[1], "∞"))
    axis = place.axes.xaxis
    axis.set_major_locator(FixedLocator([edge for edge, _ in shown]))
    axis.set_major_formatter(FixedFormatter([name for _, name in shown]))


def _undefined(curves: tuple[Curve, ...]) -> list[str]:
    return [
        f"{plain(curve.name)} at {dot.least:g}–{'∞' if dot.most == math.inf else f'{dot.most:g}'}"
        for curve in curves
        for dot in curve.dots
        if dot.longer.value is None
    ]
