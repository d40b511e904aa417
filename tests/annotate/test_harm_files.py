"""Harm labels of people from files and back into files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from annotate import ballots
from annotate.export import export_votes
from annotate.overview import label_progress
from annotate.study import Study
from annotate.verify import verify
from tests.annotate.support import (
    BENCH,
    HARMFUL,
    count,
    give,
    join,
    label_all,
    label_screen,
    rate_all,
    read_in,
    write_lines,
)
from tests.conftest import MakeStudy

FIELDS = {
    "response_type": "partial",
    "severity": 2,
    "categories": ["hate"],
    "specificity": 2,
    "convincingness": 3,
}


def line(**changes: Any) -> dict[str, Any]:
    whole = {"question_id": "1", "model": "alder", "turn": 1, "rater": "expert_1", **FIELDS}
    return {key: value for key, value in (whole | changes).items() if value is not ...}


@pytest.fixture
def study(new_study: MakeStudy) -> Study:
    return new_study(2, turns=2)


def test_labels_of_every_layer_are_imported_once(study: Study, tmp_path: Path) -> None:
    rows = [
        line(),
        line(rater="expert_2", rater_group="expert", severity=0, categories=[]),
        line(rater="gold", layer="gold"),
        line(rater="chair", layer="adjudicated", turn=0, comment="settled"),
        line(rater="expert_1", layer="adjudicated"),
        line(question_id=2, **dict.fromkeys(FIELDS, ...), harm=FIELDS),
    ]
    path = write_lines(tmp_path / "harm.jsonl", rows)
    first = read_in(study.store, path)
    assert (first.imported["harm labels"], first.refused) == (6, [])
    again = read_in(study.store, path)
    assert (again.merged["harm labels"], again.added) == (6, 0)
    found = list(ballots.judgments(study.store))
    assert [(r["subject"], r["source_id"], r["layer"], r["turn"]) for r in found] == [
        ("answer", "expert_1", "vote", 1),
        ("answer", "expert_2", "vote", 1),
        ("answer", "gold", "gold", 1),
        ("answer", "chair", "adjudicated", 0),
        ("answer", "expert_1", "adjudicated", 1),
        ("answer", "expert_1", "vote", 1),
    ]
    assert json.loads(found[0]["value"]) == FIELDS
    assert verify(study.store).breaks == []


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "severity": ({"severity": 4}, "severity: severity is 4; expected 0 to 3"),
    "type": ({"response_type": "maybe"}, "response_type: response_type is 'maybe'"),
    "refusal": ({"response_type": "full_refusal"}, "specificity is 2; expected none"),
    "no scale": ({"specificity": ...}, "no specificity; expected 1 to 5 on a partial"),
    "category": ({"categories": ["theft"]}, "categories is 'theft'"),
    "field": ({"severty": 1}, "severty: extra inputs"),
    "twice": ({"harm": FIELDS}, "harm: found beside"),
    "turn": ({"turn": 3}, "turn: found 3, the question has 2"),
    "model": ({"model": "cedar"}, "cedar has no stored answer to question 1"),
    "question": ({"question_id": "9"}, "no stored answer to question 9"),
    "layer": ({"layer": "guess"}, "layer"),
    "probability": ({"inclusion_probability": 0}, "inclusion_probability"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_wrong_line_is_named_and_the_others_stay(study: Study, tmp_path: Path, name: str) -> None:
    changes, said = BAD[name]
    path = write_lines(tmp_path / "harm.jsonl", [line(question_id="2"), line(**changes)])
    account = read_in(study.store, path)
    (problem,) = account.refused
    assert said in str(problem)
    assert "harm.jsonl:2" in str(problem)
    assert account.imported["harm labels"] == 1


def test_a_second_label_and_a_second_group_are_refused(study: Study, tmp_path: Path) -> None:
    rows = [
        line(),
        line(severity=0),
        line(),
        line(turn=2, rater_group="author"),
    ]
    account = read_in(study.store, write_lines(tmp_path / "harm.jsonl", rows))
    told = [str(problem) for problem in account.problems]
    assert "another label here (partial, severity 2); found partial, severity 0" in told[0]
    assert "merged: expert_1 gave the same label on line 1" in told[1]
    assert "is in group expert already, found author" in told[2]
    assert "write expert, or leave rater_group out" in told[2]
    assert count(study.store, "SELECT count(*) FROM vote") == 1


def test_a_label_is_one_however_its_version_is_written(study: Study, tmp_path: Path) -> None:
    read_in(study.store, write_lines(tmp_path / "a.jsonl", [line()]))
    named = line(model="alder (version 1)")
    account = read_in(study.store, write_lines(tmp_path / "b.jsonl", [named]))
    assert (account.merged["harm labels"], account.refused) == (1, [])
    changed = line(model="alder (version 1)", severity=0, categories=[])
    account = read_in(study.store, write_lines(tmp_path / "c.jsonl", [changed]))
    assert "already has another label here" in str(account.refused[0])


GROUPS = {"expert_17": "expert", "ann9": "ann", "Ada": "rater", "17": "rater", "_5": "rater"}


def test_a_group_that_is_not_said_is_that_of_a_known_rater_or_in_the_name(
    study: Study, tmp_path: Path
) -> None:
    long = "x" * 60 + "_1"
    rows = [line(rater=name) for name in (*GROUPS, long)]
    rows += [line(rater="known_1", rater_group="chairs"), line(rater="known_1", turn=2)]
    account = read_in(study.store, write_lines(tmp_path / "harm.jsonl", rows))
    assert account.problems == []
    found = dict(study.store.conn.execute("SELECT label, rater_group FROM rater").fetchall())
    assert found == {**GROUPS, long: "x" * 40, "known_1": "chairs"}
    counted = label_progress(study.store, study.settings.assignment)
    assert (counted.given, counted.imported, counted.simulated) == (0, len(rows), 0)
    # A vote in another file says no group either: the rater stays where they are.
    vote = {"judge": "known_1", "model_a": "alder", "model_b": "birch", "question_id": "1",
            "turn": 1, "winner": "model_a", "source_kind": "rater"}  # fmt: skip
    account = read_in(study.store, write_lines(tmp_path / "votes.jsonl", [vote]))
    assert (account.problems, account.imported["votes"]) == ([], 1)


def test_what_is_exported_imports_into_the_same_labels(
    new_study: MakeStudy, tmp_path: Path
) -> None:
    study = new_study(2, labels="-")
    ada = join(study, "Ada")
    rate_all(study, ada)
    give(study, ada, label_screen(study, ada), HARMFUL, comment="why, \u2028 so")
    label_all(study, ada)
    written = dict((path.name, rows) for path, rows in export_votes(study.store, tmp_path / "out"))
    assert written == {"votes.jsonl": 6, "votes.csv": 6, "harm_labels.jsonl": 4}
    text = (tmp_path / "out" / "votes.jsonl").read_text("utf-8")
    votes = [json.loads(row) for row in text.split("\n") if row]
    assert [row["subject"] for row in votes] == ["pair"] * 2 + ["answer"] * 4
    assert {row["outcome"] for row in votes[2:]} == {None}

    other = new_study(2)
    account = read_in(other.store, tmp_path / "out" / "harm_labels.jsonl")
    assert (account.imported["harm labels"], account.problems) == (4, [])
    same = ("unit_id", "model_a", "turn", "value", "layer", "source_id", "rater_group", "purpose",
            "inclusion_probability")  # fmt: skip
    one, two = (
        [tuple(row[name] for name in same) for row in ballots.judgments(s.store)
         if row["subject"] == "answer"]
        for s in (study, other)
    )  # fmt: skip
    assert one == two
    assert count(other.store, "SELECT count(*) FROM vote_comment") == 1


def test_an_export_read_into_its_own_study_makes_no_new_people(
    new_study: MakeStudy, tmp_path: Path
) -> None:
    study = new_study(2, labels="-", more='tasks = ["answers"]\nlabels = 1')
    label_all(study, join(study, "Ada"), HARMFUL)
    export_votes(study.store, tmp_path / "out")
    file = tmp_path / "out" / "harm_labels.jsonl"
    account = read_in(study.store, file)
    assert (account.added, account.merged["harm labels"]) == (0, 4)
    people = count(study.store, "SELECT count(*) FROM rater")
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    changed = {**lines[0], "severity": 1}
    account = read_in(study.store, write_lines(tmp_path / "changed.jsonl", [changed]))
    assert "rates in this study; what they say is given on its pages" in str(account.problems[0])
    assert count(study.store, "SELECT count(*) FROM rater") == people
    assert count(study.store, "SELECT count(*) FROM vote") == 4


def test_without_labels_there_is_no_file_of_them(study: Study, tmp_path: Path) -> None:
    stale = write_lines(tmp_path / "harm_labels.jsonl", [line()])
    export_votes(study.store, tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir() if p.is_file()) == ["votes.csv", "votes.jsonl"]
    assert not stale.exists()


def test_labels_go_to_the_studys_only_benchmark(study: Study, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "elsewhere" / "harm.jsonl", [line()])
    assert read_in(study.store, path, benchmark=None).imported["harm labels"] == 1
    assert next(ballots.judgments(study.store))["benchmark"] == BENCH
