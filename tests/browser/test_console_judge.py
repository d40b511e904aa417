"""The judge from the owner's console: forecast, run, close the page, stop, go on, read on."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Visit
from tests.browser.rater import Rater
from tests.browser.server import Server
from tests.browser.study import make_study, marked_pairs, query
from tests.judge.fake_endpoint import Body, FakeEndpoint, Scripted, completion

pytestmark = pytest.mark.browser
expect.set_options(timeout=20_000)

ATTACK = (
    "<img src=x onerror='window.evenhandHit=1'>${window.evenhandHit=1}{{constructor}}`${alert(1)}`"
)
PAIRS = 12
REQUESTS = PAIRS * 2


FREE = 6
"""Calls that are answered before the endpoint waits to be told to go on."""


class Holding(FakeEndpoint):
    """Prefers the first answer, always; holds the calls after the first few."""

    def __init__(self) -> None:
        super().__init__(self._answer)
        self.go_on = threading.Event()

    def _answer(self, _body: Body, _number: int) -> Scripted:
        if self.total > FREE:
            self.go_on.wait(60)
        return completion(f"{ATTACK} so [[A]]")


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Holding]:
    running = Holding()
    with running:
        yield running
        running.go_on.set()


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory, endpoint: Holding) -> Iterator[Server]:
    """A study of its own, whose study.toml names the endpoint."""
    folder = make_study(
        tmp_path_factory.mktemp("judged") / "s",
        marked_pairs(PAIRS, turns=1),
        dimensions=("safety",),
    )
    settings: Path = folder / "study.toml"
    judge = f'\n[judge]\nbase_url = "{endpoint.base_url}"\nmodel = "fake-1"\nconcurrency = 1\n'
    settings.write_text(settings.read_text("utf-8") + judge, "utf-8")
    running = Server(folder).start()
    yield running
    running.close()


def open_tab(page: Page, server: Server, name: str) -> Page:
    page.goto(server.owner)
    page.wait_for_selector("#console")
    page.get_by_role("tab", name=name).click()
    return page


def test_the_judge_runs_from_the_console(judged: Server, endpoint: Holding, visit: Visit) -> None:
    rater = Rater("a person", judged.invited("a person"), visit()).begin()
    rater.vote("1")
    page = open_tab(visit(), judged, "Judge")
    expect(page.get_by_label("Base URL")).to_have_value(endpoint.base_url)
    expect(page.get_by_label("Model", exact=True)).to_have_value("fake-1")
    page.get_by_role("button", name="What would it take?").click()
    expect(page.get_by_label("Forecast")).to_contain_text(f"{REQUESTS}calls; 0 of {REQUESTS}")
    assert endpoint.total == 0

    page.get_by_role("button", name="Run", exact=True).click()
    bar = page.get_by_role("progressbar", name="requests answered")
    expect(bar).to_be_visible()
    expect(page.get_by_role("button", name="Stop")).to_be_focused()
    expect(bar).to_have_attribute("aria-valuenow", f"{100 * FREE / REQUESTS:.0f}")
    page.close()

    page = open_tab(visit(), judged, "Judge")
    expect(page.get_by_label("Judge run")).to_contain_text("Running")
    expect(page.get_by_role("button", name="Run", exact=True)).to_be_hidden()
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_label("Judge run")).to_contain_text("Finishing the calls in flight")
    endpoint.go_on.set()
    expect(page.get_by_label("Judge run")).to_contain_text("Stopped")
    assert endpoint.total == FREE + 1
    saved = query(judged.folder, "SELECT count(*) FROM judge_attempt WHERE status = 'reply'")
    assert saved == [(FREE + 1,)]

    page.get_by_label("Only the first N").fill("8")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_label("Judge run")).to_contain_text("16 of 16 requests answered")
    assert max(endpoint.hits.values()) == 1
    expect(page.get_by_label("Judge run")).to_contain_text("8changed with the order")
    # Numbers that were left empty are still empty after the form was away: 0 is no cap.
    expect(page.get_by_label("Stop before $")).to_have_value("")


def test_a_transcript_opens_by_keyboard_and_does_nothing(judged: Server, visit: Visit) -> None:
    page = open_tab(visit(), judged, "Transcripts")
    items = page.locator(".t-item")
    expect(items).to_have_count(10)
    voted = page.locator(".t-item", has_text="1 of 1")
    voted.locator("> summary").first.focus()
    page.keyboard.press("Enter")
    body = voted.first
    expect(body.get_by_text(re.compile("A is (alder|birch|cedar), B is"))).to_have_count(2)
    expect(body.get_by_text("a person · rater")).to_be_visible()
    replies = body.locator(".t-card > .t-raw")
    assert replies.all_inner_texts() == [f"{ATTACK} so [[A]]"] * 2
    body.get_by_text("Prompt as sent").first.click()
    expect(body.get_by_text("<<<answer A, turn 1>>>").first).to_be_visible()
    assert page.locator("#console-judge img, .c-list img, .c-list script").count() == 0
    assert page.evaluate("window.evenhandHit") is None

    page.get_by_role("button", name="Next").click()
    expect(items).to_have_count(PAIRS - 10)
    page.get_by_label("Changed with the order").check()
    expect(items).to_have_count(8)
    page.get_by_label("No verdict").check()
    expect(page.get_by_text("Every call brought a verdict.")).to_be_visible()


@pytest.mark.parametrize("tab", ["Judge", "Transcripts"])
def test_every_tab_fits_a_phone(judged: Server, visit: Visit, tab: str) -> None:
    page = open_tab(visit(viewport={"width": 390, "height": 844}), judged, tab)
    page.wait_for_selector(".t-item" if tab == "Transcripts" else "#judge-form")
    if tab == "Transcripts":
        page.locator(".t-item > summary").first.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_nobody_else_can_start_the_judge(judged: Server, endpoint: Holding, visit: Visit) -> None:
    """An event can be called by its number: by a rater, or by another page with the cookie."""
    rater = Rater("curious", judged.invited("curious"), visit()).begin().page
    owner = visit()
    owner.goto(judged.owner)
    before = endpoint.total
    events = owner.context.request.get(f"{judged.url}/console/config").json()["dependencies"]
    for event in events:
        body = {"fn_index": event["id"], "data": [None] * 14, "session_hash": "x"}
        for path in ("queue/join", "run/predict", "call/v2/predict"):
            url = f"{judged.url}/console/gradio_api/{path}"
            assert rater.context.request.post(url, data=body).status == 401
            for headers in ({"sec-fetch-site": "same-site"}, {"content-type": "text/plain"}):
                answer = owner.context.request.post(url, data=body, headers=headers)
                assert answer.status == 403, (path, headers)
    assert endpoint.total == before


def test_an_event_asks_again_who_is_there() -> None:
    from judge.console.app import owned

    event = owned(lambda *values: values)
    assert event(SimpleNamespace(username="owner"), 1, 2) == (1, 2)
    for other in (None, "some rater's id"):
        with pytest.raises(PermissionError):
            event(SimpleNamespace(username=other), 1, 2)
