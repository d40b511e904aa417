"""Text of others in our pages: in one line as a name, or as written with what is hidden shown."""

from __future__ import annotations

from annotate.records import whole_text
from judge.reporting.layout import safe

_LEFT_AS_THEY_ARE = "\n\t"
# They turn the order of what is read, also of what follows them.
_TURNING = {*range(0x202A, 0x202F), *range(0x2066, 0x206A)}


def one_line(text: str) -> str:
    """A name or a sentence: white space as single spaces, nothing that steers what shows it."""
    return " ".join(safe(whole_text(" ".join(text.split()))).split())


def as_written(text: str) -> str:
    """Every character of a text, those that act or hide as visible marks.

    Line ends become `\\n`, C0 controls their pictures (␀ … ␟, ␡), and C1 controls and marks
    that turn the reading order `⟨U+202E⟩`; joiners and wide spaces stay, words need them.
    """
    return "".join(map(_shown, whole_text(text.replace("\r\n", "\n"))))


def _shown(character: str) -> str:
    code = ord(character)
    if character in _LEFT_AS_THEY_ARE:
        return character
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if 0x80 <= code < 0xA0 or code in _TURNING or code & 0xFFFE == 0xFFFE:
        return f"⟨U+{code:04X}⟩"
    return character
