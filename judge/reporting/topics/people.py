"""How each rater voted: side, speed, runs of one button, ties. What is flagged asks for a look."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from annotate.records import Layer, Order
from judge.reporting import cells
from judge.reporting.document import Cell, Column, Facts, Part, Section, Table, Text, Weight
from judge.reporting.layout import counted
from judge.reporting.scope import ALL, Scope
from judge.reporting.sides import people_words
from judge.stats.rater_checks import FLAG_P, FLAG_Z, Ballots, RaterCheck, rater_checks

MOST_ROWS = 30
"""Raters in the table; all of them are in the values."""

IMPORTED = (
    "These votes were imported: which answer stood on which side, and how long a vote took, was"
    " not recorded, so raters cannot be checked"
)


@dataclass(frozen=True, slots=True)
class Rater:
    """One rater's record, and what of it calls for a look."""

    check: RaterCheck
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class People:
    """All raters of one scope, by name."""

    key: str
    people: str
    population: str
    ballots: int
    """Votes as cast; 0 where all were imported."""
    raters: tuple[Rater, ...]


def found(scope: Scope) -> People:
    """Checks of everyone who voted on the scope's dimension; the judge plays no part in them."""
    rows = _ballots(scope)
    checks: tuple[RaterCheck, ...] = ()
    if len(rows):
        checks = rater_checks(
            Ballots(
                list(rows["rater"]),
                list(rows["pair"]),
                list(rows["choice"]),
                list(rows["order"]),
                rows["active_ms"].to_numpy(dtype=np.float64, na_value=np.nan),
                list(rows["sequence"]),
            ),
            scope.population,
            level=scope.settings.level,
            seed=scope.settings.seed,
        )
    return People(
        scope.key,
        people_words(scope),
        scope.population,
        len(rows),
        tuple(Rater(check, check.flags) for check in checks),
    )


def headline(values: People) -> Text:
    """How many raters call for a look."""
    if not values.raters:
        return Text(f"{IMPORTED}.")
    flagged = sum(bool(rater.flags) for rater in values.raters)
    everyone = counted(len(values.raters), "rater")
    if not flagged:
        return Text(f"None of {everyone} is flagged for side, speed or runs of one button.")
    return Text(
        f"{flagged} of {everyone} {'is' if flagged == 1 else 'are'} flagged. A flag is a reason to"
        " look; no figure of this report leaves a vote out because of one.",
        Weight.WARNING,
    )


def section(values: People) -> Section:
    """The headline, a sentence per flag, the raters with most votes."""
    parts: list[Part] = [headline(values)]
    sentences = tuple(
        _flag_words(rater.check, flag) for rater in values.raters for flag in rater.flags
    )
    if sentences:
        parts.append(Facts(sentences))
    if values.raters:
        parts.append(_table(values))
    return Section(f"people-{values.key}", "Checks of the raters", tuple(parts))


def _ballots(scope: Scope) -> pd.DataFrame:
    """Ballots of the scope's votes; none where no side and no time is known of any."""
    everything = scope.material.ballots
    if everything is None:
        return pd.DataFrame()
    layer = Layer.SIMULATED if scope.simulated else Layer.VOTE
    wanted = (everything["dimension"] == scope.dimension) & (everything["layer"] == layer)
    if scope.group != ALL:
        wanted &= everything["rater_group"] == scope.group
    rows = everything[wanted]
    known = (rows["order"] != Order.UNKNOWN) | (rows["active_ms"].astype("float64") > 0)
    return rows if known.any() else rows.iloc[:0]


def _flag_words(check: RaterCheck, flag: str) -> str:
    """One flag as a sentence with the figures behind it."""
    who = f"Rater {check.rater}"
    left, run = check.left, check.run
    if flag.startswith("prefers the") and check.left_p is not None and left.numerator is not None:
        side = flag.rpartition(" ")[2]
        chosen = left.numerator if side == "left" else left.n - left.numerator
        return (
            f"{who} {flag}: on {chosen} of {left.n} pairs (left {cells.share(left).text} %;"
            f" {cells.chance(check.left_p)}, corrected for all raters)."
        )
    if flag.startswith("much") and check.seconds is not None and check.speed_z is not None:
        return (
            f"{who} is {flag}: {check.seconds:.1f} s per vote, robust z"
            f" {cells.signed(check.speed_z, 1)}."
        )
    if run is not None and run.p is not None:
        return (
            f"{who} has {flag}: {run.length} times {_button(run.button)} in a row"
            f" ({cells.chance(run.p)}, corrected for all raters)."
        )
    button = "" if run is None else f": {_button(run.button)}, {run.length} times"
    return f"{who} pressed {flag}{button}."


_Of = Callable[[RaterCheck], Cell]


def _table(values: People) -> Table:
    """Columns that nothing is known of are left out."""
    most = sorted(values.raters, key=lambda one: (-one.check.votes, one.check.rater))[:MOST_ROWS]
    checks = [one.check for one in most]
    columns: list[tuple[Column, _Of]] = [
        (Column("rater", words=True), lambda one: cells.words(one.rater)),
        (Column("votes"), lambda one: cells.count(one.votes)),
    ]
    if any(one.left.value is not None for one in checks):
        columns.append((Column("left, % of pairs"), lambda one: cells.share(one.left)))
    if any(one.seconds is not None for one in checks):
        columns.append((Column("seconds"), _seconds))
    if any(one.speed_z is not None for one in checks):
        columns.append((Column("robust z"), _z))
    if any(one.run is not None for one in checks):
        columns.append((Column("longest run"), _run))
    columns.append((Column("ties, %"), lambda one: cells.share(one.ties)))
    columns.append((Column("of the others, %"), _ties_of_others))
    rows = tuple(
        (*(made(one.check) for _, made in columns), cells.words("; ".join(one.flags)))
        for one in most
    )
    hidden = len(values.raters) - len(most)
    remarks = [
        f"{values.population}. Left: share of pairs with a decisive vote where the answer on the"
        f" left was preferred, exact interval and test of one half. Flagged: p of side or run"
        f" below {cells.coefficient_words(FLAG_P)} after Holm's correction over raters, robust z"
        f" of log time beyond {FLAG_Z}, or one button throughout."
    ]
    if hidden > 0:
        remarks.append(f"The {MOST_ROWS} raters with most votes; {hidden} more are in report.json.")
    return Table(
        f"people-table-{values.key}",
        "How each rater voted",
        (*(column for column, _ in columns), Column("flags", words=True)),
        rows,
        tuple(remarks),
    )


def _seconds(one: RaterCheck) -> Cell:
    if one.seconds is None:
        return Cell(cells.MISSING, remark=one.speed_reason)
    return cells.words(f"{one.seconds:.1f}")


def _z(one: RaterCheck) -> Cell:
    if one.speed_z is None:
        return Cell(cells.MISSING, remark=one.speed_reason)
    return cells.words(cells.signed(one.speed_z, 1))


def _run(one: RaterCheck) -> Cell:
    if one.run is None:
        return Cell(cells.MISSING, remark="sides not recorded")
    return cells.words(f"{one.run.length} {_button(one.run.button)}")


def _ties_of_others(one: RaterCheck) -> Cell:
    if one.ties_others is None:
        return Cell(cells.MISSING, remark="no other rater")
    return cells.words(f"{100 * one.ties_others:.1f}")


def _button(name: str) -> str:
    return name.replace("_", " ")
