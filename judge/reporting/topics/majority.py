"""The judge beside people as one voice per unit, and models' win rates by four sources."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import pandas as pd

from annotate.errors import UsageError
from judge.reporting import cells
from judge.reporting.document import Cell, Column, Part, Section, Table, Text, Weight
from judge.reporting.scope import Scope
from judge.reporting.wordings import capital, defined, indicative, people, reasons
from judge.stats import joint
from judge.stats.agreement import SETUPS
from judge.stats.estimate import Estimate
from judge.stats.majority import (
    JUDGE_ALL,
    JUDGE_SAME,
    PLURALITY,
    RANDOM_RATER,
    WIN_RATES,
    majority_figures,
    plurality,
    win_rate_figures,
)
from judge.stats.rows import FORMULAS, UNNAMED, question_index

AT_LEAST = (1, 2)
"""Votes that a unit must have."""


@dataclass(frozen=True, slots=True)
class MajorityLine:
    """The judge beside the plurality on units with enough votes, in one setup."""

    setup: str
    at_least: int
    """Votes per unit, at least."""
    units: int
    """Units with so many votes, judged or not."""
    split: int
    """Of these, units on which the first place is shared: a tie."""
    agreement: Estimate
    kappa_symmetrised: Estimate
    alpha: Estimate
    ac1: Estimate


@dataclass(frozen=True, slots=True)
class ModelWinRates:
    """One model against the baseline, ties half, as four sources see it."""

    model: str
    judge_all: Estimate
    judge_same: Estimate
    """On the units with votes, as the next two."""
    plurality: Estimate
    random_rater: Estimate


@dataclass(frozen=True, slots=True)
class Majority:
    """Agreement with the plurality, and win rates, of one scope."""

    key: str
    judge: str
    population: str
    simulated: bool
    questions: int
    lines: tuple[MajorityLine, ...]
    baseline: str
    """The model that others are compared with; "" where there is none."""
    baseline_named: bool
    """Whether the caller chose it; else it is the one with the most votes on its pairs."""
    win_rates: tuple[ModelWinRates, ...]
    no_win_rates: str
    """Why there are none."""


def found(scope: Scope, baseline: str | None = None) -> Majority:
    """Agreement from the report's bootstrap, win rates likewise.

    Args:
        scope: what is compared.
        baseline: the model to compare others with; None takes the one whose pairs have the
            most votes, the first in the alphabet of several.

    Raises:
        UsageError: no vote is on a pair of that model.
    """
    chosen = _baseline(scope.votes.rows, baseline)
    rates = _win_rates(scope, chosen) if chosen else ()
    return Majority(
        scope.key,
        scope.judge,
        scope.population,
        scope.simulated,
        len(scope.questions),
        _lines(scope),
        chosen,
        baseline is not None,
        rates,
        "" if rates else "no vote is on a pair of two different named models",
    )


def section(values: Majority) -> Section:
    """The plurality's table and the win rates'."""
    identity = f"majority-{values.key}"
    parts: list[Part] = [
        Text(
            f"{people(values.simulated).capitalize()} as one voice: per unit (pair and turn) the"
            " outcome with the most votes; a shared first place is a tie. Averaging takes single"
            " people's noise out, so these figures stand beside the vote level, not in its place."
        )
    ]
    every = [_agreements(line) for line in values.lines]
    rows = tuple(_row(one) for one in values.lines if defined(_agreements(one)))
    missing = reasons(one for four in every for one in four[:1])
    if rows:
        parts.append(_table(values, rows, missing))
    else:
        parts.append(Text(f"Judge {values.judge} beside the plurality: {missing}.", Weight.WARNING))
    parts += _win_rate_parts(values)
    return Section(identity, f"Judge beside the plurality of {people(values.simulated)}", (*parts,))


def _lines(scope: Scope) -> tuple[MajorityLine, ...]:
    figures: dict[tuple[str, int, str], joint.Figure] = {}
    units = plurality(scope.votes).rows
    enough = {least: units[units["votes"] >= least] for least in AT_LEAST}
    for setup in SETUPS:
        for least in AT_LEAST:
            made = majority_figures(
                scope.votes,
                scope.verdicts,
                setup,
                scope.questions,
                scope.population,
                at_least=least,
            )
            figures |= {(setup, least, name): one for name, one in made.items()}
    estimates = scope.estimates(figures)
    return tuple(
        MajorityLine(
            setup,
            least,
            len(enough[least]),
            int(enough[least]["split"].sum()),
            *(estimates[setup, least, name] for name in FORMULAS),
        )
        for setup in SETUPS
        for least in AT_LEAST
    )


def _baseline(rows: pd.DataFrame, wanted: str | None) -> str:
    """The model asked for, or the one with the most votes on its pairs; "" without any."""
    named = rows[_named(rows)]
    votes = Counter({str(name): int(n) for name, n in named["model_a"].value_counts().items()})
    votes.update({str(name): int(n) for name, n in named["model_b"].value_counts().items()})
    if wanted is None:
        return min(votes, key=lambda name: (-votes[name], name), default="")
    if wanted not in votes:
        known = ", ".join(sorted(votes)) or "none"
        raise UsageError(f"baseline {wanted!r}: no vote compares a model with it; known: {known}")
    return wanted


def _named(rows: pd.DataFrame) -> pd.Series[bool]:
    """Pairs of two models with different names: a hash names an answer, not a model."""
    hashed = rows["model_a"].str.startswith(UNNAMED) | rows["model_b"].str.startswith(UNNAMED)
    return ~hashed & (rows["model_a"] != rows["model_b"])


def _win_rates(scope: Scope, baseline: str) -> tuple[ModelWinRates, ...]:
    votes = replace(scope.votes, rows=scope.votes.rows[_named(scope.votes.rows)])
    verdicts = scope.verdicts[_named(scope.verdicts)]
    # The judge's own units may be on questions without a vote.
    questions = question_index([*votes.rows["cluster"], *verdicts["cluster"]])
    figures = win_rate_figures(votes, verdicts, baseline, questions, scope.population)
    settings = scope.settings
    estimates = joint.estimates(
        figures,
        len(questions),
        level=settings.level,
        resamples=settings.resamples,
        seed=settings.seed,
    )
    return tuple(
        ModelWinRates(model, *(estimates[model, source] for source in WIN_RATES))
        for model in dict.fromkeys(model for model, _ in figures)
    )


def _agreements(line: MajorityLine) -> tuple[Estimate, ...]:
    return line.agreement, line.kappa_symmetrised, line.alpha, line.ac1


def _row(line: MajorityLine) -> tuple[Cell, ...]:
    return (
        cells.words(line.setup),
        cells.words("one vote or more" if line.at_least == 1 else f"{line.at_least} votes or more"),
        cells.ratio(line.agreement),
        cells.share(line.agreement),
        *(cells.coefficient(one) for one in _agreements(line)[1:]),
    )


def _table(values: Majority, rows: tuple[tuple[Cell, ...], ...], missing: str) -> Table:
    every, several = values.lines[:2]
    return Table(
        f"majority-{values.key}",
        f"Judge {values.judge} beside the plurality of {people(values.simulated)} per unit",
        (
            Column("setup", words=True),
            Column("units with", words=True),
            Column("agree"),
            Column("percent"),
            Column("kappa*"),
            Column("alpha"),
            Column("AC1"),
        ),
        rows,
        (
            f"{capital(values.population)}."
            f" {every.units:,} units have a vote, {every.split:,} of them"
            f" split; {several.units:,} have {several.at_least} or more. S2: both name a winner.",
            *((f"Not computed: {missing}.",) if missing else ()),
            *indicative(values.questions),
        ),
    )


def _win_rate_parts(values: Majority) -> tuple[Part, ...]:
    rows = tuple(_rates_row(one) for one in values.win_rates if defined(_rates(one)))
    if not rows:
        why = values.no_win_rates or reasons(x for one in values.win_rates for x in _rates(one))
        return (Text(f"There are no win rates against a baseline: {why}."),)
    who = values.baseline
    chosen = "as asked for" if values.baseline_named else "the model with the most votes"
    table = Table(
        f"win-rates-baseline-{values.key}",
        f"Win rates against {who}, ties half, in percent, as four sources see them",
        (
            Column("model", words=True),
            Column(JUDGE_ALL),
            Column(JUDGE_SAME),
            Column(PLURALITY),
            Column(RANDOM_RATER),
            Column("units with votes"),
        ),
        rows,
        (
            f"{capital(values.population)}."
            f" Baseline: {who}, {chosen}. 50: as good as the baseline. The last"
            " three sources are on the same units; all four are raw, not calibrated.",
            *indicative(values.questions),
        ),
    )
    return (table,)


def _rates(one: ModelWinRates) -> tuple[Estimate, ...]:
    return one.judge_all, one.judge_same, one.plurality, one.random_rater


def _rates_row(one: ModelWinRates) -> tuple[Cell, ...]:
    return (
        cells.words(one.model),
        *(cells.share(rate) for rate in _rates(one)),
        cells.count(one.plurality.n),
    )
