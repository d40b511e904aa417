"""The key above a picture: samples and their names, as many on a line as fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from judge.reporting.drawing.lettering import shortened, width
from judge.reporting.drawing.sheet import Sheet
from judge.reporting.drawing.style import LINE, MARGIN, WIDTH

_SAMPLE = 0.2
_GAP = 0.06
_APART = 0.14


@dataclass(frozen=True, slots=True)
class Entry:
    """A name and how its sample is drawn: settings of a line, or of a filled box."""

    name: str
    line: dict[str, Any] | None = None
    box: dict[str, Any] | None = None


class Key:
    """Entries laid out in lines; the height is known before there is a sheet."""

    def __init__(self, entries: list[Entry]) -> None:
        self._lines: list[list[tuple[float, str, Entry]]] = []
        most = WIDTH - 2 * MARGIN
        left = most
        for entry in entries:
            name = shortened(entry.name, most - _SAMPLE - _GAP)
            needed = _SAMPLE + _GAP + width(name)
            if left + needed > most:
                self._lines.append([])
                left = 0.0
            self._lines[-1].append((left, name, entry))
            left += needed + _APART

    @property
    def height(self) -> float:
        """Inches, with the white below it; 0 without entries."""
        return LINE * len(self._lines) * 1.1 + 0.06 if self._lines else 0.0

    def draw(self, sheet: Sheet, top: float) -> None:
        """Put it at `top` inches."""
        for index, line in enumerate(self._lines):
            middle = top + LINE * 1.1 * (index + 0.5)
            for left, name, entry in line:
                start = MARGIN + left
                _sample(sheet, start, middle, entry)
                sheet.words(start + _SAMPLE + _GAP, middle, [name])


def _sample(sheet: Sheet, left: float, middle: float, entry: Entry) -> None:
    if entry.line is not None:
        xs, ys = zip(
            *(sheet.place(left + _SAMPLE * share, middle) for share in (0, 0.5, 1)), strict=True
        )
        # A marker in the middle only: ends of the sample are its line's.
        sheet.add(Line2D(xs, ys, **{"markevery": [1], **entry.line}))
    if entry.box is not None:
        x, y = sheet.place(left, middle + 0.045)
        right, top = sheet.place(left + _SAMPLE, middle - 0.045)
        sheet.add(
            Rectangle((x, y), right - x, top - y, transform=sheet.figure.transFigure, **entry.box)
        )
