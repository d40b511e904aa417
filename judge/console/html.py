"""The console's small pieces of HTML: escaped, whatever stands in them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from annotate.records import whole_text


def text(value: object) -> str:
    """Any value as text of a page: nothing in it is markup, and all of it can be sent.

    What a page cannot hold (NUL, half of a surrogate pair) becomes U+FFFD.
    """
    return escape(whole_text(str(value))).replace("\0", "\ufffd")


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; heads that begin with # are numbers and stand at the end of their column."""
    numeric = [head.startswith("#") for head in heads]
    names = [head.removeprefix("#") for head in heads]

    def cells(tag: str, values: Sequence[str]) -> str:
        return "".join(
            f"<{tag}{' class=n' if is_number else ''}>{text(value)}</{tag}>"
            for value, is_number in zip(values, numeric, strict=True)
        )

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return f'<div class="c-wrap"><table><tr>{cells("th", names)}</tr>{body}</table></div>'


def cards(figures: Iterable[tuple[str, str]]) -> str:
    """Figures with what they are, side by side."""
    tiles = "".join(
        f'<div class="c-card"><b>{text(value)}</b><span>{text(name)}</span></div>'
        for value, name in figures
    )
    return f'<div class="c-cards">{tiles}</div>'


def bar(share: float, label: str) -> str:
    """A bar that is `share` (0 to 1) full."""
    percent = 100 * min(1.0, max(0.0, share))
    return (
        f'<div class="c-bar" role="progressbar" aria-valuenow="{percent:.0f}" aria-valuemin="0"'
        f' aria-valuemax="100" aria-label="{text(label)}">'
        f'<i style="inline-size:{percent:.1f}%"></i></div>'
    )


def muted(words: str) -> str:
    """A quiet line."""
    return f'<p class="c-muted">{text(words)}</p>'


def warning(words: str) -> str:
    """A line that must not be missed; nothing without words."""
    return f'<p class="c-warn" role="alert">{text(words)}</p>' if words else ""


def empty(words: str) -> str:
    """What stands where there is nothing yet."""
    return f'<p class="c-empty">{text(words)}</p>'


def count(number: int, word: str, plural: str = "") -> str:
    """A number of things: `1 call`, `2,000 calls`."""
    return f"{number:,} {word if number == 1 else plural or word + 's'}"


def duration(seconds: float) -> str:
    """`8 s`, `3 min 20 s`, `2 h 5 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600:,} h {whole % 3600 // 60} min"


def dollars(value: float) -> str:
    """Dollars and cents, with more places where they would read 0.00."""
    return f"${value:,.2f}" if value >= 1 or not value else f"${value:.4f}"
