"""A field with two axes, their names, and a note of what has no place on it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import FuncFormatter, MaxNLocator

from judge.reporting.drawing.key import Entry, Key
from judge.reporting.drawing.lettering import width, wrapped
from judge.reporting.drawing.sheet import Sheet
from judge.reporting.drawing.style import GREY, LINE, MARGIN, WHITE, WIDTH
from judge.stats.estimate import Estimate

Span = tuple[float, float]
LEFT = 0.52
"""Inches left of a field: its axis' name and the numbers."""
UNDEFINED = "–"
_AIR = 0.01
"""Between a share and the frame."""
_LEAST = 0.1
"""Of an axis of shares; on a shorter one, noise would look large."""


class Field:
    """One axes on a sheet of its own, with the key above and notes below.

    Args:
        across: name of the horizontal axis; wrapped to the width of the field.
        up: name of the vertical axis; wrapped to its height.
        x: limits.
        y: limits.
        height: inches of the field; its width is what the column leaves.
        key: above the field.
        undefined: names of what cannot be drawn, for a note below.
    """

    def __init__(
        self,
        across: str,
        up: str,
        x: Span,
        y: Span,
        height: float,
        key: Key,
        undefined: Iterable[str] = (),
    ) -> None:
        self.x, self.y = x, y
        self.width, self.height = WIDTH - LEFT - 0.12, height
        self._top = MARGIN + key.height + 0.06
        name = wrapped(across, WIDTH - 2 * MARGIN)
        note = _note(undefined)
        below = self._top + height + 0.2 + LINE * len(name)
        self.sheet = Sheet(below + LINE * len(note) + (0.05 if note else 0.0) + MARGIN)
        self.axes: Axes = self.sheet.axes(LEFT, self._top, self.width, height)
        self.axes.set(xlim=x, ylim=y)
        key.draw(self.sheet, MARGIN)
        middle = min(LEFT + self.width / 2, WIDTH - MARGIN - max(map(width, name)) / 2)
        self.sheet.words(middle, below - LINE * len(name) / 2, name, "center")
        upright = wrapped(up, height + 0.2)
        self.sheet.upright(MARGIN + LINE * len(upright) / 2, self._top + height / 2, upright)
        if note:
            middle = below + 0.05 + LINE * len(note) / 2
            self.sheet.words(MARGIN, middle, note, color=GREY)

    def inches(self, x: float, y: float) -> tuple[float, float]:
        """From the field's lower left corner."""
        return (
            (x - self.x[0]) / (self.x[1] - self.x[0]) * self.width,
            (y - self.y[0]) / (self.y[1] - self.y[0]) * self.height,
        )

    def units(self, right: float, up: float) -> tuple[float, float]:
        """Back from inches to the field's own units."""
        return (
            self.x[0] + right / self.width * (self.x[1] - self.x[0]),
            self.y[0] + up / self.height * (self.y[1] - self.y[0]),
        )

    def on_sheet(self, right: float, up: float) -> tuple[float, float]:
        """The sheet's inches of inches from the field's lower left corner."""
        return LEFT + right, self._top + self.height - up


def percent(axis: Axis, most: int = 5) -> None:
    """Print shares as percentages without the sign, which the axis' name has."""
    numbers(axis, most, 100.0)


def numbers(axis: Axis, most: int = 5, times: float = 1.0) -> None:
    """At most `most` + 1 round numbers on the axis."""
    axis.set_major_locator(MaxNLocator(nbins=most, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(
        FuncFormatter(lambda value, _: f"{round(value * times, 9) + 0.0:g}".replace("-", "−"))
    )


def shares(estimates: Iterable[Estimate], within: Iterable[float] = ()) -> Span:
    """Limits in [0, 1] that hold these shares and their intervals with some air, and `within`."""
    found = [end for one in estimates for end in ends(one)]
    low = [*within, *(end - _AIR for end in found)]
    high = [*low[: len(low) - len(found)], *(end + _AIR for end in found)]
    if not low:
        return 0.0, 1.0
    least = max(0.0, math.floor(20 * min(low) + 1e-9) / 20)
    most = min(1.0, math.ceil(20 * max(high) - 1e-9) / 20)
    if most - least < _LEAST:
        return max(0.0, least - _LEAST / 2), min(1.0, most + _LEAST / 2)
    return least, most


def dot(color: str, whole: bool) -> dict[str, Any]:
    """How a figure is drawn: filled with an interval, open without."""
    return {
        "marker": "o",
        "linestyle": "",
        "color": color,
        "markerfacecolor": color if whole else WHITE,
        "markersize": 4.0,
        "markeredgewidth": 0.9,
    }


def entry_of_open(color: str, estimates: Iterable[Estimate]) -> list[Entry]:
    """Says what an open dot is, where there is one."""
    some = any(one.value is not None and interval(one) is None for one in estimates)
    return [Entry("no interval", dot(color, False))] if some else []


def key_of_open(color: str, estimates: Iterable[Estimate]) -> Key:
    """A key with nothing else in it."""
    return Key(entry_of_open(color, estimates))


def ends(estimate: Estimate) -> tuple[float, ...]:
    """The value and the ends of its interval, as far as there are any."""
    return tuple(x for x in (estimate.value, estimate.low, estimate.high) if x is not None)


def interval(estimate: Estimate) -> Span | None:
    """Both ends or neither."""
    if estimate.low is None or estimate.high is None:
        return None
    return estimate.low, estimate.high


def _note(undefined: Iterable[str]) -> list[str]:
    names = ", ".join(undefined)
    return wrapped(f"{UNDEFINED} undefined: {names}", WIDTH - 2 * MARGIN) if names else []
