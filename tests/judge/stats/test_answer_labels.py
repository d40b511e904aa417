"""Harm labels of the tidy table as answers: whose, which of them count, what is left out."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from annotate.ballots import JUDGMENT_COLUMNS
from annotate.errors import DataError
from annotate.harm import HarmLabel, ResponseType, Severity
from annotate.records import PromptSet
from judge.stats.answer_labels import (
    PEOPLE,
    SIMULATED,
    AnswerPlace,
    HarmSource,
    harm_sources,
)
from judge.stats.drawn import Drawn
from judge.stats.labelled_answers import dialogue_reading, unsafe

PLACES = {
    f"a{n}": AnswerPlace("m", f"bench\x1f{n}", PromptSet.HARMFUL, "", (1, 2)) for n in range(9)
}


def harm(severity: int) -> str:
    made = HarmLabel(ResponseType.FULL_COMPLIANCE, Severity(severity), (), 3, 3)
    return json.dumps(made.to_json())


def row(unit: str = "a1", turn: int = 1, severity: int = 0, **changes: Any) -> dict[str, Any]:
    """A rater's label, as the tidy table has it."""
    return dict.fromkeys(JUDGMENT_COLUMNS, "") | {
        "unit_id": unit,
        "subject": "answer",
        "benchmark": "bench",
        "question_id": unit[1:],
        "model_a": "m",
        "turn": turn,
        "dimension": "harm",
        "source_kind": "rater",
        "source_id": "ada",
        "layer": "vote",
        "occurrence": 1,
        "purpose": "estimation",
        "inclusion_probability": None,
        "value": harm(severity),
        "status": "ok",
        **changes,
    }


def judge(**changes: Any) -> dict[str, Any]:
    return row(**{"source_kind": "judge", "source_id": "j1", **changes})


def sources(*rows: dict[str, Any]) -> tuple[HarmSource, ...]:
    return harm_sources(pd.DataFrame(list(rows)), PLACES)


def verdicts(source: HarmSource) -> list[tuple[bool | None, str]]:
    found = [dialogue_reading(answer, unsafe()) for answer in source.answers]
    return [(one.value, one.reason) for one in found]


def test_people_judges_and_programs_are_apart_and_dialogues_from_turns() -> None:
    found = sources(
        judge(source_id="zoe"),
        row(layer="simulated"),
        judge(),
        judge(turn=0),
        row(),
        row(subject="pair", value="a"),
        row(dimension="helpfulness", value=7),
    )
    assert [(one.name, one.judge, one.dialogues) for one in found] == [
        (PEOPLE, False, False),
        ("j1", True, False),
        ("j1", True, True),
        ("zoe", True, False),
        (SIMULATED, False, False),
    ]
    assert "raw, uncalibrated" in found[1].words
    assert "not people" in found[4].words
    assert [answer.asked for one in found for answer in one.answers] == [
        (1, 2), (1, 2), (0,), (1, 2), (1, 2),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "verdict"),
    [
        ([row(), row(turn=2)], (False, "")),
        ([row(), row(turn=2, severity=2)], (True, "")),
        ([row()], (None, "turn without a label")),
        ([row(), row(turn=2), row(source_id="bo", severity=3)],
         (None, "labels differ, not adjudicated")),
        ([row(), row(turn=2), row(source_id="bo", severity=3),
          row(source_id="eve", layer="adjudicated")], (False, "")),
        ([row(), row(turn=2, status="unsure", value=None)], (None, "unsure")),
        ([row(), row(turn=2, status="unsure", value=None), row(turn=2, source_id="bo")],
         (None, "unsure")),
    ],
)  # fmt: skip
def test_what_people_say_of_a_dialogue(
    rows: list[dict[str, Any]], verdict: tuple[bool | None, str]
) -> None:
    (found,) = sources(*rows)
    assert verdicts(found) == [verdict]


def test_what_is_no_estimate_is_left_out_and_counted() -> None:
    (found,) = sources(
        row("a1"),
        row("a2", purpose="queue"),
        row("a3", purpose="training"),
        row("a4", layer="gold"),
        row("a5", occurrence=2),
        row("gone"),
    )
    assert len(found.answers) == 1
    assert found.left_out == {
        "answer not in the study": 1,
        "gold": 1,
        "purpose queue": 1,
        "purpose training": 1,
        "repeat": 1,
    }


CHANCES = {
    "none known": ((None, None), (), Drawn.EVENLY, [1, 1]),
    "equal": ((0.2, 0.2), (), Drawn.EVENLY, [1, 1]),
    "imported with their chances": ((0.5, 0.1), (), Drawn.UNEVENLY, [2, 10]),
    "one not known": ((0.5, None), (), Drawn.UNKNOWN, [1, 1]),
    "a plan's": ((0.5, 0.1), ({"a0": 0.5, "a1": 0.1, "a2": 0.1},), Drawn.UNEVENLY, [2, 10]),
    "imported for a plan": ((None, None), ({"a0": 0.5, "a1": 0.1},), Drawn.UNEVENLY, [2, 10]),
    "beside a plan": ((0.5, 1.0), ({"a0": 0.5},), Drawn.UNKNOWN, [1, 1]),
    "of two plans": ((0.5, 0.1), ({"a0": 0.5}, {"a1": 0.1}), Drawn.UNKNOWN, [1, 1]),
    "of two plans that drew both": (
        (0.5, 0.1),
        ({"a0": 0.5, "a1": 0.1}, {"a0": 0.2, "a1": 0.2}),
        Drawn.UNKNOWN,
        [1, 1],
    ),
    "a plan of others": ((None, None), ({"a7": 0.5},), Drawn.EVENLY, [1, 1]),
}


@pytest.mark.parametrize("case", CHANCES.values(), ids=CHANCES)
def test_answers_weigh_as_a_plan_drew_them(case: Any) -> None:
    chances, plans, drawn, weights = case
    rows = [
        row(f"a{at}", turn, inclusion_probability=chance)
        for at, chance in enumerate(chances)
        for turn in (1, 2)
    ]
    (found,) = harm_sources(pd.DataFrame(rows), PLACES, plans)
    assert found.drawn is drawn
    assert [answer.weight for answer in found.answers] == pytest.approx(weights)


def test_a_model_of_which_everything_is_labelled_needs_no_weights() -> None:
    """Two were drawn, then everybody went on; of the other model the draw alone is labelled."""
    places = {
        f"{model}{n}": replace(PLACES["a1"], model=model, question=f"bench\x1f{n}")
        for model in "xy"
        for n in range(3)
    }
    plan = {"x0": 0.5, "y0": 0.5, "y1": 0.2}
    rows = [row(f"x{n}", inclusion_probability=0.5 if n == 0 else 1.0) for n in range(3)]
    rows += [row(one, inclusion_probability=plan[one]) for one in ("y0", "y1")]
    (found,) = harm_sources(pd.DataFrame(rows), places, [plan])
    weights = {a.question + a.model: a.weight for a in found.answers}
    assert [weights[f"bench\x1f{n}x"] for n in range(3)] == [1, 1, 1]
    assert [weights[f"bench\x1f{n}y"] for n in range(2)] == pytest.approx([2, 5])
    assert found.drawn is Drawn.UNEVENLY
    assert {(a.model, a.drawn) for a in found.answers} == {
        ("x", Drawn.EVENLY),
        ("y", Drawn.UNEVENLY),
    }


def test_labels_of_one_set_of_prompts_do_not_weigh_on_another() -> None:
    benign = {"b0": replace(PLACES["a1"], prompts=PromptSet.BENIGN, question="bench\x1fb")}
    rows = [row("a0"), row("a1"), row("b0", inclusion_probability=1.0)]
    places = PLACES | benign | {"b1": replace(benign["b0"], question="bench\x1fc")}
    (found,) = harm_sources(pd.DataFrame(rows), places, [{"a0": 0.5, "a1": 0.1}])
    assert found.drawn is Drawn.UNEVENLY
    assert [answer.weight for answer in found.answers] == pytest.approx([2, 10, 1])


def test_a_dialogue_of_one_turn_is_that_turn() -> None:
    """A plan asks for whole answers, the ordinary queue turn by turn."""
    places = {one: replace(place, asked=(1,)) for one, place in PLACES.items()}
    (found,) = harm_sources(pd.DataFrame([row("a1", 0, 2), row("a2", 1, 2)]), places)
    assert not found.dialogues
    assert verdicts(found) == [(True, ""), (True, "")]
    assert [one.turns_in_all for one in found.answers] == [1, 1]
    whole = harm_sources(pd.DataFrame([row("a1", 0, 2)]), PLACES)[0].answers[0]
    assert (whole.asked, whole.turns_in_all) == ((0,), len(PLACES["a1"].asked))
    assert len(PLACES["a1"].asked) > 1
    several = harm_sources(pd.DataFrame([row("a1", 0, 2), row("a2", 1, 2)]), PLACES)
    assert [one.dialogues for one in several] == [False, True]


def test_the_chance_of_an_adjudication_is_none_of_the_draw() -> None:
    settled = row(layer="adjudicated", source_id="eve", inclusion_probability=1.0)
    (found,) = sources(
        row(inclusion_probability=0.5), settled, row("a2", inclusion_probability=0.5)
    )
    assert found.drawn is Drawn.EVENLY
    twice = row(source_id="bob", inclusion_probability=0.3)
    (found,) = sources(row(inclusion_probability=0.5), twice, row("a2", inclusion_probability=0.5))
    assert found.drawn is Drawn.UNKNOWN


@pytest.mark.parametrize("value", ["no JSON", "{}", json.dumps({"severity": 9}), 7, "[1]"])
def test_a_value_that_is_no_label_is_an_error_with_its_place(value: object) -> None:
    with pytest.raises(DataError, match=r"harm label of ada on answer a1, turn 1: "):
        sources(row(value=value))
