"""What goes wrong between a press and the next screen, and what must be left of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Route

from tests.browser.conftest import Join, Watch
from tests.browser.rater import Rater
from tests.browser.server import Server
from tests.browser.study import make_study, marked_pairs, query, vote_rows, votes

pytestmark = pytest.mark.browser

REFUSED = "Failed to load resource"
"""Chromium logs every answer that is an error; tests that provoke one expect it."""


def test_what_was_saved_survives_kill_9(
    join: Join, watch: Watch, tmp_path: Path, chromium: Browser
) -> None:
    watch.allowed.append(REFUSED)
    server = Server(make_study(tmp_path / "s", marked_pairs(4))).start()
    try:
        rater = join(on=server).begin()
        acknowledged: list[tuple[str, str]] = []
        for votes_before_kill in (1, 3, 2):
            for _ in range(votes_before_kill):
                screen = rater.ready().screen
                rater.key("3")
                rater.status("Saved")
                acknowledged.append((screen, "both_bad"))
            server.kill()
            stored = votes(server.folder, rater.name)
            assert [(v.screen, v.outcome) for v in stored] == acknowledged

            rater.ready()
            screen, standing = rater.screen, rater.standing
            rater.key("3")
            rater.page.wait_for_selector("#eh-again")
            assert "Your answer is kept here" in rater.trouble
            assert rater.page.inner_text("#eh-status") == "Not saved"
            server.start()
            assert (rater.screen, rater.standing) == (screen, standing)
            rater.after(lambda: rater.page.click("#eh-again"))
            acknowledged.append((screen, "both_bad"))

            screen, standing = rater.screen, rater.standing
            rater.page.reload()
            rater.ready()
            assert (rater.screen, rater.standing) == (screen, standing)
        stored = votes(server.folder, rater.name)
        assert [(v.screen, v.outcome) for v in stored] == acknowledged
        assert vote_rows(server.folder, rater.name) == len(acknowledged)
    finally:
        server.close()


def second_tab(rater: Rater) -> Rater:
    return Rater(rater.name, rater.link, rater.context.new_page()).open()


def test_one_answer_in_two_tabs_is_one_vote(join: Join, server: Server) -> None:
    first = join().begin()
    second = second_tab(first)
    assert (second.screen, second.standing) == (first.screen, first.standing)
    first.vote("1")
    second.vote("1")
    assert vote_rows(server.folder, first.name) == 1
    assert second.screen == first.screen


def test_another_answer_in_a_second_tab_is_told_that_the_first_stands(
    join: Join, server: Server, watch: Watch
) -> None:
    watch.allowed.append(REFUSED + ".*409")
    first = join().begin()
    second = second_tab(first)
    first.vote("2")
    second.key("3")
    assert "already answered" in second.trouble
    assert [v.outcome for v in votes(server.folder, first.name)] == ["tie"]
    second.after(lambda: second.page.click("#eh-again"))
    assert second.screen == first.screen
    second.vote("3")
    assert [v.outcome for v in votes(server.folder, first.name)] == ["tie", "both_bad"]


def test_another_answer_after_a_lost_reply_is_told_that_the_first_stands(
    join: Join, server: Server, watch: Watch
) -> None:
    watch.allowed.append(REFUSED)
    rater = join().begin()
    lose_replies(rater, times=1)
    rater.key("2")
    assert "cannot be reached" in rater.trouble
    rater.key("3")
    rater.page.wait_for_selector(".eh-trouble:visible :text('already answered')")
    assert [v.outcome for v in votes(server.folder, rater.name)] == ["tie"]


def test_the_same_answer_after_lost_replies_is_one_vote(
    join: Join, server: Server, watch: Watch
) -> None:
    watch.allowed.append(REFUSED)
    rater = join().begin()
    lose_replies(rater, times=2)
    screen = rater.screen
    rater.key("2")
    for _ in range(2):
        with rater.page.expect_request("**/api/vote"):
            rater.page.click("#eh-again")
    rater.left(screen)
    assert vote_rows(server.folder, rater.name) == 1


def lose_replies(rater: Rater, times: int) -> None:
    """Votes reach the server, and its reply does not come back."""
    left = [times]

    def lose(route: Route) -> None:
        if not left[0]:
            route.continue_()
            return
        left[0] -= 1
        route.fetch()
        route.abort()

    rater.page.route("**/api/vote", lose)


def test_reload_keeps_screen_order_and_what_was_typed(join: Join, server: Server) -> None:
    rater = join().begin().vote("1").vote("2")
    screen, standing = rater.screen, rater.standing
    rater.comment("1234 abtn: half a thought")  # letters and digits that are keys elsewhere
    assert len(votes(server.folder, rater.name)) == 2
    rater.page.reload()
    rater.ready()
    assert (rater.screen, rater.standing) == (screen, standing)
    assert rater.written() == "1234 abtn: half a thought"
    rater.key("c")
    rater.key("End")
    rater.page.keyboard.type(", finished")
    rater.key("Escape")
    rater.vote("4")
    assert votes(server.folder, rater.name)[-1].comment == "1234 abtn: half a thought, finished"
    assert not rater.page.is_visible("#eh-comment")
    assert rater.written() == ""


def test_the_server_keeps_the_draft_for_another_browser(join: Join, server: Server) -> None:
    rater = join().begin()
    with rater.page.expect_response("**/api/draft"):
        rater.comment("seen on the train")
    elsewhere = join().open()
    assert elsewhere.screen == rater.screen
    assert elsewhere.written() == "seen on the train"


def test_a_draft_stays_with_the_screen_it_was_typed_on(join: Join, server: Server) -> None:
    rater = join().begin()
    first = rater.screen
    rater.vote("1")
    second = rater.screen
    rater.comment("about the second")
    rater.key("Escape")
    rater.vote("u")
    assert rater.screen == first
    assert rater.written() == ""
    rater.page.reload()
    rater.ready()
    assert rater.written() == ""
    rater.vote("1")
    assert rater.screen == second
    assert rater.written() == "about the second"


def test_undo_several_and_across_pairs(join: Join, server: Server) -> None:
    rater = join().begin()
    screens, orders = [], []
    for _ in range(5):
        screens.append(rater.screen)
        orders.append(rater.standing)
        rater.vote("1")
    assert "1 done" in rater.page.inner_text("#eh-count")
    for number in (4, 3, 2):
        rater.vote("u")
        rater.status("Taken back")
        assert (rater.screen, rater.standing) == (screens[number], orders[number])
    assert "0 done" in rater.page.inner_text("#eh-count")
    assert rater.page.locator(".eh-row").count() == 2
    for screen in screens[2:]:
        assert rater.screen == screen
        rater.vote("2")
    stored = votes(server.folder, rater.name)
    assert [v.screen for v in stored] == screens
    assert [v.outcome for v in stored][2:] == ["tie"] * 3
    assert vote_rows(server.folder, rater.name) == 5 + 3 + 3


def test_undo_with_nothing_to_undo_says_so(join: Join, watch: Watch) -> None:
    watch.allowed.append(REFUSED + ".*409")
    rater = join().begin()
    rater.key("u")
    assert "no vote of yours" in rater.trouble
    rater.ready().vote("1")


def test_skip_by_keyboard_with_a_reason(join: Join, server: Server) -> None:
    rater = join().begin()
    asked = rater.page.inner_text(".eh-prompt .eh-text")
    rater.key("s")
    rater.page.wait_for_selector("dialog[open]")
    for key in ("1", "4", "u"):
        rater.key(key)
    assert vote_rows(server.folder, rater.name) == 0
    rater.page.focus("dialog input")
    rater.key("ArrowDown")
    rater.key("Tab")
    rater.page.keyboard.type("1 no, 2 no")
    rater.key("Tab")
    rater.after(lambda: rater.key("Enter"))
    rater.status("Skipped")
    assert rater.page.inner_text(".eh-prompt .eh-text") != asked
    stored = query(
        server.folder,
        "SELECT s.reason, s.note FROM skip s JOIN rater_person r ON r.rater = s.rater"
        " WHERE r.name = ?",
        rater.name,
    )
    assert stored == [("The content is distressing", "1 no, 2 no")]
    rater.vote("1")
    assert vote_rows(server.folder, rater.name) == 1


def test_skip_can_be_called_off(join: Join, server: Server) -> None:
    rater = join().begin()
    screen = rater.screen
    rater.key("s")
    rater.page.wait_for_selector("dialog[open]")
    rater.key("Escape")
    rater.page.wait_for_selector("dialog", state="detached")
    assert rater.screen == screen
    rater.vote("1")
    assert vote_rows(server.folder, rater.name) == 1


@pytest.mark.parametrize("typed", ["before", "after"])
def test_a_lost_session_loses_no_work(join: Join, server: Server, watch: Watch, typed: str) -> None:
    watch.allowed.append(REFUSED + ".*401")
    rater = join().begin()
    rater.vote("1")
    screen, standing = rater.screen, rater.standing
    if typed == "before":
        with rater.page.expect_response("**/api/draft"):
            rater.comment("my reasons")
    rater.context.clear_cookies()
    if typed == "after":
        rater.comment("my reasons")
    rater.key("Escape")
    rater.key("4")
    assert "session has ended" in rater.trouble
    assert rater.written() == "my reasons"
    assert len(votes(server.folder, rater.name)) == 1

    rater.open()
    assert (rater.screen, rater.standing) == (screen, standing)
    assert rater.written() == "my reasons"
    rater.vote("4")
    stored = votes(server.folder, rater.name)
    assert len(stored) == vote_rows(server.folder, rater.name) == 2
    assert stored[-1].comment == "my reasons"


def test_signing_in_again_in_another_tab_is_enough(
    join: Join, server: Server, watch: Watch
) -> None:
    watch.allowed.append(REFUSED + ".*401")
    rater = join().begin()
    rater.comment("typed")
    rater.key("Escape")
    rater.context.clear_cookies()
    rater.key("4")
    assert "session has ended" in rater.trouble
    second_tab(rater)
    rater.after(lambda: rater.page.click("#eh-again"))
    stored = votes(server.folder, rater.name)
    assert [v.comment for v in stored] == ["typed"]
    assert vote_rows(server.folder, rater.name) == 1


FAILURES = {
    "broken": "INSERT INTO planted_nowhere VALUES (1)",  # an OperationalError, as a full disk is
    "refused": "SELECT RAISE(ABORT, 'planted')",  # an IntegrityError: a bug, and still no vote
}


@pytest.fixture(params=FAILURES)
def failing_storage(server: Server, request: pytest.FixtureRequest) -> Iterator[Callable[[], Any]]:
    """No vote can be stored until the returned function is called."""
    body = FAILURES[request.param]
    query(server.folder, f"CREATE TRIGGER planted BEFORE INSERT ON vote BEGIN {body}; END")

    def repair() -> None:
        query(server.folder, "DROP TRIGGER IF EXISTS planted")

    yield repair
    repair()


def test_failing_storage_is_told_and_one_retry_saves_once(
    join: Join, server: Server, watch: Watch, failing_storage: Callable[[], Any]
) -> None:
    watch.allowed.append(REFUSED + ".*50[03]")
    rater = join().begin()
    screen, standing = rater.screen, rater.standing
    rater.comment("worth keeping")
    rater.key("Escape")
    for _ in range(2):
        with rater.page.expect_response("**/api/vote") as answer:
            rater.key("4")
        assert answer.value.status in (500, 503)
        assert "planted" not in answer.value.text()
        rater.status("Not saved").ready()
        assert rater.trouble
        assert (rater.screen, rater.standing) == (screen, standing)
        assert rater.written() == "worth keeping"
    failing_storage()
    assert vote_rows(server.folder, rater.name) == 0
    rater.after(lambda: rater.page.click("#eh-again"))
    rater.status("Saved")
    assert not rater.page.is_visible(".eh-trouble")
    stored = votes(server.folder, rater.name)
    assert [(v.screen, v.comment) for v in stored] == [(screen, "worth keeping")]
    assert vote_rows(server.folder, rater.name) == 1
