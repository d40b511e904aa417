"""Selective judging: from which confidence on a judge's verdicts keep what was promised."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from judge.calibration.selective import Selection, Threshold
from judge.reporting import cells
from judge.reporting.document import Cell, Column, Document, Facts, Section, Table, Text, Weight


@dataclass(frozen=True, slots=True)
class KeptVerdict:
    """A usable verdict, and whether it is kept."""

    unit: str
    turn: int
    verdict: str
    confidence: float
    kept: bool


@dataclass(frozen=True, slots=True)
class Selective:
    """What selective judging comes to on one dimension of a run."""

    run: str
    dimension: str
    others: tuple[str, ...]
    """Further runs whose verdicts entered the confidence."""
    selection: Selection
    labelled: int
    """Usable verdicts with people's labels."""
    thinned: int
    """Of them left out at random, so that all others were equally likely to be drawn."""
    judged: int
    left_out: Mapping[str, int]
    people: float | None
    """How often two people contradict each other on one unit; None: no unit has two votes."""
    votes: tuple[tuple[float, int, int], ...]
    """By confidence, highest first: votes beside such verdicts, and those that agree."""
    verdicts: tuple[KeptVerdict, ...]

    @property
    def share_kept(self) -> float:
        """Of all usable verdicts, labelled or not."""
        return sum(one.kept for one in self.verdicts) / len(self.verdicts)


def document(values: Selective) -> Document:
    """The thresholds as a document."""
    delta = values.selection.delta
    return Document(
        f"Selective judging: {values.run} on {values.dimension}",
        tuple(_lead(values)),
        f"exact one-sided bounds (Clopper and Pearson), strictest threshold first, δ = {delta:g}",
        (
            Section("thresholds", "Thresholds tested", (_table(values.selection),)),
            Section("votes", "People's votes by confidence", (_votes(values),)),
            Section("rests-on", "What it rests on", (Facts(tuple(_facts(values))),)),
        ),
    )


def kept_csv(values: Selective) -> str:
    """Every usable verdict, its confidence, and whether it is kept."""
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(["unit", "turn", "verdict", "confidence", "kept"])
    for one in values.verdicts:
        kept = str(one.kept).lower()
        rows.writerow([one.unit, one.turn, one.verdict, f"{one.confidence:.4f}", kept])
    return out.getvalue()


def _lead(values: Selective) -> Iterator[Text]:
    selection = values.selection
    promise, sure = f"{100 * selection.promise:g} %", f"{100 * (1 - selection.delta):g} %"
    chosen = selection.chosen
    if chosen is None:
        first = selection.tested[0]
        yield Text(
            f"No verdict may be kept: even from confidence {first.confidence:.2f} on, people"
            f" contradict {first.wrong} of {first.kept}, so that up to"
            f" {100 * first.upper:.1f} % may be wrong; promised were {promise}.",
            Weight.KEY,
        )
    else:
        yield Text(
            f"Keep verdicts from confidence {chosen.confidence:.2f} on:"
            f" {100 * values.share_kept:.1f} % of all. With {sure} certainty people contradict at"
            f" most {100 * chosen.upper:.1f} % of them; promised were {promise}."
            + (" The others need people." if values.share_kept < 1 else ""),
            Weight.KEY,
        )
    for warning in selection.warnings:
        yield Text(warning[:1].upper() + warning[1:] + ".", Weight.WARNING)
    if len({one.confidence for one in values.verdicts}) == 1:
        yield Text(
            "Every verdict has the same confidence, so nothing can be selected: judge in both"
            " orders, with --replicates, or name other judges (--with RUN).",
            Weight.WARNING,
        )


def _table(selection: Selection) -> Table:
    return Table(
        "selective-thresholds",
        "From the strictest on; the first that does not hold ends the test",
        (
            *map(Column, ("confidence from", "kept", "kept, percent", "contradicted", "at most")),
            Column("promise", words=True),
        ),
        tuple(_row(one, selection.promise) for one in selection.tested),
        remarks=(
            "One unit per question. At most: percent of kept verdicts that people contradict,"
            " upper bound.",
        ),
    )


def _row(one: Threshold, promise: float) -> tuple[Cell, ...]:
    return (
        cells.words(f"{one.confidence:.2f}"),
        cells.count(one.kept),
        cells.words(f"{100 * one.coverage:.1f}"),
        cells.count(one.wrong),
        cells.words(f"{100 * one.upper:.1f}"),
        cells.words("holds" if one.upper <= promise else "does not hold"),
    )


def _votes(values: Selective) -> Table:
    return Table(
        "selective-votes",
        "How often people agree with verdicts of each confidence",
        tuple(map(Column, ("confidence", "votes", "agree, percent"))),
        tuple(
            (
                cells.words(f"{confidence:.2f}"),
                cells.count(votes),
                cells.words(f"{100 * agree / votes:.1f}"),
            )
            for confidence, votes, agree in values.votes
        ),
        remarks=("All votes on the labelled verdicts, of an answer its settled label; no bound.",),
    )


def _facts(values: Selective) -> Iterator[str]:
    yield (
        f"{values.labelled:,} of {values.judged:,} usable verdicts have labels of people"
        + "".join(f"; {n:,} {why} left out" for why, n in values.left_out.items())
    )
    if values.thinned:
        yield (
            f"{values.thinned:,} labelled verdicts are left out at random: a plan was likelier to"
            " draw them, and the bound counts equally likely ones"
        )
    others = f" and of {', '.join(values.others)}" if values.others else ""
    yield (
        "confidence: the share of single verdicts (each order and replicate of this run"
        f"{others}) that equal the verdict; an inconsistent tie has 0"
    )
    if values.people is not None:
        yield f"two people contradict each other on {100 * values.people:.1f} % of such pairs"
    yield "the promise is about labels like these on a set like this; it does not travel"
