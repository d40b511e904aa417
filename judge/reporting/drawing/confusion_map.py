"""A confusion map: counts and shares of the row in cells, the darker the more."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_rgb

from judge.reporting.drawing import field
from judge.reporting.drawing.lettering import width, wrapped
from judge.reporting.drawing.sheet import Sheet
from judge.reporting.drawing.style import BLUE, GREY, INK, LINE, MARGIN, WHITE, WIDTH
from judge.reporting.pictures import ConfusionMap

_SHADES = LinearSegmentedColormap.from_list("shades", ["#f7fafc", "#9cc7e4", BLUE, "#00395a"])
_TALLEST = 0.42
"""Inches of a cell."""


def drawn(plot: ConfusionMap) -> Sheet:
    """Rows first; the diagonal is framed."""
    size = len(plot.categories)
    if not size:
        raise ValueError("a confusion map without categories; expected at least one")
    if [len(row) for row in plot.counts] != [size] * size:
        raise ValueError(
            f"a confusion map of {size} categories has rows of"
            f" {[len(row) for row in plot.counts]} counts; expected {size} × {size}"
        )
    names = [wrapped(name, 0.75) for name in plot.categories]
    up = wrapped(plot.row_axis, size * min(_TALLEST, 2.0 / size) + 0.2, 3)
    left = MARGIN + LINE * len(up) + 0.08 + max(width(line) for name in names for line in name)
    left += 0.06
    cell = (WIDTH - left - MARGIN) / size
    heads = [wrapped(name, cell - 0.04) for name in plot.categories]
    above = LINE * max(map(len, heads)) + 0.06
    across = wrapped(plot.column_axis, WIDTH - left - MARGIN)
    top = MARGIN + LINE * len(across) + 0.03 + above
    tall = min(cell, _TALLEST)
    sheet = Sheet(top + tall * size + MARGIN + LINE + 0.04)
    axes = sheet.axes(left, top, cell * size, tall * size)
    axes.set(xlim=(0, size), ylim=(size, 0))
    axes.set_axis_off()
    printed = _shade(axes, plot, cell, tall)
    middle = left + cell * size / 2
    sheet.words(middle, MARGIN + LINE * len(across) / 2, across, "center")
    for index, (name, head) in enumerate(zip(names, heads, strict=True)):
        sheet.words(left - 0.06, top + tall * (index + 0.5), name, "right")
        sheet.words(left + cell * (index + 0.5), top - above / 2, head, "center")
    sheet.upright(
        MARGIN + LINE * len(up) / 2,
        min(top + tall * size / 2, sheet.height - MARGIN - max(map(width, up)) / 2),
        up,
    )
    note = "count, and percent of the row" if printed else "the darker, the larger the row's share"
    sheet.words(middle, sheet.height - MARGIN - LINE / 2, [note], "center", GREY)
    return sheet


def _shade(axes: Axes, plot: ConfusionMap, cell: float, tall: float) -> bool:
    """Colour all cells; print them too if every text has room, and say whether it had."""
    for sign in (" %", ""):
        texts = [[_texts(count, sum(row), sign) for count in row] for row in plot.counts]
        widest = max(width(line) for row in texts for pair in row for line in pair)
        printed = widest <= cell - 0.03 and tall >= 2 * LINE
        if printed:
            break
    for y, row in enumerate(plot.counts):
        total = sum(row)
        for x, count in enumerate(row):
            color = _SHADES(count / total if total else 0.0)
            axes.fill([x, x + 1, x + 1, x], [y, y, y + 1, y + 1], facecolor=color, edgecolor=WHITE)
            if x == y:
                frame = [x, x + 1, x + 1, x, x], [y, y, y + 1, y + 1, y]
                axes.plot(*frame, color=INK, linewidth=0.9, zorder=3, clip_on=False)
            if printed:
                for line, at in zip(texts[y][x], (-0.5, 0.5), strict=True):
                    axes.text(
                        x + 0.5,
                        y + 0.5 + at * LINE / tall,
                        line,
                        ha="center",
                        va="center_baseline",
                        color=_readable(color),
                    )
    return printed


def _texts(count: int, total: int, sign: str) -> tuple[str, str]:
    return f"{count:,}", f"{100 * count / total:.0f}{sign}" if total else field.UNDEFINED


def _readable(color: tuple[float, float, float, float]) -> str:
    """Black or white, whichever stands out more (relative luminance, WCAG 2)."""
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in to_rgb(color)
    ]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return INK if (luminance + 0.05) ** 2 > 1.05 * 0.06 else WHITE
