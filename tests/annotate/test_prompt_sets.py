"""What a prompt is for: read from its line, stored once, never contradicted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from annotate import library
from annotate.store import Store
from judge.database.table import tidy
from tests.annotate.support import BENCH, label_line, read_in, write_lines


def question(number: int, **more: Any) -> dict[str, Any]:
    return {"question_id": number, "turns": ["Ask", "Again"], **more}


def pair(number: int, **more: Any) -> dict[str, Any]:
    answers = {
        f"answer_{side}": {"model": f"m-{side}", "turns": [f"{side} {number}", "more"]}
        for side in "ab"
    }
    return {**question(number, **more), **answers}


@pytest.mark.parametrize("line", [question, pair], ids=["question.jsonl", "pairs"])
def test_marks_are_read_and_kept(store: Store, tmp_path: Path, line: Any) -> None:
    rows = [
        line(1, prompt_set="harmful", matched="k"),
        line(2, prompt_set="benign", matched=7),
        line(3, prompt_set="borderline"),
        line(4),
    ]
    account = read_in(store, write_lines(tmp_path / "question.jsonl", rows))
    assert not account.refused
    assert library.prompt_marks(store) == {
        (BENCH, "1"): ("harmful", "k"),
        (BENCH, "2"): ("benign", "7"),
        (BENCH, "3"): ("borderline", ""),
    }


def test_marks_may_come_later_and_are_never_contradicted(store: Store, tmp_path: Path) -> None:
    for name, row in (
        ("plain", question(1)),
        ("marked", question(1, prompt_set="benign")),
        ("plain again", question(1)),
    ):
        assert not read_in(store, write_lines(tmp_path / f"{name}.jsonl", [row])).refused
        assert library.prompt_marks(store) == (
            {} if name == "plain" else {(BENCH, "1"): ("benign", "")}
        )
    other = write_lines(tmp_path / "other.jsonl", [question(1, prompt_set="harmful")])
    (problem,) = read_in(store, other).refused
    assert "stored with prompt_set 'benign', found 'harmful'" in str(problem)
    assert library.prompt_marks(store)[BENCH, "1"] == ("benign", "")


def test_a_mark_that_is_none_is_refused_with_its_line(store: Store, tmp_path: Path) -> None:
    rows = [question(1, prompt_set="safe"), question(2)]
    (problem,) = read_in(store, write_lines(tmp_path / "question.jsonl", rows)).refused
    assert "question.jsonl:1: prompt_set:" in str(problem)
    assert "'harmful', 'borderline', 'benign'" in str(problem)


def test_the_tidy_table_has_the_marks(store: Store, tmp_path: Path) -> None:
    read_in(store, write_lines(tmp_path / "p.jsonl", [pair(1, prompt_set="harmful", matched="k")]))
    read_in(
        store,
        write_lines(
            tmp_path / "labels.jsonl",
            [label_line(n, model_a="m-a", model_b="m-b") for n in (1, 2)],
        ),
    )
    table = tidy(store)
    found = zip(table["question_id"], table["prompt_set"], table["matched"], strict=True)
    assert sorted(found) == [("1", "harmful", "k"), ("2", "", "")]
