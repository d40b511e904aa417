"""FastChat's files: question.jsonl, model_answer/*.jsonl, reference_answer/, model_judgment/.

Trap of the format: a model's name is its file's name, whatever `model_id` says.
`g2_winner` of pair judgments is already mapped back to the models: it is not swapped again.

Evenhand's own export (judge/database/fastchat_export.py) adds fields that FastChat ignores and
that are read here, so that a round trip loses nothing: `dimension`, `orders`, `reason`; per game
`g1_verdict`, `g2_verdict`: `both_bad` or the status of a failure, which FastChat cannot say.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field

from ..records import (
    INLINE,
    OVERALL,
    Answer,
    Game,
    Label,
    Outcome,
    PromptSet,
    Question,
    QuestionKey,
    Reference,
    SourceKind,
    Status,
    assistant_turns,
    user_turns,
)
from .base import Found, Problem, Read, Where, json_lines, validated


def _as_id(value: object) -> object:
    """Ids are numbers in some files and strings in others; inside they are strings."""
    if isinstance(value, bool):
        return value
    return str(value) if isinstance(value, int) else value


Id = Annotated[str, BeforeValidator(_as_id), Field(min_length=1, max_length=500)]


MAX_TURN = 10_000
DIMENSION = r"^[a-z][a-z0-9_]{0,39}$"
NO_REPLY = "$ERROR$"
"""What FastChat writes as a judgment when the call itself failed."""

PROMPT_SETS = {
    f"{form}-{name}": f"{form}-{base}"
    for form, base in (("pair", "v2"), ("single", "v1"))
    for name in (f"{base}-multi-turn", "math-v1", "math-v1-multi-turn")
}
"""FastChat asks one judge with four prompts, by turn and category: that is one judge here."""
Judge = (
    Annotated[str, Field(min_length=1, max_length=500)]
    | Annotated[list[Annotated[str, Field(min_length=1, max_length=500)]], Field(min_length=1)]
)


Matched = Annotated[str, BeforeValidator(_as_id), Field(max_length=500)]
"""The name of a group of prompts that belong together; a number will do."""


class QuestionLine(BaseModel):
    """One line of question.jsonl; `prompt_set` and `matched` are ours, and optional."""

    question_id: Id
    category: str = ""
    prompt_set: PromptSet = PromptSet.UNMARKED
    matched: Matched = ""
    turns: list[str] = Field(min_length=1)
    reference: list[str] | None = None


class Choice(BaseModel):
    """One sampled conversation of a model."""

    index: int = 0
    turns: list[str | None] = Field(min_length=1)


class AnswerLine(BaseModel):
    """One line of model_answer/NAME.jsonl."""

    question_id: Id
    choices: list[Choice] = Field(min_length=1)


class PairJudgmentLine(BaseModel):
    """One line of model_judgment/*_pair.jsonl."""

    question_id: Id
    model_1: str = Field(min_length=1)
    model_2: str = Field(min_length=1)
    g1_winner: str
    g2_winner: str
    judge: Judge
    turn: int = Field(ge=1, le=MAX_TURN)
    g1_judgment: Any = None
    g2_judgment: Any = None
    dimension: str = Field(default=OVERALL, pattern=DIMENSION)
    orders: Literal["both", "unknown"] = "both"
    reason: str = ""
    g1_verdict: str | None = None
    g2_verdict: str | None = None


def judge_name(judge: str | list[str]) -> str:
    """One name for a judge: FastChat's [model, prompt] as `model/prompt set`."""
    if isinstance(judge, str):
        return judge
    return "/".join([*judge[:-1], PROMPT_SETS.get(judge[-1], judge[-1])])


def read_questions(path: Path, name: str, benchmark: str) -> Iterator[Read]:
    """Questions, and the references that some carry inline."""
    for item in json_lines(path, name):
        if isinstance(item, Problem):
            yield item
            continue
        where, value = item
        line = validated(QuestionLine, where, value)
        if isinstance(line, list):
            yield from line
        elif isinstance(line, QuestionLine):
            key = QuestionKey(benchmark, line.question_id)
            asked = user_turns(line.turns)
            yield Found(where, Question(key, line.category, asked, line.prompt_set, line.matched))
            if line.reference:
                yield Found(where, Reference(key, tuple(line.reference), INLINE))


def read_answers(path: Path, name: str, benchmark: str) -> Iterator[Read]:
    """One model's answers; the model is named by the file."""
    model = path.stem
    for where, line in _answer_lines(path, name):
        if isinstance(line, Problem):
            yield line
            continue
        if len(line.choices) > 1:
            yield Problem(
                where,
                "choices",
                f"{len(line.choices)} choices: the first is imported, the others are not",
                warning=True,
            )
        key = QuestionKey(benchmark, line.question_id)
        yield Found(where, Answer(key, model, assistant_turns(line.choices[0].turns)))


def read_references(path: Path, name: str, benchmark: str) -> Iterator[Read]:
    """Reference solutions; who wrote them is named by the file."""
    for where, line in _answer_lines(path, name):
        if isinstance(line, Problem):
            yield line
            continue
        turns = tuple(turn or "" for turn in line.choices[0].turns)
        yield Found(where, Reference(QuestionKey(benchmark, line.question_id), turns, path.stem))


def _answer_lines(path: Path, name: str) -> Iterator[tuple[Where, AnswerLine | Problem]]:
    for item in json_lines(path, name):
        if isinstance(item, Problem):
            yield item.where, item
            continue
        where, value = item
        line = validated(AnswerLine, where, value)
        if isinstance(line, AnswerLine):
            yield where, line
        elif isinstance(line, list):
            yield from ((where, problem) for problem in line)


def read_pair_judgments(path: Path, name: str, benchmark: str) -> Iterator[Read]:
    """A judge's verdicts in both orders, each already in terms of the models."""
    for item in json_lines(path, name):
        if isinstance(item, Problem):
            yield item
            continue
        where, value = item
        line = validated(PairJudgmentLine, where, value)
        if isinstance(line, list):
            yield from line
        elif isinstance(line, PairJudgmentLine):
            yield _pair_judgment(where, line, benchmark)


WINNERS = {"model_1": Outcome.A, "model_2": Outcome.B, "tie": Outcome.TIE}
FAILURES = frozenset(Status) - {Status.OK, Status.INCOMPLETE, Status.WITHDRAWN}
"""The statuses by which a call can fail."""


def _pair_judgment(where: Where, line: PairJudgmentLine, benchmark: str) -> Read:
    games = _games(where, line)
    if isinstance(games, Problem):
        return games
    first, second = games
    known = line.orders == "both"
    if not known and first is not second:
        return Problem(where, "orders", "found unknown with two different games, expected one")
    return Found(
        where,
        Label(
            key=QuestionKey(benchmark, line.question_id),
            model_a=line.model_1,
            model_b=line.model_2,
            turn=line.turn,
            dimension=line.dimension,
            source_kind=SourceKind.JUDGE,
            source_id=judge_name(line.judge),
            value=first if not known and isinstance(first, Outcome) else None,
            status=Status.OK if known or isinstance(first, Outcome) else Status.INCOMPLETE,
            reason="" if known else line.reason,
            games=games if known else None,
        ),
    )


def _games(where: Where, line: PairJudgmentLine) -> tuple[Game, Game] | Problem:
    first = _game(where, "g1", line.g1_winner, line.g1_verdict, line.g1_judgment)
    second = _game(where, "g2", line.g2_winner, line.g2_verdict, line.g2_judgment)
    if isinstance(first, Problem):
        return first
    return second if isinstance(second, Problem) else (first, second)


def _game(
    where: Where, game: str, winner: str, verdict: str | None, judgment: object
) -> Game | Problem:
    """One game's verdict; a failure by its own name where the file says it."""
    if winner not in (*WINNERS, "error"):
        expected = "expected model_1, model_2, tie, error"
        return Problem(where, f"{game}_winner", f"found {winner!r}, {expected}")
    if winner != "error":
        return Outcome.BOTH_BAD if (winner, verdict) == ("tie", "both_bad") else WINNERS[winner]
    return failure(verdict, judgment)


def failure(status: str | None, judgment: object) -> Status:
    """How a judgment without a value failed, as far as its line tells."""
    if status in FAILURES:
        return Status(status)
    return Status.API_ERROR if judgment in (None, "", NO_REPLY) else Status.UNPARSEABLE
