"""Names as they can be drawn: one line, no control characters, as wide as there is room."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from judge.reporting.drawing.style import FONT, SIZE

ELLIPSIS = "…"
NAMELESS = "(no name)"
LONGEST = 160
"""Characters that are looked at: no more fit on two lines of any picture."""
_JOINERS = "\u200c\u200d"
"""Part of how emoji and Persian words are written, though invisible alone."""


def plain(name: str) -> str:
    """One line that any font, XML and PDF takes; what has no shape becomes a space or U+FFFD.

    Marks that turn the direction of writing are dropped: they would turn our own words too.
    """
    text = "".join(_drawable(character) for character in name)
    return " ".join(text.split()) or NAMELESS


def _drawable(character: str) -> str:
    category = unicodedata.category(character)
    if category == "Cs" or character in "\ufffe\uffff":
        return "\ufffd"
    if category in ("Cc", "Zl", "Zp"):
        return " "
    return "" if category == "Cf" and character not in _JOINERS else character


@lru_cache(maxsize=4096)
def width(text: str, bold: bool = False) -> float:
    """Inches that the text takes in our font and size."""
    font = FontProperties(family=FONT, size=SIZE, weight="bold" if bold else "normal")
    points: float = text_to_path.get_text_width_height_descent(text, font, False)[0]
    return points / 72


def shortened(name: str, room: float, bold: bool = False) -> str:
    """The name in `room` inches: its middle gives way, since names differ at their ends."""
    text = plain(name)
    if len(text) <= LONGEST and width(text, bold) <= room:
        return text
    least, most = 0, min(len(text), LONGEST) - 1
    while least < most:
        kept = (least + most + 1) // 2
        if width(_without_middle(text, kept), bold) <= room:
            least = kept
        else:
            most = kept - 1
    return _without_middle(text, least)


def _without_middle(text: str, kept: int) -> str:
    head, tail = text[: kept - kept // 2], text[len(text) - kept // 2 :]
    while tail and (unicodedata.combining(tail[0]) or tail[0] in _JOINERS):
        tail = tail[1:]
    return head.rstrip() + ELLIPSIS + tail.lstrip()


def wrapped(name: str, room: float, lines: int = 2, bold: bool = False) -> list[str]:
    """The name on at most `lines` lines of `room` inches, broken where words and versions end."""
    pieces = re.findall(r"[^\s\-_/,:]*[\s\-_/,:]+|[^\s\-_/,:]+", plain(name))
    found: list[str] = []
    while pieces and len(found) < lines - 1:
        line = pieces.pop(0)
        while pieces and width((line + pieces[0]).rstrip(), bold) <= room:
            line += pieces.pop(0)
        found.append(shortened(line, room, bold))
    if pieces:
        found.append(shortened("".join(pieces), room, bold))
    return found
