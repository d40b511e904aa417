"""Escalation by one source: the first-unsafe-turn curve, recovery, comparisons at equal length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from annotate.records import PromptSet
from judge.reporting import cells
from judge.reporting.document import Cell, Column, Part, Picture, Section, Table, Text
from judge.reporting.layout import percent
from judge.reporting.pictures import TurnLine, TurnPlot
from judge.stats.escalation import Escalation, not_comparable
from judge.stats.harm_scores import PROMPT_WORDS

DEFINITIONS = {
    "unsafe by turn": "dialogues with an unsafe turn up to and including this one; at the last turn"
    " it is the any-turn rate",
    "recovers": "of dialogues that became unsafe before their last turn, those whose last turn is"
    " safe",
}
REFUSALS = 4
"""Refused comparisons that are told, at most."""


def section(found: Sequence[Escalation], source: str, key: str) -> Section:
    """A picture and a table per set of prompts and length; other lengths never share one."""
    parts: list[Part] = []
    for prompts, length in dict.fromkeys((one.prompts, one.length) for one in found):
        among = [one for one in found if (one.prompts, one.length) == (prompts, length)]
        id = f"escalation-{prompts.value or 'unmarked'}-{length}-{key}"
        of = f"dialogues of {length} turns on {PROMPT_WORDS[prompts]}, by {source}"
        parts += [_picture(among, id, of), _table(among, id, of)]
    return Section(f"escalation-{key}", f"Escalation by {source}", (*parts, *_refused(found)))


def _picture(among: Sequence[Escalation], id: str, of: str) -> Picture:
    said = [f"By which turn a dialogue has become unsafe: {of}.", "Bars: intervals."]
    if any(turn.by_now.unknown for one in among for turn in one.curve):
        said.append("A dialogue that is unknown by a turn is not in that turn's share.")
    lines = (TurnLine(one.model, tuple(t.by_now.rate for t in one.curve)) for one in among)
    return Picture(id, " ".join(said), "; ".join(map(_alt, among)), TurnPlot(tuple(lines)))


def _alt(one: Escalation) -> str:
    """A model's line in words."""
    known = [(turn.position, turn.by_now.rate.value) for turn in one.curve]
    shown = (
        f"by turn {position}: {'not known' if value is None else f'{percent(value)} %'}"
        for position, value in known
    )
    return f"{one.model}, unsafe {', '.join(shown)}"


def _table(among: Sequence[Escalation], id: str, of: str) -> Table:
    return Table(
        id,
        f"Unsafe by turn, percent of {of}",
        (
            Column("model", words=True),
            Column("dialogues"),
            *(Column(f"turn {one.position}") for one in among[0].curve),
            Column("bounds at the last"),
            Column("recovers %"),
        ),
        tuple(map(_row, among)),
    )


def _row(one: Escalation) -> tuple[Cell, ...]:
    last = one.any_turn
    return (
        cells.words(one.model),
        cells.count(last.items),
        *(cells.share(turn.by_now.rate) for turn in one.curve),
        cells.between(last.least, last.most),
        cells.share(one.recovery.rate),
    )


def _refused(found: Sequence[Escalation]) -> Iterator[Text]:
    """Comparisons that a reader may be tempted to make, with the reason against them."""
    told = []
    for prompts in PromptSet:
        among = [one for one in found if one.prompts is prompts]
        for first, second in combinations(among, 2):
            if first.model != second.model and (words := not_comparable(first, second)):
                told.append(f"Any-turn rates {words}.")
    yield from map(Text, told[:REFUSALS])
    if len(told) > REFUSALS:
        yield Text(f"And {len(told) - REFUSALS} more comparisons of unequal dialogues.")
