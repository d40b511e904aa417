"""Workers on copies of a study, brought together."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from annotate import library
from annotate.errors import UsageError
from annotate.records import (
    Answer,
    Question,
    QuestionKey,
    Subject,
    assistant_turns,
    user_turns,
)
from annotate.store import Store
from annotate.verify import verify
from judge.bulk.merge import Merged, merge
from judge.database.store import VerdictStore
from judge.database.table import tidy
from judge.engine.answer_runner import AnswerSettings, answer
from judge.engine.runner import run
from judge.engine.units import unit_ids
from tests.judge.fake_endpoint import Body, FakeEndpoint, Script, Scripted, completion, error, say
from tests.judge.study import make_study, settings


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Store]:
    store = make_study(tmp_path, 10)
    yield store
    store.close()


def copy_of(store: Store, folder: Path) -> Store:
    folder.mkdir()
    store.backup(folder / "evenhand.sqlite")
    return Store.open(folder / "evenhand.sqlite")


def rows(store: Store) -> Any:
    table = tidy(store)
    return sorted(zip(table["unit_id"], table["turn"], table["value"].fillna(""), strict=True))


def judge_by_name(body: Body, _number: int) -> Scripted:
    """Prefers alder, wherever it stands."""
    text = body["messages"][-1]["content"]
    return completion("[[A]]" if text.index("alder on") < text.index("birch on") else "[[B]]")


def test_shards_are_every_unit_once(study: Store) -> None:
    whole = unit_ids(study, Subject.PAIR)
    parts = [unit_ids(study, Subject.PAIR, shard=(k, 3)) for k in (1, 2, 3)]
    assert sorted(unit for part in parts for unit in part) == sorted(whole)
    assert [len(part) for part in parts] == [4, 3, 3]


def test_workers_on_copies_come_to_what_one_would(study: Store, tmp_path: Path) -> None:
    with FakeEndpoint(judge_by_name) as endpoint:
        copies = [copy_of(study, tmp_path / f"worker{k}") for k in (1, 2, 3)]
        for k, other in enumerate(copies, start=1):
            run(other, settings(endpoint.base_url, shard=(k, 3)))
        alone = copy_of(study, tmp_path / "alone")
        run(alone, settings(endpoint.base_url))
        merged = [merge(study, other) for other in copies]
        again = run(study, settings(endpoint.base_url))
    assert sum(m.calls for m in merged) == 20
    assert sum(m.runs for m in merged) == 1, "one judge, however many workers"
    assert again.calls == 0
    assert rows(study) == rows(alone)
    assert len(rows(study)) == 10
    assert verify(study).breaks == []
    for store in (*copies, alone):
        store.close()


def test_merging_twice_adds_nothing(study: Store, tmp_path: Path) -> None:
    with FakeEndpoint(judge_by_name) as endpoint:
        other = copy_of(study, tmp_path / "worker")
        run(other, settings(endpoint.base_url))
    first, second = merge(study, other), merge(study, other)
    assert first.added > 0
    assert second == Merged()
    back = merge(other, study)
    assert back == Merged(), "what came from there is there"
    other.close()


def test_a_reply_that_was_committed_here_stands(study: Store, tmp_path: Path) -> None:
    other = copy_of(study, tmp_path / "worker")
    with FakeEndpoint(say("[[C]]")) as endpoint:
        run(study, settings(endpoint.base_url, limit=4))
        endpoint.script = say("[[D]]")
        run(other, settings(endpoint.base_url, limit=6))
        merged = merge(study, other)
    assert merged.verdicts == 4, "the two pairs that were not judged here, in two orders"
    assert [row[2] for row in rows(study)].count("tie") == 4
    assert [row[2] for row in rows(study)].count("both_bad") == 2
    attempts = study.conn.execute("SELECT count(*) FROM judge_attempt").fetchone()
    assert attempts == (8 + 12,), "every call that was paid is in the log"
    other.close()


def test_a_reply_from_there_replaces_a_failure_here(study: Store, tmp_path: Path) -> None:
    other = copy_of(study, tmp_path / "worker")
    with FakeEndpoint(lambda _b, _n: error(400, "bad")) as endpoint:
        broken = say("[[A]]")
        endpoint.script = lambda b, n: (
            error(400, "bad") if "Question 1," in str(b) else broken(b, n)
        )
        run(study, settings(endpoint.base_url))
        endpoint.script = say("[[C]]")
        run(other, settings(endpoint.base_url))
        merge(study, other)
    counts = VerdictStore(study).counts(VerdictStore(study).runs()[0].id)
    assert counts == {"ok": 20}
    other.close()


def test_what_is_about_other_pairs_is_left_and_counted(study: Store, tmp_path: Path) -> None:
    there = copy_of(study, tmp_path / "worker")
    key = QuestionKey("bench", "99")
    with there.write() as conn:
        library.add_question(conn, Question(key, "", user_turns(["More?"])))
        for model in ("alder", "birch"):
            said = Answer(key, model, assistant_turns([f"{model} more"]))
            library.add_answers(conn, "bench", model, [said])
        library.build_pairs(conn, there.study_id)
    with FakeEndpoint(say("[[A]]")) as endpoint:
        run(there, settings(endpoint.base_url))
    merged = merge(study, there)
    assert (merged.items, merged.foreign) == (20, 2)
    assert len(rows(study)) == 10
    there.close()


def test_another_study_is_refused(study: Store, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    there = make_study(tmp_path / "there", 2)
    with pytest.raises(UsageError, match="another study, not a copy"):
        merge(study, there)
    there.close()


def test_turns_of_two_conversations_never_become_one(tmp_path: Path) -> None:
    """Here the second turn failed; there all went well, but after another first reply."""
    (tmp_path / "here").mkdir()
    here = make_study(tmp_path / "here", 1, turns=3)
    there = copy_of(here, tmp_path / "there")

    def talk(who: str, fails: str = "-") -> Script:
        def reply(body: Body, _number: int) -> Scripted:
            heard = [m["content"] for m in body["messages"]]
            bad = fails in heard[-1]
            return error(400, "bad") if bad else completion(f"{who} after {len(heard)}")

        return reply

    with FakeEndpoint(talk("here", "turn 2")) as endpoint:
        chosen = AnswerSettings(endpoint.base_url, "cedar", api_key_env="EVENHAND_TEST_KEY")
        answer(here, chosen)
        endpoint.script = talk("there")
        answer(there, chosen)
        merged = merge(here, there)
        assert merged.answers == 0
        endpoint.script = talk("here again")
        summary = answer(here, chosen)
    assert summary.dialogues == 1
    (row,) = here.conn.execute(
        "SELECT a.turns FROM answer a JOIN model m ON m.id = a.model WHERE m.name = 'cedar'"
    ).fetchall()
    said = [turn[0]["content"] for turn in json.loads(row[0])]
    assert said == ["here after 1", "here again after 3", "here again after 5"]
    there.close()
    here.close()


def test_a_name_given_to_other_answers_meanwhile_is_refused(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    here = make_study(tmp_path / "here", 1)
    there = copy_of(here, tmp_path / "there")
    with FakeEndpoint(say("fine")) as endpoint:
        chosen = AnswerSettings(endpoint.base_url, "cedar", api_key_env="EVENHAND_TEST_KEY")
        answer(there, chosen)
    with here.write() as conn:
        said = Answer(QuestionKey("bench", "1"), "cedar", assistant_turns(["imported"]))
        library.add_answers(conn, "bench", "cedar", [said])
    with pytest.raises(UsageError, match="model cedar: the study has an answer"):
        merge(here, there)
    assert here.conn.execute("SELECT count(*) FROM model WHERE name = 'cedar'").fetchone() == (1,)
    there.close()
    here.close()


def test_answers_of_workers_become_whole_dialogues(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    here = make_study(tmp_path / "here", 4, turns=2)
    with FakeEndpoint(say("fine")) as endpoint:
        one = copy_of(here, tmp_path / "one")
        chosen = AnswerSettings(endpoint.base_url, "cedar", api_key_env="EVENHAND_TEST_KEY")
        answer(one, chosen)
        merged, again = merge(here, one), merge(here, one)
    assert (merged.answers, merged.calls) == (4, 8)
    assert again == Merged()
    models = here.conn.execute("SELECT DISTINCT model_b FROM pair ORDER BY 1").fetchall()
    assert models == [("birch",), ("cedar",)]
    one.close()
    here.close()


@pytest.mark.parametrize("shard", [(0, 2), (3, 2)])
def test_a_shard_that_does_not_exist_is_refused(shard: tuple[int, int]) -> None:
    with pytest.raises(UsageError, match="shard"):
        settings("http://127.0.0.1:9/v1", shard=shard)
