"""The judge card: one page that says whether a judge is trusted, for what, and until when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from judge.calibration.gate import Exit, Outcome, Verdict
from judge.reporting import cells
from judge.reporting.document import Column, Document, Facts, Section, Table, Text, Weight
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
        f"model {card.model}, fingerprint {card.fingerprint[:12] or 'none'}; attempt"
        f" {card.attempt}",
        (
            Section("criteria", "Criteria", (_table(card),)),
            Section("scope", "What it may be used for", (Facts(_uses(card)),)),
            Section("not-tested", "What was not tested", (Facts(NOT_TESTED),)),
            Section("thresholds", "Thresholds", (Facts(_limits(card)),)),
        ),
    )


def _table(card: Card) -> Table:
    return Table(
        "gate-criteria",
        "Each criterion, what was found, and what was wanted",
        tuple(Column(name, words=True) for name in ("criterion", "", "found", "wanted", "to do")),
        tuple(
            tuple(
                cells.words(text)
                for text in (one.name, MARKS[one.outcome], one.found, one.wanted, one.todo)
            )
            for one in card.verdict.criteria
        ),
    )


def _uses(card: Card) -> tuple[str, ...]:
    if card.verdict.exit is not Exit.PASSED:
        return ("nothing yet: the criteria above are not all met",)
    return (*card.scope, f"until {card.expires}", f"calibration {card.calibration[:16]}")


def _limits(card: Card) -> tuple[str, ...]:
    return tuple(f"{name} = {value:g}" for name, value in card.thresholds.items())
