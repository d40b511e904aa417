"""The published MT-Bench files: how many records of each kind, and what is said of the odd ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from annotate import library
from annotate.importer import Account, import_paths
from annotate.records import Order
from annotate.store import Store
from annotate.verify import verify
from judge.database.store import VerdictStore
from judge.database.verdict_import import verdict_sink
from tests.annotate.support import count

MT_BENCH = Path(__file__).parents[2] / ".." / "shared" / "data" / "mt_bench"

pytestmark = pytest.mark.skipif(
    not (MT_BENCH / "model_answer").is_dir(),
    reason=f"MT-Bench is not at {MT_BENCH}: golden import NOT checked",
)


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, Account]]:
    made = Store.create(tmp_path_factory.mktemp("golden") / "evenhand.sqlite", "test")
    yield made, import_paths(made, [MT_BENCH], verdict_sink(made))
    made.close()


def test_every_record_is_counted(imported: tuple[Store, Account]) -> None:
    store, account = imported
    assert dict(account.read) == {
        "questions": 80,
        "inline references": 39,
        "answers": 480,
        "references": 30,
        "votes": 3_355,
        "verdicts": 2_400,
    }
    assert dict(account.imported) == account.read | {"votes": 3_354}
    assert dict(+account.merged) == {"votes": 1}
    assert account.pairs_added == 1_200
    assert account.refused == []
    counts = library.counts(store)
    # 80 questions × 6 models, two at a time.
    assert (counts["pairs"], counts["pairs with text"]) == (1_200, 80 * 15)
    assert counts["models"] == 6


def test_the_odd_records_are_named(imported: tuple[Store, Account]) -> None:
    _store, account = imported
    said = [str(problem) for problem in account.warnings]
    # Two answers of llama-13b to question 127 hold a really empty turn or two.
    assert Counter(line.split(": ", 1)[0].split("/")[-1].split(":")[0] for line in said) == {
        "llama-13b.jsonl": sum("llama-13b" in line for line in said),
        "human.jsonl": 1,
        "judge_prompts.jsonl": 1,
    }
    assert any("llama-13b, question 127: turn" in line for line in said)
    assert any("merged: author_0 cast the same vote on line" in line for line in said)
    assert any("judge_prompts.jsonl: prompts of a judge: not imported" in line for line in said)


def test_people_and_judge_are_stored_as_what_they_are(imported: tuple[Store, Account]) -> None:
    store, _account = imported
    assert count(store, "SELECT count(*) FROM vote") == 3_354
    assert count(store, "SELECT count(*) FROM vote WHERE order_shown <> 'unknown'") == 0
    groups = dict(
        store.conn.execute("SELECT rater_group, count(*) FROM rater GROUP BY rater_group")
    )
    assert set(groups) == {"expert", "author"}
    verdicts = list(VerdictStore(store).judgments())
    assert len(verdicts) == 2_400
    assert {row["order"] for row in verdicts} == {Order.UNKNOWN}


def test_a_second_import_adds_nothing(imported: tuple[Store, Account]) -> None:
    store, first = imported
    events = count(store, "SELECT count(*) FROM event")
    second = import_paths(store, [MT_BENCH], verdict_sink(store))
    assert second.added == 0
    assert second.read == first.read
    assert second.merged == first.read
    assert second.refused == []
    assert count(store, "SELECT count(*) FROM event") == events
    assert verify(store).breaks == []
