"""What the page is told of a pair: text and sides, never which answer is whose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import display
from .leases import Screen
from .library import StoredPair
from .records import Answer, Order, Turn, turn_text
from .study import Dimension, ProtocolSection


def pair_page(
    pair: StoredPair, screen: Screen, protocol: ProtocolSection, *, from_turn: int
) -> dict[str, Any]:
    """The screen of a pair, with its rows from a turn on (the page has those before)."""
    visible = visible_turns(screen, protocol)
    return {
        "state": "rate",
        "screen": screen.id,
        "page": screen.assignment,
        "turn": screen.turn,
        "turns": screen.turns,
        "visible": visible,
        "from": from_turn,
        "rows": _rows(pair, screen, from_turn, visible),
        "step": {"index": screen.position + 1, "of": len(screen.asked) * len(screen.dimensions)},
        "dimension": words(_dimension(protocol, screen.dimension)),
    }


def visible_turns(screen: Screen, protocol: ProtocolSection) -> int:
    """How many turns are shown: up to the one in question, or all."""
    return screen.turns if protocol.reveal == "all" else screen.turn


def raw_pair(pair: StoredPair, screen: Screen, visible: int) -> list[dict[str, str]]:
    """The exact characters of both sides, per turn shown so far; {} for context."""
    return [
        {
            side: raw_text(turn_of(answer.turns, turn))
            for side, answer in _sides(pair, screen.order)
            if turn in screen.asked
        }
        for turn in range(1, visible + 1)
    ]


def _sides(pair: StoredPair, order: Order) -> list[tuple[str, Answer]]:
    """(side, answer) from left to right; per-side work is a loop over this, never twice by hand."""
    answers = (pair.a, pair.b) if order is Order.AB else (pair.b, pair.a)
    return list(zip(("left", "right"), answers, strict=True))


def _rows(pair: StoredPair, screen: Screen, first: int, last: int) -> list[dict[str, Any]]:
    """Rows of the page from turn `first` to `last`: the prompt, then both replies.

    A turn that is not asked is context: its row has no replies, whatever the answers hold.
    """
    asked = pair.question.turns
    plain = plainly(asked, pair.a.turns, pair.b.turns)
    return [
        {
            "turn": turn,
            "prompt": display.render_prompt(turn_of(asked, turn), first=turn == 1, plain=plain),
            **{
                side: display.render_turn(turn_of(answer.turns, turn), plain=plain)
                for side, answer in _sides(pair, screen.order)
                if turn in screen.asked
            },
        }
        for turn in range(first, last + 1)
    ]


def plainly(*conversations: Sequence[Turn] | None) -> bool:
    """Whether a page's texts are too long for Markdown: then all of them are shown as typed."""
    return display.plain_needed(
        [message.content for turns in conversations for turn in turns or () for message in turn]
    )


def turn_of(turns: Sequence[Turn] | None, number: int) -> Turn:
    """Turn 1…n of a conversation; an empty one where there is none."""
    return turns[number - 1] if turns and number <= len(turns) else ()


def raw_text(turn: Turn) -> str:
    """The exact characters of a turn, roles named where others speak than the assistant."""
    others = [m for m in turn if m.role != "assistant"]
    if not others:
        return turn_text(turn)
    return "\n".join(f"[{m.role}]\n{m.content}" for m in turn)


def _dimension(protocol: ProtocolSection, name: str) -> Dimension:
    """The words for a dimension; one dropped from the protocol mid-pair keeps its name."""
    for dimension in protocol.dimensions:
        if dimension.name == name:
            return dimension
    return Dimension(name=name, question=f"Which reply is better on {name}?")


def words(dimension: Dimension) -> dict[str, str]:
    """A dimension's question, choices and rubric, as the page takes them."""
    return {
        "name": dimension.name,
        "question": dimension.question,
        "left": dimension.a,
        "right": dimension.b,
        "tie": dimension.tie,
        "both_bad": dimension.both_bad,
        "rubric": display.render_prose(dimension.rubric) if dimension.rubric else "",
    }
