"""What a judge probably got wrong: suspects worst first, and how many were confirmed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from judge.reporting import cells
from judge.reporting.document import Column, Document, Section, Table, Text, Weight
from judge.stats.estimate import Estimate
from judge.stats.suspects import Judged

NOT_THE_JUDGE = (
    "This is a rate among queued items, which were picked because they look wrong; it is not the"
    " judge's error rate."
)


@dataclass(frozen=True, slots=True)
class JudgeErrors:
    """A run's suspects, and what second raters made of them."""

    run: str
    judged: int
    suspects: int
    listed: tuple[tuple[Judged, bool], ...]
    """Worst first; whether it stands in a queue."""
    shares: tuple[tuple[str, Estimate], ...]
    """By dimension: confirmed errors among queued items that two people have seen."""
    added: int
    """Put into the queue just now."""
    left: int
    """Suspects that lack a second person and stand in no queue."""
    decided: tuple[int, int]
    """Suspects that were never queued and that two people have seen: contradicted, all."""


def document(values: JudgeErrors, command: str) -> Document:
    """The list as a document; `command` puts more into the queue."""
    return Document(
        f"Judge errors: {values.run}",
        tuple(_lead(values, command)),
        "exact intervals (Clopper and Pearson)",
        (Section("suspects", "Suspect verdicts, worst first", (_table(values),)),),
    )


def _lead(values: JudgeErrors, command: str) -> Iterator[Text]:
    yield Text(
        f"{values.suspects:,} of {values.judged:,} verdicts are suspect: the judge did not hold"
        " them itself (order or repetition), or people contradict them."
    )
    for dimension, share in values.shares:
        if share.value is None:
            yield Text(f"{dimension}: no rate of confirmed errors yet: {share.reason}.")
            continue
        yield Text(
            f"{dimension}: {share.numerator} of {share.denominator} queued items that two people"
            f" have seen are confirmed errors (two people against the judge):"
            f" {cells.share(share).text} %. {NOT_THE_JUDGE}",
            Weight.KEY,
        )
    contradicted, seen = values.decided
    if seen:
        yield Text(
            f"Beside the queue: {seen:,} suspects had two people already; they contradict"
            f" {contradicted:,} of them."
        )
    if values.added:
        yield Text(
            f"Put {values.added:,} items into the raters' queue. Their labels have the purpose"
            " queue: no score, agreement or calibration uses them."
        )
    if values.left:
        yield Text(f"{values.left:,} more lack a second person; queue them: {command}")


def _table(values: JudgeErrors) -> Table:
    return Table(
        "judge-errors",
        "What was judged, what speaks against it, and whether it is queued or confirmed",
        (
            *(Column(name, words=True) for name in ("question", "models", "dimension")),
            Column("turn"),
            Column("verdict", words=True),
            *map(Column, ("people", "against")),
            *(Column(name, words=True) for name in ("the judge itself", "state")),
        ),
        tuple(
            (
                cells.words(one.question_id),
                cells.words(" · ".join(one.models)),
                cells.words(one.dimension),
                cells.words(one.unit[1] or "all"),
                cells.words(_verdict(one)),
                cells.count(len(one.people)),
                cells.count(one.against),
                cells.words(_itself(one)),
                cells.words("confirmed" if one.confirmed else "queued" if queued else ""),
            )
            for one, queued in values.listed
        ),
    )


def _verdict(one: Judged) -> str:
    """For whom, or what."""
    return {"a": one.models[0], "b": one.models[-1]}.get(one.verdict, one.verdict)


def _itself(one: Judged) -> str:
    said = {"orders differ": one.orders_differ, "repetitions differ": one.replicates_differ}
    return ", ".join(name for name, holds in said.items() if holds)
