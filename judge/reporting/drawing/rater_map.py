"""Raters by their agreement with the judge and with each other."""

from __future__ import annotations

import math
from statistics import median
from typing import Any

from judge.reporting.drawing import field
from judge.reporting.drawing.field import Field
from judge.reporting.drawing.key import Entry, Key
from judge.reporting.drawing.lettering import shortened
from judge.reporting.drawing.repel import Label, named
from judge.reporting.drawing.sheet import Sheet
from judge.reporting.drawing.style import BLUE, FAINT, GREY, INK, VERMILION, WHITE
from judge.reporting.pictures import RaterDot, RaterMap

_HEIGHT = 2.66
_LEAST, _MOST = 2.6, 10.0
"""Points across the smallest and the largest dot."""
_NAMED = 6
"""Names of raters who are no more than outlying, at most."""
_FAR = 3.0
"""Robust standard deviations from the middle rater that are far."""


def drawn(plot: RaterMap) -> Sheet:
    """A dot a rater, larger with more votes; flagged ones have another shape, and names."""
    if not plot.dots:
        raise ValueError("a map of raters without raters; expected at least one")
    known = [
        dot for dot in plot.dots if dot.judge.value is not None and dot.others.value is not None
    ]
    values = [one.value or 0.0 for dot in known for one in (dot.judge, dot.others)]
    span = field.shares((), values)
    most = max((dot.votes for dot in plot.dots), default=1)
    place = Field(
        f"agreement with {shortened(plot.judge, 1.5)} (%)",
        "agreement with other raters (%)",
        span,
        span,
        _HEIGHT,
        _key(plot, most),
        [dot.label for dot in plot.dots if dot not in known],
    )
    axes = place.axes
    field.percent(axes.xaxis)
    field.percent(axes.yaxis)
    axes.grid(color=FAINT, linewidth=0.4)
    axes.set_axisbelow(True)
    axes.plot(span, span, color=GREY, linewidth=0.8, linestyle=(0, (4, 2)))
    names = _names(known)
    labels: list[Label] = []
    # Large dots first, so that none hides a small one.
    for dot in sorted(known, key=lambda dot: (-dot.votes, dot.label)):
        x, y = dot.judge.value or 0.0, dot.others.value or 0.0
        across = _across(dot.votes, most)
        axes.plot([x], [y], **_style(dot.flagged, across), zorder=3, clip_on=False)
        labels.append(Label(dot.label if dot in names else "", x, y, across / 144))
    named(place, labels, [(span[0], span[0], span[1], span[1])])
    return place.sheet


def _across(votes: int, most: int) -> float:
    """Points across: the area grows with the votes."""
    return max(_LEAST, _MOST * math.sqrt(max(0, votes) / most)) if most > 0 else _LEAST


def _style(flagged: bool, across: float) -> dict[str, Any]:
    return {
        "marker": "^" if flagged else "o",
        "linestyle": "",
        "markersize": max(4.5, 1.1 * across) if flagged else across,
        "markerfacecolor": (VERMILION if flagged else BLUE) + "b0",
        "markeredgecolor": INK if flagged else WHITE,
        "markeredgewidth": 0.7 if flagged else 0.5,
    }


def _key(plot: RaterMap, most: int) -> Key:
    def sample(name: str, flagged: bool, across: float) -> Entry:
        return Entry(name, {**_style(flagged, across), "linewidth": 0})

    few = _round(most / 10)
    sizes = [votes for votes in (few, _round(most)) if votes > 0]
    found = [
        sample(f"{votes:,} vote{'s' * (votes != 1)}", False, _across(votes, most))
        for votes in sorted(set(sizes))
    ]
    if any(dot.flagged for dot in plot.dots):
        found.append(sample("flagged", True, 6.0))
    return Key(found)


def _round(number: float) -> int:
    """Down to one digit and noughts; 0 below 1."""
    if number < 1:
        return 0
    step: int = 10 ** int(math.log10(number))
    return int(number // step) * step


def _names(known: list[RaterDot]) -> list[RaterDot]:
    """The flagged, and the furthest of those far from the middle rater on either axis."""
    far = [_far([dot.judge.value or 0.0 for dot in known])]
    far.append(_far([dot.others.value or 0.0 for dot in known]))
    furthest = [max(both) for both in zip(*far, strict=True)]
    order = sorted(range(len(known)), key=lambda index: -furthest[index])
    outlying = [index for index in order if furthest[index] > _FAR][:_NAMED]
    return [dot for index, dot in enumerate(known) if dot.flagged or index in outlying]


def _far(values: list[float]) -> list[float]:
    """|value − median| in robust standard deviations (1.4826 × median absolute deviation)."""
    if not values:
        return []
    middle = median(values)
    away = [abs(value - middle) for value in values]
    spread = 1.4826 * median(away)
    return [one / spread if spread else 0.0 for one in away]
