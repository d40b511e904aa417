"""How often the longer answer is preferred, against how much longer it is."""

from __future__ import annotations

import math
from typing import Any

from matplotlib.ticker import FixedFormatter, FixedLocator

from judge.reporting.drawing import field
from judge.reporting.drawing.field import Field
from judge.reporting.drawing.key import Entry, Key
from judge.reporting.drawing.lettering import plain, width
from judge.reporting.drawing.sheet import Sheet
from judge.reporting.drawing.style import DASHES, FAINT, GREY, SERIES, SHAPES, WHITE
from judge.reporting.pictures import Curve, CurveDot, CurvePlot

_HEIGHT = 1.9
_APART = 0.06
"""Inches between dots of several curves at the same place."""


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
        Key([Entry(curve.name, _style(index)) for index, curve in enumerate(plot.curves)]),
        _undefined(plot.curves),
    )
    axes = place.axes
    field.percent(axes.yaxis)
    axes.grid(axis="x", color=FAINT, linewidth=0.4)
    axes.set_axisbelow(True)
    _ticks(place, edges, open_end > wide / 2)
    axes.axhline(0.5, color=GREY, linewidth=0.8)
    for index, curve in enumerate(plot.curves):
        shift = (index - (len(plot.curves) - 1) / 2) * min(_APART, 0.25 / len(plot.curves))
        per_inch = (place.x[1] - place.x[0]) / place.width
        _curve(place, index, curve, shift * per_inch, wide)
    return place.sheet


def _style(index: int) -> dict[str, Any]:
    return {
        "color": SERIES[index % len(SERIES)],
        "marker": SHAPES[index % len(SHAPES)],
        "linestyle": DASHES[index % len(DASHES)],
        "linewidth": 1.0,
        "markersize": 4.0,
        "markeredgewidth": 0.9,
    }


def _curve(place: Field, index: int, curve: Curve, shift: float, wide: float) -> None:
    """Its line breaks where a share is undefined."""
    style = _style(index)
    xs = [_middle(dot, wide) + shift for dot in curve.dots]
    ys = [math.nan if dot.longer.value is None else dot.longer.value for dot in curve.dots]
    place.axes.plot(xs, ys, **{**style, "marker": ""}, zorder=2)
    for x, y, dot in zip(xs, ys, curve.dots, strict=True):
        ends = field.interval(dot.longer)
        if dot.longer.value is None:
            continue
        if ends is not None:
            place.axes.plot([x, x], ends, color=style["color"], linewidth=0.8, alpha=0.7, zorder=2)
        face = style["color"] if ends is not None else WHITE
        place.axes.plot(
            [x], [y], **{**style, "linestyle": ""}, markerfacecolor=face, zorder=3, clip_on=False
        )


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
