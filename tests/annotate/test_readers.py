"""Files become records or problems, line by line; nothing is lost silently."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotate.readers import Found, Problem, sources
from annotate.records import (
    Answer,
    Grade,
    Label,
    Layer,
    Order,
    Outcome,
    Question,
    SourceKind,
    Status,
)
from tests.annotate.support import answer_line, label_line, write_lines
from tests.strategies import json_values, texts

FORMATS = Path(__file__).parents[2] / ".." / "shared" / "data" / "formats"


def read(path: Path) -> list[Found | Problem]:
    """Everything that the reader of one file yields."""
    found: list[Found | Problem] = []
    for source in sources(path, "bench"):
        if source.reader is None:
            found.append(Problem(source.where, "", source.note, warning=True))
        else:
            found += source.reader(source.path, source.name, source.benchmark)
    return found


def problems(found: list[Found | Problem]) -> list[str]:
    return [str(item) for item in found if isinstance(item, Problem)]


def labels(found: list[Found | Problem]) -> list[Label]:
    return [
        item.record for item in found if isinstance(item, Found) and isinstance(item.record, Label)
    ]


GOOD = json.dumps(label_line(1))
BROKEN: dict[str, tuple[bytes, str]] = {
    "cut off": (b'{"question_id": 2, "mod', "not JSON"),
    "not UTF-8": (GOOD.replace("expert_1", "é").encode("latin-1"), "not UTF-8"),
    "lone surrogate": (GOOD.replace("expert_1", "\\ud83d").encode(), "surrogate"),
    "array": (b"[1, 2]", "found a JSON list, expected an object"),
    "number": (b"3", "found a JSON int, expected an object"),
    "huge": (b'{"judge": "' + b"x" * 20_000_001 + b'"}', "at most 20 MB"),
    "deep": (b"[" * 100_000, "not JSON"),
    "no winner": (json.dumps({"question_id": 1}).encode(), "(and judge, model_b, turn, winner)"),
    "unknown winner": (json.dumps(label_line(1, winner="A")).encode(), "winner: found 'A'"),
    "negative turn": (json.dumps(label_line(1, turn=-1)).encode(), "turn: "),
    "turn as words": (json.dumps(label_line(1, turn="one")).encode(), "turn: "),
    "who is it": (json.dumps(label_line(1, judge="claude-v1")).encode(), "person or a model"),
    "no id": (json.dumps(label_line("")).encode(), "question_id: "),
    "id is true": (json.dumps(label_line(1) | {"question_id": True}).encode(), "question_id: "),
    "enormous number": (b'{"turn": ' + b"9" * 5_000 + b"}", "not JSON"),
}


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_line_loses_only_itself(tmp_path: Path, name: str, place: int) -> None:
    """Also on line 1: the kind of the file is then told from the next line."""
    line, reason = BROKEN[name]
    lines = [json.dumps(label_line(n)).encode() for n in (1, 2)]
    lines.insert(place, line)
    path = tmp_path / "votes.jsonl"
    path.write_bytes(b"\n".join(lines))
    found = read(path)
    assert [label.key.question_id for label in labels(found)] == ["1", "2"]
    shown = [text for text in problems(found) if f"votes.jsonl:{place + 1}:" in text]
    assert shown
    assert any(reason in text for text in shown), shown
    assert all(len(text) < 400 and "\n" not in text for text in problems(found))


@pytest.mark.parametrize(
    ("name", "content", "note"),
    [
        ("a.jsonl", "", "the file is empty"),
        ("a.jsonl", "\n\n", "no JSON object"),
        ("a.json", "[{}]", "a JSON array, not JSONL"),
        ("a.json", "\ufeff[\n{}]", "a JSON array, not JSONL"),
        ("a.jsonl", "words\n", "no JSON object in its first ten lines"),
        ("a.jsonl", '{"x": 1, "y": 2}', "unknown kind (its first record has: x, y)"),
        ("a.csv", "a,b\n", "a CSV without the columns grade, model, question_id, rater"),
        ("README", "a", "a file without ending: not a JSONL file"),
        ("p.jsonl", '{"prompt_template": "", "system_prompt": ""}', "not imported"),
    ],
)
def test_a_file_of_another_kind_is_named_not_guessed(
    tmp_path: Path, name: str, content: str, note: str
) -> None:
    (tmp_path / name).write_text(content, "utf-8")
    (only,) = read(tmp_path / name)
    assert isinstance(only, Problem)
    assert note in only.reason


@pytest.mark.parametrize("prefix", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_editors_of_other_systems_change_nothing(
    tmp_path: Path, prefix: bytes, newline: bytes
) -> None:
    path = tmp_path / "votes.jsonl"
    path.write_bytes(prefix + newline.join([GOOD.encode(), b"", GOOD.encode()]) + newline)
    found = read(path)
    assert len(labels(found)) == 2
    assert problems(found) == []


@given(st.lists(st.dictionaries(texts, json_values, max_size=5) | json_values, max_size=6))
def test_no_json_makes_a_reader_raise(tmp_path: Path, values: list[object]) -> None:
    for first in (label_line(), answer_line(1, ["x"]), {"answer_a": 1}, {"g1_winner": 1}):
        path = write_lines(tmp_path / "any.jsonl", [first, *values])
        for item in read(path):
            assert isinstance(item, (Found, Problem))


@given(st.dictionaries(st.sampled_from([*label_line(), "conversation_a"]), json_values))
def test_a_label_with_any_field_replaced_is_read_or_named(
    tmp_path: Path, changes: dict[str, object]
) -> None:
    path = write_lines(tmp_path / "votes.jsonl", [label_line(), label_line(2) | changes])
    found = read(path)
    assert len(labels(found)) == 2 or problems(found)


@pytest.mark.parametrize(
    ("judge", "kind"),
    [
        ("expert_3", SourceKind.RATER),
        ("author_0", SourceKind.RATER),
        ("gpt4_pair", SourceKind.JUDGE),
        (["gpt-4", "pair-v2"], SourceKind.JUDGE),
    ],
)
def test_people_and_models_are_told_apart(tmp_path: Path, judge: object, kind: SourceKind) -> None:
    (label,) = labels(read(write_lines(tmp_path / "l.jsonl", [label_line(judge=judge)])))
    assert label.source_kind == kind


@pytest.mark.parametrize(
    ("line", "value", "order"),
    [
        (label_line(), Outcome.A, Order.UNKNOWN),
        (label_line(winner="tie (bothbad)"), Outcome.BOTH_BAD, Order.UNKNOWN),
        (label_line(shown_left="model_b"), Outcome.A, Order.BA),
        (
            label_line(model_a="birch", model_b="alder", shown_left="model_a"),
            Outcome.B,
            Order.BA,
        ),
    ],
)
def test_canonical_naming_turns_winner_and_order_together(
    tmp_path: Path, line: dict[str, object], value: Outcome, order: Order
) -> None:
    (label,) = labels(read(write_lines(tmp_path / "l.jsonl", [line])))
    label = label.canonical()
    assert (label.value, label.order, label.model_a) == (value, order, "alder")


@pytest.mark.parametrize("turned", [False, True])
def test_pair_judgments_are_in_terms_of_models_already(tmp_path: Path, turned: bool) -> None:
    """`g2_winner` is mapped back in the file; only a change of names may turn it."""
    line = {
        "question_id": 1,
        "model_1": "birch" if turned else "alder",
        "model_2": "alder" if turned else "birch",
        "g1_winner": "model_1",
        "g2_winner": "error",
        "judge": ["gpt-4", "pair-v2"],
        "turn": 1,
    }
    (label,) = labels(read(write_lines(tmp_path / "j.jsonl", [line])))
    failed = Status.API_ERROR
    assert (label.value, label.games) == (None, (Outcome.A, failed))
    assert label.canonical().games == ((failed, Outcome.B) if turned else (Outcome.A, failed))
    assert label.canonical().canonical() == label.canonical()


PAIR = {
    "question_id": 1,
    "model_1": "alder",
    "model_2": "birch",
    "g1_winner": "tie",
    "g2_winner": "tie",
    "judge": ["gpt-4", "pair-v2"],
    "turn": 1,
}


@pytest.mark.parametrize(
    ("changes", "games"),
    [
        ({"g1_winner": "error", "g1_judgment": "$ERROR$"}, (Status.API_ERROR, Outcome.TIE)),
        ({"g1_winner": "error", "g1_judgment": "Both."}, (Status.UNPARSEABLE, Outcome.TIE)),
        ({"g2_winner": "error", "g2_verdict": "timeout"}, (Outcome.TIE, Status.TIMEOUT)),
        ({"g2_winner": "error", "g2_verdict": "ok"}, (Outcome.TIE, Status.API_ERROR)),
        ({"g1_verdict": "both_bad"}, (Outcome.BOTH_BAD, Outcome.TIE)),
        ({"g1_winner": "model_2", "g1_verdict": "both_bad"}, (Outcome.B, Outcome.TIE)),
    ],
)
def test_what_fastchat_cannot_say_stands_in_fields_of_our_own(
    tmp_path: Path, changes: dict[str, object], games: tuple[object, object]
) -> None:
    (label,) = labels(read(write_lines(tmp_path / "j.jsonl", [PAIR | changes])))
    assert label.games == games


@pytest.mark.parametrize(
    ("changes", "value", "status", "reason"),
    [
        ({"reason": "inconsistent"}, Outcome.TIE, Status.OK, "inconsistent"),
        ({"g1_winner": "error", "g2_winner": "error", "reason": "timeout"}, None,
         Status.INCOMPLETE, "timeout"),
    ],
)  # fmt: skip
def test_games_of_unknown_order_are_one_combined_verdict(
    tmp_path: Path, changes: dict[str, object], value: object, status: Status, reason: str
) -> None:
    """Read as two games, they would be a judge that never changes its mind."""
    line = PAIR | {"orders": "unknown", "dimension": "helpfulness"} | changes
    (label,) = labels(read(write_lines(tmp_path / "j.jsonl", [line])))
    assert (label.games, label.value, label.status) == (None, value, status)
    assert (label.reason, label.dimension) == (reason, "helpfulness")
    (problem,) = read(write_lines(tmp_path / "j.jsonl", [line | {"g1_winner": "model_1"}]))
    assert "orders: found unknown with two different games" in str(problem)


@pytest.mark.parametrize(
    ("prompt", "name"),
    [
        ("pair-v2", "gpt-4/pair-v2"),
        ("pair-v2-multi-turn", "gpt-4/pair-v2"),
        ("pair-math-v1", "gpt-4/pair-v2"),
        ("pair-math-v1-multi-turn", "gpt-4/pair-v2"),
        ("pair-v1", "gpt-4/pair-v1"),
        ("mine", "gpt-4/mine"),
    ],
)
def test_the_four_prompts_of_one_fastchat_judge_are_one_judge(
    tmp_path: Path, prompt: str, name: str
) -> None:
    line = PAIR | {"judge": ["gpt-4", prompt]}
    (label,) = labels(read(write_lines(tmp_path / "j.jsonl", [line])))
    assert label.source_id == name


SINGLE = {
    "question_id": 1,
    "model": "alder",
    "judge": ["gpt-4", "single-math-v1-multi-turn"],
    "score": 7.5,
    "turn": 2,
    "judgment": "Rating: [[7.5]]",
}


def grades(found: list[Found | Problem]) -> list[Grade]:
    return [
        item.record for item in found if isinstance(item, Found) and isinstance(item.record, Grade)
    ]


@pytest.mark.parametrize(
    ("changes", "grade", "status"),
    [
        ({}, 7.5, Status.OK),
        ({"score": 10}, 10, Status.OK),
        ({"score": -1}, None, Status.UNPARSEABLE),
        ({"score": -1, "judgment": "$ERROR$"}, None, Status.API_ERROR),
        ({"score": -1, "judgment": "", "status": "truncated"}, None, Status.TRUNCATED),
    ],
)
def test_a_grade_is_a_number_or_a_failure(
    tmp_path: Path, changes: dict[str, object], grade: float | None, status: Status
) -> None:
    (found,) = grades(read(write_lines(tmp_path / "s.jsonl", [SINGLE | changes])))
    assert (found.grade, found.status) == (grade, status)
    assert (found.turn, found.dimension, found.source_id) == (2, "overall", "gpt-4/single-v1")


@pytest.mark.parametrize("score", [0, 10.5, 11, -2, True, "7", None, float("nan")])
def test_a_score_that_is_no_grade_is_named_with_its_line(tmp_path: Path, score: object) -> None:
    found = read(write_lines(tmp_path / "s.jsonl", [SINGLE, SINGLE | {"score": score}]))
    assert len(grades(found)) == 1
    (problem,) = problems(found)
    assert ":2: score: " in problem


def test_a_grade_of_mtbench101_belongs_to_its_task(tmp_path: Path) -> None:
    line = {"task": "CM", "multi_id": 7, "turn_id": "2", "model": "alder", "judge": "gpt-4",
            "score": 9, "judgement": "Rating: [[9]]"}  # fmt: skip
    lines = [line, line | {"score": -1, "judgement": "No."}, line | {"turn_id": "two"}]
    found = read(write_lines(tmp_path / "j.jsonl", lines))
    one, failed = grades(found)
    assert (one.key.question_id, one.turn, one.dimension) == ("7", 2, "mtbench101")
    assert (one.source_id, one.grade) == ("gpt-4/mtbench101", 9)
    assert (failed.grade, failed.status) == (None, Status.UNPARSEABLE)
    (problem,) = problems(found)
    assert ":3: turn_id: " in problem


def test_a_model_is_named_by_its_file_and_other_samples_are_mentioned(tmp_path: Path) -> None:
    line = answer_line(1, ["a", None]) | {"model_id": "someone-else"}
    line["choices"].append({"index": 1, "turns": ["b", "c"]})
    found = read(write_lines(tmp_path / "model_answer" / "alder.v2.jsonl", [line]))
    (answer,) = [i.record for i in found if isinstance(i, Found)]
    assert isinstance(answer, Answer)
    assert answer.model == "alder.v2"
    assert answer.turns is not None
    assert answer.turns[1] == ()
    assert "2 choices: the first is imported" in problems(found)[0]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"answer_b": {"model": "birch", "turns": ["x", "y"]}}, "has 2 turns, the question 1"),
        ({"answer_b": {"model": "birch"}}, "either turns or messages"),
        ({"messages": [[{"role": "user", "content": "?"}]]}, "either turns or messages"),
        ({"anwser_c": 1}, "anwser_c"),
        ({"turns": []}, "turns"),
        ({"answer_a": {"model": "", "turns": ["x"]}}, "answer_a.model"),
    ],
)
def test_a_pair_that_is_not_one_is_named_with_its_field(
    tmp_path: Path, changes: dict[str, object], reason: str
) -> None:
    line = {
        "question_id": "q1",
        "turns": ["?"],
        "answer_a": {"model": "alder", "turns": ["x"]},
        "answer_b": {"model": "birch", "turns": ["y"]},
    }
    found = read(write_lines(tmp_path / "p.jsonl", [line, line | changes]))
    assert sum(isinstance(item, Found) for item in found) == 3
    assert any(":2:" in text and reason in text for text in problems(found)), problems(found)


def test_a_pair_with_messages_keeps_system_and_tool_messages(tmp_path: Path) -> None:
    line = {
        "question_id": "q1",
        "messages": [
            [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
        ],
        "answer_a": {
            "model": "alder",
            "messages": [
                [{"role": "tool", "content": "42"}, {"role": "assistant", "content": "Hello"}]
            ],
        },
        "answer_b": {"model": "birch", "turns": ["Hi."]},
    }
    found = read(write_lines(tmp_path / "p.jsonl", [line]))
    question, alder, _birch = [item.record for item in found if isinstance(item, Found)]
    assert isinstance(question, Question)
    assert isinstance(alder, Answer)
    assert question.turns is not None
    assert alder.turns is not None
    assert [m.role for m in question.turns[0]] == ["system", "user"]
    assert [m.role for m in alder.turns[0]] == ["tool", "assistant"]


def test_own_optional_fields_of_labels(tmp_path: Path) -> None:
    line = label_line(
        judge="Zoe",
        source_kind="rater",
        rater_group="nurses",
        layer="simulated",
        dimension="harmlessness",
        comment="=1+1",
        benchmark="other",
    )
    (label,) = labels(read(write_lines(tmp_path / "l.jsonl", [line])))
    assert (label.rater_group, label.layer, label.dimension, label.comment) == (
        "nurses",
        Layer.SIMULATED,
        "harmlessness",
        "=1+1",
    )
    assert label.key.benchmark == "other"


needs_formats = pytest.mark.skipif(
    not FORMATS.is_dir(), reason=f"sample files of formats are not at {FORMATS}: NOT checked"
)


@needs_formats
@pytest.mark.parametrize(
    ("name", "questions", "answers", "votes", "verdicts", "grades"),
    [
        ("fastchat/mt_bench/question.jsonl", 3, 0, 0, 0, 0),
        ("fastchat/mt_bench/model_answer/acme-7b.jsonl", 0, 3, 0, 0, 0),
        ("fastchat/mt_bench/model_judgment/gpt-4_pair.jsonl", 0, 0, 0, 3, 0),
        ("fastchat/mt_bench/model_judgment/gpt-4_single.jsonl", 0, 0, 0, 0, 3),
        ("mtbench101/judgments.jsonl", 0, 0, 0, 0, 3),
        ("arena/hf_mt_bench_human_judgments.jsonl", 3, 6, 3, 0, 0),
        ("arena/hf_mt_bench_gpt4_pair.jsonl", 3, 6, 0, 3, 0),
        ("arena/labels_only.jsonl", 0, 0, 2, 1, 0),
    ],
)
def test_other_tools_files_are_read_as_documented(
    name: str, questions: int, answers: int, votes: int, verdicts: int, grades: int
) -> None:
    found = read(FORMATS / name)
    kinds = [type(item.record) for item in found if isinstance(item, Found)]
    rated = [label.source_kind for label in labels(found)]
    assert (kinds.count(Question), kinds.count(Answer)) == (questions, answers)
    assert (rated.count(SourceKind.RATER), rated.count(SourceKind.JUDGE)) == (votes, verdicts)
    assert kinds.count(Grade) == grades
    assert problems(found) == []


@needs_formats
def test_every_other_file_is_listed_with_what_it_is() -> None:
    """Nothing crashes, nothing is skipped silently, whatever folder a user points at."""
    for path in sorted(p for p in FORMATS.rglob("*") if p.is_file()):
        found = read(path)
        assert found, path
        assert all("\n" not in text for text in problems(found))
