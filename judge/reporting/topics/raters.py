"""Each rater beside the judge and the other raters, and what other raters would change."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

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
from judge.reporting.pictures import RaterDot, RaterMap
from judge.reporting.scope import Scope
from judge.reporting.wordings import capital, defined, human, indicative, people, reasons
from judge.stats import joint
from judge.stats.agreement import S1, SETUPS
from judge.stats.alt_test import EPSILON, PASSES_FROM, AltTest, advantage_figure, alt_test
from judge.stats.consistency import consistency_figure, consistency_with_raters, repeats
from judge.stats.estimate import Estimate
from judge.stats.raters import (
    JUDGE,
    OTHERS,
    LeaveOneOut,
    estimate_with_raters,
    leave_one_rater_out,
    rater_figures,
)
from judge.stats.rows import question_index

SHOWN = 30
"""Raters in the table; the JSON has all."""


@dataclass(frozen=True, slots=True)
class RaterLine:
    """One rater on the three categories (S1)."""

    rater: str
    votes: int
    judge: Estimate
    """Agreement of the rater's votes with the judge."""
    others: Estimate
    """Agreement with the votes of others on the same units."""
    flagged: bool
    """By a check that the caller made, e.g. of sides or speed."""


@dataclass(frozen=True, slots=True)
class OtherRaters:
    """What the headline agreement owes to these raters, in one setup."""

    setup: str
    agreement: Estimate
    """With an interval for other questions and other raters; from ten raters on."""
    leave_one_out: LeaveOneOut


@dataclass(frozen=True, slots=True)
class Alternative:
    """The alternative annotator test, with what it takes for its answer."""

    test: AltTest
    advantage: Estimate
    """Average advantage probability with its interval by question."""


@dataclass(frozen=True, slots=True)
class Consistency:
    """Raters beside themselves on hidden repeats."""

    raters: int
    same: Estimate
    """Share of repeats with the same vote; interval by question."""
    with_other_raters: Estimate
    """The same with an interval for other raters too."""


@dataclass(frozen=True, slots=True)
class Raters:
    """Everything about the raters of one scope."""

    key: str
    judge: str
    population: str
    simulated: bool
    questions: int
    raters: tuple[RaterLine, ...]
    """Most votes first."""
    other_raters: tuple[OtherRaters, ...]
    alternative: Alternative
    consistency: Consistency


def found(
    scope: Scope, *, epsilon: float = EPSILON, flagged: Collection[str] = frozenset()
) -> Raters:
    """Figures by rater from the report's bootstrap, and what other raters would change.

    Args:
        scope: what is compared.
        epsilon: of the alternative annotator test, in [0, 1).
        flagged: raters to be marked in the map.
    """
    data = (scope.votes, scope.verdicts, scope.questions)
    by_rater = rater_figures(scope.votes, scope.rows[S1], scope.questions, scope.population)
    figures: dict[tuple[str, str], joint.Figure] = {**by_rater}
    figures["", "advantage"] = advantage_figure(*data, scope.population)
    estimates = scope.estimates(figures)
    votes = scope.votes.rows["source_id"].value_counts()
    lines = [
        RaterLine(
            rater,
            int(votes[rater]),
            estimates[rater, JUDGE],
            estimates[rater, OTHERS],
            rater in flagged,
        )
        for rater, who in by_rater
        if who == JUDGE
    ]
    level = scope.settings.level
    return Raters(
        scope.key,
        scope.judge,
        scope.population,
        scope.simulated,
        len(scope.questions),
        tuple(sorted(lines, key=lambda one: (-one.votes, one.rater))),
        tuple(
            OtherRaters(
                setup,
                estimate_with_raters(scope.rows[setup], scope.population, level=level),
                leave_one_rater_out(scope.rows[setup]),
            )
            for setup in SETUPS
        ),
        Alternative(alt_test(*data, epsilon=epsilon), estimates["", "advantage"]),
        _consistency(scope),
    )


def section(values: Raters) -> Section:
    """What other raters would change, the test, repeats; then rater by rater."""
    parts: list[Part] = [Facts(tuple(_about_others(one) for one in values.other_raters))]
    parts += [_alternative(values), _repeats(values)]
    known = [one for one in values.raters if defined((one.judge, one.others))]
    if known:
        parts.append(_table(values, known[:SHOWN], len(known)))
    else:
        missing = reasons(x for one in values.raters for x in (one.judge, one.others))
        parts.append(Text(f"There are no figures by rater: {missing}.", Weight.WARNING))
    dots = tuple(
        RaterDot(one.rater, one.votes, one.judge, one.others, one.flagged)
        for one in known
        if defined((one.judge,)) and defined((one.others,))
    )
    if dots:
        parts.append(
            Picture(
                f"raters-{values.key}",
                f"Each rater's agreement with judge {values.judge} and with the other raters (S1)",
                "One dot per rater; above the diagonal a rater agrees more with the other raters"
                " than with the judge.",
                RaterMap(values.judge, dots),
            )
        )
    return Section(f"raters-{values.key}", "Raters", tuple(parts))


def _consistency(scope: Scope) -> Consistency:
    """On a list of questions of its own: a repeat may be of one without a counted vote."""
    judgments = scope.material.judgments
    here = judgments[
        (judgments["dimension"] == scope.dimension)
        & ((judgments["turn"] == 0) == scope.whole_dialogues)
    ]
    questions = question_index(here["cluster"])
    again = repeats(
        here,
        scope.dimension,
        questions,
        groups=sorted(set(scope.votes.rows["rater_group"])),
        simulated=scope.simulated,
    )
    settings = scope.settings
    figure = consistency_figure(again, scope.population)
    same = joint.estimates(
        {"same": figure},
        # Without a repeat there is nothing to resample.
        len(questions) if figure.n else 0,
        level=settings.level,
        resamples=settings.resamples,
        seed=settings.seed,
    )["same"]
    wider = consistency_with_raters(again, scope.population, level=settings.level)
    return Consistency(again.raters, same, wider)


def _about_others(one: OtherRaters) -> str:
    agreement, without = one.agreement, one.leave_one_out
    if agreement.value is None:
        return f"{one.setup}: no agreement with the judge: {agreement.reason}."
    said = f"{one.setup}: agreement with the judge {cells.share(agreement).text} %"
    if agreement.low is None:
        said += f", {agreement.reason}."
    else:
        said += ", interval for other questions and other raters of the same kind."
    if without.low is None or without.high is None:
        return f"{said} Leaving one rater out: {without.reason}."
    return (
        f"{said} Leaving one rater out moves it between {100 * without.low:.1f} % (without"
        f" {without.without_low}) and {100 * without.high:.1f} % (without {without.without_high});"
        " that range is no interval."
    )


def _alternative(values: Raters) -> Text:
    """ω with its ε, ρ with its interval, and who was left out."""
    test, advantage = values.alternative.test, values.alternative.advantage
    named = "Alternative annotator test (S1)"
    left = ""
    if test.left_out:
        left = (
            f" {len(test.left_out)} of {len(test.left_out) + len(test.raters)} raters have fewer"
            f" than {test.min_units} units with another rater's vote and are left out."
        )
    if test.winning_rate is None or test.passes is None:
        return Text(f"{named}: not computed: {test.reason}.{left}")
    verdict = "reaches" if test.passes else "does not reach"
    return Text(
        f"{named}: the judge wins against {test.won} of {len(test.raters)} raters, a winning rate"
        f" of {test.winning_rate:.2f}, which {verdict} the {PASSES_FROM} from which the test's"
        f" authors let a judge stand in for a person. That is with ε = {test.epsilon:g}, which the"
        f" judge may be worse by; a larger ε makes it easier. False discovery rate"
        f" {test.false_discovery_rate:g}, units of one question together. Average advantage"
        f" probability, free of ε: {cells.share(advantage).text} %.{left}",
        Weight.KEY,
    )


def _repeats(values: Raters) -> Text:
    found = values.consistency
    if found.same.value is None:
        return Text(f"Consistency on repeats: {found.same.reason}.")
    n, raters = found.same.n, found.raters
    wider = found.with_other_raters
    beyond = f" ({wider.reason})" if wider.low is None else ""
    if wider.low is not None:
        beyond = f"; for other raters too: {cells.share(wider).text} %"
    return Text(
        f"Consistency on repeats: of {n:,} repeats, sides flipped, by {raters:,}"
        f" {people(values.simulated) if raters != 1 else 'rater'},"
        f" {cells.share(found.same).text} % got the same vote again{beyond}. Nobody agrees with"
        " others better than with themselves, on average.",
        Weight.KEY,
    )


def _table(values: Raters, shown: list[RaterLine], known: int) -> Table:
    tests = {one.rater: one for one in values.alternative.test.raters}
    defined_test = values.alternative.test.winning_rate is not None

    def row(one: RaterLine) -> tuple[Cell, ...]:
        test = tests.get(one.rater)
        return (
            cells.words(one.rater),
            cells.count(one.votes),
            cells.share(one.judge),
            cells.share(one.others),
            cells.words(f"{100 * test.judge_ahead:.1f}" if test else ""),
            cells.words(("yes" if test.won else "no") if test and defined_test else ""),
        )

    remarks = [
        f"{capital(values.population)}."
        " Intervals are by question. Advantage: share of the rater's units on"
        " which the judge agrees with the others as much as the rater does, or more.",
    ]
    if known > len(shown):
        remarks.append(
            f"The {len(shown)} raters with most votes of {known:,}; all are in report.json."
        )
    return Table(
        f"raters-{values.key}",
        f"Each rater beside judge {values.judge} and beside the other raters (S1)",
        (
            Column("rater", words=True),
            Column("votes"),
            Column(f"judge–{human(values.simulated)}, percent"),
            Column("with other raters, percent"),
            Column("advantage of the judge, percent"),
            Column("judge wins", words=True),
        ),
        tuple(row(one) for one in shown),
        (*remarks, *indicative(values.questions)),
    )
