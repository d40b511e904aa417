"""Answers labelled for harm at the page: by keys alone, safely, with ways out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.browser.conftest import Visit, Watch
from tests.browser.rater import Rater
from tests.browser.server import Server
from tests.browser.study import (
    invite,
    make_study,
    marked_pairs,
    query,
    stored_labels,
    vote_rows,
)

pytestmark = pytest.mark.browser

REFUSED = "Failed to load resource"
HARMFUL = ("4", "2", "h", "b", "Enter", "3", "4", "Enter")
SAFE = ("1", "0", "Enter")
NAMES = ("alder", "birch", "cedar")

Serve = Callable[..., Server]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, chromium: Browser) -> Iterator[Server]:
    """A study with room for many raters: each test brings its own."""
    folder = tmp_path_factory.mktemp("labels") / "s"
    running = Server(make_study(folder, marked_pairs(2), labels=True, overlap=80)).start()
    yield running
    running.close()


@pytest.fixture
def served(tmp_path: Path, chromium: Browser) -> Iterator[Serve]:
    running: list[Server] = []

    def serve(**options: Any) -> Server:
        pairs = options.pop("pairs", 2)
        folder = make_study(tmp_path / "s", marked_pairs(pairs), labels=True, **options)
        running.append(Server(folder).start())
        return running[-1]

    yield serve
    for server in running:
        server.close()


def rater_of(
    server: Server, visit: Visit, name: str, group: str | None = None, **more: Any
) -> Rater:
    link = server.url + invite(server.folder, name, group)
    return Rater(name, link, visit(**more))


def test_a_whole_study_is_labelled_by_keys_alone(shared: Server, visit: Visit) -> None:
    rater = rater_of(shared, visit, "Rater 1")
    rater.open()
    for _ in range(40):  # Tab to the button that agrees
        rater.key("Tab")
        if rater.page.evaluate("document.activeElement.id") == "eh-agree":
            break
    rater.key("Enter")
    rater.until_state("label")
    for number in range(8):
        rater.label(*(HARMFUL if number % 2 else SAFE))
    rater.until_state("empty")
    assert "4 answers done" in rater.page.inner_text(".eh-page")
    kept = stored_labels(shared.folder, "Rater 1")
    assert len({(one.question, one.model, one.turn) for one in kept}) == 8
    assert kept[0].harm == {
        "response_type": "full_refusal", "severity": 0, "categories": [],
        "specificity": None, "convincingness": None,
    }  # fmt: skip
    assert kept[1].harm == {
        "response_type": "full_compliance", "severity": 2,
        "categories": ["nonviolent_crimes", "privacy"], "specificity": 3, "convincingness": 4,
    }  # fmt: skip


def test_what_was_saved_survives_kill_9(served: Serve, visit: Visit, watch: Watch) -> None:
    watch.allowed.append(REFUSED)
    server = served(pairs=3)
    rater = rater_of(server, visit, "Ada").begin("label")
    acknowledged = []
    for before_kill in (1, 2):
        for _ in range(before_kill):
            screen = rater.ready().screen
            for key in SAFE:
                rater.key(key)
            rater.status("Saved")
            acknowledged.append(screen)
        server.kill()
        assert [one.screen for one in stored_labels(server.folder, "Ada")] == acknowledged
        screen = rater.ready().screen
        for key in SAFE:
            rater.key(key)
        rater.page.wait_for_selector("#eh-again")
        assert rater.page.inner_text("#eh-status") == "Not saved"
        server.start()
        rater.after(lambda: rater.page.click("#eh-again"))
        acknowledged.append(screen)
    assert [one.screen for one in stored_labels(server.folder, "Ada")] == acknowledged
    assert vote_rows(server.folder, "Ada") == len(acknowledged)


def test_presses_in_a_row_are_one_label(shared: Server, visit: Visit) -> None:
    rater = rater_of(shared, visit, "Rater 2").begin("label")
    screen = rater.screen
    rater.page.evaluate(
        """() => { for (const key of ["1", "0", "Enter", "Enter", "Enter", "1", "0", "Enter"])
          document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true })) }"""
    )
    rater.left(screen)
    assert vote_rows(shared.folder, rater.name) == 1


def test_keys_that_go_on_into_the_next_screen_are_not_its_label(
    shared: Server, visit: Visit
) -> None:
    rater = rater_of(shared, visit, "Hasty").begin("label")
    screen = rater.screen
    after = 0
    while after < 3:  # on and on, past the moment at which the next screen is there
        for key in SAFE:
            rater.key(key)
        after += rater.screen != screen
    rater.left(screen)
    assert vote_rows(shared.folder, rater.name) == 1


def test_an_incomplete_label_is_not_sent_and_says_what_is_missing(
    shared: Server, visit: Visit
) -> None:
    rater = rater_of(shared, visit, "Rater 3").begin("label")
    rater.key("4")
    rater.key("Enter")
    rater.status("One answer is missing")
    assert rater.page.get_attribute(".eh-group[data-active]", "data-group") == "severity"
    assert vote_rows(shared.folder, "Rater 3") == 0


def test_a_refusal_is_not_asked_how_specific_it_is(shared: Server, visit: Visit) -> None:
    rater = rater_of(shared, visit, "Rater 4").begin("label")

    def open_groups() -> list[str]:
        return list(
            rater.page.eval_on_selector_all(
                ".eh-group:not([hidden])", "all => all.map(one => one.dataset.group)"
            )
        )

    rater.key("1")
    rater.key("0")
    assert open_groups() == ["response_type", "severity"]
    rater.key("Backspace")
    rater.key("2")  # not harmless after all
    assert open_groups() == ["response_type", "severity", "categories"]
    for _ in range(2):
        rater.key("Backspace")
    rater.key("3")
    assert open_groups()[-2:] == ["specificity", "convincingness"]


def test_reload_keeps_what_was_chosen_and_typed(shared: Server, visit: Visit) -> None:
    rater = rater_of(shared, visit, "Rater 5").begin("label")
    screen = rater.screen
    for key in ("3", "1", "c"):
        rater.key(key)
    rater.key("n")
    rater.page.keyboard.type("half a thought")
    for key in ("Escape", "Enter", "4"):
        rater.key(key)
    rater.page.reload()
    rater.ready()
    assert rater.screen == screen
    picked = rater.page.eval_on_selector_all(
        "[aria-checked=true]", "all => all.map(one => one.dataset.value)"
    )
    assert picked == ["partial", "1", "sex_related_crimes", "4"]
    assert rater.written() == "half a thought"


def test_undo_by_key_brings_the_answer_back(shared: Server, visit: Visit) -> None:
    rater = rater_of(shared, visit, "Rater 6").begin("label")
    first = rater.screen
    rater.label(*SAFE)
    rater.after(lambda: rater.key("u"))
    assert rater.screen == first
    rater.label(*HARMFUL)
    assert [one.harm["severity"] for one in stored_labels(shared.folder, "Rater 6")] == [2]


def test_a_second_tab_is_told_that_the_first_label_stands(
    shared: Server, visit: Visit, watch: Watch
) -> None:
    watch.allowed.append(REFUSED + ".*409")
    first = rater_of(shared, visit, "Rater 7").begin("label")
    second = Rater("Rater 7", first.link, first.context.new_page()).open()
    assert second.screen == first.screen
    first.label(*SAFE)
    for key in HARMFUL:
        second.key(key)
    assert "already labelled" in second.trouble
    assert [one.harm["severity"] for one in stored_labels(shared.folder, "Rater 7")] == [0]


def test_covered_texts_show_when_asked_and_keys_wait_until_then(
    served: Serve, visit: Visit
) -> None:
    server = served(covered=3, pairs=1)
    rater = rater_of(server, visit, "Ada").begin("label")
    assert rater.page.locator(".eh-answer:visible, .eh-prompt:visible").count() == 0
    for key in SAFE:
        if key != "Enter":
            rater.key(key)
    assert rater.page.locator("[aria-checked=true]").count() == 0
    rater.key("v")
    assert rater.page.locator(".eh-answer:visible").count() == 1
    rater.label(*SAFE)
    assert rater.page.locator(".eh-answer:visible").count() == 2  # the same answer's next turn
    rater.label(*SAFE)
    assert rater.page.locator(".eh-answer:visible").count() == 0


def test_both_sides_of_a_pair_are_covered_alike(served: Serve, visit: Visit) -> None:
    server = served(covered=3, pairs=1, tasks=("pairs",))
    rater = rater_of(server, visit, "Ada").begin("rate")
    assert rater.page.locator(".eh-answer:visible").count() == 0
    rater.key("1")
    rater.page.wait_for_timeout(500)
    assert vote_rows(server.folder, "Ada") == 0
    rater.page.click("#eh-uncover")
    assert rater.page.locator(".eh-answer:visible").count() == 2
    rater.vote("1")
    assert vote_rows(server.folder, "Ada") == 1


def test_subjects_left_out_at_consent_or_later_are_not_shown(shared: Server, visit: Visit) -> None:
    rater = rater_of(shared, visit, "Rater 8").open()
    rater.page.check("text=violence")
    rater.page.click("#eh-agree")
    rater.until_state("label")
    rater.label(*SAFE).label(*SAFE)
    rater.page.click("#eh-content")
    rater.page.check("dialog >> text=advice")
    rater.page.click("#eh-content-ok")
    rater.until_state("empty")
    assert {one.question for one in stored_labels(shared.folder, "Rater 8")} == {"q1"}
    assert query(shared.folder, "SELECT count(*) FROM rater_optout") == [(2,)]


def test_stopping_keeps_everything_and_the_link_still_opens(shared: Server, visit: Visit) -> None:
    rater = rater_of(shared, visit, "Rater 9").begin("label")
    rater.label(*SAFE)
    screen = rater.screen
    rater.page.click("#eh-stop")
    rater.until_state("stopped")
    held = query(
        shared.folder,
        "SELECT count(*) FROM label_assignment a JOIN rater_person r ON r.rater = a.rater"
        " WHERE a.state = 'leased' AND r.name = ?",
        rater.name,
    )
    assert held == [(0,)]
    rater.page.click("#eh-go-on")
    rater.until_state("label")
    assert rater.screen == screen


def test_an_adjudicator_sees_both_labels_and_no_names(served: Serve, visit: Visit) -> None:
    server = served(pairs=1)
    for name, keys in (("Ada", SAFE), ("Grace", HARMFUL)):
        rater = rater_of(server, visit, name).begin("label")
        while rater.state == "label":
            rater.label(*keys)
    judge = rater_of(server, visit, "Joan", "adjudicator").begin("label")
    said = judge.page.inner_text(".eh-said")
    assert "Full refusal" in said
    assert "Full compliance" in said
    page = judge.page.inner_text(".eh-form") + judge.page.content()
    assert not [name for name in ("Ada", "Grace") if name in page]
    outside = judge.page.evaluate(
        "() => { const copy = document.body.cloneNode(true);"
        " copy.querySelectorAll('.eh-text').forEach(one => one.remove()); return copy.innerHTML }"
    )
    assert not [name for name in NAMES if name in outside]
    judge.label(*HARMFUL)
    (settled,) = stored_labels(server.folder, "Joan")
    assert settled.layer == "adjudicated"


@pytest.mark.parametrize("width", [1440, 1000, 390])
def test_nothing_is_wider_than_the_page(shared: Server, visit: Visit, width: int) -> None:
    rater = rater_of(
        shared, visit, f"Rater of {width}", viewport={"width": width, "height": 800}
    ).begin("label")
    for key in HARMFUL[:-1]:
        rater.key(key)
    wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
    assert not rater.page.evaluate(wide)
    assert rater.page.locator("#eh-save").is_visible()
