"""What the judge's agreement is worth: its excess over guesses that read nothing."""

from __future__ import annotations

from dataclasses import dataclass

from judge.reporting import cells
from judge.reporting.document import Column, Part, Picture, Section, Table, Text, Weight
from judge.reporting.pictures import Forest, ForestRow
from judge.reporting.scope import Scope
from judge.reporting.wordings import capital, people
from judge.stats import joint
from judge.stats.agreement import SETUPS
from judge.stats.baselines import JUDGE, Baseline, baseline_figures, best_baseline
from judge.stats.estimate import Estimate
from judge.stats.rows import confusion_figures
from judge.stats.within_pair import within_pair_figure


@dataclass(frozen=True, slots=True)
class BaselineLine:
    """One blind guess on the judge's own rows."""

    baseline: str
    agreement: Estimate
    excess: Estimate
    """The judge's agreement minus the guess's, on the same rows."""


@dataclass(frozen=True, slots=True)
class ExcessSetup:
    """One setup's headline agreement and what it is worth."""

    setup: str
    agreement: Estimate
    within_pair_kappa: Estimate
    baselines: tuple[BaselineLine, ...]
    best: str
    """The guess with the highest agreement; "" where none can guess."""

    @property
    def best_line(self) -> BaselineLine | None:
        """The guess to be measured against."""
        return next((line for line in self.baselines if line.baseline == self.best), None)


@dataclass(frozen=True, slots=True)
class Excess:
    """Both setups of one scope."""

    key: str
    judge: str
    population: str
    simulated: bool
    questions: int
    setups: tuple[ExcessSetup, ...]


def found(scope: Scope) -> Excess:
    """All baselines of both setups from one joint bootstrap."""
    figures: dict[tuple[str, str, str], joint.Figure] = {}
    best: dict[str, str] = {}
    for setup in SETUPS:
        rows = scope.rows[setup]
        guesses = baseline_figures(rows, scope.material.answers, scope.dimension, scope.population)
        figures |= {(setup, *key): one for key, one in guesses.items()}
        figures[setup, "kappa", ""] = within_pair_figure(rows, scope.population)
        headline = confusion_figures(rows, scope.population)["agreement"]
        figures[setup, "headline", JUDGE] = headline
        best[setup] = best_baseline(guesses) or ""
    estimates = scope.estimates(figures)
    return Excess(
        scope.key,
        scope.judge,
        scope.population,
        scope.simulated,
        len(scope.questions),
        tuple(
            ExcessSetup(
                setup,
                estimates[setup, "headline", JUDGE],
                estimates[setup, "kappa", ""],
                tuple(
                    BaselineLine(
                        guess,
                        estimates[setup, "agreement", guess],
                        estimates[setup, "excess", guess],
                    )
                    for guess in Baseline
                ),
                best[setup],
            )
            for setup in SETUPS
        ),
    )


def headline(values: Excess) -> Text:
    """What the agreement is worth, in one sentence: the first thing a reader must know."""
    first = values.setups[0]
    line = first.best_line
    agreement = cells.share(first.agreement).text
    if first.agreement.value is None:
        return Text(
            f"How far judge {values.judge} agrees with {people(values.simulated)} is undefined:"
            f" {first.agreement.reason}.",
            Weight.WARNING,
        )
    who = people(values.simulated)
    said = f"Judge {values.judge} agrees with {who} on {agreement} % of votes (S1)"
    if line is None or line.excess.value is None:
        reason = line.excess.reason if line else "no blind baseline can guess here"
        return Text(f"{said}; what a blind guess reaches is unknown: {reason}.", Weight.WARNING)
    excess = line.excess
    guess = f"a {line.baseline} guess, which reads nothing, on {cells.share(line.agreement).text} %"
    beside = f"{said}; {guess}"
    shown = f"The excess is {cells.points(excess).text} points"
    if excess.low is not None and excess.low > 0:
        return Text(f"{beside}. {shown}: its interval lies above 0.", Weight.KEY)
    if excess.low is not None:
        return Text(
            f"{beside}. {shown}: its interval does not lie above 0, so this agreement is no"
            " evidence that the judge reads the answers.",
            Weight.WARNING,
        )
    return Text(f"{beside}. {shown}; {excess.reason}.", Weight.WARNING)


def section(values: Excess) -> Section:
    """Baselines beside the judge, per setup, and the excess as a picture."""
    rows = []
    for one in values.setups:
        rows.append(
            (
                cells.words(one.setup),
                cells.words(f"judge {values.judge}"),
                cells.ratio(one.agreement),
                cells.share(one.agreement),
                cells.words(""),
                cells.coefficient(one.within_pair_kappa),
            )
        )
        rows += [
            (
                cells.words(""),
                cells.words(line.baseline),
                cells.ratio(line.agreement),
                cells.share(line.agreement),
                cells.points(line.excess),
                cells.words(""),
            )
            for line in one.baselines
        ]
    table = Table(
        f"excess-{values.key}",
        f"Agreement of judge {values.judge} beside guesses that read nothing",
        (
            Column("setup", words=True),
            Column("who", words=True),
            Column("agree"),
            Column("percent"),
            Column("excess of the judge, points"),
            Column("within-pair kappa"),
        ),
        tuple(rows),
        (
            f"{capital(values.population)}."
            " Excess: agreement of the judge minus that of the guess on the"
            " same rows, from one joint bootstrap; within-pair kappa is 0 for a judge that knows"
            " only which two models it compares.",
        ),
    )
    forest = Forest(
        "excess over a blind guess, percentage points",
        tuple(
            ForestRow(f"{one.setup}, {line.baseline}", line.excess)
            for one in values.setups
            for line in one.baselines
            if line.excess.value is not None
        ),
        line=0.0,
        name=f"judge {values.judge}",
    )
    picture = Picture(
        f"excess-{values.key}",
        f"Excess of judge {values.judge} over blind guesses, with intervals",
        "A forest plot; an interval that reaches 0 says that the guess may be as good.",
        forest,
    )
    parts: tuple[Part, ...] = (headline(values), table)
    if forest.rows:
        parts += (picture,)
    return Section(f"excess-{values.key}", "Excess over blind baselines", parts)
