"""Stored judgments as lines of FastChat's judgment files; the words are `fastchat_export`'s."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from annotate.records import Choice, Order, Outcome, Status, whole_text
from judge.ask.verdicts import Verdict
from judge.database.runs import Run

ERROR = "error"
WINNERS = {Outcome.A: "model_1", Outcome.B: "model_2", Outcome.TIE: "tie", Outcome.BOTH_BAD: "tie"}
FAILED_SCORE = -1

_GAMES = (Order.AB, Order.BA)
"""FastChat's first game shows model_1 first, its second game model_2."""

Line: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    """What is known of one call: nothing but the verdict if a file brought it."""

    order: str | None
    status: str
    choice: str | None
    outcome: str | None
    body: str | None
    raw: str | None
    finished_at: str | None

    @property
    def verdict(self) -> Verdict:
        """In canonical terms."""
        if self.outcome is not None:
            return Verdict(Status(self.status), Outcome(self.outcome))
        picked = None if self.choice is None else Choice(self.choice)
        return Verdict.of(Status(self.status), picked, Order(self.order or Order.UNKNOWN))


def pair_line(run: Run, row: Line, found: Sequence[Call]) -> Line:
    """One line of *_pair.jsonl from a stored pair verdict and the calls behind it."""
    calls = {call.order: call for call in found}
    known = len(calls) == 2
    if known:
        games = [calls[order].verdict for order in _GAMES]
    else:
        combined = None if row["outcome"] is None else Outcome(row["outcome"])
        games = [Verdict(Status(row["status"]), combined)] * 2
    line: Line = {
        "question_id": _question_id(row["question_id"]),
        "model_1": row["model_1"],
        "model_2": row["model_2"],
    }
    line |= {f"g{number}_winner": _winner(game) for number, game in enumerate(games, start=1)}
    line["judge"] = _judge(run, row["dimension"])
    for number, order in enumerate(_GAMES, start=1):
        call = calls.get(order)
        line[f"g{number}_user_prompt"] = _asked(call)
        line[f"g{number}_judgment"] = _said(call)
    line |= {"turn": row["turn"], "tstamp": _time(run, calls.values())}
    line |= {"dimension": row["dimension"], "orders": "both" if known else "unknown"}
    if row["reason"]:
        line["reason"] = row["reason"]
    own = ((f"g{number}_verdict", _own_word(game)) for number, game in enumerate(games, start=1))
    return line | {name: word for name, word in own if word}


def _winner(game: Verdict) -> str:
    return ERROR if game.outcome is None else WINNERS[game.outcome]


def _own_word(game: Verdict) -> str:
    """What FastChat's word does not say: both_bad, or how a game failed."""
    if game.outcome is None:
        return game.status.value
    return game.outcome.value if game.outcome is Outcome.BOTH_BAD else ""


def grade_line(run: Run, row: Line, found: Sequence[Call]) -> Line:
    """One line of *_single.jsonl from a stored grade and the call behind it, if any."""
    call = found[0] if found else None
    line: Line = {
        "question_id": _question_id(row["question_id"]),
        "model": row["model_1"],
        "judge": _judge(run, row["dimension"]),
        "user_prompt": _asked(call),
        "judgment": _said(call),
        "score": FAILED_SCORE if row["grade"] is None else _number(row["grade"]),
        "turn": row["turn"],
        "tstamp": _time(run, [call] if call else []),
        "dimension": row["dimension"],
    }
    return line if row["grade"] is not None else line | {"status": row["status"]}


def _number(grade: float) -> float:
    return int(grade) if grade == int(grade) else grade


def _question_id(text: str) -> int | str:
    """FastChat's own ids are whole numbers."""
    return int(text) if re.fullmatch(r"0|-?[1-9][0-9]{0,14}", text) else text


def _judge(run: Run, dimension: str) -> list[str]:
    """FastChat's [model, prompt]."""
    if run.kind == "imported":
        model, _, prompt = run.requested_model.rpartition("/")
        return [model, prompt] if model else [prompt, "unknown"]
    prompts = run.manifest.get("prompts") or []
    known = [str(p.get("id")) for p in prompts if p.get("dimension") == dimension]
    return [run.requested_model, known[0] if known else dimension]


def _asked(call: Call | None) -> str:
    """The last message of the user in a request; empty when it is not known."""
    body = json.loads(call.body or "{}") if call else {}
    said = [m for m in body.get("messages", []) if m.get("role") == "user"]
    return str(said[-1]["content"]) if said else ""


def _said(call: Call | None) -> str:
    """The text of a reply; empty when there was none."""
    reply: Any = json.loads(call.raw or "null") if call else None
    try:
        content = reply["choices"][0]["message"]["content"]
    except (KeyError, IndexError, TypeError):
        return ""
    if not isinstance(content, str):
        return ""
    # Half of a surrogate pair is valid JSON but no text: no reader would take the line.
    return whole_text(content)


def _time(run: Run, calls: Iterable[Call]) -> float:
    """Seconds since 1970 at which the last reply came; of an imported judgment, its import."""
    finished = max((call.finished_at for call in calls if call.finished_at), default="")
    return datetime.fromisoformat(finished or run.created_at).timestamp()
