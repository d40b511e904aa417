"""The corpus on the page: every text on both sides, as written, and unable to act."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.browser.conftest import Join, Watch
from tests.browser.corpus import CORPUS, HUGE, Nasty, lines
from tests.browser.rater import Rater
from tests.browser.server import Server
from tests.browser.study import MadePair, make_study

pytestmark = pytest.mark.browser

MARKER = "[[plain]] and nothing else"
OBSERVE = """() => {
  const bar = document.querySelector('.eh-bar').getBoundingClientRect();
  return [...document.querySelectorAll('.eh-row')].map(row => {
    row.scrollIntoView({ block: 'center' });
    const hidden = [...document.querySelectorAll('.eh-bar button')].filter(button => {
      const box = button.getBoundingClientRect();
      const hit = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
      return !button.contains(hit);
    }).map(button => button.textContent);
    const side = Object.fromEntries([...row.querySelectorAll('.eh-answer')].map(answer => {
      const text = answer.querySelector('.eh-formatted'), cell = answer.getBoundingClientRect();
      return [answer.dataset.side, {
        text: text.innerText,
        foreign: [...text.querySelectorAll(
          'script,style,iframe,form,link,img,svg,meta,base,a,input,object,embed,video,textarea'
        )].map(e => e.tagName),
        wide: text.getBoundingClientRect().right > cell.right + 1,
      }];
    }));
    return { hidden, ...side };
  })
}"""
STYLES = """() => Object.fromEntries(['body', '.eh-top', '.eh-bar', '.eh-choice', '.eh-main']
  .map(name => [name, [...getComputedStyle(document.querySelector(name))]
    .filter(p => !/^(--.*|height|block-size|perspective-origin|transform-origin)$/.test(p))
    .map(p => p + ':' + getComputedStyle(document.querySelector(name)).getPropertyValue(p))]))"""
EXACT = """() => [...document.querySelectorAll('.eh-row')].map(row => Object.fromEntries(
  [...row.querySelectorAll('.eh-answer')].map(answer => [answer.dataset.side, {
    exact: answer.querySelector('.eh-raw').textContent,
    modes: [...answer.querySelectorAll('.eh-text')].map(e => e.checkVisibility()) }])))"""


@dataclass
class Seen:
    """What one rater's browser made of one pair."""

    rows: list[dict[str, Any]]
    exact: list[dict[str, Any]]
    styles: dict[str, list[str]]
    requests: list[str]
    hit: object
    side: str


@pytest.fixture(scope="module")
def corpus_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Each pair twice, with models of its own: balance shows a rater both orders of it."""
    texts = [nasty.text for nasty in CORPUS]
    calm = [MARKER] * len(texts)
    pairs = [
        *(MadePair(texts, ("alder", texts), ("birch", calm)) for _ in range(2)),
        *(MadePair(["Long"], ("cedar", [HUGE]), ("elder", [f"**{MARKER}**"])) for _ in range(2)),
    ]
    folder = make_study(
        tmp_path_factory.mktemp("corpus") / "s",
        pairs,
        dimensions=["help"],
        reveal="all",
        overlap=8,
    )
    running = Server(folder).start()
    yield running
    running.close()


def look(rater: Rater, requests: list[str]) -> Seen:
    """Read a whole page, scroll through it, and read it again as exact text."""
    page = rater.page
    page.wait_for_load_state("networkidle")
    before = len(requests)
    rows = page.evaluate(OBSERVE)
    styles = page.evaluate(STYLES)
    new = requests[before:]
    rater.key("r")
    page.wait_for_selector(".eh-raw", state="visible")
    exact = page.evaluate(EXACT)
    rater.key("r")
    page.wait_for_selector(".eh-raw", state="hidden")
    side = next(s for s in ("left", "right") if MARKER not in rows[0][s]["text"])
    return Seen(rows, exact, styles, new, page.evaluate("window.evenhandHit"), side)


@pytest.fixture(scope="module")
def seen(chromium: Browser, corpus_server: Server) -> dict[tuple[str, str], Seen]:
    """(corpus or huge, side of the hostile text) → what was seen of it."""
    found: dict[tuple[str, str], Seen] = {}
    requests: list[str] = []
    for name in ("one", "two", "three", "four"):
        context = chromium.new_context()
        context.set_default_timeout(20_000)
        watch = Watch()
        context.on("page", watch.attach)
        context.on("request", lambda request: requests.append(request.url))
        rater = Rater(name, corpus_server.invited(name), context.new_page()).begin()
        for _ in range(4):
            page = look(rater, requests)
            found["corpus" if len(page.rows) > 1 else "huge", page.side] = page
            if len(page.rows) > 1:
                rater.vote("1")
            rater.key("s")
            rater.after(lambda r=rater: r.page.click("#eh-skip-ok"))  # type: ignore[misc]
        assert watch.complaints == []
        context.close()
        if len(found) == 4:
            break
    assert [url for url in requests if not url.startswith(corpus_server.url + "/")] == []
    return found


SIDES = ("left", "right")
NASTY = pytest.mark.parametrize("row", range(len(CORPUS)), ids=[n.name for n in CORPUS])


@pytest.mark.parametrize("side", SIDES)
@NASTY
def test_a_text_is_shown_as_written(seen: dict[tuple[str, str], Seen], row: int, side: str) -> None:
    nasty: Nasty = CORPUS[row]
    page = seen["corpus", side]
    assert lines(page.rows[row][side]["text"]) == lines(nasty.visible)
    other = SIDES[side == "left"]
    assert page.rows[row][other]["text"] == MARKER


@pytest.mark.parametrize("side", SIDES)
@NASTY
def test_a_text_cannot_act(seen: dict[tuple[str, str], Seen], row: int, side: str) -> None:
    shown = seen["corpus", side].rows[row]
    assert shown["hidden"] == []
    for place in SIDES:
        assert shown[place]["foreign"] == []
        assert not shown[place]["wide"]


@pytest.mark.parametrize("side", SIDES)
@NASTY
def test_exact_text_is_the_source(seen: dict[tuple[str, str], Seen], row: int, side: str) -> None:
    shown = seen["corpus", side].exact[row]
    assert shown[side]["exact"] == CORPUS[row].text
    assert shown[SIDES[side == "left"]]["exact"] == MARKER


@pytest.mark.parametrize("side", SIDES)
def test_a_huge_text_makes_both_sides_plain(seen: dict[tuple[str, str], Seen], side: str) -> None:
    page = seen["huge", side]
    shown = page.rows[0]
    assert lines(shown[side]["text"]) == lines(HUGE.replace("\0", "\ufffd"))
    assert shown[SIDES[side == "left"]]["text"] == f"**{MARKER}**"
    assert page.exact[0][side]["exact"] == HUGE
    assert shown["hidden"] == []


@pytest.mark.parametrize("kind", ["corpus", "huge"])
@pytest.mark.parametrize("side", SIDES)
def test_the_page_around_the_texts_is_untouched(
    seen: dict[tuple[str, str], Seen], kind: str, side: str, join: Join
) -> None:
    page = seen[kind, side]
    assert page.hit is None
    assert page.requests == []
    calm = join().begin().page.evaluate(STYLES)
    for element, styles in calm.items():
        assert page.styles[element] == styles, element


@pytest.mark.parametrize("kind", ["corpus", "huge"])
def test_both_sides_are_always_in_one_mode(seen: dict[tuple[str, str], Seen], kind: str) -> None:
    for side in SIDES:
        for row in seen[kind, side].exact:
            assert row["left"]["modes"] == row["right"]["modes"] == [False, True]
