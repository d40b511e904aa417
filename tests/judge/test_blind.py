"""The blind check on a live server: green as it is, red for every kind of planted leak."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from annotate import leaks, tasks
from annotate.importer import import_paths
from annotate.store import Store
from annotate.study import SETTINGS_NAME, Study, init, open_study
from judge.checks.canaries import LABEL_PLANTS, PLANTS
from judge.database.verdict_import import verdict_sink

LINES: list[dict[str, object]] = [
    {
        "question_id": f"q{number}",
        "turns": ["Say hello.", "And goodbye."],
        "answer_a": {"model": "heron-7b", "turns": [f"Hello {number}.", "Goodbye."]},
        "answer_b": {"model": "plover-v1", "turns": [f"Good day {number}.", "Farewell."]},
    }
    for number in range(5)
]
LINES[0]["answer_a"] = {"model": "heron-7b", "turns": ["I am Heron, hello.", "Goodbye."]}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    folder = tmp_path_factory.mktemp("blind")
    source = folder / "pairs.jsonl"
    source.write_text("\n".join(map(json.dumps, LINES)), "utf-8")
    vote = {
        "judge": "expert_1",
        "question_id": "q1",
        "model_a": "heron-7b",
        "model_b": "plover-v1",
        "turn": 1,
        "winner": "model_a",
        "comment": "heron, clearly",
    }
    votes = folder / "votes.jsonl"
    votes.write_text(json.dumps(vote), "utf-8")
    init(folder / "study").close()
    settings = folder / "study" / SETTINGS_NAME
    text = settings.read_text("utf-8").replace(
        "[assignment]", "[protocol.harm_labels]\n[protocol.grades]\n[assignment]"
    )
    settings.write_text(text, "utf-8")
    opened = open_study(folder / "study")
    import_paths(opened.store, [source], verdict_sink(opened.store), benchmark="b")
    import_paths(opened.store, [votes], verdict_sink(opened.store), benchmark="b")
    tasks.prepare(opened.store, opened.settings)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def checked(study: Study) -> subprocess.CompletedProcess[str]:
    """In a process of its own: the app imports Gradio, whose warnings are not ours."""
    return subprocess.run(
        [sys.executable, "-m", "judge.cli", "blind-check", str(study.folder), "--self-test"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_nothing_leaks_and_names_inside_texts_are_listed_apart(
    checked: subprocess.CompletedProcess[str],
) -> None:
    assert checked.returncode == 0, checked.stdout + checked.stderr
    searched = re.search(r"Searched (\d+) responses over (\d+) screens", checked.stdout)
    assert searched is not None
    assert int(searched.group(1)) > 100
    # Pairs; answers labelled by two raters and an adjudicator, and graded by two.
    assert int(searched.group(2)) >= 32
    assert "Blind: nothing leaks outside the texts." in checked.stdout
    assert 'question q0, answer of heron-7b: "Heron": 1 pairs' in checked.stdout


@pytest.mark.parametrize("kind", [*PLANTS, *LABEL_PLANTS])
def test_a_planted_leak_is_found(checked: subprocess.CompletedProcess[str], kind: str) -> None:
    found = checked.stdout.count(f"planted in {kind}: found")
    assert found == (1 if kind in PLANTS else 2)  # of answers on each form


def test_checking_leaves_the_study_as_it_was(study: Study) -> None:
    names = study.store.conn.execute("SELECT DISTINCT name FROM model ORDER BY 1").fetchall()
    assert names == [("heron-7b",), ("plover-v1",)]
    assert study.store.conn.execute("SELECT count(*) FROM vote").fetchone() == (1,)


@pytest.mark.parametrize(
    ("names", "text", "words"),
    [
        (["gpt-4"], "I am GPT-4.", ["GPT-4"]),
        (["claude-v1"], "like Claude Monet", ["Claude"]),
        (["vicuna-13b-v1.2"], "a 13b part, v1", []),
        (["llama-13b"], "llamas in Peru", []),
        (["m1"], "room m12 and m1", ["m1"]),
        (["gpt-4"], "I am GPT, made by OpenAI", ["GPT", "OpenAI"]),
        (["gpt-4"], "As ChatGPT I cannot", ["ChatGPT"]),
        (["llama-2-chat", "smollm2-instruct"], "a chat to instruct", []),
    ],
)
def test_what_counts_as_a_name_in_a_text(names: list[str], text: str, words: list[str]) -> None:
    pattern = leaks.patterns(names)
    assert pattern is not None
    assert [m.group(0) for m in pattern.finditer(text)] == words


def test_pairs_that_name_a_model_can_be_kept_out(study: Study, tmp_path: Path) -> None:
    copy = tmp_path / "evenhand.sqlite"
    study.store.backup(copy)
    store = Store.open(copy)
    out = study.settings.assignment.model_copy(update={"identity_leaks": "exclude"})
    assert leaks.apply_policy(store, out) == 1
    assert leaks.apply_policy(store, out) == 1  # again: nothing changes
    sql = "SELECT count(*) FROM pair WHERE excluded = 'identity'"
    assert store.conn.execute(sql).fetchone() == (1,)
    assert leaks.apply_policy(store, study.settings.assignment) == 0
    assert store.conn.execute(sql).fetchone() == (0,)
    store.close()
