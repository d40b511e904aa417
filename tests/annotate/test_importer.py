"""Import: every record accounted for, twice is once, order is irrelevant, votes follow texts."""

from __future__ import annotations

import json
import os
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotate import ballots, library
from annotate.errors import UsageError
from annotate.importer import Account, import_paths
from annotate.records import QuestionKey
from annotate.store import Store
from annotate.verify import verify
from annotate.versions import version_in
from judge.database.verdict_import import verdict_sink
from tests.annotate.support import (
    answer_line,
    bench_folder,
    count,
    dump,
    empty_store,
    label_line,
    marker,
    read_in,
    votes,
    write_lines,
)

TABLES = ("question", "answer", "model", "reference", "pair", "vote", "rater", "import_batch")


def refused(account: Account) -> list[str]:
    return [str(problem) for problem in account.refused]


def assert_accounted(account: Account) -> None:
    """Per kind: what was read was imported, merged, or refused with its line."""
    assert all(n >= 0 for n in account.imported.values()), account.imported
    missing = {
        kind: account.read[kind] - account.imported[kind] - account.merged[kind]
        for kind in account.read
    }
    assert all(n >= 0 for n in missing.values()), missing
    assert sum(missing.values()) == len(account.refused) - unread(account)


def unread(account: Account) -> int:
    """Refusals of lines that never became a record."""
    return sum(1 for p in account.refused if p.reason.startswith(("not JSON", "found a JSON")))


LINES: dict[str, list[Any]] = {
    "question.jsonl": [
        {"question_id": 1, "turns": ["One?"]},
        {"question_id": 1, "turns": ["One?"]},
        {"question_id": 1, "turns": ["Other?"]},
        {"question_id": 2, "turns": ["Two?", "More?"], "reference": ["2"]},
        "{broken",
    ],
    "model_answer/alder.jsonl": [
        answer_line(1, ["a"]),
        answer_line(1, ["a"]),
        answer_line(1, ["changed"]),
        answer_line(2, ["b", "c"]),
        answer_line(3, ["no such question"]),
        "7",
    ],
    "model_answer/birch.jsonl": [
        answer_line(1, ["a", "too many"]),
        answer_line(1, ["a"]),
        answer_line(2, ["x"]),
    ],
    "reference_answer/gold.jsonl": [answer_line(2, ["2", ""]), answer_line(9, ["unknown"])],
    "votes.jsonl": [
        label_line(1),
        label_line(1),
        label_line(1, winner="tie"),
        label_line(1, model_b="alder"),
        label_line(2, judge="gpt4_pair"),
        label_line(8, model_a="x", model_b="y"),
    ],
}


@settings(max_examples=25)
@given(
    st.fixed_dictionaries(
        {name: st.lists(st.sampled_from(lines), max_size=8) for name, lines in LINES.items()}
    )
)
def test_every_record_is_imported_merged_or_listed(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, list[Any]]
) -> None:
    folder = tmp_path_factory.mktemp("any")
    for name, rows in files.items():
        write_lines(folder / "bench" / name, rows)
    store = empty_store(folder / "store")
    first = read_in(store, folder / "bench")
    assert_accounted(first)
    before = dump(store, *TABLES)
    second = read_in(store, folder / "bench")
    assert_accounted(second)
    # The sink of this file's tests takes every verdict as new; the judge's side merges them.
    assert second.added == second.imported["verdicts"]
    assert refused(second) == refused(first)
    assert second.read == first.read
    again = dump(store, *TABLES[:-1])
    assert again == {name: rows for name, rows in before.items() if name in again}
    assert verify(store).breaks == []
    store.close()


def test_every_refusal_is_named_with_its_line(store: Store, tmp_path: Path) -> None:
    for name, rows in LINES.items():
        write_lines(tmp_path / "bench" / name, rows)
    account = read_in(store, tmp_path / "bench")
    assert_accounted(account)
    assert refused(account) == [
        "bench/question.jsonl:3: question_id: question 1 of bench is stored with other turns;"
        " give the changed set its own benchmark name",
        "bench/question.jsonl:5: not JSON: Expecting property name enclosed in double quotes:"
        " line 1 column 2 (char 1)",
        "model_answer/alder.jsonl:3: question_id: another answer of alder to question 1 stands"
        " on line 1; the first one is kept",
        "model_answer/alder.jsonl:6: found a JSON int, expected an object",
        "model_answer/alder.jsonl:5: question_id: answers question 3, which is not in benchmark"
        " bench; import its questions too",
        "model_answer/birch.jsonl:2: question_id: another answer of birch to question 1 stands"
        " on line 1; the first one is kept",
        "model_answer/birch.jsonl:1: choices: has 2 turns, the question has 1",
        "reference_answer/gold.jsonl:2: question_id: reference for unknown question 9",
        "bench/votes.jsonl:4: model_a: both answers are named alder: which is which cannot be told",
        "bench/votes.jsonl:3: winner: expert_1 already has another vote here (a); found tie,"
        " the first one stands",
    ]
    assert [str(p) for p in account.warnings] == [
        "bench/votes.jsonl:2: merged: expert_1 cast the same vote on line 1"
    ]


def test_importing_twice_leaves_no_trace(store: Store, tmp_path: Path) -> None:
    folder = bench_folder(tmp_path / "bench", 3, ("alder", "birch", "cedar"), turns=2)
    write_lines(folder / "votes.jsonl", [label_line(n) for n in (1, 2, 3)])
    assert read_in(store, folder).added == 3 + 9 + 9 + 3
    before = dump(store, *TABLES, "event")
    account = read_in(store, folder)
    assert (account.added, account.problems) == (0, [])
    assert dump(store, *TABLES, "event") == before


def test_the_order_of_files_is_irrelevant(tmp_path: Path) -> None:
    folder = bench_folder(tmp_path / "bench", 2, ("alder", "birch"))
    write_lines(folder / "votes.jsonl", [label_line(1), label_line(2, winner="tie")])
    parts = [
        folder / "votes.jsonl",
        folder / "model_answer" / "birch.jsonl",
        folder / "model_answer" / "alder.jsonl",
        folder / "question.jsonl",
    ]
    seen = []
    for number, order in enumerate(permutations(parts)):
        store = empty_store(tmp_path / f"store{number}")
        account = read_in(store, *order)
        rows = list(ballots.judgments(store))
        seen.append((account.read, account.imported, account.pairs_added, rows))
        assert account.problems == []
        store.close()
    assert all(found == seen[0] for found in seen)
    assert len(seen[0][3]) == 2


def test_one_file_after_the_other_gives_the_same_study(tmp_path: Path) -> None:
    """Votes first: their pairs are known by names only until the texts come."""
    folder = bench_folder(tmp_path / "bench", 2)
    write_lines(folder / "votes.jsonl", [label_line(1), label_line(2, winner="tie")])
    together, apart = empty_store(tmp_path / "one"), empty_store(tmp_path / "two")
    read_in(together, folder)
    read_in(apart, folder / "votes.jsonl")
    waiting = list(ballots.judgments(apart))
    assert [row["category"] for row in waiting] == ["", ""]
    read_in(apart, folder / "question.jsonl", folder / "model_answer")
    assert list(ballots.judgments(apart)) == list(ballots.judgments(together))
    assert library.counts(apart)["pairs"] == 2
    account = read_in(apart, folder)
    assert (account.added, account.merged["votes"], account.refused) == (0, 2, [])
    assert verify(apart).breaks == []
    together.close()
    apart.close()


def test_a_rerun_is_another_version_and_labels_alone_cannot_choose(
    store: Store, tmp_path: Path
) -> None:
    read_in(store, bench_folder(tmp_path / "bench"))
    rerun = write_lines(
        tmp_path / "rerun" / "model_answer" / "alder.jsonl", [answer_line(1, ["rerun"])]
    )
    assert read_in(store, rerun).imported["answers"] == 1
    assert store.conn.execute(
        "SELECT name, version FROM model ORDER BY name, version"
    ).fetchall() == [("alder", 1), ("alder", 2), ("birch", 1)]
    # Question 1: both versions against birch and against each other; question 2 as before.
    assert library.counts(store)["pairs with text"] == 4
    labels = write_lines(tmp_path / "votes.jsonl", [label_line(2), label_line(1)])
    account = read_in(store, labels)
    assert account.imported["votes"] == 1
    (line,) = refused(account)
    assert "votes.jsonl:2: model_a: alder and birch have 2 stored pairs for question 1" in line


def test_labels_may_name_the_version(store: Store, tmp_path: Path) -> None:
    read_in(store, bench_folder(tmp_path / "bench"))
    file = tmp_path / "rerun" / "model_answer" / "alder.jsonl"
    read_in(store, write_lines(file, [answer_line(1, ["rerun"])]))
    named = [f"alder (version {n})" for n in (1, 2, 3)]
    votes = [label_line(1, model_a=name, judge=f"expert_{n}") for n, name in enumerate(named)]
    apart = label_line(1, model_a=named[0], model_b=named[1])
    account = read_in(store, write_lines(tmp_path / "votes.jsonl", [*votes, apart]))
    assert account.imported["votes"] == 2
    missing, same = refused(account)
    assert "alder (version 3) and birch have no stored pair for question 1" in missing
    assert "are two answer sets of one name" in same
    about = {row["source_id"]: row["unit_id"] for row in ballots.judgments(store)}
    versions = dict(
        store.conn.execute(
            "SELECT p.id, m.version FROM pair p JOIN answer a ON a.id = p.answer_a"
            " JOIN model m ON m.id = a.model WHERE p.model_b = 'birch'"
        ).fetchall()
    )
    assert [versions[about[f"expert_{n}"]] for n in (0, 1)] == [1, 2]


BETWEEN = ("alder (base)", "alder (quantized)", "alder (version 0)", "alder!")


@pytest.mark.parametrize("other", BETWEEN)
@pytest.mark.parametrize("number", [1, 2])
def test_a_named_version_keeps_its_winner_whatever_the_other_is_called(
    store: Store, tmp_path: Path, other: str, number: int
) -> None:
    """Names with a version sort elsewhere than the bare ones that pairs are stored by."""
    read_in(store, bench_folder(tmp_path / "bench", 1, ("alder", other)))
    rerun = tmp_path / "rerun" / "model_answer" / "alder.jsonl"
    read_in(store, write_lines(rerun, [answer_line(1, ["rerun"])]))
    named = f"alder (version {number})"
    rows = [
        label_line(1, model_a=named, model_b=other, winner="model_a", judge="expert_1"),
        label_line(1, model_a=other, model_b=named, winner="model_a", judge="expert_2"),
    ]
    account = read_in(store, write_lines(tmp_path / "votes.jsonl", rows))
    assert account.refused == []
    won = [
        row["model_a"] if row["value"] == "a" else row["model_b"]
        for row in ballots.judgments(store)
    ]
    assert won == ["alder", other]


def test_one_opinion_counts_once_however_its_version_is_written(
    store: Store, tmp_path: Path
) -> None:
    read_in(store, bench_folder(tmp_path / "bench", 1))
    first = read_in(store, write_lines(tmp_path / "a.jsonl", [label_line(1)]))
    named = label_line(1, model_a="alder (version 1)")
    again = read_in(store, write_lines(tmp_path / "b.jsonl", [named]))
    assert (first.imported["votes"], again.imported["votes"], again.merged["votes"]) == (1, 0, 1)
    rerun = tmp_path / "rerun" / "model_answer" / "alder.jsonl"
    read_in(store, write_lines(rerun, [answer_line(1, ["rerun"])]))
    again = read_in(store, write_lines(tmp_path / "c.jsonl", [named]))
    assert (again.imported["votes"], again.merged["votes"]) == (0, 1)
    other = {**named, "winner": "model_b" if named["winner"] != "model_b" else "model_a"}
    (line,) = refused(read_in(store, write_lines(tmp_path / "d.jsonl", [other])))
    assert "already has another vote here" in line
    second = label_line(1, model_a="alder (version 2)")
    assert read_in(store, write_lines(tmp_path / "e.jsonl", [second])).imported["votes"] == 1


def test_a_version_is_a_number_as_we_write_it() -> None:
    for name in ("alder (version 02)", "alder (version 2٣)", "alder (Version 2)"):
        assert version_in(name) == (name, None)
    assert version_in("alder (version 23)") == ("alder", 23)


def test_no_model_may_be_called_like_a_rerun(store: Store, tmp_path: Path) -> None:
    folder = bench_folder(tmp_path / "bench")
    write_lines(folder / "model_answer" / "alder (version 2).jsonl", [answer_line(1, ["x"])])
    (line,) = refused(read_in(store, folder))
    assert "alder (version 2) is what answer set 2 of alder is called here" in line
    assert library.model_names(store) == ["alder", "birch"]


def test_votes_that_came_first_do_not_choose_between_two_versions(
    store: Store, tmp_path: Path
) -> None:
    """They followed whichever version was paired first, silently."""
    folder = bench_folder(tmp_path / "bench", 1)
    read_in(store, write_lines(tmp_path / "votes.jsonl", [label_line(1)]))
    read_in(store, folder / "question.jsonl", folder / "model_answer" / "alder.jsonl")
    rerun = write_lines(
        tmp_path / "rerun" / "model_answer" / "alder.jsonl", [answer_line(1, ["rerun"])]
    )
    read_in(store, rerun)
    read_in(store, folder / "model_answer" / "birch.jsonl")
    (row,) = ballots.judgments(store)
    with_text = {r[0] for r in store.conn.execute("SELECT id FROM pair WHERE answer_a IS NOT NULL")}
    assert len(with_text) == 3
    assert row["unit_id"] not in with_text


@pytest.mark.parametrize(
    ("before", "after", "added"),
    [
        ([answer_line(1, ["a"])], [answer_line(1, ["a"]), answer_line(2, ["b"])], 1),
        ([answer_line(2, ["b"]), answer_line(1, ["a"])], [answer_line(1, ["a"])], 0),
        (["{broken", answer_line(2, ["b"])], [answer_line(1, ["a"]), answer_line(2, ["b"])], 1),
    ],
)
def test_an_extended_or_repaired_file_joins_its_version(
    store: Store, tmp_path: Path, before: list[Any], after: list[Any], added: int
) -> None:
    folder = bench_folder(tmp_path / "bench", 2, ("birch",))
    for rows in (before, after):
        write_lines(folder / "model_answer" / "alder.jsonl", rows)
        account = read_in(store, folder)
    assert account.imported["answers"] == added
    assert count(store, "SELECT count(*) FROM model WHERE name = 'alder'") == 1
    assert library.counts(store)["pairs with text"] == 2


def test_equal_answers_of_two_models_stay_two_models(store: Store, tmp_path: Path) -> None:
    """A hash of the texts alone would merge their pairs with a third model."""
    folder = bench_folder(tmp_path / "bench", 1, ("alder", "birch", "cedar"))
    for model in ("alder", "birch"):
        write_lines(folder / "model_answer" / f"{model}.jsonl", [answer_line(1, ["Same."])])
    assert read_in(store, folder).pairs_added == 3
    pairs = {(p.a.model, p.b.model) for p in library.pairs(store)}
    assert pairs == {("alder", "birch"), ("alder", "cedar"), ("birch", "cedar")}


def test_empty_and_missing_turns_are_warned_not_refused(store: Store, tmp_path: Path) -> None:
    folder = bench_folder(tmp_path / "bench", 1, ("birch",), turns=3)
    write_lines(folder / "model_answer" / "alder.jsonl", [answer_line(1, ["a", None, " \n"])])
    account = read_in(store, folder)
    assert account.refused == []
    assert [str(p).split(": ", 2)[2] for p in account.warnings] == [
        "alder, question 1: turn 2 is empty",
        "alder, question 1: turn 3 is empty",
    ]


def test_a_path_that_is_not_there_is_refused_before_anything_is_read(
    store: Store, tmp_path: Path
) -> None:
    folder = bench_folder(tmp_path / "bench")
    with pytest.raises(UsageError, match=r"nowhere: not found"):
        read_in(store, folder, tmp_path / "nowhere")
    assert library.counts(store)["questions"] == 0


def test_an_empty_folder_adds_nothing(store: Store, tmp_path: Path) -> None:
    (tmp_path / "bench").mkdir()
    account = read_in(store, tmp_path / "bench")
    assert (account.files, account.added) == ([], 0)


def test_hidden_and_foreign_files_of_a_folder_are_listed_or_left(
    store: Store, tmp_path: Path
) -> None:
    folder = bench_folder(tmp_path / "bench", 1)
    (folder / ".DS_Store").write_bytes(b"\0\1")
    (folder / "paper.pdf").write_bytes(b"%PDF")
    account = read_in(store, folder)
    assert [str(p) for p in account.problems] == [
        "bench/paper.pdf: .pdf: not a JSONL file; nothing read"
    ]


def test_a_lone_label_file_joins_the_only_benchmark(store: Store, tmp_path: Path) -> None:
    read_in(store, bench_folder(tmp_path / "bench"), benchmark=None)
    votes_file = write_lines(tmp_path / "downloads" / "votes.jsonl", [label_line(1)])
    assert read_in(store, votes_file, benchmark=None).imported["votes"] == 1
    (row,) = ballots.judgments(store)
    assert row["benchmark"] == "bench"
    assert library.counts(store)["pairs"] == 2


def test_a_vote_carries_what_its_line_said(store: Store, tmp_path: Path) -> None:
    read_in(store, bench_folder(tmp_path / "bench"))
    line = label_line(
        1,
        model_a="birch",
        model_b="alder",
        shown_left="model_a",
        judge="nurse_7",
        source_kind="rater",
        dimension="harmlessness",
        comment="Fine.",
    )
    read_in(store, write_lines(tmp_path / "votes.jsonl", [line]))
    (row,) = ballots.judgments(store)
    pair = next(iter(library.pairs(store, ids=[row["unit_id"]])))
    assert pair.question.key.question_id == "1"
    assert {name: row[name] for name in ("value", "order", "source_id", "rater_group")} == {
        "value": "b",
        "order": "ba",
        "source_id": "nurse_7",
        "rater_group": "nurse",
    }
    assert count(store, "SELECT count(*) FROM vote_comment WHERE comment = 'Fine.'") == 1


def test_conversations_in_label_lines_become_questions_and_answers(
    store: Store, tmp_path: Path
) -> None:
    def talk(model: str) -> list[dict[str, str]]:
        return [
            {"role": "user", "content": "One?"},
            {"role": "assistant", "content": marker(model, 1, 1)},
            {"role": "user", "content": "Two?"},
            {"role": "assistant", "content": marker(model, 1, 2)},
        ]

    full = {"conversation_a": talk("alder"), "conversation_b": talk("birch")}
    other = full | {"conversation_b": [{"role": "user", "content": "Else?"}]}
    path = write_lines(
        tmp_path / "votes.jsonl",
        [
            label_line(1) | full,
            label_line(1, turn=2) | full,
            label_line(1, judge="expert_2") | other,
        ],
    )
    account = read_in(store, path)
    assert account.pairs_added == 1
    assert votes(store) == 2
    assert "conversation_b: asks other questions than conversation_a" in refused(account)[0]
    (pair,) = library.pairs(store)
    assert [len(t) for t in (pair.question.turns or (), pair.a.turns or ())] == [2, 2]


def talk(folder: Path, reply: str) -> list[dict[str, str]]:
    """The folder's first question, and a reply."""
    line = (folder / "question.jsonl").read_text("utf-8").splitlines()[0]
    (question,) = json.loads(line)["turns"]
    return [{"role": "user", "content": question}, {"role": "assistant", "content": reply}]


def test_the_texts_of_a_line_say_which_answers_it_judges(store: Store, tmp_path: Path) -> None:
    folder = bench_folder(tmp_path / "bench", 1)
    read_in(store, folder)
    old, new, other = (
        talk(folder, reply)
        for reply in (marker("alder", 1, 1), "Another answer.", marker("birch", 1, 1))
    )
    rows = [
        label_line(1, judge="expert_1") | {"conversation_a": new, "conversation_b": other},
        label_line(1, judge="expert_2") | {"conversation_a": old, "conversation_b": other},
        label_line(1, judge="expert_2", winner="model_b")
        | {"conversation_a": new, "conversation_b": other},
    ]
    account = read_in(store, write_lines(tmp_path / "votes.jsonl", rows[:1]))
    assert (account.imported["votes"], account.refused) == (1, [])
    account = read_in(store, write_lines(tmp_path / "more" / "votes.jsonl", rows[:2]))
    assert (account.imported["votes"], account.merged["votes"]) == (1, 1)
    account = read_in(store, write_lines(tmp_path / "last" / "votes.jsonl", rows[2:]))
    assert (account.imported["votes"], account.refused) == (1, [])
    turned = {
        "model_a": "birch",
        "model_b": "alder",
        "conversation_a": other,
        "conversation_b": new,
    }
    row = label_line(1, judge="expert_3", winner="model_b") | turned
    account = read_in(store, write_lines(tmp_path / "turned" / "votes.jsonl", [row]))
    assert (account.imported["votes"], account.refused) == (1, [])
    found = store.conn.execute(
        "SELECT r.label, m.version, v.outcome FROM current_vote v JOIN rater r ON r.id = v.rater"
        " JOIN pair p ON p.id = v.pair JOIN answer a ON a.id = p.answer_a"
        " JOIN model m ON m.id = a.model WHERE p.model_b = 'birch' ORDER BY 1, 2"
    ).fetchall()
    first = label_line(1)["winner"][-1]
    assert found == [
        ("expert_1", 2, first),
        ("expert_2", 1, first),
        ("expert_2", 2, "b"),
        ("expert_3", 2, "a"),
    ]


def test_a_vote_on_other_texts_than_are_stored_is_refused(store: Store, tmp_path: Path) -> None:
    folder = bench_folder(tmp_path / "bench", 1)
    read_in(store, folder)
    row = label_line(1, model_a="alder (version 1)") | {
        "conversation_a": talk(folder, "Another answer."),
        "conversation_b": talk(folder, marker("birch", 1, 1)),
    }
    account = read_in(store, write_lines(tmp_path / "votes.jsonl", [row]))
    assert account.imported["votes"] == 0
    told = refused(account)
    assert any("texts here are not those that are stored of alder" in one for one in told)


def talks(asked: str) -> dict[str, list[dict[str, str]]]:
    """Both conversations of a label line: one question, and what alder and birch say to it."""
    return {
        f"conversation_{letter}": [
            {"role": "user", "content": asked},
            {"role": "assistant", "content": marker(model, 1, 1)},
        ]
        for letter, model in (("a", "alder"), ("b", "birch"))
    }


@pytest.mark.parametrize("stored", [("alder", "birch"), ("cedar",)])
def test_the_question_is_part_of_what_was_judged(
    store: Store, tmp_path: Path, stored: tuple[str, ...]
) -> None:
    """Short refusals are alike whatever was asked; nor may a vote wait for texts it never saw."""
    read_in(store, bench_folder(tmp_path / "bench", 1, stored))
    pairs = count(store, "SELECT count(*) FROM pair")
    row = label_line(1) | talks("Something else entirely?")
    account = read_in(store, write_lines(tmp_path / "votes.jsonl", [row]))
    assert (account.imported["votes"], votes(store)) == (0, 0)
    assert any("texts here are not those that are stored" in one for one in refused(account))
    assert count(store, "SELECT count(*) FROM pair") == pairs


@pytest.mark.parametrize("turn", [2, 7])
def test_no_turn_is_judged_that_the_talk_does_not_reach(
    store: Store, tmp_path: Path, turn: int
) -> None:
    read_in(store, bench_folder(tmp_path / "bench", 1, turns=2))
    row = label_line(1, turn=turn) | talks("Question 1, turn 1?")
    account = read_in(store, write_lines(tmp_path / "votes.jsonl", [row]))
    assert votes(store) == 0
    assert any(f"found {turn}, the conversation has 1" in one for one in refused(account))


def test_a_question_that_comes_with_the_file_bounds_its_turns(store: Store, tmp_path: Path) -> None:
    rows = [
        label_line(1, judge="expert_1"),
        label_line(1, judge="expert_2") | talks("Asked?"),
        label_line(1, judge="expert_3"),
    ]
    read_in(store, write_lines(tmp_path / "votes.jsonl", rows))
    assert votes(store) == 3
    late = label_line(1, judge="expert_4", turn=7)
    (line,) = refused(read_in(store, write_lines(tmp_path / "late.jsonl", [rows[0], late])))
    assert "found 7" in line


def test_a_talk_that_breaks_off_is_of_the_answer_it_begins(store: Store, tmp_path: Path) -> None:
    folder = bench_folder(tmp_path / "bench", 1, turns=2)
    read_in(store, folder)
    line = json.loads((folder / "question.jsonl").read_text("utf-8").splitlines()[0])

    def begun(model: str) -> list[dict[str, str]]:
        reply = marker(model, 1, 1)
        return [{"role": "user", "content": line["turns"][0]},
                {"role": "assistant", "content": reply}]  # fmt: skip

    row = label_line(1) | {"conversation_a": begun("alder"), "conversation_b": begun("birch")}
    account = read_in(store, write_lines(tmp_path / "votes.jsonl", [row]))
    assert account.imported["votes"] == 1
    assert count(store, "SELECT count(*) FROM vote v JOIN pair p ON p.id = v.pair"
                        " WHERE p.answer_a IS NOT NULL") == 1  # fmt: skip


def test_an_import_that_added_something_is_logged_with_its_file(
    store: Store, tmp_path: Path
) -> None:
    read_in(store, bench_folder(tmp_path / "bench"))
    kinds = store.conn.execute("SELECT path, kind FROM import_batch ORDER BY rowid").fetchall()
    assert kinds == [
        ("bench/question.jsonl", "questions"),
        ("model_answer/alder.jsonl", "model answers"),
        ("model_answer/birch.jsonl", "model answers"),
    ]
    bodies = [
        json.loads(body)
        for (body,) in store.conn.execute(
            "SELECT b.body FROM event e JOIN event_body b ON b.hash = e.hash"
            " WHERE e.kind = 'import' ORDER BY e.seq"
        )
    ]
    assert [body["added"] for body in bodies] == [2, 2, 4]
    assert str(tmp_path) not in json.dumps(bodies)


def test_a_newer_reference_file_goes_before_an_inline_one(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "bench"
    write_lines(
        folder / "question.jsonl", [{"question_id": 1, "turns": ["?"], "reference": ["in"]}]
    )
    account = read_in(store, folder)
    assert account.imported["inline references"] == 1
    key = QuestionKey("bench", "1")
    found = library.reference(store, key)
    assert found is not None
    assert found.turns == ("in",)
    write_lines(folder / "reference_answer" / "gold.jsonl", [answer_line(1, ["file"])])
    assert read_in(store, folder).imported["references"] == 1
    found = library.reference(store, key)
    assert found is not None
    assert found.turns == ("file",)


def no_verdicts(_labels: object) -> list[Any]:
    return []


def test_a_file_of_pairs_makes_just_those_pairs(store: Store, tmp_path: Path) -> None:
    """m1–m2 and m2–m3 were listed; m1–m3 would spoil a drawn sample."""
    lines = [
        {
            "question_id": "q",
            "turns": ["?"],
            "answer_a": {"model": one, "turns": [one]},
            "answer_b": {"model": other, "turns": [other]},
        }
        for one, other in (("m1", "m2"), ("m2", "m3"))
    ]
    path = write_lines(tmp_path / "pairs.jsonl", lines)
    account = import_paths(store, [path], no_verdicts)
    found = store.conn.execute("SELECT model_a, model_b FROM pair ORDER BY 1, 2").fetchall()
    assert found == [("m1", "m2"), ("m2", "m3")]
    assert account.pairs_added == 2
    assert import_paths(store, [path], no_verdicts).added == 0


def test_a_label_on_a_turn_that_is_not_there_is_refused(store: Store, tmp_path: Path) -> None:
    pair = {
        "question_id": 1,
        "turns": ["?"],
        "answer_a": {"model": "alder", "turns": ["a"]},
        "answer_b": {"model": "birch", "turns": ["b"]},
    }
    path = write_lines(tmp_path / "b" / "pairs.jsonl", [pair])
    import_paths(store, [path], no_verdicts)
    label = {"judge": "expert_1", "question_id": 1, "model_a": "alder", "model_b": "birch",
             "winner": "tie"}  # fmt: skip
    lines = [label | {"turn": 3}, label | {"turn": 1, "dimension": "harmlesness"}]
    path = write_lines(tmp_path / "b" / "votes.jsonl", lines)
    account = import_paths(store, [path], no_verdicts, dimensions=["harmlessness"])
    (refused,) = account.refused
    assert str(refused) == "b/votes.jsonl:1: turn: found 3, the question has 1"
    assert "'harmlesness' is not one of this study's" in str(account.warnings[0])
    assert account.imported["votes"] == 1


def test_an_adjudicated_label_stands_beside_the_same_persons_vote(
    store: Store, tmp_path: Path
) -> None:
    label = {"judge": "expert_1", "question_id": 1, "model_a": "alder", "model_b": "birch",
             "turn": 1}  # fmt: skip
    lines = [label | {"winner": "tie"}, label | {"winner": "model_a", "layer": "adjudicated"}]
    path = write_lines(tmp_path / "votes.jsonl", lines)
    account = import_paths(store, [path], no_verdicts)
    assert account.refused == []
    assert account.imported["votes"] == 2


@pytest.mark.parametrize("changes", [{"judge": []}, {"judge": ""}, {"turn": 2**70}])
@pytest.mark.parametrize("games", [False, True])
def test_an_odd_verdict_line_loses_only_itself(
    store: Store, tmp_path: Path, changes: dict[str, Any], games: bool
) -> None:
    good: dict[str, Any] = {"question_id": 1, "judge": ["gpt-4", "pair-v2"], "turn": 1}
    if games:
        good |= {"model_1": "a", "model_2": "b", "g1_winner": "tie", "g2_winner": "tie"}
    else:
        good |= {"model_a": "a", "model_b": "b", "winner": "tie", "source_kind": "judge"}
    path = write_lines(tmp_path / "v.jsonl", [good, good | changes])
    account = import_paths(store, [path], verdict_sink(store))
    assert account.imported["verdicts"] == 1
    assert [p.where.line for p in account.refused] == [2]


def test_a_rater_has_one_group(store: Store, tmp_path: Path) -> None:
    label = {"judge": "expert_1", "model_a": "a", "model_b": "b", "turn": 1, "winner": "tie"}
    lines = [label | {"question_id": 1}, label | {"question_id": 2, "rater_group": "sim"}]
    path = write_lines(tmp_path / "v.jsonl", lines)
    account = import_paths(store, [path], no_verdicts)
    assert account.imported["votes"] == 1
    assert "is in group expert already, found sim" in str(account.refused[0])


def test_fastchats_subfolders_belong_to_the_folder_above(store: Store, tmp_path: Path) -> None:
    folder = bench_folder(tmp_path / "mybench")
    account = import_paths(store, [folder / "question.jsonl", folder / "model_answer"], no_verdicts)
    assert account.refused == []
    assert account.pairs_added > 0
    names = store.conn.execute("SELECT DISTINCT benchmark FROM question").fetchall()
    assert names == [("mybench",)]


def test_what_is_no_file_is_listed_and_not_waited_for(store: Store, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    account = import_paths(store, [tmp_path / "pipe.jsonl"], no_verdicts)
    assert "not a plain file" in str(account.warnings[0])
