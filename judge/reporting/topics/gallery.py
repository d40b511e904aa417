"""Where judge and people part, worst first: texts, votes, and both of the judge's orders."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from judge.reporting.document import Exchange, Part, Section, Text
from judge.reporting.layout import counted
from judge.reporting.scope import Scope, Texts
from judge.reporting.wordings import capital, people
from judge.stats.agreement import CATEGORIES, S1
from judge.stats.joint import IntArray

MOST = 12
"""Exchanges shown; the reader who wants more opens the console."""
MOST_CHARACTERS = 20_000
"""Of one text; what was cut is said."""
SCORES = (1.0, 0.5, 0.0)


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One unit on which judge and people differ."""

    unit: str
    turn: int
    question: str
    category: str
    model_a: str
    model_b: str
    votes_a: int
    votes_tie: int
    """Ties and both bad."""
    votes_b: int
    verdict: str
    """a, tie or b."""
    reason: str
    """Of a tie: e.g. inconsistent."""
    ab: str
    """What the judge said with a first; "" where that is not known."""
    ba: str
    distance: float
    """|mean of people − judge|, a 1, tie ½, b 0: at 1 all people say one, the judge the other."""


@dataclass(frozen=True, slots=True)
class Gallery:
    """The worst disagreements of one scope."""

    key: str
    judge: str
    simulated: bool
    units: int
    """Units with votes and a usable verdict."""
    apart: int
    """Of these, units on which the plurality of people and the judge differ."""
    worst: tuple[Disagreement, ...]


def found(scope: Scope) -> Gallery:
    """Units by distance of people's mean from the judge's verdict, then by votes, then by id."""
    rows = scope.rows[S1]
    if not len(rows.vote):
        return Gallery(scope.key, scope.judge, scope.simulated, 0, 0, ())
    keys = pd.MultiIndex.from_frame(rows.frame[["unit_id", "turn"]])
    unit, places = keys.factorize(sort=True)
    votes = np.bincount(3 * unit + rows.vote, minlength=3 * len(places)).reshape(-1, 3)
    verdict = np.zeros(len(places), dtype=np.int64)
    verdict[unit] = rows.verdict
    mean = votes @ np.array(SCORES) / votes.sum(1)
    distance = np.abs(mean - np.array(SCORES)[verdict])
    split = (votes == votes.max(1)[:, None]).sum(1) > 1
    apart = int((np.where(split, 1, votes.argmax(1)) != verdict).sum())
    # lexsort reads its keys from the last: distance, then votes, then the sorted place.
    order = np.lexsort((np.arange(len(places)), -votes.sum(1), -distance))[:MOST]
    details = scope.verdicts.set_index(["unit_id", "turn"])
    worst = [
        _disagreement(places[n], details.loc[places[n]], votes[n], int(verdict[n]), distance[n])
        for n in order
        if distance[n] > 0
    ]
    return Gallery(scope.key, scope.judge, scope.simulated, len(places), apart, tuple(worst))


def section(values: Gallery, texts: Texts | None) -> Section:
    """The exchanges, each with what was said; without texts the votes alone."""
    who = people(values.simulated)
    judge = f"judge {values.judge}"
    if values.worst:
        said = (
            f"{capital(judge)} and the plurality of {who} differ on {values.apart} of"
            f" {counted(values.units, 'unit')} (pair × turn). The {len(values.worst)} widest apart:"
        )
    elif values.units:
        said = f"{capital(judge)} and {who} never differ, on {counted(values.units, 'unit')}."
    else:
        said = f"No unit has both a vote of {who} and a usable verdict of {judge}."
    parts: list[Part] = [Text(said)]
    parts += _exchanges(values, texts)
    return Section(f"gallery-{values.key}", f"Where judge and {who} part", tuple(parts))


def _exchanges(values: Gallery, texts: Texts | None) -> Iterator[Exchange]:
    for number, one in enumerate(values.worst, start=1):
        known = texts(one.unit) if texts else None
        names = {"a": one.model_a, "b": one.model_b, "tie": "a tie"}
        verdict = names[one.verdict] + (f" ({one.reason})" if one.reason else "")
        orders = (
            f"; shown first {one.model_a}: {names.get(one.ab, one.ab)}, shown first"
            f" {one.model_b}: {names.get(one.ba, one.ba)}"
            if one.ab or one.ba
            else "; its orders are not known"
        )
        turns = known.turns[: one.turn or None] if known else ()
        yield Exchange(
            f"gallery-{values.key}-{number}",
            f"Question {one.question}{', ' + one.category if one.category else ''},"
            f" {f'turn {one.turn}' if one.turn else 'whole dialogue'}",
            (
                f"{people(values.simulated)}: {one.votes_a} for {one.model_a},"
                f" {one.votes_tie} tie or both bad, {one.votes_b} for {one.model_b}",
                f"judge {values.judge}: {verdict}{orders}",
            ),
            tuple((_cut(asked), _cut(a), _cut(b)) for asked, a, b in turns),
            (one.model_a, one.model_b),
        )


def _disagreement(
    place: tuple[str, int], details: pd.Series[str], votes: IntArray, verdict: int, distance: float
) -> Disagreement:
    return Disagreement(
        unit=place[0],
        turn=int(place[1]),
        question=details["question_id"],
        category=details["category"],
        model_a=details["model_a"],
        model_b=details["model_b"],
        votes_a=int(votes[0]),
        votes_tie=int(votes[1]),
        votes_b=int(votes[2]),
        verdict=CATEGORIES[verdict],
        reason=details["reason"],
        ab=details["ab"],
        ba=details["ba"],
        distance=float(distance),
    )


def _cut(text: str) -> str:
    if len(text) <= MOST_CHARACTERS:
        return text
    return f"{text[:MOST_CHARACTERS]}\n[… {len(text) - MOST_CHARACTERS:,} more characters]"
