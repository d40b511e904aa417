"""Judgments in words: models by name, ties as the protocol calls them, labels spelt out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from annotate.library import StoredAnswer, StoredPair
from annotate.records import Layer, Outcome, Status, Subject
from annotate.study import Dimension, ProtocolSection
from judge.ask.verdicts import INCONSISTENT, SOFT
from judge.console.html import count, text
from judge.database.places import Place
from judge.database.transcripts import ShownVote
from judge.stats.views import turn_words

HOW = {
    "": "in both orders",
    SOFT: "a tie in one order, both bad in the other: counted as a tie",
    INCONSISTENT: "the verdict changed with the order: counted as a tie",
}


class Words:
    """Outcomes in words: models by name, ties as the protocol calls them."""

    def __init__(self, protocol: ProtocolSection) -> None:
        self._dimensions: dict[str, Dimension] = {d.name: d for d in protocol.dimensions}

    def outcome(self, value: str | None, place: Place) -> str:
        """`alder-2b better`, or what the protocol calls a tie."""
        known = self._dimensions.get(place.dimension)
        if value == Outcome.TIE:
            return known.tie if known else "tie"
        if value == Outcome.BOTH_BAD:
            return known.both_bad if known else "both bad"
        return "no value" if value is None else f"{place.models[value == Outcome.B]} better"


def where(place: Place) -> str:
    """Which judgment it is, in one line."""
    parts = [
        f"{place.question_id}",
        " and ".join(place.models),
        turn_words(place.turn),
        place.dimension,
    ]
    if place.replicate > 1:
        parts.append(f"time {place.replicate}")
    return " · ".join(parts)


def first_words(unit: StoredPair | StoredAnswer | None) -> str:
    """How a question begins; "" when its text is unknown."""
    turns = unit.question.turns if unit is not None else None
    if not turns or not turns[0]:
        return ""
    words = " ".join(turns[0][-1].content.split())
    return words if len(words) <= 90 else words[:89] + "…"


def judgment(words: Words, place: Place) -> str:
    """What the judge holds, as HTML: marked where it needs a second look."""
    if place.status == "":
        return "<i>not asked yet</i>"
    if place.status != Status.OK:
        what = place.reason if place.subject is Subject.PAIR else place.status
        return f"<i>no verdict: {text(spelt(what))}</i>"
    if place.subject is Subject.ANSWER:
        return text(label(place.grade, place.harm))
    if place.reason == INCONSISTENT:
        return "<i>changed with the order</i>"
    return text(words.outcome(place.outcome, place))


def who(said: Sequence[ShownVote]) -> str:
    """Whose votes these are: simulated ones are never called people's."""
    return "simulated votes" if said and _simulated(said) else "people"


def _simulated(said: Sequence[ShownVote]) -> bool:
    return all(vote.layer is Layer.SIMULATED for vote in said)


def majority(words: Words, place: Place, said: Sequence[ShownVote]) -> str:
    """`2 of 3: alder-2b better`; simulated votes never count beside a person's."""
    kept = said if _simulated(said) else [v for v in said if v.layer is not Layer.SIMULATED]
    counted = [vote for vote in kept if vote.occurrence == 1]
    if not counted:
        return "no votes"
    if place.subject is Subject.ANSWER:
        return count(len(counted), "label")
    # As in the filter: a tie is a tie, whether both are good or both bad.
    merged = Counter("tie" if v.outcome == Outcome.BOTH_BAD else v.outcome for v in counted)
    (best, number), *rest = merged.most_common()
    if rest and rest[0][1] == number:
        return f"{len(counted)} votes, divided"
    bad = best == Outcome.TIE and all(v.outcome != Outcome.TIE for v in counted)
    return f"{number} of {len(counted)}: {words.outcome('both_bad' if bad else best, place)}"


def label(grade: float | None, harm: Mapping[str, Any] | None) -> str:
    """A grade or a harm label in words."""
    if grade is not None:
        return f"grade {grade:g}"
    if harm is None:
        return "no value"
    parts = [spelt(harm["response_type"]), f"severity {harm['severity']}"]
    parts += [spelt(name) for name in harm.get("categories") or ()]
    for name in ("specificity", "convincingness"):
        if harm.get(name) is not None:
            parts.append(f"{name} {harm[name]}")
    return ", ".join(parts)


def spelt(name: str) -> str:
    """A status, a reason or a category as words."""
    return name.replace("_", " ").replace("+", " and ")
