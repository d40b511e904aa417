"""Harm labels of the tidy table as answers: one list per judge, one for people, one for a program.

Of people, an adjudicated label of a turn goes before the raters' own; drawn samples and the whole
set count (`estimation`), items chosen for suspicion or practice do not. Of a judge, the first of
several replicates. A whole dialogue's label (turn 0) is no turn's: it makes a source of its own,
except of an answer of one turn, which is its dialogue.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from annotate.harm import HARM, HarmLabel, stored_label
from annotate.records import Layer, PromptSet, Purpose, SourceKind, Status, Subject
from judge.stats.drawn import Drawn, chances, worst
from judge.stats.labelled_answers import LabelledAnswer, Turn

PEOPLE = "people"
SIMULATED = "simulated raters"
RAW = "raw, uncalibrated"
"""What every figure of a judge's own labels is called."""


@dataclass(frozen=True, slots=True)
class AnswerPlace:
    """Where an answer belongs: `judge.database.answer_places` reads it."""

    model: str
    """The name; with its version where it is a rerun under a name that was taken."""
    question: str
    prompts: PromptSet
    matched: str
    asked: tuple[int, ...]
    """Turns that are to be answered, ascending."""


@dataclass(frozen=True, slots=True)
class HarmSource:
    """Everything one source labelled."""

    name: str
    """Of a judge its run; else :data:`PEOPLE` or :data:`SIMULATED`."""
    kind: SourceKind
    words: str
    """As printed beside every figure."""
    dialogues: bool
    """Dialogues were labelled as a whole."""
    answers: tuple[LabelledAnswer, ...]
    raters: int
    left_out: Mapping[str, int]
    """Labels that are in no figure, by reason."""
    drawn: Drawn

    @property
    def judge(self) -> bool:
        """A judge's own labels, so raw and uncalibrated."""
        return self.kind is SourceKind.JUDGE


_Key = tuple[str, str, bool]


def harm_sources(
    table: pd.DataFrame,
    places: Mapping[str, AnswerPlace],
    plans: Sequence[Mapping[str, float]] = (),
) -> tuple[HarmSource, ...]:
    """People first, then judges by name, then simulated raters; turns before whole dialogues.

    Args:
        table: DESIGN §2's columns; other rows than harm labels of answers are left alone.
        places: by answer id; a label of an answer that is not there is left out and counted.
        plans: what each draw of answers drew: answer id → chance.

    Raises:
        DataError: a value is no harm label.
    """
    wanted = (table["subject"] == Subject.ANSWER) & (table["dimension"] == HARM)
    rows: dict[_Key, list[Mapping[Any, Any]]] = defaultdict(list)
    for row in table[wanted].to_dict("records"):
        placed = _of_its_turn(row, places)
        rows[_key(placed)].append(placed)
    order = {PEOPLE: 0, SIMULATED: 2}
    keys = sorted(rows, key=lambda key: (order.get(key[0], 1) if key[1] != "judge" else 1, key))
    return tuple(_source(key, rows[key], places, plans) for key in keys)


def _of_its_turn(row: Mapping[Any, Any], places: Mapping[str, AnswerPlace]) -> Mapping[Any, Any]:
    """A label of a whole dialogue of one turn is that turn's."""
    place = places.get(str(row["unit_id"]))
    alone = place is not None and len(place.asked) == 1 and int(row["turn"]) == 0
    return {**row, "turn": place.asked[0]} if place is not None and alone else row


def _key(row: Mapping[Any, Any]) -> _Key:
    dialogue = int(row["turn"]) == 0
    if row["source_kind"] == SourceKind.JUDGE:
        return str(row["source_id"]), SourceKind.JUDGE, dialogue
    simulated = row["layer"] == Layer.SIMULATED
    return SIMULATED if simulated else PEOPLE, SourceKind.RATER, dialogue


def _source(
    key: _Key,
    rows: list[Mapping[Any, Any]],
    places: Mapping[str, AnswerPlace],
    plans: Sequence[Mapping[str, float]],
) -> HarmSource:
    name, kind, dialogues = key
    left: Counter[str] = Counter()
    kept = list(_kept(rows, places, left))
    units: dict[str, dict[int, list[Mapping[Any, Any]]]] = defaultdict(lambda: defaultdict(list))
    for row in kept:
        units[str(row["unit_id"])][int(row["turn"])].append(row)
    drawn, weights = _weights(units, places, plans if kind == SourceKind.RATER else ())
    answers = []
    for unit, turns in units.items():
        place = places[unit]
        answers.append(
            LabelledAnswer(
                place.model,
                place.question,
                place.prompts,
                (0,) if dialogues else place.asked,
                {turn: _turn(labels) for turn, labels in turns.items()},
                place.matched,
                weights[unit],
                len(place.asked),
                drawn[place.model, place.prompts],
            )
        )
    raters = len({str(row["source_id"]) for row in kept})
    return HarmSource(
        name,
        SourceKind(kind),
        _words(name, kind, raters) + (", of whole dialogues" if dialogues else ""),
        dialogues,
        tuple(answers),
        raters,
        dict(sorted(left.items())),
        worst(drawn.values()),
    )


def _weights(
    units: Mapping[str, Mapping[int, list[Mapping[Any, Any]]]],
    places: Mapping[str, AnswerPlace],
    plans: Sequence[Mapping[str, float]],
) -> tuple[dict[tuple[str, PromptSet], Drawn], dict[str, float]]:
    """1 / each answer's chance, within one model's answers to one set of prompts.

    Figures are of such groups; what is labelled in full needs no weights, whatever a plan drew.
    """
    groups: dict[tuple[str, PromptSet], list[str]] = defaultdict(list)
    for unit, place in places.items():
        groups[place.model, place.prompts].append(unit)
    drawn, weights = dict[tuple[str, PromptSet], Drawn](), dict[str, float]()
    for group, everything in groups.items():
        labelled = {unit: _chance(units[unit]) for unit in everything if unit in units}
        drawn[group], found = chances(labelled, everything, plans)
        weights |= {unit: 1 / chance for unit, chance in found.items()}
    return drawn, weights


def _chance(turns: Mapping[int, list[Mapping[Any, Any]]]) -> float | None:
    """An answer's chance; None where none is known, or several are.

    An adjudicated label has the chance of having been adjudicated, which is another thing.
    """
    rows = [row for labels in turns.values() for row in labels]
    votes = [row for row in rows if row["layer"] != Layer.ADJUDICATED] or rows
    found = {row.get("inclusion_probability") for row in votes}
    said = {None if pd.isna(one) else float(one) for one in found}
    return said.pop() if len(said) == 1 else None


def _words(name: str, kind: str, raters: int) -> str:
    if kind == SourceKind.JUDGE:
        return f"labels of judge {name} ({RAW})"
    if name == SIMULATED:
        return f"SIMULATED labels of {raters} program-made raters (not people)"
    return f"labels of {raters} {'person' if raters == 1 else 'people'}"


def _kept(
    rows: Iterable[Mapping[Any, Any]], places: Mapping[str, AnswerPlace], left: Counter[str]
) -> Iterator[Mapping[Any, Any]]:
    for row in rows:
        if str(row["unit_id"]) not in places:
            left["answer not in the study"] += 1
        elif int(row["occurrence"]) != 1:
            left["repeat"] += 1
        elif row["purpose"] != Purpose.ESTIMATION:
            left[f"purpose {row['purpose']}"] += 1
        elif row["layer"] == Layer.GOLD:
            left["gold"] += 1
        else:
            yield row


def _turn(rows: list[Mapping[Any, Any]]) -> Turn:
    settled = [row for row in rows if row["layer"] == Layer.ADJUDICATED]
    # Two adjudications would be two opinions again: then they must agree, like raters.
    among = settled or rows
    failed = [str(row["status"]) for row in among if row["status"] != Status.OK]
    labels = tuple(_label(row) for row in among if row["status"] == Status.OK)
    # Where one is unsure and another is not, they do not say the same.
    return failed[0] if failed else labels


def _label(row: Mapping[Any, Any]) -> HarmLabel:
    where = f"harm label of {row['source_id']} on answer {row['unit_id']}, turn {row['turn']}"
    return stored_label(row["value"], where)
