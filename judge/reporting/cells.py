"""Figures as cells of tables: one way to print a share, a coefficient, a difference, a count."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from judge.reporting.document import Cell, Column
from judge.stats.changes import relative_words
from judge.stats.estimate import Estimate

MISSING = "–"


def words(text: object) -> Cell:
    """Anything that is no figure."""
    return Cell(str(text))


def count(number: int) -> Cell:
    """A whole number, thousands apart."""
    return Cell(f"{number:,}")


def ratio(estimate: Estimate) -> Cell:
    """Numerator and denominator of a share, e.g. 454/721; rows alone where halves count."""
    if estimate.denominator is None:
        return Cell(f"of {estimate.n:,}")
    return Cell(f"{estimate.numerator}/{estimate.denominator}", estimate)


def share(estimate: Estimate) -> Cell:
    """In percent with its interval: 63.0 [58.1, 68.0]."""
    return _figure(estimate, lambda value: f"{100 * value:.1f}")


def share_alone(estimate: Estimate) -> Cell:
    """In percent, its interval left to CSV and tooltip."""
    return _alone(estimate, lambda value: f"{100 * value:.1f}")


def score(estimate: Estimate) -> Cell:
    """A score from 0 to 100: 86.4 [81.0, 90.6]."""
    return _figure(estimate, lambda value: f"{value:.1f}")


def between(least: float | None, most: float | None) -> Cell:
    """Bounds in percent: 13.3–18.9; one figure where they meet."""
    if least is None or most is None:
        return Cell(MISSING)
    low, high = relative_words(least), relative_words(most)
    # A dash beside a minus cannot be read.
    return Cell(low if low == high else f"{low} to {high}" if least < 0 else f"{low}–{high}")


def points(estimate: Estimate) -> Cell:
    """A difference of shares in percentage points, signed: +2.7 [−0.4, +5.9]."""
    return _figure(estimate, lambda value: signed(100 * value, 1))


def reduction(estimate: Estimate) -> Cell:
    """What went in percent, or in points of shares: 40.8 [23.1, 54.5]; an increase has a minus."""
    return _figure(estimate, relative_words)


def grade_drop(estimate: Estimate) -> Cell:
    """What went of a mean grade: 0.59 [0.31, 0.87]; a rise has a minus."""
    return _figure(estimate, lambda value: signed(value, 2).removeprefix("+"))


def coefficient(estimate: Estimate) -> Cell:
    """Kappa and its like without the leading zero: .426 [.352, .503]."""
    return _figure(estimate, coefficient_words)


def number(estimate: Estimate, decimals: int = 2) -> Cell:
    """Any other value, signed: +0.31 [−0.02, +0.64]."""
    return _figure(estimate, lambda value: signed(value, decimals))


def grade(estimate: Estimate) -> Cell:
    """A mean grade: 5.46 [5.12, 5.80]."""
    return _figure(estimate, lambda value: f"{value:.2f}")


def grade_alone(estimate: Estimate) -> Cell:
    """A mean grade without its interval."""
    return _alone(estimate, lambda value: f"{value:.2f}")


def coefficient_words(value: float) -> str:
    """Three decimals, no leading zero: .426, −.012, 1.000."""
    rounded = round(value, 3) + 0.0
    text = f"{abs(rounded):.3f}"
    return ("−" if rounded < 0 else "") + (text[1:] if text.startswith("0") else text)


def signed(value: float, decimals: int) -> str:
    """With + or − before it; a rounded zero has neither."""
    rounded = round(value, decimals) + 0.0
    sign = "+" if rounded > 0 else "−" if rounded < 0 else ""
    return f"{sign}{abs(rounded):.{decimals}f}"


def chance(p: float) -> str:
    """A p-value in words: `p = .032`, `p < .001`."""
    return "p < .001" if p < 0.0005 else f"p = {coefficient_words(p)}"


def known(
    columns: Sequence[Column], rows: Sequence[Sequence[Cell]]
) -> tuple[tuple[Column, ...], tuple[tuple[Cell, ...], ...]]:
    """Columns and rows without the columns in which every figure is missing."""
    kept = [at for at in range(len(columns)) if any(row[at].text != MISSING for row in rows)]
    return tuple(columns[at] for at in kept), tuple(tuple(row[at] for at in kept) for row in rows)


def _figure(estimate: Estimate, shown: Callable[[float], str]) -> Cell:
    if estimate.value is None:
        return Cell(MISSING, estimate, estimate.reason)
    if estimate.low is None or estimate.high is None:
        return Cell(shown(estimate.value), estimate, estimate.reason)
    low, high = shown(estimate.low), shown(estimate.high)
    return Cell(f"{shown(estimate.value)} [{low}, {high}]", estimate)


def _alone(estimate: Estimate, shown: Callable[[float], str]) -> Cell:
    if estimate.value is None:
        return Cell(MISSING, estimate, estimate.reason)
    return Cell(shown(estimate.value), estimate)
