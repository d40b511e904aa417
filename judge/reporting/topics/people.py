"""How each rater voted: side, speed, runs of one button, ties. What is flagged asks for a look."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from annotate.records import Layer, Order
from judge.reporting import cells
from judge.reporting.document import Cell, Column, Facts, Part, Section, Table, Text, Weight
from judge.reporting.layout import counted
from judge.reporting.scope import ALL, Scope
from judge.reporting.sides import people_words
from judge.reporting.wordings import capital
from judge.stats.rater_checks import FLAG_P, FLAG_Z, Ballots, RaterCheck, rater_checks

MOST_ROWS = 30
"""Raters in the table; all of them are in the values."""

IMPORTED = (
    "These votes were imported: which answer stood on which side, and how long a vote took, was"
    " not recorded, so raters cannot be checked"
)

COLUMNS = (
    Column("rater", words=True),
    Column("votes"),
    Column("left, % of pairs"),
    Column("seconds"),
    Column("robust z"),
    Column("longest run"),
    Column("ties, %"),
    Column("ties of the others, %"),
    Column("flags", words=True),
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
        return Text(f"Of {everyone}, none is flagged for side, speed or runs of one button.")
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


def _row(one: Rater) -> tuple[Cell, ...]:
    check = one.check
    return (
        cells.words(check.rater),
        cells.count(check.votes),
        cells.share(check.left),
        _seconds(check),
        _z(check),
        _run(check),
        cells.share(check.ties),
        _ties_of_others(check),
        cells.words("; ".join(one.flags)),
    )


def _table(values: People) -> Table:
    """Columns that nothing is known of are left out."""
    most = sorted(values.raters, key=lambda one: (-one.check.votes, one.check.rater))[:MOST_ROWS]
    columns, rows = cells.known(COLUMNS, [_row(one) for one in most])
    hidden = len(values.raters) - len(most)
    remarks = [
        f"{capital(values.population)}."
        " Left: share of pairs with a decisive vote where the answer on the"
        f" left was preferred, exact interval and test of one half. Flagged: p of side or run"
        f" below {cells.coefficient_words(FLAG_P)} after Holm's correction over raters, robust z"
        f" of log time beyond {FLAG_Z}, or one button throughout."
    ]
    if hidden > 0:
        remarks.append(f"The {MOST_ROWS} raters with most votes; {hidden} more are in report.json.")
    return Table(
        f"people-table-{values.key}",
        "How each rater voted",
        columns,
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
