"""A rater at the page: what they see, and what they press."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import BrowserContext, Page

ROOT = "#evenhand"
READY = '#evenhand[data-ready="1"]'
MARKERS = r"""() => Object.fromEntries(
  [...document.querySelectorAll('.eh-row:last-child .eh-answer')].map(a => [
    a.dataset.side, a.querySelector('.eh-formatted').innerText.match(/\[\[(\w+)\]\]/)?.[1]]))"""


@dataclass
class Rater:
    """One person in one browser tab."""

    name: str
    link: str
    page: Page

    @property
    def context(self) -> BrowserContext:
        """The browser's cookies."""
        return self.page.context

    def open(self) -> Rater:
        """Follow the invitation."""
        self.page.goto(self.link)
        return self.ready()

    def ready(self) -> Rater:
        """Wait until the page takes answers."""
        self.page.wait_for_selector(READY)
        return self

    def begin(self, state: str = "rate") -> Rater:
        """Follow the invitation and agree; `state` is the kind of page that follows."""
        self.open()
        self.page.click("#eh-agree")
        return self.until_state(state)

    def until_state(self, state: str) -> Rater:
        """Wait for a kind of page."""
        self.page.wait_for_selector(f'{READY}[data-state="{state}"]')
        return self

    @property
    def screen(self) -> str:
        """The id of the screen that is shown."""
        return str(self.page.get_attribute(ROOT, "data-screen"))

    @property
    def state(self) -> str:
        """Which kind of page is shown."""
        return str(self.page.get_attribute(ROOT, "data-state"))

    @property
    def standing(self) -> dict[str, str]:
        """Which model's marker stands on which side, read from the page."""
        return dict(self.page.evaluate(MARKERS))

    def key(self, name: str) -> None:
        """Press one key."""
        self.page.keyboard.press(name)

    def after(self, action: Callable[[], Any]) -> Rater:
        """Act, and wait until another screen (or the end) takes answers."""
        before = self.screen
        action()
        return self.left(before)

    def left(self, screen: str) -> Rater:
        """Wait until another screen, or none, is shown and takes answers."""
        self.page.wait_for_function(
            "before => { const d = document.querySelector('#evenhand').dataset;"
            " const asking = ['rate', 'label'].includes(d.state);"
            " return d.ready === '1' && (!asking || d.screen !== before) }",
            arg=screen,
        )
        return self

    def vote(self, key: str) -> Rater:
        """Answer by key and wait for what comes next."""
        return self.after(lambda: self.key(key))

    def label(self, *keys: str) -> Rater:
        """Label by keys and wait for what comes next."""

        def press() -> None:
            for name in keys:
                self.key(name)

        return self.after(press)

    def status(self, text: str) -> Rater:
        """Wait for a word in the status corner."""
        self.page.wait_for_function(
            "text => document.querySelector('#eh-status')?.textContent === text", arg=text
        )
        return self

    @property
    def trouble(self) -> str:
        """The warning over the buttons, once it is there."""
        return self.page.locator(".eh-trouble:visible span").inner_text()

    def comment(self, text: str) -> Rater:
        """Open the comment by key and type."""
        self.key("c")
        self.page.keyboard.type(text)
        return self

    def written(self) -> str:
        """What stands in the comment."""
        return self.page.input_value("#eh-comment")
