"""Votes: cast once whatever is repeated, undone by new rows, never lost."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotate import ballots, leases
from annotate.errors import AlreadyVoted, LeaseLost, RatingError, UnknownScreen
from annotate.leases import Screen
from annotate.records import Choice, Outcome, outcome
from annotate.store import Store
from annotate.study import open_study
from annotate.verify import verify
from tests.annotate.support import (
    cast,
    count,
    join,
    make_study,
    next_for,
    rate_all,
    screen_for,
    votes,
)
from tests.annotate.writer import rate
from tests.conftest import MakeStudy
from tests.strategies import choices


def standing(store: Store) -> list[tuple[str, int]]:
    return store.conn.execute(
        f"SELECT v.outcome, v.revision FROM {ballots.STANDING} ORDER BY w.rowid"
    ).fetchall()


def test_a_vote_carries_everything_that_was_on_the_screen(new_study: MakeStudy) -> None:
    study = new_study(1)
    ada = join(study, "Ada")
    screen = screen_for(study, ada)
    receipt = cast(study, ada, screen, Choice.RIGHT, comment="Hm.", active_ms=1_234)
    row = dict(
        zip(
            ballots.VOTE_COLUMNS,
            study.store.conn.execute(
                f"SELECT {', '.join(ballots.VOTE_COLUMNS)} FROM vote WHERE id = ?", (receipt.vote,)
            ).fetchone(),
            strict=True,
        )
    )
    assert row["created_at"].endswith("Z")
    assert row["comment_digest"] is not None
    expected = {
        "screen": screen.id,
        "rater": ada.id,
        "pair": screen.pair,
        "turn": 1,
        "dimension": "harmlessness",
        "occurrence": 1,
        "outcome": outcome(Choice.RIGHT, screen.order),
        "order_shown": screen.order,
        "protocol": study.settings.protocol.id,
        "purpose": "estimation",
        "inclusion_probability": 1.0,
        "active_ms": 1_234,
        "layer": "vote",
        "status": "ok",
        "revision": 1,
        "replaces": None,
    }
    assert {name: row[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("key", "choice", "accepted"),
    [
        ("first-key", Choice.LEFT, True),
        ("first-key", Choice.RIGHT, True),  # a retry is the first vote, whatever it says now
        ("other-tab", Choice.LEFT, True),
        ("other-tab", Choice.RIGHT, False),
        ("other-tab", Choice.TIE, False),
    ],
)
def test_repeats_are_one_vote_and_the_first_one_stands(
    new_study: MakeStudy, key: str, choice: Choice, accepted: bool
) -> None:
    study = new_study(1)
    ada = join(study, "Ada")
    screen = screen_for(study, ada)
    first = cast(study, ada, screen, Choice.LEFT, client_key="first-key")
    if accepted:
        again = cast(study, ada, screen, choice, client_key=key)
        assert (again.vote, again.repeated) == (first.vote, True)
    else:
        with pytest.raises(AlreadyVoted, match="that answer stands"):
            cast(study, ada, screen, choice, client_key=key)
    assert standing(study.store) == [(outcome(Choice.LEFT, screen.order), 1)]
    assert votes(study.store) == 1


def test_a_key_of_another_screen_is_refused_not_a_crash(new_study: MakeStudy) -> None:
    study = new_study(2)
    ada, grace = join(study, "Ada"), join(study, "Grace")
    cast(study, ada, screen_for(study, ada), client_key="the same key")
    for rater in (ada, grace):
        with pytest.raises(RatingError, match="another question"):
            cast(study, rater, screen_for(study, rater), client_key="the same key")
    assert votes(study.store) == 1


def test_nobody_votes_on_another_raters_screen(new_study: MakeStudy) -> None:
    study = new_study(1)
    ada, grace = join(study, "Ada"), join(study, "Grace")
    screen = screen_for(study, ada)
    with pytest.raises(UnknownScreen):
        cast(study, grace, screen)
    with pytest.raises(UnknownScreen):
        ballots.save_draft(study.store, grace.id, screen.id, "x")
    assert votes(study.store) == 0


def test_undo_and_vote_again_are_a_chain_of_rows(new_study: MakeStudy) -> None:
    study = new_study(1)
    ada = join(study, "Ada")
    screen = screen_for(study, ada)
    for number, choice in enumerate((Choice.LEFT, Choice.RIGHT, Choice.TIE)):
        cast(study, ada, screen, choice, client_key=f"key number {number}")
        if number < 2:
            assert ballots.undo(study.store, ada.id, study.settings.assignment) == screen.id
            assert standing(study.store) == []
            assert screen_for(study, ada).id == screen.id
    assert standing(study.store) == [("tie", 5)]
    rows = study.store.conn.execute("SELECT id, replaces FROM vote ORDER BY revision").fetchall()
    assert [r[1] for r in rows] == [None, *(r[0] for r in rows[:-1])]
    assert verify(study.store).breaks == []


def test_undo_of_a_finished_pair_opens_it_again_and_takes_it_from_nobody(
    new_study: MakeStudy,
) -> None:
    study = new_study(2, overlap=1)
    ada, grace = join(study, "Ada"), join(study, "Grace")
    first = screen_for(study, ada)
    cast(study, ada, first)
    second = screen_for(study, ada)  # the first pair is finished, the next one leased
    assert ballots.undo(study.store, ada.id, study.settings.assignment) == first.id
    assert screen_for(study, ada) == first
    assert not isinstance(next_for(study, grace), Screen)
    cast(study, ada, first, Choice.TIE, client_key="second thought")
    assert screen_for(study, ada) == second


def test_undo_goes_back_through_everything_and_then_says_there_is_nothing(
    new_study: MakeStudy,
) -> None:
    study = new_study(2, turns=2)
    ada = join(study, "Ada")
    screens = rate_all(study, ada)
    undone = [
        ballots.undo(study.store, ada.id, study.settings.assignment) for _ in range(len(screens))
    ]
    assert undone == [s.id for s in reversed(screens)]
    with pytest.raises(RatingError, match="no vote of yours"):
        ballots.undo(study.store, ada.id, study.settings.assignment)
    assert screen_for(study, ada).id == screens[0].id


def test_a_late_retry_of_an_undone_vote_does_not_bring_it_back(new_study: MakeStudy) -> None:
    study = new_study(1)
    ada = join(study, "Ada")
    screen = screen_for(study, ada)
    cast(study, ada, screen, client_key="slow network")
    ballots.undo(study.store, ada.id, study.settings.assignment)
    assert cast(study, ada, screen, client_key="slow network").repeated
    assert standing(study.store) == []


def test_undo_takes_back_only_ones_own(new_study: MakeStudy) -> None:
    study = new_study(1)
    ada, grace = join(study, "Ada"), join(study, "Grace")
    cast(study, ada, screen_for(study, ada))
    with pytest.raises(RatingError, match="no vote of yours"):
        ballots.undo(study.store, grace.id, study.settings.assignment)
    assert len(standing(study.store)) == 1


def test_a_skipped_pair_takes_no_more_votes(new_study: MakeStudy) -> None:
    study = new_study(1)
    ada = join(study, "Ada")
    screen = screen_for(study, ada)
    leases.skip(study.store, screen, "I cannot judge this topic", "")
    with pytest.raises(LeaseLost, match="skipped and stays set aside"):
        cast(study, ada, screen)
    assert votes(study.store) == 0


def test_drafts_stay_until_the_vote(new_study: MakeStudy) -> None:
    study = new_study(2)
    ada = join(study, "Ada")
    screen = screen_for(study, ada)
    assert ballots.draft(study.store, screen.id) == ""
    for text in ("Half a tho", "Half a thought"):
        ballots.save_draft(study.store, ada.id, screen.id, text)
    again = Store.open(study.store.path)
    assert ballots.draft(again, screen.id) == "Half a thought"
    again.close()
    cast(study, ada, screen, comment="A whole thought")
    assert ballots.draft(study.store, screen.id) == ""
    assert study.store.conn.execute("SELECT comment FROM vote_comment").fetchall() == [
        ("A whole thought",)
    ]


@settings(max_examples=15)
@given(st.lists(st.tuples(choices, st.integers(0, 3)), min_size=1, max_size=12))
def test_any_sequence_of_votes_retries_and_undos_has_one_answer_per_screen(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[Choice, int]]
) -> None:
    """A model of the page: what stands is the last vote that was accepted and not undone."""
    study = make_study(tmp_path_factory.mktemp("steps") / "s", 4)
    study.store.conn.execute("PRAGMA synchronous = OFF")
    ada = join(study, "Ada")
    expected: list[tuple[str, Outcome]] = []
    for number, (choice, event) in enumerate(steps):
        if event == 0 and expected:
            assert ballots.undo(study.store, ada.id, study.settings.assignment) == expected.pop()[0]
            continue
        screen = next_for(study, ada)
        if not isinstance(screen, Screen):
            continue
        for _ in range(event):
            cast(study, ada, screen, choice, client_key=f"key number {number}")
        if event:
            expected.append((screen.id, outcome(choice, screen.order)))
    stored = study.store.conn.execute(
        f"SELECT v.screen, v.outcome FROM {ballots.STANDING} ORDER BY w.rowid"
    ).fetchall()
    assert stored == expected
    assert verify(study.store).breaks == []
    study.close()


# ------------------------------------------------------------------ many writers


def test_24_processes_cast_960_of_960_votes(new_study: MakeStudy) -> None:
    """Elsewhere "database is locked" lost labels."""
    study = new_study(40, overlap=24)
    raters = [join(study, f"rater {n}") for n in range(24)]
    spawn = multiprocessing.get_context("spawn")
    # 6 processes of 4 threads with own connections each: 24 writers, 6 imports.
    workers = [
        spawn.Process(target=rate, args=(study.folder, [r.id for r in raters[n::6]], 40))
        for n in range(6)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
    assert [worker.exitcode for worker in workers] == [0] * 6
    assert votes(study.store) == 960
    assert count(study.store, "SELECT count(DISTINCT screen) FROM vote") == 960
    assert {n for (n,) in study.store.conn.execute("SELECT count(*) FROM vote GROUP BY rater")} == {
        40
    }
    found = verify(study.store)
    assert found.breaks == []
    assert len(found.heads) == 1 + 1 + 24  # made, opened, and one per writer


def test_an_acknowledged_vote_survives_kill_9(new_study: MakeStudy) -> None:
    study = new_study(30, overlap=1)
    ada = join(study, "Ada")
    acknowledged: set[str] = set()
    for _ in range(3):
        writer = subprocess.Popen(
            [sys.executable, "-m", "tests.annotate.writer", str(study.folder), ada.id],
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        assert writer.stdout is not None
        for _ in range(5):
            acknowledged.add(writer.stdout.readline().strip())
        os.kill(writer.pid, signal.SIGKILL)
        acknowledged |= {line.strip() for line in writer.stdout if line.endswith("\n")}
        writer.stdout.close()
        writer.wait()
        again = open_study(study.folder)
        stored = {row[0] for row in again.store.conn.execute("SELECT id FROM vote")}
        assert acknowledged <= stored
        assert verify(again.store).breaks == []
        again.close()
    assert len(acknowledged) >= 15


def test_two_tabs_at_once_are_one_vote(new_study: MakeStudy) -> None:
    study = new_study(20)
    ada = join(study, "Ada")
    for _ in range(10):
        screen = screen_for(study, ada)
        gate, results = threading.Barrier(4), list[str]()

        def tab(choice: Choice, screen: Screen, gate: threading.Barrier, out: list[str]) -> None:
            gate.wait()
            try:
                out.append(
                    cast(study, ada, screen, choice, client_key=f"{choice} on {screen.id}").vote
                )
            except AlreadyVoted:
                out.append("refused")

        threads = [
            threading.Thread(target=tab, args=(choice, screen, gate, results))
            for choice in (Choice.LEFT, Choice.LEFT, Choice.RIGHT, Choice.RIGHT)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert results.count("refused") == 2
        assert len(set(results)) == 2
        assert votes(study.store, f"screen = '{screen.id}'") == 1


def test_undo_after_a_skip_goes_to_the_pair_before(new_study: MakeStudy) -> None:
    """A skip is final: undo used to stop at the skipped pair for ever."""
    study = new_study(3, turns=2)
    ada = join(study, "Ada")
    first = [cast(study, ada, screen_for(study, ada)) for _ in range(2)]
    cast(study, ada, screen_for(study, ada))
    leases.skip(study.store, screen_for(study, ada), "I cannot judge this topic", "")
    undone = ballots.undo(study.store, ada.id, study.settings.assignment)
    last = study.store.conn.execute(
        "SELECT screen FROM vote WHERE id = ?", (first[-1].vote,)
    ).fetchone()
    assert undone == last[0]
    assert votes(study.store) == 3 + 1  # the withdrawal is a row; the skipped pair's vote stays


def test_a_retried_undo_takes_back_one_vote(new_study: MakeStudy) -> None:
    study = new_study(1, turns=2)
    ada = join(study, "Ada")
    for _ in range(2):
        cast(study, ada, screen_for(study, ada))
    settings = study.settings.assignment
    once = ballots.undo(study.store, ada.id, settings, client_key="k" * 16)
    assert ballots.undo(study.store, ada.id, settings, client_key="k" * 16) == once
    assert count(study.store, "SELECT count(*) FROM current_vote") == 1
