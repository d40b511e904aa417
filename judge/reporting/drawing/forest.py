"""A forest plot: one line a figure, with its interval, and what it is to be compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes

from judge.reporting.drawing import field
from judge.reporting.drawing.key import Entry, Key
from judge.reporting.drawing.lettering import width, wrapped
from judge.reporting.drawing.sheet import Sheet
from judge.reporting.drawing.style import (
    BLUE,
    FAINT,
    GREY,
    LINE,
    MARGIN,
    VERMILION,
    WHITE,
    WIDTH,
)
from judge.reporting.pictures import Forest, ForestRow
from judge.stats.estimate import Estimate

_LABELS = 1.3
"""Inches that labels may take, at most."""
_INDENT = 0.08
_BETWEEN = 0.06
"""Inches of white between rows."""
_BESIDE = 0.052
"""Inches from the middle of a row to a figure and to its reference, which stands below it."""
_PAIRED = 0.06
"""Inches of white more between rows of two: what belongs together stands together."""
_BEYOND = 0.01
"""Air beside 0 and 100 %, for the dots, where little of the axis is shown."""
_LONG = 40
"""Rows from which numbers stand above the plot too."""

_FIGURE: dict[str, Any] = {"marker": "o", "color": BLUE, "markersize": 4.2, "markeredgewidth": 0.9}
_REFERENCE: dict[str, Any] = {
    "marker": "D",
    "color": VERMILION,
    "markersize": 3.4,
    "markeredgewidth": 0.9,
}


@dataclass(frozen=True, slots=True)
class _Line:
    """A row with its words and place; `middle` in inches from the first row's top."""

    row: ForestRow
    words: list[str]
    middle: float
    height: float


def drawn(plot: Forest) -> Sheet:
    """One row under another; the sheet grows with them."""
    if not plot.rows:
        raise ValueError("a forest plot without rows; expected at least one")
    grouped = any(row.heading for row in plot.rows)
    lines = _lines(plot, grouped)
    room = max(
        (width(words) + _INDENT * grouped for one in lines for words in _labels(one)), default=0.0
    )
    left = MARGIN + max(0.3, room) + 0.1
    key = Key(_entries(plot))
    height = sum(one.height for one in lines) + _BETWEEN
    above = MARGIN + key.height + (0.2 if len(lines) >= _LONG else 0.04)
    name = wrapped(plot.axis, WIDTH - 2 * MARGIN)
    sheet = Sheet(above + height + 0.2 + LINE * len(name) + MARGIN)
    axes = sheet.axes(left, above, WIDTH - left - 0.14, height)
    axes.set(xlim=_limits(plot), ylim=(height, 0))
    _frame(axes, plot, len(lines))
    for one in lines:
        _draw(sheet, axes, one, above, grouped)
    key.draw(sheet, MARGIN)
    middle = min((left + WIDTH - 0.14) / 2, WIDTH - MARGIN - max(map(width, name)) / 2)
    sheet.words(middle, sheet.height - MARGIN - LINE * len(name) / 2, name, "center")
    return sheet


def _lines(plot: Forest, grouped: bool) -> list[_Line]:
    found: list[_Line] = []
    top = _BETWEEN / 2
    paired = any(row.reference for row in plot.rows)
    for row in plot.rows:
        room = WIDTH - 2 * MARGIN if row.heading else _LABELS - _INDENT * grouped
        words = wrapped(row.label, room, bold=row.heading)
        # A heading belongs to what follows: it keeps away from what was before.
        before = 0.06 if row.heading and found else 0.0
        least = 2 * _BESIDE + 0.04 if row.reference is not None else 0.0
        height = max(LINE * len(words), least) + _BETWEEN + before + _PAIRED * paired
        found.append(_Line(row, words, top + before / 2 + height / 2, height))
        top += height
    return found


def _labels(line: _Line) -> list[str]:
    return [] if line.row.heading else line.words


def _entries(plot: Forest) -> list[Entry]:
    rows = [row for row in plot.rows if not row.heading]
    name = plot.name or "estimate"
    found = [Entry(name, {**_FIGURE, "linewidth": 1.4, "markevery": [1]})]
    if any(row.band for row in rows):
        found.append(Entry("simultaneous band", {"color": BLUE, "linewidth": 0.6, "marker": ""}))
    if any(row.reference for row in rows):
        style = {**_REFERENCE, "linewidth": 0.9, "linestyle": (0, (3, 1.2))}
        found.append(Entry(plot.reference_name or "reference", style))
    if any(map(_open, rows)):
        style = {**_FIGURE, "markerfacecolor": WHITE, "linewidth": 0}
        found.append(Entry("no interval", style))
    return found if len(found) > 1 or plot.name else []


def _open(row: ForestRow) -> bool:
    return any(
        one is not None and one.value is not None and one.low is None
        for one in (row.estimate, row.reference)
    )


def _limits(plot: Forest) -> tuple[float, float]:
    found = [] if plot.line is None else [plot.line]
    for row in plot.rows:
        if not row.heading:
            found += [*field.ends(row.estimate), *(row.band or ())]
            found += field.ends(row.reference) if row.reference is not None else ()
    least, most = (min(found), max(found)) if found else (0.0, 1.0)
    pad = 0.04 * (most - least) or 0.05 * max(1.0, abs(most))
    if plot.percent and least >= 0 and most <= 1:
        # No share is beyond its ends, and no tick may say so.
        air = max(_BEYOND, pad / 2 if most > least else 0.0)
        return max(-air, least - pad), min(1 + air, most + pad)
    return least - pad, most + pad


def _frame(axes: Axes, plot: Forest, rows: int) -> None:
    numbers = field.percent if plot.percent else field.numbers
    numbers(axes.xaxis, 4)
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", left=False, labelleft=False)
    axes.grid(axis="x", color=FAINT, linewidth=0.4)
    axes.set_axisbelow(True)
    if rows >= _LONG:
        axes.tick_params(axis="x", top=True, labeltop=True)
    if plot.line is not None:
        axes.axvline(plot.line, color=GREY, linewidth=0.8, zorder=1)


def _draw(sheet: Sheet, axes: Axes, line: _Line, above: float, grouped: bool) -> None:
    row = line.row
    if row.heading:
        sheet.words(MARGIN, above + line.middle, line.words, bold=True)
        return
    sheet.words(MARGIN + _INDENT * grouped, above + line.middle, line.words)
    shift = 0.0 if row.reference is None else _BESIDE
    at = line.middle - shift
    if row.band is not None:
        _bar(axes, row.band, at, {"color": BLUE, "linewidth": 0.6, "zorder": 2})
    solid = {"color": BLUE, "linewidth": 1.4, "zorder": 3}
    _point(axes, row.estimate, at, _FIGURE, solid)
    if row.reference is not None:
        dashed = {"color": VERMILION, "linewidth": 0.9, "linestyle": (0, (3, 1.2)), "zorder": 3}
        _point(axes, row.reference, line.middle + shift, _REFERENCE, dashed)


def _point(
    axes: Axes, estimate: Estimate, at: float, marker: dict[str, Any], bar: dict[str, Any]
) -> None:
    if estimate.value is None:
        axes.text(
            0.02,
            at,
            f"{field.UNDEFINED} undefined",
            transform=axes.get_yaxis_transform(),
            color=GREY,
            va="center_baseline",
            bbox={"facecolor": WHITE, "edgecolor": "none", "pad": 0.5},
        )
        return
    ends = field.interval(estimate)
    if ends is not None:
        _bar(axes, ends, at, bar)
    face = marker["color"] if ends is not None else WHITE
    axes.plot([estimate.value], [at], **marker, markerfacecolor=face, zorder=4, clip_on=False)


def _bar(axes: Axes, ends: tuple[float, float], at: float, style: dict[str, Any]) -> None:
    axes.plot(ends, [at, at], solid_capstyle="butt", dash_capstyle="butt", **style)
