"""What became of pairs asked in both orders, as stacked bars."""

from __future__ import annotations

import math
from typing import Any

from matplotlib.axes import Axes

from judge.reporting.drawing import field
from judge.reporting.drawing.key import Entry, Key
from judge.reporting.drawing.lettering import width, wrapped
from judge.reporting.drawing.sheet import Sheet
from judge.reporting.drawing.style import (
    BLUE,
    GREY,
    INK,
    LINE,
    MARGIN,
    ORANGE,
    SKY,
    WHITE,
    WIDTH,
)
from judge.reporting.pictures import PositionBar, PositionBars

_TALL = 0.17
"""Inches of a bar."""
_BETWEEN = 0.09
_LABELS = 1.1

_EDGE: dict[str, Any] = {"edgecolor": INK, "linewidth": 0.4}
_KINDS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("consistent", {"facecolor": BLUE, **_EDGE}),
    ("first in both orders", {"facecolor": ORANGE, "hatch": "//////", **_EDGE}),
    ("second in both orders", {"facecolor": SKY, "hatch": "\\\\\\\\\\\\", **_EDGE}),
    ("error", {"facecolor": WHITE, "hatch": "||||||", **_EDGE}),
)


def drawn(plot: PositionBars) -> Sheet:
    """One bar under another, with the number of pairs."""
    if not plot.bars:
        raise ValueError("a plot of position bias without bars; expected at least one")
    labels = [wrapped(bar.label, _LABELS) for bar in plot.bars]
    counts = [f"{bar.n:,}" for bar in plot.bars]
    beside = max(width(text) for text in [*counts, "pairs"])
    left = MARGIN + max(width(line) for label in labels for line in label) + 0.08
    left += beside + 0.06
    key = Key([Entry(name, box=style) for name, style in _KINDS])
    heights = [max(_TALL, LINE * len(label)) + _BETWEEN for label in labels]
    above = MARGIN + key.height + LINE + 0.02
    tall = sum(heights)
    sheet = Sheet(above + tall + 0.2 + LINE + MARGIN)
    axes = sheet.axes(left, above, WIDTH - left - 0.14, tall)
    axes.set(xlim=(0, 1), ylim=(tall, 0))
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", left=False, labelleft=False)
    field.percent(axes.xaxis)
    top = 0.0
    for bar, label, count, height in zip(plot.bars, labels, counts, heights, strict=True):
        middle = top + height / 2
        sheet.words(MARGIN, above + middle, label)
        sheet.words(left - 0.06, above + middle, [count], "right", GREY)
        _stack(axes, bar, middle, WIDTH - left - 0.14)
        top += height
    sheet.words(left - 0.06, above - LINE / 2, ["pairs"], "right", GREY)
    key.draw(sheet, MARGIN)
    middle = (left + WIDTH - 0.14) / 2
    sheet.words(middle, sheet.height - MARGIN - LINE / 2, ["percent of pairs"], "center")
    return sheet


def _stack(axes: Axes, bar: PositionBar, middle: float, wide: float) -> None:
    shares = (bar.consistent, bar.first, bar.second, bar.error)
    if not all(map(math.isfinite, shares)) or sum(shares) <= 0:
        axes.text(0.01, middle, f"{field.UNDEFINED} undefined", color=GREY, va="center_baseline")
        return
    start = 0.0
    for share, (_, style) in zip(shares, _KINDS, strict=True):
        if share <= 0:
            continue
        low, high = middle - _TALL / 2, middle + _TALL / 2
        end = start + share
        axes.fill([start, end, end, start], [low, low, high, high], **style, clip_on=False)
        _percent(axes, (start + end) / 2, middle, share, wide, style)
        start = end


def _percent(
    axes: Axes, at: float, middle: float, share: float, wide: float, style: dict[str, Any]
) -> None:
    """The share on its piece, if it has room; on a hatched one over a patch of white."""
    text = f"{100 * share:.0f}"
    if width(text) + 0.07 > share * wide:
        return
    hatched = "hatch" in style
    box = {"facecolor": WHITE, "edgecolor": "none", "pad": 0.9} if hatched else None
    axes.text(
        at,
        middle,
        text,
        ha="center",
        va="center_baseline",
        color=INK if hatched else WHITE,
        bbox=box,
    )
