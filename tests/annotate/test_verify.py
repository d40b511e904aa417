"""The event chain and `verify`: a clean study holds, every edit behind its back is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from annotate import ballots, leases, seats
from annotate.records import Choice
from annotate.store import Store
from annotate.study import Study, open_study
from annotate.verify import Verification, verify
from tests.annotate.support import (
    bench_folder,
    cast,
    count,
    join,
    label_line,
    rate_all,
    read_in,
    screen_for,
    tamper,
    write_lines,
)
from tests.conftest import MakeStudy


@pytest.fixture
def voted(new_study: MakeStudy, tmp_path: Path) -> Study:
    """Two raters, comments, an undo, a skip-free finish, imported votes."""
    study: Study = new_study(3, turns=2)
    ada, grace = join(study, "Ada"), join(study, "Grace")
    cast(study, ada, screen_for(study, ada), comment="My name is Ada.")
    ballots.undo(study.store, ada.id, study.settings.assignment)
    cast(study, ada, screen_for(study, ada), Choice.TIE, client_key="second", comment="Again.")
    rate_all(study, ada)
    rate_all(study, grace, Choice.RIGHT)
    read_in(study.store, write_lines(tmp_path / "votes.jsonl", [label_line(1), label_line(2)]))
    return study


def breaks(study: Study) -> list[str]:
    again = open_study(study.folder)
    found = verify(again.store).breaks
    again.close()
    return found


def test_a_clean_study_holds(voted: Study) -> None:
    found = verify(voted.store)
    assert found.breaks == []
    assert found.checked["votes"] == count(voted.store, "SELECT count(*) FROM vote") > 14
    assert found.checked["events"] == count(voted.store, "SELECT count(*) FROM event")
    assert found.checked["pairs"] == 3
    assert len(found.heads) == 2


def test_the_head_moves_with_every_vote_so_that_a_cut_tail_can_be_told(voted: Study) -> None:
    def head(found: Verification) -> str:
        return found.heads[voted.store.writer]

    before = verify(voted.store)
    seats.invite(voted.store, "Mary")
    assert head(verify(voted.store)) != head(before)


FIRST_VOTE = "(SELECT id FROM vote WHERE screen IS NOT NULL ORDER BY rowid LIMIT 1)"
LAST_VOTE = "(SELECT id FROM vote WHERE status = 'ok' ORDER BY rowid DESC LIMIT 1)"

TAMPERINGS = {
    "vote edited": (
        f"UPDATE vote SET outcome = 'both_bad' WHERE id = {LAST_VOTE}",
        "outcome changed since it was cast",
    ),
    "order edited": (
        f"UPDATE vote SET order_shown = iif(order_shown = 'ab', 'ba', 'ab')"
        f" WHERE id = {FIRST_VOTE}",
        "order_shown changed since it was cast",
    ),
    "order and screen edited together": (
        "UPDATE assignment SET order_shown = iif(order_shown = 'ab', 'ba', 'ab')",
        "does not match the screen it was cast on",
    ),
    "vote deleted": (f"DELETE FROM vote WHERE id = {LAST_VOTE}", "was logged but is gone"),
    "vote added without its event": (
        "INSERT INTO vote SELECT 'forged', 'forged', NULL, "
        + ", ".join(ballots.VOTE_COLUMNS[3:])
        + " FROM vote WHERE status = 'ok' AND revision = 1 LIMIT 1",
        "vote forged: stands in the table but not in the event log",
    ),
    "event body edited": (
        "UPDATE event_body SET body = json_set(body, '$.outcome', 'both')"
        " WHERE hash = (SELECT hash FROM event WHERE kind = 'vote' LIMIT 1)",
        "its body was changed",
    ),
    "event body of another shape": (
        "UPDATE event_body SET body = '[1]'"
        " WHERE hash = (SELECT hash FROM event WHERE kind = 'vote' LIMIT 1)",
        "its body was changed",
    ),
    "event edited": (
        "UPDATE event SET created_at = '2020-01-01T00:00:00.000Z' WHERE seq = 3",
        "its hash does not match its content",
    ),
    "event of the middle removed": (
        "DELETE FROM event WHERE seq = 3",
        "does not follow the event before it",
    ),
    "first event removed": ("DELETE FROM event WHERE seq = 1", "expected number 1 here"),
    "answer edited": (
        "UPDATE answer SET turns = replace(turns, 'said', 'SAID') WHERE rowid = 1",
        "its text was changed",
    ),
    "answer edited with its hash": (
        "UPDATE answer SET turns = '[]', hash = "
        "'4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945' WHERE rowid = 1",
        "does not match its answers",
    ),
    "answer of another shape": (
        "UPDATE answer SET turns = '[[{\"x\": 1}]]' WHERE rowid = 1",
        "its text was changed",
    ),
    "models of a pair exchanged": (
        "UPDATE pair SET answer_a = answer_b, answer_b = answer_a WHERE rowid = 1",
        "does not match its answers",
    ),
    "comment edited": (
        "UPDATE vote_comment SET comment = 'I like it.'",
        "its comment was changed",
    ),
    "comment added": (
        "INSERT INTO vote_comment SELECT id, 'salt', 'I like it.' FROM vote"
        " WHERE comment_digest IS NULL LIMIT 1",
        "its comment was changed",
    ),
    "protocol edited": (
        "UPDATE protocol SET body = replace(body, 'Read both', 'Prefer A')",
        "its text was changed",
    ),
    "question lost": ("DELETE FROM question WHERE rowid = 1", "points to a missing question"),
}


@pytest.mark.parametrize("name", TAMPERINGS)
def test_every_edit_behind_its_back_is_named(voted: Study, name: str) -> None:
    statement, expected = TAMPERINGS[name]
    tamper(voted.store.path, statement)
    found = breaks(voted)
    assert any(expected in line for line in found), found
    assert all("\n" not in line for line in found)


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("UPDATE rater SET rater_group = 'author'", "rater"),
        ("UPDATE consent SET agreed = 1 - agreed", "consent"),
        ("UPDATE setting SET body = '{}'", "setting"),
        ("DELETE FROM skip", "skip"),
        ("UPDATE skip SET reason = 'another'", "skip"),
        (
            "DELETE FROM event_body WHERE hash IN (SELECT hash FROM event WHERE kind = 'vote')",
            "its body is missing",
        ),
    ],
)
def test_edits_beside_the_votes_are_named_too(
    new_study: MakeStudy, statement: str, named: str
) -> None:
    study = new_study(2, turns=1)
    ada = join(study, "Ada")
    seats.give_consent(study.store, ada.id, study.settings.protocol.id, True)
    leases.skip(study.store, screen_for(study, ada), "I cannot judge this topic", "")
    cast(study, ada, screen_for(study, ada))
    assert breaks(study) == []
    tamper(study.store.path, statement)
    assert [line for line in breaks(study) if named in line]


def test_an_edited_question_or_reference_is_named(store: Store, tmp_path: Path) -> None:
    folder = bench_folder(tmp_path / "b")
    line = {"question_id": 1, "choices": [{"turns": ["Solution."]}]}
    write_lines(folder / "reference_answer" / "r.jsonl", [line])
    read_in(store, folder)
    assert verify(store).breaks == []
    text = '[[{"content":"x","role":"user"}]]'
    tamper(store.path, f"UPDATE question SET turns = '{text}'", "UPDATE reference SET turns = '[]'")
    found = verify(store).breaks
    assert [line for line in found if line.startswith("question 1: its text")]
    assert [line for line in found if line.startswith("reference ")]


def test_a_chain_that_vanished_whole_is_named_by_those_who_came_later(voted: Study) -> None:
    writers = voted.store.conn.execute("SELECT DISTINCT writer FROM event").fetchall()
    later = open_study(voted.folder)
    seats.invite(later.store, "Zoe")
    later.close()
    assert breaks(voted) == []
    for (writer,) in writers:
        tamper(
            voted.store.path,
            "DELETE FROM event_body WHERE hash IN"
            f" (SELECT hash FROM event WHERE writer = '{writer}')",
            f"DELETE FROM event WHERE writer = '{writer}'",
        )
    assert [line for line in breaks(voted) if "up to an event that is gone" in line]


def test_removing_personal_data_breaks_nothing(voted: Study) -> None:
    tamper(
        voted.store.path,
        "DELETE FROM vote_comment",
        "DELETE FROM rater_person",
        "DELETE FROM event_body WHERE hash IN"
        " (SELECT hash FROM event WHERE kind IN ('rater', 'consent'))",
    )
    again = open_study(voted.folder)
    found = verify(again.store)
    assert found.breaks == []
    assert found.checked["removed bodies"] == 5
    again.close()


def test_a_comment_says_nothing_in_the_chain(voted: Study) -> None:
    """Removing the comment's row must remove the comment: no event may repeat it."""
    bodies = voted.store.conn.execute("SELECT body FROM event_body").fetchall()
    assert not [body for (body,) in bodies if "Ada" in body or "Again." in body]


def test_two_writers_have_two_chains(store: Store, tmp_path: Path) -> None:
    read_in(store, bench_folder(tmp_path / "bench"))
    other = Store.open(store.path)
    seats.invite(other, "Ada")
    seats.invite(store, "Grace")
    found = verify(store)
    assert found.breaks == []
    assert set(found.heads) == {store.writer, other.writer}
    other.close()
