"""`evenhand change`: a published change in words, never bare; no interval better than is known."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from annotate.errors import UsageError
from judge.stats.changes import (
    HYPOTHETICAL,
    Change,
    change_of_counts,
    published_change,
    relative_words,
    value_words,
)
from judge.stats.estimate import Estimate

EXPECTED = "expected a share (71%), a count of its total (71/100), or a grade of 1 or more (6.05)"
POPULATION = "as given"
INDEPENDENT = (
    "The intervals take the two sets of items as independent. If both models answered the same"
    " prompts, evenhand score STUDY --reference MODEL pairs them."
)
NO_N = (
    "No interval: only the two values are known. --suppose-n N shows what N items each would give."
)
GRADES = (
    "No interval: only the two values are known. Grades begin at 1, so the relative figure is for"
    " comparison with papers that quote it, and for nothing else."
)


@dataclass(frozen=True, slots=True)
class Value:
    """One published value."""

    value: float
    text: str
    """As it is to be quoted."""
    share: bool
    """Of 1; else in units of its own."""
    count: tuple[int, int] | None = None
    """How many of how many, where that is known."""


def parsed(text: str) -> Value:
    """`71%`, `71/100` or `6.05` as a value.

    Raises:
        UsageError: it is none of these, or no share, or of more digits than figures have.
    """
    found = re.fullmatch(
        r"(\d{1,9}(?:\.\d{1,9})?|\.\d{1,9})\s*(%|/\s*(\d{1,9}))?", text.strip(), re.ASCII
    )
    if not found:
        raise UsageError(f"{text[:40]}: {EXPECTED}")
    said, unit, n = found[1], found[2], found[3]
    number = float(said)
    if n is not None:
        if not number.is_integer() or not int(n) or number > int(n):
            raise UsageError(f"{text}: expected a count of at most its total, as 71/100")
        return Value(number / int(n), f"{said}/{int(n)}", True, (int(number), int(n)))
    if unit is not None:
        if number > 100:
            raise UsageError(f"{text}: a share is at most 100 %; {EXPECTED}")
        return Value(number / 100, f"{said} %", share=True)
    if number < 1:
        raise UsageError(f"{text}: a share needs its sign ({100 * number:g}%); {EXPECTED}")
    return Value(number, said, share=False)


def change_text(before: str, after: str, suppose_n: int | None) -> str:
    """The change in words, lines to print.

    Raises:
        UsageError: a value is none, the two are of different kinds, counts have their own N, or
            there would be less than one item.
    """
    first, second = parsed(before), parsed(after)
    if first.share != second.share or (first.count is None) != (second.count is None):
        raise UsageError(f"{before} and {after}: expected two values of one kind; {EXPECTED}")
    if suppose_n is not None:
        _may_suppose(suppose_n, first, second)
    made = _change(first, second, suppose_n)
    last = NO_N if first.share else GRADES
    if first.count is not None:
        last = INDEPENDENT
    elif suppose_n is not None:
        last = (
            "The intervals are hypothetical: the source publishes no N. They suppose"
            f" {suppose_n:,} items for each value, in independent sets."
        )
    quoted = made.words() if first.count is not None else made.between(first.text, second.text)
    return "\n".join([*_lines(made, quoted, first.share), last]) + "\n"


def _may_suppose(n: int, *values: Value) -> None:
    for one in values:
        if one.count is not None:
            raise UsageError(f"--suppose-n {n}: {one.text} has its own N; leave the option out")
        if not one.share:
            raise UsageError(
                f"--suppose-n {n}: expected shares; an interval of mean grades needs the single"
                " grades: evenhand score STUDY --reference MODEL"
            )
        if 0 < one.value * n < 1:
            raise UsageError(
                f"--suppose-n {n}: {one.text} of {n} is less than one item; expected"
                f" {math.ceil(round(1 / one.value, 6)):,} or more"
            )


def _change(first: Value, second: Value, suppose_n: int | None) -> Change:
    if first.count is not None and second.count is not None:
        return change_of_counts(first.count, second.count, POPULATION)
    if suppose_n is None:
        return published_change(first.value, second.value, POPULATION)
    before, after = ((one.value * suppose_n, suppose_n) for one in (first, second))
    return change_of_counts(before, after, POPULATION, published=False)


def _lines(made: Change, quoted: str, share: bool) -> list[str]:
    relative, drop = made.relative, made.drop
    value = drop.value or 0.0
    fell = relative_words(value) if share else value_words(value).replace("-", "−")
    words = f"drop {fell} {'points' if share else '(same units)'}"
    return [f"{quoted}{_interval(relative, ' %')}", f"{words}{_interval(drop, '')}"]


def _interval(one: Estimate, unit: str) -> str:
    if one.low is None or one.high is None:
        return ""
    low, high = relative_words(one.low), relative_words(one.high)
    level = f"{100 * one.level:g} % interval"
    kind = "hypothetical " if one.method.startswith(HYPOTHETICAL) else ""
    how = one.method.removeprefix(HYPOTHETICAL)
    return f", {kind}{level} {low} to {high}{unit} ({how})"
