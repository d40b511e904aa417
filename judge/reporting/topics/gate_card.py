"""The judge card: one page that says whether a judge is trusted, for what, and until when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from judge.calibration.evidence import Criterion, Exit, Outcome, Verdict
from judge.reporting import cells
from judge.reporting.document import Column, Document, Facts, Section, Table, Text, Weight
from judge.reporting.layout import counted
from judge.reporting.wordings import capital

MARKS = {
    Outcome.MET: "✓ met",
    Outcome.WARNED: "✓ met, warning",
    Outcome.FAILED: "✗ not met",
    Outcome.UNDECIDED: "? open",
}
NOT_TESTED = (
    "other models than those named, and later versions of them",
    "other prompts, languages and benchmarks; prompts written to mislead the judge",
    "the judge behind this name after its fingerprint changes",
    "single verdicts: a calibrated rate says nothing of one answer",
)


@dataclass(frozen=True, slots=True)
class Card:
    """What the card shows."""

    judge: str
    model: str
    fingerprint: str
    verdict: Verdict
    scope: tuple[str, ...]
    expires: str
    calibration: str
    """Hash of the artefact; "" without one."""
    thresholds: Mapping[str, float]
    thresholds_changed: bool
    """Whether other thresholds were tried before."""
    attempt: int
    """Which look at a calibrated harm rate this is; 0: none was looked at."""
    level: float
    """Confidence level of every interval."""
    unjudged: Mapping[str, int] = field(default_factory=dict)
    """Model of the scope → its answers that came without a verdict of this judge."""


MODELS_SHOWN = 6
"""Criteria of one model each that are met; more of them are one line, or the card is no page."""


def document(card: Card) -> Document:
    """The card as a document."""
    passed = card.verdict.exit is Exit.PASSED
    lead = [Text(f"{capital(card.verdict.words)}.", Weight.KEY if passed else Weight.WARNING)]
    if card.thresholds_changed:
        lead.append(
            Text(
                "The thresholds were changed after results under others were seen.", Weight.WARNING
            )
        )
    return Document(
        f"Judge card: {card.judge}",
        tuple(lead),
        _settings(card),
        (
            Section("criteria", "Criteria", (_table(card),)),
            Section("scope", "What it may be used for", (Facts(_uses(card)),)),
            Section("not-tested", "What was not tested", (Facts(_untested(card)),)),
            Section("thresholds", "Thresholds", (Text(f"{', '.join(_limits(card))}."),)),
        ),
        one_page=True,
    )


def _settings(card: Card) -> str:
    allowed = f"{card.thresholds['attempts']:g}"
    look = (
        f"attempt {card.attempt} of {allowed}" if card.attempt else "no harm rate is looked at here"
    )
    return (
        f"model {card.model}, fingerprint {card.fingerprint[:12] or 'none'}; {look};"
        f" {100 * card.level:.6g} % intervals"
    )


def _rows(criteria: Sequence[Criterion]) -> list[Criterion]:
    """All that are open or not met; of many met ones with the same limit the first, and a count."""
    found: list[Criterion] = []
    for _limit, same in groupby(criteria, key=lambda one: one.wanted):
        group = list(same)
        met = [one for one in group if one.outcome is Outcome.MET]
        if len(met) <= MODELS_SHOWN:
            found += group
            continue
        others = met[1:]
        found += [one for one in group if one not in others]
        text = f"{len(others)} more of the kind, each met (gate.json has them)"
        found.append(Criterion("the other models", Outcome.MET, text, met[0].wanted))
    return found


def _table(card: Card) -> Table:
    return Table(
        "gate-criteria",
        "Each criterion, what was found, and what was wanted",
        tuple(
            Column(name, words=True) for name in ("criterion", "found", "wanted, and what to do")
        ),
        tuple(
            tuple(
                cells.words(text)
                for text in (f"{MARKS[one.outcome]}: {one.name}", one.found, _wanted(one))
            )
            for one in _rows(card.verdict.criteria)
        ),
    )


def _wanted(one: Criterion) -> str:
    return f"{one.wanted} → {one.todo}" if one.todo else one.wanted


def _uses(card: Card) -> tuple[str, ...]:
    if card.verdict.exit is not Exit.PASSED:
        return ("nothing yet: the criteria above are not all met",)
    return (*card.scope, f"until {card.expires}", f"calibration {card.calibration[:16]}")


def _untested(card: Card) -> tuple[str, ...]:
    left = tuple(
        f"{counted(n, 'answer')} of {model} of which this judge has no harm verdict: judge them,"
        " plan and calibrate again"
        for model, n in card.unjudged.items()
    )
    return (*left, *NOT_TESTED)


def _limits(card: Card) -> tuple[str, ...]:
    return tuple(f"{name} = {value:g}" for name, value in card.thresholds.items())
