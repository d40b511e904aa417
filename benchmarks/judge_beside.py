"""Click to next pair for a rater while the judge runs in the same server, and while it does not.

The run is started and stopped from the owner's console, with its page open; rounds alternate.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
import time
from contextlib import closing
from pathlib import Path
from statistics import median, quantiles

from playwright.sync_api import Browser, Page, sync_playwright

from annotate import seats
from annotate.store import FILE_NAME
from annotate.study import SETTINGS_NAME
from benchmarks.click_to_next import ARGUMENTS, click_through
from benchmarks.judge_engine import server
from benchmarks.material import study
from benchmarks.servers import running

ROUNDS = 3
PAIRS = 2500
SETTINGS = ((8, 0.1, 0.3), (16, 0.05, 0.15))
"""Calls in flight, and the endpoint's latency in seconds, from and to."""


def main() -> list[str]:
    """Measure; returns the rows of the table."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("EVENHAND_CHROMIUM", "/usr/bin/chromium"),
            args=ARGUMENTS,
        )
        rows = [row for chosen in SETTINGS for row in _measured(browser, *chosen)]
        browser.close()
    return rows


def _measured(browser: Browser, in_flight: int, low: float, high: float) -> list[str]:
    times: dict[bool, list[float]] = {False: [], True: []}
    done = seconds = 0.0
    with tempfile.TemporaryDirectory() as temporary, server(low, high) as endpoint:
        folder = Path(temporary) / "study"
        opened, links = study(folder, pairs=PAIRS, raters=1)
        owner = f"/owner/{seats.owner_token(opened.store)}"
        opened.close()
        judge = f'[judge]\nbase_url = "{endpoint}"\nmodel = "m"\nconcurrency = {in_flight}\n'
        text = (folder / SETTINGS_NAME).read_text("utf-8").replace("[judge]\n", judge, 1)
        (folder / SETTINGS_NAME).write_text(text, "utf-8")
        with running("console", folder, 7973) as url:
            rater = browser.new_page(viewport={"width": 1440, "height": 900})
            rater.goto(url + links[0])
            console = browser.new_context().new_page()
            console.goto(url + owner)
            console.get_by_role("tab", name="Judge").click()
            for _round in range(ROUNDS):
                times[False] += click_through(rater)
                _start(console)
                began, before = time.monotonic(), _calls(folder)
                times[True] += click_through(rater)
                done, seconds = done + _calls(folder) - before, seconds + time.monotonic() - began
                _stop(console)
            rater.close()
            console.close()
    words = f"{in_flight} in flight, {done / seconds:.0f} calls/s"
    rows = [_row(f"a judge beside ({words})" if beside else "no judge", values)
            for beside, values in times.items()]  # fmt: skip
    ratio = median(times[True]) / median(times[False])
    return [*rows, f"| ratio of medians, with a judge / without | {ratio:.2f} | |"]


def _start(console: Page) -> None:
    """Run; returns when the judge is being asked."""
    console.get_by_role("button", name="Run", exact=True).click()
    console.wait_for_selector(".c-state.c-running", timeout=120_000)


def _stop(console: Page) -> None:
    """Stop; returns when the calls in flight have ended."""
    console.get_by_role("button", name="Stop").click()
    console.wait_for_selector(".c-state.c-stopped", timeout=60_000)


def _calls(folder: Path) -> int:
    with closing(sqlite3.connect(folder / FILE_NAME)) as conn:
        return int(conn.execute("SELECT count(*) FROM judge_attempt").fetchone()[0])


def _row(label: str, values: list[float]) -> str:
    high = quantiles(values, n=20)[-1]
    return f"| click to next pair, {label} | median {median(values):.0f} ms | p95 {high:.0f} ms |"


if __name__ == "__main__":
    print("\n".join(main()))
