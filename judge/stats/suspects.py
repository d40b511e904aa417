"""Verdicts that look wrong: those that the judge itself did not hold, and those people contradict.

They are picked because of what was said, so any share among them says nothing of the judge.
Failed verdicts are no errors and are left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pandas as pd

from annotate.harm import HARM, stored_label
from annotate.records import Layer, Outcome, Purpose, SourceKind, Status, Subject
from judge.ask.verdicts import INCONSISTENT
from judge.stats.binomial import exact_share
from judge.stats.estimate import Estimate

CONFIRMING = 2
"""People who must contradict a verdict, and outnumber those who do not."""
HARMFUL, SAFE = "harmful", "safe"
ESTIMATES = ("", Purpose.ESTIMATION)
EVERY_PURPOSE = (*ESTIMATES, Purpose.QUEUE)
Unit: TypeAlias = tuple[str, int]
"""A pair and its turn; an answer (turn 0: all its judged turns together)."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A judge's verdict beside what people said of the same unit and dimension."""

    unit: Unit
    dimension: str
    question_id: str
    models: tuple[str, ...]
    verdict: str
    """`a`, `b` or `tie`; `harmful` or `safe`."""
    orders_differ: bool
    """The two orders of a pair gave different outcomes."""
    replicates_differ: bool
    """The same question asked again gave another verdict."""
    turns: tuple[int, ...]
    """The turns that were judged."""
    people: Mapping[str, str]
    """Rater → verdict."""

    @property
    def against(self) -> int:
        """People who said otherwise."""
        return sum(said != self.verdict for said in self.people.values())

    @property
    def suspect(self) -> bool:
        """Whether the judge did not hold it, or somebody contradicts it."""
        return self.orders_differ or self.replicates_differ or self.against > 0

    @property
    def confirmed(self) -> bool:
        """Whether two people or more contradict it, and outnumber those who agree."""
        return self.against >= CONFIRMING and 2 * self.against > len(self.people)


def judged_units(
    table: pd.DataFrame, judge: str, dimension: str, purposes: Collection[str] = EVERY_PURPOSE
) -> list[Judged]:
    """Every usable verdict of a judge on a dimension, by unit.

    A pair's verdict is that of the first replicate; a harm verdict is of the whole answer,
    harmful if any turn is.

    Args:
        table: the tidy table.
        judge: source id of the judge's run.
        dimension: of pairs, or `harm`.
        purposes: of the votes that count; an estimate leaves out those of the queue.
    """
    rows = table[(table["dimension"] == dimension) & (table["status"] == Status.OK)]
    ours = rows[(rows["source_kind"] == SourceKind.JUDGE) & (rows["source_id"] == judge)]
    people = rows[
        (rows["source_kind"] == SourceKind.RATER)
        & (rows["layer"] == Layer.VOTE)
        & (rows["occurrence"] == 1)
        & rows["purpose"].isin(list(purposes))
        & rows["unit_id"].isin(ours["unit_id"].unique())
    ]
    subject = Subject.ANSWER if dimension == HARM else Subject.PAIR
    read = _answers if subject is Subject.ANSWER else _pairs
    of_subject = (frame[frame["subject"] == subject] for frame in (ours, people))
    return sorted(read(*map(_records, of_subject)), key=lambda one: one.unit)


def suspects(judged: Iterable[Judged]) -> list[Judged]:
    """The suspect ones, worst first.

    First where more people contradict than agree, then harm that the judge missed, then what it
    did not hold itself.
    """
    return sorted((one for one in judged if one.suspect), key=_badness)


def confirmed_share(
    judged: Iterable[Judged], queued: Collection[Unit], *, level: float
) -> Estimate:
    """Confirmed errors among the queued units that two people have seen; exact interval.

    A share among units that were queued because they looked wrong: never the judge's error rate.
    """
    seen = [one for one in judged if one.unit in queued and len(one.people) >= CONFIRMING]
    return exact_share(
        "confirmed_errors",
        sum(one.confirmed for one in seen),
        len(seen),
        "queued items that two people have seen",
        "no queued item has been seen by two people",
        level=level,
        excluded={"seen by fewer": len(queued) - len(seen)} if len(queued) > len(seen) else {},
    )


def _badness(one: Judged) -> tuple[int, bool, bool, bool, Unit]:
    agree = len(one.people) - one.against
    missed = one.verdict == SAFE and one.against > 0
    return (
        agree - one.against,
        not missed,
        not (one.orders_differ and one.replicates_differ),
        not (one.orders_differ or one.replicates_differ),
        one.unit,
    )


Row: TypeAlias = Mapping[str, Any]
COLUMNS = (
    "unit_id", "turn", "source_id", "occurrence", "value", "reason", "question_id", "model_a",
    "model_b", "dimension",
)  # fmt: skip


def _records(frame: pd.DataFrame) -> list[Row]:
    kept = [name for name in COLUMNS if name in frame]
    columns = [frame[name].tolist() for name in kept]
    return [dict(zip(kept, values, strict=True)) for values in zip(*columns, strict=True)]


def _grouped(rows: Iterable[Row], *names: str) -> dict[tuple[Any, ...], list[Row]]:
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in names), []).append(row)
    return found


def _pairs(ours: Sequence[Row], people: Sequence[Row]) -> list[Judged]:
    votes = _grouped(people, "unit_id", "turn")
    found = []
    for (unit, turn), rows in _grouped(ours, "unit_id", "turn").items():
        first = min(rows, key=lambda row: int(row["occurrence"]))
        found.append(
            Judged(
                (str(unit), int(turn)),
                str(first["dimension"]),
                str(first["question_id"]),
                (str(first["model_a"]), str(first["model_b"])),
                outcome_of(first["value"]),
                any(row.get("reason") == INCONSISTENT for row in rows),
                len({outcome_of(row["value"]) for row in rows}) > 1,
                (int(turn),),
                {
                    str(row["source_id"]): outcome_of(row["value"])
                    for row in votes.get((unit, turn), [])
                },
            )
        )
    return found


def outcome_of(value: object) -> str:
    """The outcome of a pair, both_bad as a tie."""
    found = Outcome(str(value))
    return Outcome.TIE.value if found is Outcome.BOTH_BAD else found.value


def _answers(ours: Sequence[Row], people: Sequence[Row]) -> list[Judged]:
    labels = _grouped(people, "unit_id")
    found = []
    for (unit,), rows in _grouped(ours, "unit_id").items():
        by_turn = {
            int(turn): sorted(some, key=lambda row: int(row["occurrence"]))
            for (turn,), some in _grouped(rows, "turn").items()
        }
        first = rows[0]
        turns = tuple(sorted(by_turn))
        said = _grouped(labels.get((unit,), []), "source_id")
        verdicts = {str(rater): _of_person(some, turns) for (rater,), some in said.items()}
        found.append(
            Judged(
                (str(unit), 0),
                HARM,
                str(first["question_id"]),
                (str(first["model_a"]),),
                HARMFUL if any(unsafe_in(some[0]["value"]) for some in by_turn.values()) else SAFE,
                False,
                any(
                    len({unsafe_in(row["value"]) for row in some}) > 1 for some in by_turn.values()
                ),
                turns,
                {rater: verdict for rater, verdict in verdicts.items() if verdict},
            )
        )
    return found


def _of_person(labels: Sequence[Row], judged: Sequence[int]) -> str:
    """What one rater says of the whole answer; "" where they have not seen all of it."""
    said = {int(row["turn"]): unsafe_in(row["value"]) for row in labels}
    if any(said.values()):
        return HARMFUL
    return SAFE if 0 in said or all(turn in said for turn in judged) else ""


def unsafe_in(value: object) -> bool:
    """Whether a harm label, as the table holds it, says unsafe."""
    return stored_label(value).unsafe()
