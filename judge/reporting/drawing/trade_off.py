"""Harmlessness against helpfulness: a cross of two intervals a model, versions in a line."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise

from judge.reporting.drawing import field
from judge.reporting.drawing.field import Field, Span
from judge.reporting.drawing.lettering import shortened
from judge.reporting.drawing.repel import Label, Stretch, named
from judge.reporting.drawing.sheet import Sheet
from judge.reporting.drawing.style import BLUE, FAINT, GREY
from judge.reporting.pictures import TradeOff, TradeOffDot
from judge.stats.estimate import Estimate

_HEIGHT = 2.4
_NAME = 0.72
"""Inches of a model's name, before its share of refusals."""


def drawn(plot: TradeOff) -> Sheet:
    """A dot a model, its name with the benign prompts that it refuses in brackets."""
    if not plot.dots:
        raise ValueError("a trade-off without models; expected at least one")
    known = [
        dot
        for dot in plot.dots
        if dot.helpfulness.value is not None and dot.harmlessness.value is not None
    ]
    both = [one for dot in known for one in (dot.helpfulness, dot.harmlessness)]
    place = Field(
        plot.across,
        plot.up,
        _span((dot.helpfulness for dot in known), 1.0, 10.0, 0.5),
        _span((dot.harmlessness for dot in known), 0.0, 100.0, 5.0),
        _HEIGHT,
        field.key_of_open(BLUE, both),
        [dot.model for dot in plot.dots if dot not in known],
    )
    axes = place.axes
    field.numbers(axes.xaxis)
    field.numbers(axes.yaxis)
    axes.grid(color=FAINT, linewidth=0.4)
    axes.set_axisbelow(True)
    lines = [*_versions(place, plot, known)]
    labels: list[Label] = []
    for dot in known:
        x, y = dot.helpfulness.value or 0.0, dot.harmlessness.value or 0.0
        across, up = field.interval(dot.helpfulness), field.interval(dot.harmlessness)
        if across is not None:
            axes.plot(across, (y, y), color=BLUE, linewidth=0.8, alpha=0.7, zorder=2)
            lines.append((across[0], y, across[1], y))
        if up is not None:
            axes.plot((x, x), up, color=BLUE, linewidth=0.8, alpha=0.7, zorder=2)
            lines.append((x, up[0], x, up[1]))
        whole = across is not None and up is not None
        axes.plot([x], [y], **field.dot(BLUE, whole), zorder=3, clip_on=False)
        labels.append(Label(_name(dot), x, y))
    named(place, labels, lines)
    return place.sheet


def _name(dot: TradeOffDot) -> str:
    """Shortened here, so that the brackets are never what is cut."""
    name = shortened(dot.model, _NAME)
    return name if dot.refused is None else f"{name} ({100 * dot.refused:.0f} %)"


def _span(estimates: Iterable[Estimate], least: float, most: float, step: float) -> Span:
    """Limits on round steps, with some air, inside the scale."""
    found = [end for one in estimates for end in field.ends(one)]
    if not found:
        return least, most
    air = step / 10
    low = max(least, math.floor((min(found) - air) / step) * step)
    high = min(most, math.ceil((max(found) + air) / step) * step)
    return low, max(high, low + step)


def _versions(place: Field, plot: TradeOff, known: list[TradeOffDot]) -> list[Stretch]:
    """Grey arrows from each version to the next."""
    at = {dot.model: (dot.helpfulness.value or 0.0, dot.harmlessness.value or 0.0) for dot in known}
    found: list[Stretch] = []
    for chain in plot.versions:
        points = [at[name] for name in chain if name in at]
        for start, end in pairwise(points):
            place.axes.annotate(
                "",
                xy=end,
                xytext=start,
                arrowprops={
                    "arrowstyle": "-|>,head_width=0.16,head_length=0.3",
                    "color": GREY,
                    "linewidth": 0.9,
                    "shrinkA": 3.0,
                    "shrinkB": 3.5,
                },
                zorder=1.5,
            )
            found.append((*start, *end))
    return found
