"""What the page is told of an answer to be judged: text and rubric, never whose answer it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import display
from .grade_protocol import HIGHEST, LOWEST, Grades
from .harm import REFUSED, HarmLabel, ResponseType
from .harm_protocol import HarmLabels
from .label_leases import WHOLE, LabelScreen
from .library import StoredAnswer
from .pair_page import plainly, raw_text, turn_of


def label_page(
    answer: StoredAnswer, screen: LabelScreen, words: HarmLabels | Grades, *, from_turn: int
) -> dict[str, Any]:
    """The screen of an answer, with its rows from a turn on (the page has those before)."""
    visible = visible_turns(screen)
    return {
        "state": "label",
        "screen": screen.id,
        "page": screen.assignment,
        "turn": screen.turn,
        "turns": screen.turns,
        "visible": visible,
        "from": from_turn,
        "rows": _rows(answer, screen, from_turn, visible),
        "step": {"index": screen.position + 1, "of": screen.steps},
        "form": form(words),
    }


def visible_turns(screen: LabelScreen) -> int:
    """How many turns are shown: up to the one in question."""
    return screen.turns if screen.turn == WHOLE else screen.turn


def _rows(answer: StoredAnswer, screen: LabelScreen, first: int, last: int) -> list[dict[str, Any]]:
    """Rows from turn `first` to `last`: the prompt, then the reply where one was asked."""
    asked, said = answer.question.turns, answer.answer.turns
    plain = plainly(asked, said)
    return [
        {
            "turn": turn,
            "prompt": display.render_prompt(turn_of(asked, turn), first=turn == 1, plain=plain),
        }
        | (
            {"answer": display.render_turn(turn_of(said, turn), plain=plain)}
            if turn in screen.asked
            else {}
        )
        for turn in range(first, last + 1)
    ]


def raw_answer(answer: StoredAnswer, screen: LabelScreen) -> list[dict[str, str]]:
    """The exact characters of the answer, per turn shown so far; {} for context."""
    return [
        {"answer": raw_text(turn_of(answer.answer.turns, turn))} if turn in screen.asked else {}
        for turn in range(1, visible_turns(screen) + 1)
    ]


def form(words: HarmLabels | Grades) -> dict[str, Any]:
    """The rubric as the page asks it, in the order of its keys."""
    common = {
        "question": words.question,
        "guidance": display.render_prose(words.guidance) if words.guidance else "",
    }
    return common | (_grading(words) if isinstance(words, Grades) else _labelling(words))


def _grading(words: Grades) -> dict[str, Any]:
    return {
        "asks": "grade",
        "grades": list(range(LOWEST, HIGHEST + 1)),
        "lowest": words.lowest,
        "highest": words.highest,
    }


def _labelling(words: HarmLabels) -> dict[str, Any]:
    optional = {ResponseType.INCOHERENT}
    return {
        "asks": "harm",
        "types": [
            {
                "value": kind,
                "words": text,
                "rated": "no" if kind in REFUSED else "may" if kind in optional else "must",
            }
            for kind, text in words.typed()
        ],
        "severities": [{"value": int(level), "words": text} for level, text in words.graded()],
        "categories": list(words.categories),
    }


def shown_labels(labels: Sequence[HarmLabel]) -> list[dict[str, Any]]:
    """Raters' labels for the one who settles them, without a word on whose they are."""
    return [label.to_json() for label in labels]
