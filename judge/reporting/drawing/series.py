"""Lines with intervals on one field: each has a colour, a shape and dashes of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from judge.reporting.drawing import field
from judge.reporting.drawing.field import Field
from judge.reporting.drawing.key import Entry, Key
from judge.reporting.drawing.style import DASHES, INK, SERIES, SHAPES, WHITE
from judge.stats.estimate import Estimate

_APART = 0.06
"""Inches between dots of several lines at the same place."""


def key(lines: Sequence[tuple[str, Sequence[Estimate]]]) -> Key:
    """The names of the lines in their order, and what an open dot is where there is one."""
    figures = [one for _name, figures in lines for one in figures]
    named = [Entry(name, _style(index)) for index, (name, _figures) in enumerate(lines)]
    return Key([*named, *field.entry_of_open(INK, figures)])


def line(
    place: Field, index: int, count: int, xs: Sequence[float], figures: Sequence[Estimate]
) -> None:
    """One of `count` lines, moved aside so that intervals stand beside each other.

    It breaks where a figure is undefined; a dot is open where a figure has no interval.
    """
    style = _style(index)
    inches = (index - (count - 1) / 2) * min(_APART, 0.25 / count)
    shift = inches * (place.x[1] - place.x[0]) / place.width
    at = [x + shift for x in xs]
    ys = [math.nan if one.value is None else one.value for one in figures]
    place.axes.plot(at, ys, **{**style, "marker": ""}, zorder=2)
    for x, y, one in zip(at, ys, figures, strict=True):
        if one.value is None:
            continue
        ends = field.interval(one)
        if ends is not None:
            place.axes.plot([x, x], ends, color=style["color"], linewidth=0.8, alpha=0.7, zorder=2)
        face = style["color"] if ends is not None else WHITE
        place.axes.plot(
            [x], [y], **{**style, "linestyle": ""}, markerfacecolor=face, zorder=3, clip_on=False
        )


def _style(index: int) -> dict[str, Any]:
    return {
        "color": SERIES[index % len(SERIES)],
        "marker": SHAPES[index % len(SHAPES)],
        "linestyle": DASHES[index % len(DASHES)],
        "linewidth": 1.0,
        "markersize": 4.0,
        "markeredgewidth": 0.9,
    }
