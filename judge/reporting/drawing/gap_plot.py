"""Agreement against win-rate gap: what lies above the blind line says something about answers."""

from __future__ import annotations

import math

from judge.reporting.drawing import field
from judge.reporting.drawing.field import Field
from judge.reporting.drawing.lettering import width
from judge.reporting.drawing.repel import Label, Stretch, named
from judge.reporting.drawing.sheet import Sheet
from judge.reporting.drawing.style import BLUE, FAINT, GREY, INK
from judge.reporting.pictures import GapPlot

_BLIND = "naming the better model"
_HEIGHT = 2.2
_FEW = 3
"""Dots up to which each has its name; more names would hide the picture."""


def drawn(plot: GapPlot) -> Sheet:
    """A dot a pair of models, and the line from (0, ½) to (1, 1)."""
    if not plot.dots:
        raise ValueError("a plot of agreement against gap without dots; expected at least one")
    known = [dot for dot in plot.dots if dot.agreement.value is not None]
    across = max((dot.gap for dot in known), default=1.0)
    most = min(1.0, max(0.25, 1.1 * across))
    place = Field(
        "gap between the models' win rates by people (points)",
        "agreement with people (%)",
        (-0.02 * most, 1.02 * most),
        field.shares((dot.agreement for dot in known), (0.5, (1 + most) / 2)),
        _HEIGHT,
        field.key_of_open(BLUE, (dot.agreement for dot in known)),
        [dot.label for dot in plot.dots if dot.agreement.value is None],
    )
    axes = place.axes
    field.percent(axes.xaxis)
    field.percent(axes.yaxis)
    axes.grid(color=FAINT, linewidth=0.4)
    axes.set_axisbelow(True)
    axes.plot([0, most], [0.5, (1 + most) / 2], color=GREY, linewidth=1.0, linestyle=(0, (4, 2)))
    lines = [(0.0, 0.5, most, (1 + most) / 2)]
    taken: list[tuple[float, float]] = []
    labels: list[Label] = []
    for dot in known:
        value = dot.agreement.value or 0.0
        ends = field.interval(dot.agreement)
        if ends is not None:
            axes.plot([dot.gap] * 2, ends, color=BLUE, linewidth=0.8, alpha=0.55, zorder=2)
            lines.append((dot.gap, ends[0], dot.gap, ends[1]))
            taken += [(dot.gap, ends[0] + (ends[1] - ends[0]) * step / 8) for step in range(9)]
        style = field.dot(BLUE, ends is not None)
        axes.plot([dot.gap], [value], **style, zorder=3, clip_on=False)
        taken += [(dot.gap, value)] * 4
        labels.append(Label(dot.label if len(known) <= _FEW else "", dot.gap, value))
    lines += _name_line(place, most, taken)
    named(place, labels, lines)
    return place.sheet


def _name_line(place: Field, most: float, taken: list[tuple[float, float]]) -> list[Stretch]:
    """Write along the line, above or below it, where fewest dots and intervals are; where it is."""
    start, end = place.inches(0, 0.5), place.inches(most, (1 + most) / 2)
    angle = math.atan2(end[1] - start[1], end[0] - start[0])
    long, wide = math.dist(start, end), width(_BLIND)
    across, up = math.cos(angle), math.sin(angle)
    turned = []
    for dot in taken:
        x, y = place.inches(*dot)
        x, y = x - start[0], y - start[1]
        turned.append((x * across + y * up, y * across - x * up))
    room = max(0.0, long - wide)
    best = min(
        ((room * step / 24, side * 0.085) for side in (-1, 1) for step in range(24, -1, -1)),
        key=lambda at: sum(
            at[0] - 0.04 < x < at[0] + wide + 0.04 and abs(y - at[1]) < 0.09 for x, y in turned
        ),
    )
    along = best[0] + wide / 2
    place.axes.text(
        (start[0] + along * across - best[1] * up) / place.width,
        (start[1] + along * up + best[1] * across) / place.height,
        _BLIND,
        transform=place.axes.transAxes,
        rotation=math.degrees(angle),
        rotation_mode="anchor",
        ha="center",
        va="center",
        color=INK,
    )
    # Three lines through its letters, so that names keep off them.
    found: list[Stretch] = []
    for beside in (best[1] - 0.04, best[1], best[1] + 0.04):
        near = start[0] + best[0] * across - beside * up, start[1] + best[0] * up + beside * across
        far = near[0] + wide * across, near[1] + wide * up
        found.append((*place.units(*near), *place.units(*far)))
    return found
