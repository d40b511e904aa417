"""Answers graded at the page: ten buttons, ten keys, and what a slip does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.browser.conftest import Visit
from tests.browser.rater import Rater
from tests.browser.server import Server
from tests.browser.study import invite, make_study, marked_pairs, query

pytestmark = pytest.mark.browser

NAMES = ("alder", "birch", "cedar", "helpfulness")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, chromium: Browser) -> Iterator[Server]:
    """Two answers of two turns, with room for many raters."""
    folder = tmp_path_factory.mktemp("grades") / "s"
    running = Server(make_study(folder, marked_pairs(1), grades=True, overlap=80)).start()
    yield running
    running.close()


def rater_of(server: Server, visit: Visit, name: str, **more: object) -> Rater:
    return Rater(name, server.url + invite(server.folder, name), visit(**more)).begin("label")


def grades(server: Server, name: str) -> list[float]:
    rows = query(
        server.folder,
        "SELECT v.grade FROM current_vote v JOIN vote w ON w.id = v.id"
        " JOIN rater_person r ON r.rater = v.rater WHERE r.name = ? ORDER BY w.rowid",
        name,
    )
    return [row[0] for row in rows]


def picked(rater: Rater) -> list[str]:
    return rater.page.locator(".eh-option[aria-checked=true]").all_inner_texts()


def test_every_answer_is_graded_by_keys_alone(shared: Server, visit: Visit) -> None:
    rater = rater_of(shared, visit, "Rater 1")
    for key in ("0", "1", "9", "5"):
        rater.label(key, "Enter")
    rater.until_state("empty")
    assert grades(shared, "Rater 1") == [10, 1, 9, 5]


def test_the_last_key_counts_letters_do_nothing_and_undo_takes_back(
    shared: Server, visit: Visit
) -> None:
    rater = rater_of(shared, visit, "Rater 2")
    rater.key("Enter")
    rater.status("One answer is missing")
    rater.key("a")
    assert picked(rater) == []
    first = rater.screen
    rater.label("3", "8", "Enter")
    assert grades(shared, "Rater 2") == [8]
    rater.after(lambda: rater.key("u"))
    assert rater.screen == first
    rater.label("0", "Enter")
    assert grades(shared, "Rater 2") == [10]


def test_a_grade_not_saved_yet_survives_a_reload(shared: Server, visit: Visit) -> None:
    rater = rater_of(shared, visit, "Rater 3")
    rater.key("0")
    assert picked(rater) == ["10"]
    rater.page.reload()
    rater.until_state("label")
    assert picked(rater) == ["10"]
    rater.label("Enter")
    assert grades(shared, "Rater 3") == [10]


@pytest.mark.parametrize("width", [1440, 390])
def test_ten_buttons_fit_say_their_ends_and_name_nobody(
    shared: Server, visit: Visit, width: int
) -> None:
    rater = rater_of(shared, visit, f"Rater of {width}", viewport={"width": width, "height": 800})
    buttons = rater.page.locator("[role=radiogroup] [role=radio]")
    assert buttons.all_inner_texts() == [str(n) for n in range(1, 11)]
    assert rater.page.inner_text(".eh-ends").split("\n") == ["1: useless", "10: perfect"]
    wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
    assert not rater.page.evaluate(wide)
    boxes = [button.bounding_box() for button in buttons.all()]
    assert min(box["height"] for box in boxes if box) >= (40 if width < 720 else 28)
    text, form = (rater.page.locator(one).bounding_box() for one in (".eh-answer", ".eh-form"))
    assert text is not None
    assert form is not None
    # A short answer leaves no hole before what is asked of it.
    assert width > 720 or 0 < form["y"] - text["y"] - text["height"] < 40
    outside = rater.page.evaluate(
        "() => { const copy = document.body.cloneNode(true);"
        " copy.querySelectorAll('.eh-text').forEach(one => one.remove()); return copy.innerHTML }"
    )
    assert not [name for name in NAMES if name in outside]
    rater.page.keyboard.press("?")
    assert "Grade 10" in rater.page.inner_text("dialog")
    assert "Read both" not in rater.page.inner_text("dialog")
