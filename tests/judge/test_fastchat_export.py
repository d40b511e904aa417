"""FastChat's judgment files out: their fields, nothing as null, and a round trip without loss."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from annotate import library
from annotate.errors import NothingComputable, StoreUnavailable
from annotate.importer import Account, import_paths
from annotate.records import (
    Answer,
    Question,
    QuestionKey,
    Status,
    assistant_turns,
    user_turns,
)
from annotate.store import Store
from annotate.study import init
from judge.ask.modes import Mode
from judge.cli import main
from judge.database.fastchat_export import Exported, export_run, export_text, file_name
from judge.database.ledger import add_answer_verdict
from judge.database.order_verdicts import order_verdicts
from judge.database.store import VerdictStore
from judge.database.verdict_import import verdict_sink
from judge.engine.runner import run
from tests.annotate.support import empty_store, label_line, write_lines
from tests.judge.fake_endpoint import Body, FakeEndpoint, Script, Scripted, completion, say
from tests.judge.study import make_study, settings

PAIR_FIELDS = [
    "question_id", "model_1", "model_2", "g1_winner", "g2_winner", "judge", "g1_user_prompt",
    "g1_judgment", "g2_user_prompt", "g2_judgment", "turn", "tstamp",
]  # fmt: skip
SINGLE_FIELDS = [
    "question_id", "model", "judge", "user_prompt", "judgment", "score", "turn", "tstamp",
]  # fmt: skip


def made(folder: Path, questions: int = 2, **changes: Any) -> Store:
    folder.mkdir()
    return make_study(folder, questions, turns=2, **changes)


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Store]:
    store = make_study(tmp_path, 2, turns=2)
    yield store
    store.close()


def judged(store: Store, script: Script, **changes: Any) -> None:
    with FakeEndpoint(script) as endpoint:
        run(store, settings(endpoint.base_url, **{"name": "judge", "attempts": 1} | changes))


def exported(store: Store, out: Path, name: str = "judge") -> Exported:
    return export_run(store, VerdictStore(store).find(name), out)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def only(done: Exported) -> list[dict[str, Any]]:
    (written,) = done.files
    return lines(written.path)


def alder_first(body: Body) -> bool:
    text = str(body["messages"][-1]["content"])
    return text.index("alder on") < text.index("birch on")


def second_order(text: str) -> Script:
    """Takes A in the first game, says something else in the second."""
    return lambda body, _number: completion("[[A]]" if alder_first(body) else text)


# Pairs


def test_a_live_run_goes_out_with_prompts_and_replies(study: Store, tmp_path: Path) -> None:
    judged(study, second_order("I say [[B]]"), dimensions=("overall",))
    done = exported(study, tmp_path / "out")
    (written,) = done.files
    assert written.path == tmp_path / "out/data/bench/model_judgment/judge_pair.jsonl"
    first, *_rest = found = lines(written.path)
    assert (written.rows, written.failed, written.unknown_orders, len(found)) == (4, 0, 0, 4)
    assert [name for name in first if name in PAIR_FIELDS] == PAIR_FIELDS
    assert [(x["question_id"], x["turn"]) for x in found] == [(1, 1), (1, 2), (2, 1), (2, 2)]
    assert (first["model_1"], first["model_2"]) == ("alder", "birch")
    # In the second game birch stands first, so that [[B]] is alder: already mapped back.
    assert (first["g1_winner"], first["g2_winner"]) == ("model_1", "model_1")
    assert (first["g1_judgment"], first["g2_judgment"]) == ("[[A]]", "I say [[B]]")
    assert first["g1_user_prompt"].index("alder on") < first["g1_user_prompt"].index("birch on")
    assert first["g2_user_prompt"].index("birch on") < first["g2_user_prompt"].index("alder on")
    assert first["judge"] == ["fake-model", "evenhand-pairwise-overall"]
    (last,) = study.conn.execute("SELECT max(finished_at) FROM judge_attempt").fetchone()
    assert max(line["tstamp"] for line in found) == datetime.fromisoformat(last).timestamp()


@pytest.mark.parametrize(
    ("reply", "winner", "own", "judgment"),
    [
        (completion("[[D]]"), "tie", "both_bad", "[[D]]"),
        (completion("[[C]]"), "tie", None, "[[C]]"),
        (completion("no tag"), "error", "unparseable", "no tag"),
        (completion("[[B]]", finish="length"), "error", "truncated", "[[B]]"),
        (completion(None, refusal="I cannot"), "error", "refused", ""),
        (completion("half \ud800 [[B]]"), "model_1", None, "half \ufffd [[B]]"),
        (Scripted(500), "error", "api_error", ""),
    ],
)
def test_what_fastchat_cannot_say_goes_out_in_its_words_and_ours(
    study: Store, tmp_path: Path, reply: Scripted, winner: str, own: str | None, judgment: str
) -> None:
    def script(body: Body, _number: int) -> Scripted:
        return completion("[[A]]") if alder_first(body) else reply

    judged(study, script, dimensions=("overall",), limit=1)
    for line in only(exported(study, tmp_path / "out")):
        assert (line["g1_winner"], line["g2_winner"]) == ("model_1", winner)
        assert "g1_verdict" not in line
        assert line.get("g2_verdict") == own
        assert line["g2_judgment"] == judgment


def test_every_dimension_has_a_file_of_its_own(study: Store, tmp_path: Path) -> None:
    """FastChat knows one question only, and would pool them."""
    judged(study, say("[[A]]"), dimensions=("overall", "harmlessness"))
    done = exported(study, tmp_path)
    assert [one.path.name for one in done.files] == [
        "judge-harmlessness_pair.jsonl",
        "judge_pair.jsonl",
    ]
    for one, dimension in zip(done.files, ("harmlessness", "overall"), strict=True):
        assert {line["dimension"] for line in lines(one.path)} == {dimension}


def test_dialogues_and_repeats_have_no_place_and_are_counted(study: Store, tmp_path: Path) -> None:
    judged(study, say("[[A]]"), dimensions=("overall",), replicates=2)
    done = exported(study, tmp_path)
    assert (done.files[0].rows, dict(done.left_out)) == (4, {"repeated judgments": 4})
    judged(study, say("[[A]]"), dimensions=("overall",), turns="dialogue", name="whole")
    with pytest.raises(NothingComputable, match="no pair verdict and no grade to export but 2 of"):
        exported(study, tmp_path, "whole")


def test_two_versions_of_one_model_are_not_set_against_themselves(
    study: Store, tmp_path: Path
) -> None:
    rerun = Answer(QuestionKey("bench", "1"), "birch", assistant_turns(["birch on", "again"]))
    with study.write() as conn:
        library.add_answers(conn, "bench", "birch", [rerun])
        library.build_pairs(conn, study.study_id)
    judged(study, say("[[A]]"), dimensions=("overall",))
    done = exported(study, tmp_path)
    assert done.left_out == {"between two versions of one model": 2}
    assert "Left out, FastChat has no place for them: 2 between two versions" in export_text(done)
    lines = [json.loads(one) for one in done.files[0].path.read_text("utf-8").splitlines()]
    named = [(one["question_id"], one["model_1"], one["model_2"], one["turn"]) for one in lines]
    assert len(set(named)) == len(named)
    assert {one["model_2"] for one in lines} == {"birch (version 1)", "birch (version 2)"}
    # Read back, each finds its own pair.
    account = import_paths(
        study, [done.files[0].path.parents[1]], verdict_sink(study), benchmark="bench"
    )
    assert account.refused == []


def bring(store: Store, folder: Path, *rows: object, name: str = "labels.jsonl") -> Account:
    path = write_lines(folder / name, rows)
    return import_paths(store, [path], verdict_sink(store), benchmark="bench")


def test_verdicts_of_unknown_orders_go_out_as_one_verdict_twice_and_say_so(
    study: Store, tmp_path: Path
) -> None:
    bring(
        study,
        tmp_path,
        label_line(1, judge="gpt4_pair", winner="model_b"),
        label_line(2, judge="gpt4_pair", winner="tie (inconsistent)"),
    )
    done = exported(study, tmp_path / "out", "gpt4_pair")
    win, tie = only(done)
    assert (win["g1_winner"], win["g2_winner"], win["orders"]) == ("model_2", "model_2", "unknown")
    assert "reason" not in win
    assert (tie["g1_winner"], tie["g2_winner"], tie["orders"]) == ("tie", "tie", "unknown")
    assert tie["reason"] == "inconsistent"
    assert done.files[0].unknown_orders == 2
    assert "2 with unknown orders" in export_text(done)


# Grades


def test_grades_go_out_and_a_failure_is_fastchats_own_mark(study: Store, tmp_path: Path) -> None:
    def script(body: Body, _number: int) -> Scripted:
        text = str(body["messages"][-1]["content"])
        return completion("Good: [[7.5]]" if "alder on" in text else "no grade")

    judged(study, script, mode=Mode.GRADE, dimensions=("overall",))
    done = exported(study, tmp_path)
    (written,) = done.files
    assert (written.path.name, written.rows, written.failed) == ("judge_single.jsonl", 8, 4)
    alder, birch = lines(written.path)[:2]
    assert [name for name in alder if name in SINGLE_FIELDS] == SINGLE_FIELDS
    assert (alder["model"], alder["score"], alder["judgment"]) == ("alder", 7.5, "Good: [[7.5]]")
    assert "status" not in alder
    assert "alder on 1.1" in alder["user_prompt"]
    assert (birch["model"], birch["score"], birch["status"]) == ("birch", -1, "unparseable")


def test_harm_labels_are_no_grades(study: Store, tmp_path: Path) -> None:
    judged(study, say("nothing"), mode=Mode.HARM, dimensions=("harm",))
    with pytest.raises(NothingComputable, match="judge run judge: no pair verdict and no grade"):
        exported(study, tmp_path)


# Files


@pytest.mark.parametrize(
    ("name", "plain"),
    [("gpt-4_turbo.v2", "gpt-4_turbo.v2"), ("gpt-4/pair-v2", "gpt-4-pair-v2-"), ("..", "x-"),
     ("../../etc", "etc-"), ("", "x-"), (".hidden", "hidden-"), ("a\x00b", "a-b-")],
)  # fmt: skip
def test_a_name_stays_one_part_of_a_path(name: str, plain: str) -> None:
    found = file_name(name)
    assert found == plain or (found.startswith(plain) and len(found) == len(plain) + 6)


@given(st.text(), st.text())
def test_two_names_never_share_a_file(one: str, other: str) -> None:
    assert (file_name(one) == file_name(other)) == (one == other)
    assert file_name(one) not in ("", ".", "..")
    assert not set(file_name(one)) & set("/\\:\0")


@pytest.mark.parametrize(
    ("name", "shown"), [("81", 81), ("007", "007"), ("q1", "q1"), ("-3", -3), ("9" * 30, "9" * 30)]
)
def test_a_question_id_is_a_number_when_it_looks_like_one(
    tmp_path: Path, name: str, shown: object
) -> None:
    store = empty_store(tmp_path / "store")
    bring(store, tmp_path, label_line(name, judge="gpt4_pair"))
    (line,) = only(exported(store, tmp_path, "gpt4_pair"))
    assert line["question_id"] == shown
    store.close()


def test_an_interrupted_export_leaves_the_old_file_and_no_part(
    study: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bring(study, tmp_path, label_line(1, judge="gpt4_pair"), label_line(2, judge="gpt4_pair"))
    (written,) = exported(study, tmp_path / "out", "gpt4_pair").files
    before = written.path.read_bytes()
    monkeypatch.setattr("judge.database.fastchat_export.pair_line", _interrupt)
    with pytest.raises(KeyboardInterrupt):
        exported(study, tmp_path / "out", "gpt4_pair")
    assert [p.name for p in written.path.parent.iterdir()] == [written.path.name]
    assert written.path.read_bytes() == before


def _interrupt(*_arguments: object) -> None:
    raise KeyboardInterrupt


def test_a_folder_that_cannot_be_written_is_one_line(study: Store, tmp_path: Path) -> None:
    bring(study, tmp_path, label_line(1, judge="gpt4_pair"))
    (tmp_path / "out").write_text("a file stands here")
    with pytest.raises(StoreUnavailable, match=r"gpt4_pair_pair\.jsonl: not written"):
        exported(study, tmp_path / "out", "gpt4_pair")


# Round trip


CALLS = [
    completion("[[A]]"), completion("[[B]]"), completion("[[C]]"), completion("[[D]]"),
    completion("none"), completion("[[A]]", finish="length"), completion(None, refusal="no"),
]  # fmt: skip


def verdicts(store: Store) -> list[tuple[Any, ...]]:
    kept = ("question_id", "model_a", "model_b", "turn", "dimension", "value", "status", "reason",
            "orders")  # fmt: skip
    return sorted(
        (tuple(row[name] for name in kept) for row in VerdictStore(store).judgments()), key=repr
    )


def orders(store: Store) -> list[tuple[Any, ...]]:
    found = ((one.turn, one.dimension, one.ab, one.ba) for one in order_verdicts(store))
    return sorted(found, key=repr)


def test_pair_verdicts_survive_the_way_out_and_back(tmp_path: Path) -> None:
    """Every reply in every order, both_bad and failures by name among them."""
    live = made(tmp_path / "live", 25)
    seen: list[int] = []

    def script(_body: Body, _number: int) -> Scripted:
        seen.append(1)
        index = len(seen)
        return CALLS[(index * 5 + index // 7) % len(CALLS)]

    judged(live, script, dimensions=("overall", "harmlessness"), concurrency=1)
    done = exported(live, tmp_path / "out")
    fresh = made(tmp_path / "fresh", 25)
    account = import_paths(
        fresh, [one.path for one in done.files], verdict_sink(fresh), benchmark="bench"
    )
    assert (account.imported["verdicts"], account.problems) == (100, [])
    assert verdicts(fresh) == verdicts(live)
    assert orders(fresh) == orders(live)
    assert {row[7] for row in verdicts(live)} >= {"", "soft", "inconsistent", "refused+unparseable"}
    again = [exported(fresh, tmp_path / "again", r.name) for r in VerdictStore(fresh).runs()]
    failed = sorted(one.failed for one in done.files)
    assert sorted(written.failed for one in again for written in one.files) == failed
    live.close()
    fresh.close()


def test_unknown_orders_stay_unknown_on_the_way_back(study: Store, tmp_path: Path) -> None:
    """Read as two games that agree, they would make any judge perfectly consistent."""
    bring(
        study,
        tmp_path,
        label_line(1, judge="gpt4_pair", winner="tie (inconsistent)"),
        label_line(2, judge="gpt4_pair", winner="both_bad"),
    )
    (written,) = exported(study, tmp_path / "out", "gpt4_pair").files
    fresh = made(tmp_path / "fresh", 2)
    import_paths(fresh, [written.path], verdict_sink(fresh), benchmark="bench")
    assert verdicts(fresh) == verdicts(study)
    assert orders(fresh) == []
    fresh.close()


def test_grades_survive_the_way_out_and_back(study: Store, tmp_path: Path) -> None:
    judged(study, say("[[8]]"), mode=Mode.GRADE, dimensions=("overall",))
    with study.write() as conn:
        places = conn.execute(
            "SELECT run, answer, turn, dimension, replicate FROM answer_verdict LIMIT 2"
        ).fetchall()
        add_answer_verdict(conn, places[0], Status.TIMEOUT, None, None)
        add_answer_verdict(conn, places[1], Status.OK, 9.5, None)
    (written,) = exported(study, tmp_path / "out").files
    fresh = made(tmp_path / "fresh", 2)
    import_paths(fresh, [written.path], verdict_sink(fresh), benchmark="bench")
    sql = "SELECT answer, turn, dimension, status, grade FROM answer_verdict ORDER BY 1, 2"
    assert fresh.conn.execute(sql).fetchall() == study.conn.execute(sql).fetchall()
    fresh.close()


outcomes = st.sampled_from(["model_1", "model_2", "tie", "error"])


@given(st.lists(st.tuples(outcomes, outcomes, st.booleans()), min_size=1, max_size=6))
def test_fastchats_own_lines_come_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, games: list[tuple[str, str, bool]]
) -> None:
    """Whichever model the file names first."""
    folder = tmp_path_factory.mktemp("fastchat")
    rows = [
        {
            "question_id": number,
            "model_1": "birch" if turned else "alder",
            "model_2": "alder" if turned else "birch",
            "g1_winner": g1,
            "g2_winner": g2,
            "judge": ["gpt-4", "pair-v2"],
            "turn": 1,
        }
        for number, (g1, g2, turned) in enumerate(games, start=1)
    ]
    store = empty_store(folder / "store")
    bring(store, folder, *rows, name="gpt-4_pair.jsonl")
    found = only(exported(store, folder, "gpt-4/pair-v2"))
    for line, (g1, g2, turned) in zip(found, games, strict=True):
        assert line["judge"] == ["gpt-4", "pair-v2"]
        names = {"model_1": "model_2", "model_2": "model_1"} if turned else {}
        theirs = [names.get(game, game) for game in (g1, g2)]
        assert [line["g1_winner"], line["g2_winner"]] == (theirs[::-1] if turned else theirs)
        assert None not in line.values()
    store.close()


# The command


def test_the_command_says_what_it_wrote(tmp_path: Path) -> None:
    opened = init(tmp_path / "study")
    with opened.store.write() as conn:
        library.add_question(conn, Question(QuestionKey("bench", "1"), "", user_turns(["?"])))
    bring(opened.store, tmp_path, label_line(1, judge="gpt4_pair"))
    opened.close()
    out = tmp_path / "out"
    study = str(tmp_path / "study")
    done = CliRunner().invoke(main, ["judge", "export", study, "gpt4_pair", "--out", str(out)])
    path = out / "data" / "bench" / "model_judgment" / "gpt4_pair_pair.jsonl"
    assert done.exit_code == 0
    assert done.output == (
        f"Wrote {path}: 1 judgments, 0 of them failed, 1 with unknown orders"
        " (one combined verdict twice)\n"
    )
    assert list(path.parent.iterdir()) == [path]
    assert CliRunner().invoke(main, ["judge", "export", study, "nobody"]).exit_code == 2
