"""From the invitation to the last pair by keyboard; keys, clicks and repeats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route

from annotate.records import Choice, Order, outcome
from tests.browser.conftest import Join
from tests.browser.rater import Rater
from tests.browser.server import Server
from tests.browser.study import StoredVote, make_study, marked_pairs, vote_rows, votes

pytestmark = pytest.mark.browser

KEYS = {
    "1": "left", "2": "tie", "3": "both_bad", "4": "right", "a": "left", "b": "right", "t": "tie",
    "n": "both_bad", "ArrowLeft": "left", "ArrowRight": "right",
}  # fmt: skip
PAIRS, TURNS, DIMENSIONS = 10, 2, ("safety", "help")


def agree_by_keyboard(rater: Rater) -> None:
    rater.open()
    page = rater.page
    for _ in range(20):
        rater.key("Tab")
        if page.evaluate("document.activeElement.id") == "eh-agree":
            break
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    rater.key("Enter")
    rater.until_state("rate")


def expected(vote: StoredVote, left: str, choice: str) -> None:
    """The stored order and outcome are those of the page and of the answer given."""
    assert vote.order == ("ab" if left == vote.model_a else "ba")
    assert vote.outcome == outcome(Choice(choice), Order(vote.order))
    if choice in ("left", "right"):
        preferred = {"a": vote.model_a, "b": vote.model_b}[vote.outcome]
        assert (preferred == left) == (choice == "left")


def test_two_raters_finish_ten_pairs_by_keyboard(join: Join, tmp_path: Path) -> None:
    server = Server(make_study(tmp_path / "s", marked_pairs(PAIRS), dimensions=DIMENSIONS)).start()
    try:
        raters = [join("-1", on=server), join("-2", on=server)]
        given: dict[str, list[tuple[str, dict[str, str], str]]] = {r.name: [] for r in raters}
        for rater in raters:
            agree_by_keyboard(rater)
        while any(rater.state == "rate" for rater in raters):
            waiting = []
            for rater in raters:
                if rater.state != "rate":
                    continue
                asked = rater.page.inner_text(".eh-row:last-child .eh-prompt .eh-text")
                key = [*KEYS][hash_of(asked + rater.page.inner_text(".eh-question"))]
                given[rater.name].append((rater.screen, rater.standing, key))
                waiting.append((rater, rater.screen))
                rater.key(key)
            for rater, screen in waiting:
                rater.left(screen)
        for rater in raters:
            assert "All done" in rater.page.inner_text("h1")
            assert f"{PAIRS} pairs done" in rater.page.inner_text(".eh-page")
    finally:
        server.close()

    orders: dict[str, list[str]] = {}
    pressed = set()
    for name, shown in given.items():
        stored = votes(server.folder, name)
        assert len(stored) == vote_rows(server.folder, name) == PAIRS * TURNS * len(DIMENSIONS)
        assert len({(v.question, v.turn, v.dimension) for v in stored}) == len(stored)
        assert [v.screen for v in stored] == [screen for screen, _, _ in shown]
        side: Counter[str] = Counter()
        for vote, (_, standing, key) in zip(stored, shown, strict=True):
            assert set(standing.values()) == {vote.model_a, vote.model_b}
            expected(vote, standing["left"], KEYS[key])
            pressed.add((key, vote.order))
            if (vote.turn, vote.dimension) == (1, DIMENSIONS[0]):
                step = 1 if vote.order == "ab" else -1
                side.update({"canonical": step, vote.model_a: step, vote.model_b: -step})
                orders.setdefault(vote.question, []).append(vote.order)
        assert {v.order for v in stored} == {"ab", "ba"}
        assert len({(v.question, v.order) for v in stored}) == PAIRS
        assert abs(side.pop("canonical")) <= 2
        assert all(abs(balance) <= 3 for balance in side.values())
    assert all(sorted(both) == ["ab", "ba"] for both in orders.values())
    assert pressed == {(key, order) for key in KEYS for order in ("ab", "ba")}


def hash_of(text: str) -> int:
    """The same question is answered with the same key by both raters, who see it mirrored."""
    number, turn = (int("".join(filter(str.isdigit, part))) for part in text.split(",")[:2])
    return (number * 4 + turn * 2 + ("help" in text)) % len(KEYS)


def test_clicks_store_what_keys_store(join: Join, server: Server) -> None:
    rater = join().begin()
    shown = []
    for number in range(8):
        choice = ["left", "right", "tie", "both_bad"][number % 4]
        shown.append((rater.standing["left"], choice))
        rater.after(lambda c=choice: rater.page.click(f'[data-choice="{c}"]'))  # type: ignore[misc]
    stored = votes(server.folder, rater.name)
    for vote, (left, choice) in zip(stored, shown, strict=True):
        expected(vote, left, choice)
    assert {v.order for v in stored} == {"ab", "ba"}


def fast_presses(page: Page) -> None:
    # One every 40 ms, by the page's own clock: some arrive before the reply, some after it.
    page.evaluate(
        """() => new Promise(done => { let n = 0; const go = () => {
          document.body.dispatchEvent(new KeyboardEvent('keydown', {key: '1', bubbles: true}));
          if (++n === 5) done(); else setTimeout(go, 40) }; go() })"""
    )


def held_key(page: Page) -> None:
    for _ in range(40):
        page.keyboard.down("1")  # from the second time on, Chromium says `repeat`
    page.wait_for_selector('#evenhand[data-ready="1"]')
    for _ in range(20):
        page.keyboard.down("1")
    page.keyboard.up("1")


def double_click(page: Page) -> None:
    page.dblclick('[data-choice="left"]')


def held_enter(page: Page) -> None:
    page.focus('[data-choice="left"]')
    for _ in range(30):
        page.keyboard.down("Enter")
    page.keyboard.up("Enter")


@pytest.mark.parametrize("action", [fast_presses, held_key, double_click, held_enter])
def test_one_answer_is_one_vote(join: Join, server: Server, action: Callable[[Page], None]) -> None:
    rater = join().begin()
    rater.after(lambda: action(rater.page)).ready()
    assert vote_rows(server.folder, rater.name) == 1
    assert rater.page.inner_text(".eh-long").endswith("2 of 4 for this pair")
    rater.vote("2")
    assert [v.outcome for v in votes(server.folder, rater.name)][1:] == ["tie"]


def test_presses_while_saving_are_not_votes(join: Join, server: Server) -> None:
    rater = join().begin()
    held: list[Route] = []
    rater.page.route("**/api/vote", lambda route: held.append(route))
    screen = rater.screen
    rater.key("1")
    rater.status("Saving…")
    for key in ("1", "4", "2", "ArrowRight", "u", "s"):
        rater.key(key)
    assert rater.page.locator(".eh-choice:disabled").count() == 4
    assert len(held) == 1
    held[0].continue_()
    rater.left(screen)
    assert len(held) == 1
    assert vote_rows(server.folder, rater.name) == 1


@pytest.mark.parametrize(("path", "key"), [("undo", "u"), ("skip", "s")])
def test_presses_before_the_answer_to_undo_or_skip_are_not_votes(
    join: Join, server: Server, path: str, key: str
) -> None:
    rater = join().begin()
    rater.vote("2")
    held: list[Route] = []
    rater.page.route(f"**/api/{path}", lambda route: held.append(route))
    screen = rater.screen
    rater.key(key)
    if path == "skip":
        rater.page.click("#eh-skip-ok")
    rater.key("1")
    # Longer than the page's quiet time, on the page's own clock.
    rater.page.evaluate("() => new Promise(done => setTimeout(done, 600))")
    rater.key("1")
    rater.page.wait_for_function("() => true")
    assert len(votes(server.folder, rater.name)) == 1
    held[0].continue_()
    rater.left(screen)
    assert len(votes(server.folder, rater.name)) == (0 if path == "undo" else 1)
