"""The human reference, matched: does the judge agree with a person as often as a second does?"""

from __future__ import annotations

from dataclasses import dataclass

from judge.reporting import cells
from judge.reporting.document import Cell, Column, Part, Picture, Section, Table, Text, Weight
from judge.reporting.pictures import Forest, ForestRow
from judge.reporting.scope import Scope
from judge.reporting.wordings import capital, defined, human, indicative, people, reasons
from judge.stats import joint
from judge.stats.agreement import SETUPS
from judge.stats.estimate import Estimate
from judge.stats.matched import (
    DIFFERENCE,
    HUMAN_HUMAN,
    JUDGE_HUMAN,
    UNMATCHED,
    Weighting,
    matched_figures,
    unmatched_figures,
)

MATCHED_PAIRS = "matched, weighted by pairs of votes"
MATCHED_UNITS = "matched, weighted by units"


@dataclass(frozen=True, slots=True)
class Compared:
    """The judge beside a vote, a second person beside it, and the two subtracted."""

    rows: str
    """Which rows, and how they count, in words."""
    judge_human: Estimate
    human_human: Estimate
    difference: Estimate
    """Judge–human minus human–human, from one joint bootstrap."""


@dataclass(frozen=True, slots=True)
class ReferenceSetup:
    """One setup, in three ways; `pairs` is the one to quote."""

    setup: str
    pairs: Compared
    units: Compared
    as_in_the_paper: Compared
    """Not matched: each comparison on all rows of its own."""
    matched_votes: int
    """Votes that are in a matched row."""
    votes: int
    """All votes of the population."""

    @property
    def signs_differ(self) -> bool:
        """Whether the difference is above 0 by one weighting and below 0 by the other."""
        by_pairs, by_units = self.pairs.difference.value, self.units.difference.value
        return by_pairs is not None and by_units is not None and by_pairs * by_units < 0


@dataclass(frozen=True, slots=True)
class Reference:
    """Both setups of one scope."""

    key: str
    judge: str
    population: str
    simulated: bool
    questions: int
    setups: tuple[ReferenceSetup, ...]


def found(scope: Scope) -> Reference:
    """All comparisons of both setups from one joint bootstrap."""
    figures: dict[tuple[str, str, str], joint.Figure] = {}
    matched: dict[str, int] = {}
    votes = len(scope.votes.rows)
    for setup in SETUPS:
        data = (scope.votes, scope.verdicts, setup, scope.questions, scope.population)
        for weighting in Weighting:
            made = matched_figures(*data, weighting)
            figures |= {(setup, weighting, name): one for name, one in made.items()}
            matched[setup] = votes - sum(made[DIFFERENCE].excluded.values())
        unmatched = unmatched_figures(*data)
        figures |= {(setup, UNMATCHED, name): one for name, one in unmatched.items()}
    estimates = scope.estimates(figures)

    def compared(setup: str, rows: str, words: str) -> Compared:
        three = (estimates[setup, rows, name] for name in (JUDGE_HUMAN, HUMAN_HUMAN, DIFFERENCE))
        return Compared(words, *three)

    return Reference(
        scope.key,
        scope.judge,
        scope.population,
        scope.simulated,
        len(scope.questions),
        tuple(
            ReferenceSetup(
                setup,
                compared(setup, Weighting.PAIRS, MATCHED_PAIRS),
                compared(setup, Weighting.UNITS, MATCHED_UNITS),
                compared(setup, UNMATCHED, UNMATCHED),
                matched[setup],
                votes,
            )
            for setup in SETUPS
        ),
    )


def headline(values: Reference) -> Text:
    """The judge beside a second person on the same rows (S1), in words."""
    return _sentence(values, values.setups[0])


def section(values: Reference) -> Section:
    """A sentence per setup, the table of all comparisons, and the differences as a picture."""
    parts: list[Part] = [_sentence(values, one) for one in values.setups]
    rows = [
        _row(one, compared)
        for one in values.setups
        for compared in (one.pairs, one.units, one.as_in_the_paper)
        if defined(_three(compared))
    ]
    if rows:
        parts.append(_table(values, tuple(rows)))
    forest = _forest(values)
    if forest.rows:
        parts.append(
            Picture(
                f"reference-{values.key}",
                f"Judge {values.judge} beside a second person: differences with intervals",
                "A forest plot; right of 0 the judge agrees with a vote more often than another"
                " vote does, left of 0 less often.",
                forest,
            )
        )
    return Section(f"reference-{values.key}", "Human reference", tuple(parts))


def _sentence(values: Reference, one: ReferenceSetup) -> Text:
    judge, second, gap = _three(one.pairs)
    who = people(values.simulated)
    if gap.value is None:
        return Text(
            f"{one.setup}: there is no human reference to hold judge {values.judge} against:"
            f" {gap.reason}.",
            Weight.WARNING,
        )
    said = (
        f"{one.setup}: on the same units, rows and weights (pairs of votes) judge {values.judge}"
        f" agrees with a vote of {who} on {cells.share(judge).text} %, another vote of {who} on"
        f" {cells.share(second).text} %. The difference is {cells.points(gap).text} points:"
        f" {_meaning(gap)}."
    )
    covered = (
        f" {one.matched_votes:,} of {one.votes:,} votes"
        f" ({100 * one.matched_votes / one.votes:.1f} %) are in these rows."
    )
    by_units = one.units.difference
    if one.signs_differ:
        turned = (
            f" With every unit counted once it is {cells.points(by_units).text} points: the sign"
            " depends on the weighting, so the order of judge and people is not settled."
        )
        return Text(said + turned + covered, Weight.WARNING)
    beside = f" With every unit counted once: {cells.points(by_units).text} points."
    return Text(said + beside + covered, Weight.KEY)


def _meaning(gap: Estimate) -> str:
    if gap.low is None or gap.high is None:
        return gap.reason
    if gap.low > 0:
        return "the judge agrees more often than a second vote does"
    if gap.high < 0:
        return "the judge agrees less often than a second vote does"
    return "the interval includes 0, so neither is shown to agree more often"


def _table(values: Reference, rows: tuple[tuple[Cell, ...], ...]) -> Table:
    name = human(values.simulated)
    missing = reasons(one for part in values.setups for one in _three(part.pairs))
    return Table(
        f"reference-{values.key}",
        f"Human reference for judge {values.judge}, matched and as in the paper",
        (
            Column("setup", words=True),
            Column("rows", words=True),
            Column(f"judge–{name}, percent"),
            Column(f"{name}–{name}, percent"),
            Column("difference, points"),
            Column("votes in matched rows"),
        ),
        rows,
        (
            f"{capital(values.population)}."
            " Matched: pairs of votes on one unit beside the judge's verdict;"
            " in S2 all three name a winner. Not matched: all votes with a verdict against all"
            " pairs of votes, which are not the same units, as in Zheng et al. (2023), Table 5.",
            *((f"Not computed: {missing}.",) if missing else ()),
            *indicative(values.questions),
        ),
    )


def _row(one: ReferenceSetup, compared: Compared) -> tuple[Cell, ...]:
    judge, second, gap = _three(compared)
    matched = compared is not one.as_in_the_paper
    return (
        cells.words(one.setup),
        cells.words(compared.rows),
        cells.share(judge),
        cells.share(second),
        cells.points(gap),
        cells.words(f"{one.matched_votes}/{one.votes}" if matched else ""),
    )


def _forest(values: Reference) -> Forest:
    name = human(values.simulated)
    return Forest(
        f"judge–{name} minus {name}–{name} agreement, percentage points",
        tuple(
            ForestRow(f"{one.setup}, {compared.rows}", compared.difference)
            for one in values.setups
            for compared in (one.pairs, one.units, one.as_in_the_paper)
            if compared.difference.value is not None
        ),
        line=0.0,
        name=f"judge {values.judge}",
    )


def _three(compared: Compared) -> tuple[Estimate, Estimate, Estimate]:
    return compared.judge_human, compared.human_human, compared.difference
