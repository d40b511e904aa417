"""Names beside their dots, so that none lies on another name, a dot or the frame."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from matplotlib.lines import Line2D

from judge.reporting.drawing.field import Field
from judge.reporting.drawing.lettering import shortened, width
from judge.reporting.drawing.sheet import Side
from judge.reporting.drawing.style import GREY, SIZE
from judge.stats.coefficients import FloatArray

Stretch: TypeAlias = tuple[float, float, float, float]
"""From x, y to x, y in the field's units."""
_LONGEST = 1.15
"""Inches of a name."""
_TALL = SIZE / 72
_LED = 0.07
"""Inches from its dot beyond which a name needs a line to it."""
_CLEAR = 0.03
"""Inches that a name keeps from lines."""
_PASSES = 3
_DIRECTIONS = [
    math.pi * step / 8 for step in (0, 8, 4, 12, 2, 6, 10, 14, 1, 7, 9, 15, 3, 5, 11, 13)
]
_DISTANCES = (0.04, 0.07, 0.12, 0.18, 0.26, 0.36, 0.48, 0.62)


@dataclass(frozen=True, slots=True)
class Label:
    """A dot in the field's units and its name; a dot without a name is only in the way."""

    name: str
    x: float
    y: float
    radius: float = 0.035
    """Inches of the dot."""


def named(place: Field, labels: Sequence[Label], lines: Iterable[Stretch] = ()) -> None:
    """Draw all names, off `lines` too where that is possible.

    Each name in turn takes the best of a ring of places, given where the others are, three
    times over. Nothing is drawn at random, so the same dots have the same names in the same place.
    """
    dots = np.array([[*place.inches(one.x, one.y), one.radius] for one in labels])
    mine = [index for index, one in enumerate(labels) if one.name]
    if not mine:
        return
    texts = {index: shortened(labels[index].name, _LONGEST) for index in mine}
    around = np.column_stack([dots[:, :2] - dots[:, 2:], dots[:, :2] + dots[:, 2:]])
    thin = _pieces(place, lines)
    rings = {index: _ring(dots[index], width(texts[index])) for index in mine}
    fixed = {
        index: 6 * _overlap(rings[index], around)
        + 2.0 * _overlap(rings[index], thin)
        + _crossed(rings[index], dots[index], np.delete(around, index, axis=0), thin)
        + 40 * _outside(rings[index], place)
        + 0.01 * np.arange(len(rings[index]))
        for index in mine
    }
    chosen = {index: rings[index][int(np.argmin(fixed[index]))] for index in mine}
    for _ in range(_PASSES):
        for index in mine:
            others = np.array([chosen[other] for other in mine if other != index]).reshape(-1, 4)
            cost = fixed[index] + 12 * _overlap(rings[index], others)
            chosen[index] = rings[index][int(np.argmin(cost))]
    for index in mine:
        _draw(place, texts[index], chosen[index], dots[index])


def _ring(dot: FloatArray, wide: float) -> FloatArray:
    """Boxes (left, low, right, high) that a name may take, the likeliest first."""
    x, y, radius = dot
    boxes = []
    for distance in _DISTANCES:
        for angle in _DIRECTIONS:
            across, up = math.cos(angle), math.sin(angle)
            # Its near edge, or on the slant its near corner, touches the ring.
            middle_x = x + (radius + distance) * across + wide / 2 * _side(across)
            middle_y = y + (radius + distance) * up + _TALL / 2 * _side(up)
            boxes.append(
                (
                    middle_x - wide / 2,
                    middle_y - _TALL / 2,
                    middle_x + wide / 2,
                    middle_y + _TALL / 2,
                )
            )
    return np.array(boxes)


def _side(share: float) -> float:
    return min(1.0, max(-1.0, 1.5 * share))


def _overlap(boxes: FloatArray, others: FloatArray) -> FloatArray:
    """Per box, how much of the others it covers: in letters' squares, and 0.3 for each."""
    if not len(others):
        return np.zeros(len(boxes))
    low = np.maximum(boxes[:, None, :2], others[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], others[None, :, 2:])
    sides = np.clip(high - low, 0, None)
    area = sides[..., 0] * sides[..., 1]
    found: FloatArray = (area / _TALL**2 + 0.3 * (area > 0)).sum(axis=1)
    return found


def _crossed(
    boxes: FloatArray, dot: FloatArray, around: FloatArray, thin: FloatArray
) -> FloatArray:
    """Per box, how much lies under the line from the dot to it."""
    near = np.clip(dot[:2], boxes[:, :2], boxes[:, 2:])
    steps = np.linspace(0.3, 0.95, 5)[:, None, None]
    points = (dot[:2] + (near - dot[:2]) * steps).reshape(-1, 2)
    tiny = np.column_stack([points - 0.01, points + 0.01])
    hit = 1.5 * _overlap(tiny, around) + 0.15 * _overlap(tiny, thin)
    led = np.linalg.norm(near - dot[:2], axis=1) - dot[2] > _LED
    found: FloatArray = hit.reshape(len(steps), -1).sum(axis=0) * led
    return found


def _outside(boxes: FloatArray, place: Field) -> FloatArray:
    low = np.clip(-boxes[:, :2], 0, None).sum(axis=1)
    high = np.clip(boxes[:, 2:] - [place.width + 0.1, place.height], 0, None).sum(axis=1)
    found: FloatArray = low + high
    return found


def _pieces(place: Field, lines: Iterable[Stretch]) -> FloatArray:
    """Lines as chains of small boxes; a name that only touches an end would seem to go on."""
    boxes = []
    for x0, y0, x1, y1 in lines:
        start, end = place.inches(x0, y0), place.inches(x1, y1)
        count = max(2, int(math.dist(start, end) / 0.06))
        for index in range(count):
            x = start[0] + (end[0] - start[0]) * index / (count - 1)
            y = start[1] + (end[1] - start[1]) * index / (count - 1)
            boxes.append((x - _CLEAR, y - _CLEAR, x + _CLEAR, y + _CLEAR))
    return np.array(boxes).reshape(-1, 4)


def _draw(place: Field, text: str, box: FloatArray, dot: FloatArray) -> None:
    left, low, right, high = (float(side) for side in box)
    near = (min(max(dot[0], left), right), min(max(dot[1], low), high))
    far = math.dist(near, dot[:2])
    if far - dot[2] > _LED:
        share = (dot[2] + 0.015) / far
        start = [dot[axis] + (near[axis] - dot[axis]) * share for axis in (0, 1)]
        points = [place.sheet.place(*place.on_sheet(*end)) for end in (start, near)]
        place.sheet.add(Line2D(*zip(*points, strict=True), color=GREY, linewidth=0.5))
    # Anchored on the side of its dot: there it stays in a browser with other letters.
    side: Side = "left" if left >= dot[0] else "right" if right <= dot[0] else "center"
    anchors: dict[Side, float] = {"left": left, "right": right, "center": (left + right) / 2}
    place.sheet.words(*place.on_sheet(anchors[side], (low + high) / 2), [text], side)
