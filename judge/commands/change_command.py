"""`evenhand change`: a published change in words, never bare; no interval better than known."""

from __future__ import annotations

import re
from dataclasses import dataclass

from annotate.errors import UsageError
from judge.reporting.cells import signed
from judge.reporting.layout import percent
from judge.stats.binomial import LEVEL
from judge.stats.changes import Change, change_of_counts, published_change

EXPECTED = "expected a share (71%), a count (71/100), or a grade (6.05)"
POPULATION = "as given"
INDEPENDENT = (
    "As of independent sets. Two models on the same prompts are paired:"
    " evenhand score STUDY --reference MODEL."
)
NO_N = (
    "No interval: only the two values are known. --suppose-n N shows what N items each would give."
)


@dataclass(frozen=True, slots=True)
class Value:
    """One published value."""

    value: float
    share: bool
    """Of 1; else in units of its own."""
    count: tuple[int, int] | None = None
    """How many of how many, where that is known."""


def parsed(text: str) -> Value:
    """`71%`, `71/100` or `6.05` as a value.

    Raises:
        UsageError: it is none of these, or no share.
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?|\.\d+)\s*(%|/\s*(\d+))?", text.strip(), re.ASCII)
    if not found:
        raise UsageError(f"{text}: {EXPECTED}")
    number, unit, n = float(found[1]), found[2], found[3]
    if unit is None:
        return Value(number, share=False)
    if n is None:
        if number > 100:
            raise UsageError(f"{text}: a share is at most 100 %; {EXPECTED}")
        return Value(number / 100, share=True)
    if not number.is_integer() or not int(n) > 0 or number > int(n):
        raise UsageError(f"{text}: expected a whole number out of as many or more, as 71/100")
    return Value(number / int(n), True, (int(number), int(n)))


def change_text(before: str, after: str, suppose_n: int | None, level: float = LEVEL) -> str:
    """The change in words, lines to print.

    Raises:
        UsageError: a value is none, the two are of different kinds, or counts have their own N.
    """
    first, second = parsed(before), parsed(after)
    if first.share != second.share or (first.count is None) != (second.count is None):
        raise UsageError(f"{before} and {after}: expected two values of one kind; {EXPECTED}")
    if suppose_n is not None and (first.count is not None or not first.share):
        raise UsageError(
            f"--suppose-n {suppose_n}: for two shares alone; counts have their own N, and grades"
            " need to be known one by one"
        )
    lines = list(_lines(_change(first, second, suppose_n, level), first.share))
    if first.count is not None:
        lines.append(INDEPENDENT)
    elif suppose_n is not None:
        lines.append(
            f"The intervals are hypothetical: the source publishes no N; they suppose {suppose_n:,}"
            " items each, in independent sets."
        )
    elif first.share:
        lines.append(NO_N)
    else:
        lines.append("No interval: only the two values are known.")
    return "\n".join(lines) + "\n"


def _change(first: Value, second: Value, suppose_n: int | None, level: float) -> Change:
    if first.count is not None and second.count is not None:
        return change_of_counts(first.count, second.count, POPULATION, level=level)
    if suppose_n is None:
        return published_change(first.value, second.value, POPULATION)
    before, after = ((one.value * suppose_n, suppose_n) for one in (first, second))
    return change_of_counts(before, after, POPULATION, published=False, level=level)


def _lines(made: Change, share: bool) -> list[str]:
    relative, drop = made.relative, made.drop
    words = made.words(percent=share)
    if relative.low is not None and relative.high is not None:
        words += (
            f", {100 * relative.level:g} % interval {percent(relative.low)} to"
            f" {percent(relative.high)} % ({relative.method})"
        )
    scale, decimals, unit = (100, 1, "points") if share else (1, 2, "on their scale")

    def shown(value: float) -> str:
        return signed(scale * value, decimals).lstrip("+")

    dropped = f"drop {shown(drop.value or 0.0)} {unit}"
    if drop.low is not None and drop.high is not None:
        dropped += (
            f", {100 * drop.level:g} % interval {shown(drop.low)} to {shown(drop.high)}"
            f" ({drop.method})"
        )
    return [words, dropped]
