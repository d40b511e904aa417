"""Pictures of the rating page and the console, from the sample study, into docs/pictures."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

PICTURES = Path(__file__).parent.parent / "docs" / "pictures"
ARGUMENTS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


def main() -> None:
    """Serve a fresh sample study and take every picture."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    with _server() as links, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=os.environ["EVENHAND_CHROMIUM"], args=ARGUMENTS
        )
        for scheme in ("light", "dark"):
            for width in (1440, 390):
                _rate(browser, links["rater"], width, scheme)
            _console(browser, links["owner"], scheme)
        browser.close()


@contextmanager
def _server() -> Iterator[dict[str, str]]:
    with tempfile.TemporaryDirectory() as folder:
        server = subprocess.Popen(
            [sys.executable, "-m", "judge.cli", "demo", "--folder", f"{folder}/demo", "--port", "0",
             "--no-open"],
            stdout=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        links: dict[str, str] = {}
        assert server.stdout is not None  # PIPE
        for line in server.stdout:
            if found := re.search(r"console: (\S+)", line):
                links["owner"] = found.group(1)
            if found := re.search(r"Rater you: (\S+)", line):
                links["rater"] = found.group(1)
            if len(links) == 2:
                break
        try:
            yield links
        finally:
            server.terminate()
            server.wait(timeout=20)


def _rate(browser: Browser, link: str, width: int, scheme: str) -> None:
    context = browser.new_context(
        viewport={"width": width, "height": 900 if width > 500 else 844},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    page = context.new_page()
    page.goto(link)
    page.wait_for_selector('#evenhand[data-ready="1"]')
    if page.locator("#eh-agree").count():
        page.screenshot(path=PICTURES / f"consent-{width}-{scheme}.png")
        page.click("#eh-agree")
        page.wait_for_selector('#evenhand[data-state="rate"][data-ready="1"]')
    page.mouse.move(0, 0)
    page.screenshot(path=PICTURES / f"rate-{width}-{scheme}.png")
    context.close()


def _console(browser: Browser, link: str, scheme: str) -> None:
    context = browser.new_context(
        viewport={"width": 1440, "height": 1000},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    page = context.new_page()
    page.goto(link)
    page.wait_for_selector("#console table")
    page.screenshot(path=PICTURES / f"console-1440-{scheme}.png", full_page=True)
    context.close()


if __name__ == "__main__":
    main()
