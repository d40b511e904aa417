"""Which outcome people gave and which the judge gave; and who says tie how often."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from judge.reporting import cells
from judge.reporting.document import (
    Cell,
    Column,
    Facts,
    Part,
    Picture,
    Section,
    Table,
    Text,
    Weight,
)
from judge.reporting.pictures import ConfusionMap
from judge.reporting.scope import Scope
from judge.reporting.wordings import capital, indicative, people
from judge.stats.agreement import CATEGORIES, S1, tally
from judge.stats.estimate import Estimate
from judge.stats.joint import difference, share
from judge.stats.rows import NO_ROW, TIE, Rows

SHOWN = ("A better", "tie", "B better")
"""CATEGORIES as printed."""
NAMING = "A is the model whose name comes first in the alphabet; both_bad counts as a tie"


@dataclass(frozen=True, slots=True)
class Confusion:
    """Votes × verdicts on the rows of S1 of one scope, and ties on the same rows."""

    key: str
    judge: str
    dimension: str
    population: str
    simulated: bool
    questions: int
    categories: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    """Votes down, verdicts across."""
    row_shares: tuple[tuple[float | None, ...], ...]
    """Of each row; None where people never gave the outcome."""
    people_ties: Estimate
    """Share of votes that are ties."""
    judge_ties: Estimate
    """Share of the same rows on which the verdict is a tie."""
    tie_difference: Estimate
    """Judge minus people; above 0 the judge says tie more often."""
    judge_tie_reasons: dict[str, int]
    """Rows with a tie of the judge whose two orders did not agree on it, by reason."""


def found(scope: Scope) -> Confusion:
    """One pass over the rows, three figures from one joint bootstrap."""
    rows = scope.rows[S1]
    counts = np.bincount(rows.cell, minlength=9).reshape(3, 3)
    voted, judged = ((code == TIE).astype(np.float64) for code in (rows.vote, rows.verdict))
    ones, why = np.ones(len(voted)), NO_ROW[S1]
    rest = (ones, rows.question, scope.population, why, rows.excluded)
    estimates = scope.estimates(
        {
            "people": share("ties", voted, *rest),
            "judge": share("ties", judged, *rest),
            "difference": difference("judge ties minus votes' ties", judged, voted, *rest),
        }
    )
    return Confusion(
        scope.key,
        scope.judge,
        scope.dimension,
        scope.population,
        scope.simulated,
        len(scope.questions),
        CATEGORIES,
        tuple(tuple(row) for row in counts.tolist()),
        tuple(_shares(row) for row in counts.tolist()),
        estimates["people"],
        estimates["judge"],
        estimates["difference"],
        _tie_reasons(scope, rows),
    )


def section(values: Confusion) -> Section:
    """The matrix as a table and a picture, ties in a sentence."""
    identity = f"confusion-{values.key}"
    title = f"Votes and verdicts, {values.dimension}"
    if values.people_ties.value is None:
        why = f"There is no confusion matrix for judge {values.judge}: {values.people_ties.reason}."
        return Section(identity, title, (Text(why + _left_out(values), Weight.WARNING),))
    picture = Picture(
        identity,
        f"Votes of {people(values.simulated)} beside verdicts of judge {values.judge}",
        "A grid of three by three counts, votes down and verdicts across; the diagonal is"
        " agreement.",
        ConfusionMap(
            f"votes of {people(values.simulated)}", f"judge {values.judge}", SHOWN, values.counts
        ),
    )
    parts: tuple[Part, ...] = (_ties(values), _table(values), picture)
    if values.judge_tie_reasons:
        said = ", ".join(f"{n:,} {reason}" for reason, n in values.judge_tie_reasons.items())
        ties = f"Of the judge's {values.judge_ties.numerator:,} ties"
        parts += (Facts((f"{ties} not both orders said the same: {said}.",)),)
    return Section(identity, title, parts)


def _ties(values: Confusion) -> Text:
    who, gap = people(values.simulated), values.tie_difference
    said = (
        f"On the same {values.people_ties.n:,} rows {who} say tie on"
        f" {cells.share(values.people_ties).text} % and judge {values.judge} on"
        f" {cells.share(values.judge_ties).text} %: a difference of {cells.points(gap).text} points"
    )
    if gap.low is None or gap.high is None:
        return Text(f"{said}{f' ({gap.reason})' if gap.reason else ''}.")
    if gap.low > 0:
        return Text(f"{said}; the judge says tie more often.", Weight.KEY)
    if gap.high < 0:
        return Text(f"{said}; the judge says tie less often.", Weight.KEY)
    return Text(f"{said}; the interval includes 0.")


def _table(values: Confusion) -> Table:
    return Table(
        f"confusion-{values.key}",
        f"Votes (down) and verdicts of judge {values.judge} (across), with percent of the row",
        (
            Column(f"votes of {people(values.simulated)}", words=True),
            *(Column(f"judge: {word}") for word in SHOWN),
            Column("all"),
        ),
        tuple(
            (
                cells.words(word),
                *(_cell(n, part) for n, part in zip(row, parts, strict=True)),
                cells.count(sum(row)),
            )
            for word, row, parts in zip(SHOWN, values.counts, values.row_shares, strict=True)
        ),
        (
            f"{capital(values.population)}. {NAMING}.{_left_out(values)}",
            *indicative(values.questions),
        ),
    )


def _cell(n: int, part: float | None) -> Cell:
    return cells.words(f"{n:,}" if part is None else f"{n:,} ({100 * part:.0f} %)")


def _shares(row: list[int]) -> tuple[float | None, ...]:
    return tuple(n / sum(row) if sum(row) else None for n in row)


def _left_out(values: Confusion) -> str:
    left = ", ".join(f"{n:,} {reason}" for reason, n in values.people_ties.excluded.items())
    return f" Votes left out: {left}." if left else ""


def _tie_reasons(scope: Scope, rows: Rows) -> dict[str, int]:
    """A tie that both orders named has no reason and is not listed."""
    if "reason" not in scope.verdicts:
        return {}
    why = scope.verdicts.loc[scope.verdicts["code"] == TIE, ["unit_id", "turn", "reason"]]
    beside = rows.frame[["unit_id", "turn"]].merge(why, how="inner", on=["unit_id", "turn"])
    return tally(beside.loc[beside["reason"] != "", "reason"])
