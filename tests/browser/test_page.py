"""The page as a whole: nothing of Gradio, nothing that jumps, every theme and width."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Route

from tests.browser.conftest import Join
from tests.browser.rater import Rater

pytestmark = pytest.mark.browser

PLACES = """() => {
  const box = name => { const b = document.querySelector(name).getBoundingClientRect();
    return [b.x, b.y, b.width, b.height].map(v => Math.round(v * 10) / 10) };
  const column = side => box(`.eh-row:last-child .eh-answer[data-side=${side}]`);
  return { top: box('.eh-top'), bar: box('.eh-bar'), choices: box('.eh-choices'),
    left: [column('left')[0], column('left')[2]], right: [column('right')[0], column('right')[2]] }
}"""
GRADIO = """() => [...document.querySelectorAll('body *')].filter(e => !e.closest('#evenhand')
    && !e.contains(document.querySelector('#evenhand')) && e.checkVisibility({checkOpacity: true}))
  .filter(e => { const b = e.getBoundingClientRect(); return b.width > 1 && b.height > 1 })
  .map(e => e.tagName + '.' + e.className)"""
COLOURS = """() => ['html', '.eh-bar', '.eh-answer', '.eh-choice'].map(name => [
  getComputedStyle(document.querySelector(name)).backgroundColor,
  getComputedStyle(document.querySelector(name === 'html' ? '.eh-main' : name)).color])"""


def test_nothing_of_gradio_is_visible(join: Join) -> None:
    rater = join().open()
    assert rater.page.evaluate(GRADIO) == []
    assert "gradio" not in rater.page.inner_text("body").lower()
    rater.page.click("#eh-agree")
    rater.until_state("rate")
    assert rater.page.evaluate(GRADIO) == []
    assert "gradio" not in rater.page.inner_text("body").lower()
    assert rater.page.title() == "Evenhand"


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_jumps_between_pairs(join: Join, width: int) -> None:
    rater = join(viewport={"width": width, "height": 800}).begin()
    places = []
    lengths = set()
    for _ in range(9):
        places.append(rater.page.evaluate(PLACES))
        lengths.add(len(rater.page.inner_text(".eh-row:last-child .eh-answer")) > 500)
        rater.vote("1")
    assert lengths == {True, False}
    for place in places[1:]:
        for name, box in place.items():
            # Half a pixel is where a sticky box is rounded to.
            assert box == pytest.approx(places[0][name], abs=0.5), name


def test_nothing_jumps_while_saving_and_after_a_first_status(join: Join) -> None:
    rater = join().begin()
    before = rater.page.evaluate(PLACES)
    held: list[Route] = []
    rater.page.route("**/api/vote", lambda route: held.append(route))
    screen = rater.screen
    rater.key("1")
    rater.status("Saving…")
    assert rater.page.evaluate(PLACES) == before
    held[0].continue_()
    rater.left(screen)
    assert rater.page.evaluate(PLACES) == before


def luminance(colour: str) -> float:
    red, green, blue = (
        float(part) for part in colour[colour.index("(") + 1 : -1].replace(",", " ").split()[:3]
    )
    return (0.2126 * red + 0.7152 * green + 0.0722 * blue) / 255


def look(rater: Rater) -> str:
    """`light` or `dark`, when everything on the page agrees and text stands out."""
    kinds = set()
    for background, ink in rater.page.evaluate(COLOURS):
        assert abs(luminance(background) - luminance(ink)) > 0.5, (background, ink)
        kinds.add("light" if luminance(background) > 0.5 else "dark")
    assert len(kinds) == 1
    return kinds.pop()


@pytest.mark.parametrize(("system", "other"), [("light", "dark"), ("dark", "light")])
def test_light_and_dark_by_system_and_by_choice(join: Join, system: str, other: str) -> None:
    # Without motion, so that no colour is read half-way.
    rater = join(color_scheme=system, reduced_motion="reduce").begin()
    assert look(rater) == system
    rater.page.click("#eh-theme")
    assert look(rater) == other
    rater.page.reload()
    rater.ready()
    assert look(rater) == other
    rater.vote("1")
    assert look(rater) == other


def test_a_phone_scrolls_only_down_and_keeps_the_bar(join: Join) -> None:
    rater = join(viewport={"width": 390, "height": 844}, has_touch=True).begin()
    for _ in range(5):
        sizes: dict[str, Any] = rater.page.evaluate(
            "() => ({ wide: document.documentElement.scrollWidth, bar:"
            " document.querySelector('.eh-bar').getBoundingClientRect().toJSON() })"
        )
        assert sizes["wide"] <= 390
        assert sizes["bar"]["left"] >= 0
        assert sizes["bar"]["right"] <= 390
        assert sizes["bar"]["bottom"] <= 844.5
        assert sizes["bar"]["top"] >= 844 / 2
        for side in ("left", "right"):
            box = rater.page.locator(f'.eh-row:last-child [data-side="{side}"]').bounding_box()
            assert box is not None
            assert box["width"] > 300
        rater.after(lambda: rater.page.tap('[data-choice="tie"]'))


def test_focus_is_visible_and_everything_has_a_name(join: Join) -> None:
    rater = join(reduced_motion="reduce").begin()
    page = rater.page
    reached = []
    for _ in range(20):
        rater.key("Tab")
        style = page.evaluate(
            "() => { const e = document.activeElement, s = getComputedStyle(e); return e ==="
            " document.body ? null : [e.innerText || e.ariaLabel, s.outlineStyle, s.outlineWidth] }"
        )
        if style is None:
            break
        name, outline, width = style
        assert name
        assert (outline, width) == ("solid", "2px"), name
        reached.append(name)
    shown = " ".join(reached)
    question = page.inner_text(".eh-question")
    first = "A, safety" if "safety" in question else "A, help"
    for word in (first, "Both good", "Both bad", "Undo", "Skip", "Comment"):
        assert word in shown
    assert page.get_by_role("button", name=first, exact=True).count() == 1
    assert page.get_by_role("group", name=question).count() == 1
    unnamed = page.evaluate(
        "() => [...document.querySelectorAll('button')].filter(b => !(b.ariaLabel ||"
        " b.innerText.trim())).length"
    )
    assert unnamed == 0


def test_the_next_question_and_troubles_are_announced(join: Join) -> None:
    rater = join().begin()
    page = rater.page
    page.evaluate("document.querySelector('#eh-live').stays = true")
    assert page.get_attribute("#eh-live", "aria-live") == "polite"
    announced = set()
    for _ in range(3):
        assert page.inner_text("#eh-live").endswith(page.inner_text(".eh-question"))
        announced.add(page.inner_text("#eh-live"))
        rater.vote("1")
    assert len(announced) == 3
    # A live region that arrives together with its text is not read out.
    assert page.evaluate("document.querySelector('#eh-live').stays")
    assert page.get_attribute(".eh-trouble", "role") == "alert"


def test_help_lists_the_keys_and_closes(join: Join) -> None:
    rater = join(viewport={"width": 390, "height": 500}).begin()
    rater.key("?")
    assert "B is better" in rater.page.inner_text("dialog[open]")
    assert rater.page.evaluate("document.querySelector('dialog[open]').scrollTop") == 0
    rater.key("4")
    rater.key("Escape")
    rater.page.wait_for_selector("dialog", state="detached")
    rater.vote("4")
    assert rater.page.inner_text(".eh-long").endswith("2 of 4 for this pair")


def test_declining_stores_nothing_else_and_can_be_changed(join: Join) -> None:
    rater = join().open()
    rater.page.click("#eh-decline")
    rater.until_state("declined")
    rater.key("1")
    rater.page.click(".eh-actions button")
    rater.until_state("consent")
    rater.page.click("#eh-agree")
    rater.until_state("rate").vote("1")
