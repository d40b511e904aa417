"""Chromium and served studies, shared where their state allows.

Fixtures are package-scoped: Playwright keeps an event loop while it runs, which tests
elsewhere that use asyncio would trip over.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

from tests.browser.rater import Rater
from tests.browser.server import Server
from tests.browser.study import make_study, marked_pairs

ARGUMENTS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """The browser; without one these tests fail, since a skip would look like a pass."""
    path = os.environ.get("EVENHAND_CHROMIUM", "/usr/bin/chromium")
    if not Path(path).exists():
        pytest.fail(
            f"no Chromium at {path}: install the package chromium, or set EVENHAND_CHROMIUM",
            pytrace=False,
        )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A study with room for many raters: each test brings its own."""
    folder = make_study(tmp_path_factory.mktemp("shared") / "s", marked_pairs(8), overlap=80)
    running = Server(folder).start()
    yield running
    running.close()


Visit = Callable[..., Page]
Join = Callable[..., Rater]


class Watch:
    """Complaints of every page of one test; a test says which ones it provokes."""

    def __init__(self) -> None:
        self.complaints: list[str] = []
        self.allowed: list[str] = []

    def attach(self, page: Page) -> None:
        """Listen to a page."""
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.complaints.append(f"page error: {error}"))

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.type}: {message.text}")

    def unexpected(self) -> list[str]:
        """What no test asked for."""
        return [c for c in self.complaints if not any(re.search(a, c) for a in self.allowed)]


@pytest.fixture
def watch() -> Watch:
    """See :class:`Watch`."""
    return Watch()


@pytest.fixture
def visit(chromium: Browser, watch: Watch) -> Iterator[Visit]:
    """Open a fresh browser profile; at the end, no page may have complained."""
    contexts = []

    def open_page(**options: object) -> Page:
        context = chromium.new_context(**options)  # type: ignore[arg-type]
        context.set_default_timeout(20_000)
        context.on("page", watch.attach)
        contexts.append(context)
        return context.new_page()

    yield open_page
    for context in contexts:
        context.close()
    assert watch.unexpected() == []


@pytest.fixture
def join(visit: Visit, server: Server, request: pytest.FixtureRequest) -> Join:
    """A new rater of the shared study, in a browser of their own."""

    def make(suffix: str = "", on: Server | None = None, **options: object) -> Rater:
        name = f"{request.node.name}{suffix}"[:150]
        return Rater(name, (on or server).invited(name), visit(**options))

    return make
