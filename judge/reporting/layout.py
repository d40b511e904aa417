"""How the reports are set: aligned text, Markdown tables, numbers, and names that stay names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def percent(share: float) -> str:
    """A share in percent, to one decimal."""
    return f"{100 * share:.1f}"


def counted(n: int, word: str) -> str:
    """A number with its noun, e.g. `2 votes`."""
    return f"{n} {word}{'' if n == 1 else 's'}"


def tallied(counts: Mapping[str, int]) -> str:
    """Counts by reason as one phrase."""
    return ", ".join(f"{n} {reason}" for reason, n in counts.items())


def aligned(cells: Iterable[str], widths: Iterable[int], *, words: int) -> str:
    """One line of a text table: the first `words` columns to the left, numbers to the right."""
    pairs = enumerate(zip(cells, widths, strict=True))
    padded = [f"{c:<{w}}" if i < words else f"{c:>{w}}" for i, (c, w) in pairs]
    return "  ".join(padded).rstrip()


def wrapped(text: str, *, first: str, rest: str, width: int = 100) -> list[str]:
    """Text in lines of at most `width`, the first and the further ones indented apart."""
    lines = [first]
    empty = True
    for word in text.split():
        if not empty and len(lines[-1]) + 1 + len(word) > width:
            lines.append(rest)
            empty = True
        lines[-1] += word if empty else f" {word}"
        empty = False
    return lines


def escaped(text: str) -> str:
    """Names come from files and must not turn into markup or a second table cell."""
    one_line = " ".join(text.split())
    return "".join(f"\\{ch}" if ch in "\\`*_{}<>[]|#!&~$" else ch for ch in one_line)


def safe(text: str) -> str:
    """Without control characters: a name from a file must not steer the terminal."""
    return "".join(ch for ch in text if ch == "\n" or ch.isprintable())
