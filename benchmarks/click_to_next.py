"""Click to next pair on screen, in headless Chromium, ours and bare Gradio in turn."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from statistics import median, quantiles

from playwright.sync_api import Page, sync_playwright

from benchmarks.material import study
from benchmarks.servers import running

ROUNDS = 5
CLICKS = 12
ARGUMENTS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
# From the click to the end of the first frame that shows another pair's reply.
CLICK = """
async ([button, watched]) => {
  const shown = () => {
    const found = /Reply (\\d+)-/.exec(document.querySelector(watched)?.textContent || '');
    return found && found[1];
  };
  const before = shown();
  const start = performance.now();
  document.querySelector(button).click();
  for (let now = before; now === before || now === null; now = shown()) {
    await new Promise((next) => requestAnimationFrame(next));
    if (performance.now() - start > 10000) throw new Error('nothing changed');
  }
  await new Promise((next) => requestAnimationFrame(next));
  return performance.now() - start;
}
"""


def main() -> list[str]:
    """Measure; returns the rows of the table."""
    times: dict[str, list[float]] = {"ours": [], "gradio": []}
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        folder = Path(temporary)
        opened, links = study(folder / "study", pairs=ROUNDS * CLICKS + 5, raters=1)
        opened.close()
        (folder / "bare").mkdir()
        with (
            running("ours", folder / "study", 7971) as our_url,
            running("gradio", folder / "bare", 7972) as bare_url,
        ):
            browser = playwright.chromium.launch(
                executable_path=os.environ.get("EVENHAND_CHROMIUM", "/usr/bin/chromium"),
                args=ARGUMENTS,
            )
            our_page = browser.new_page(viewport={"width": 1440, "height": 900})
            our_page.goto(our_url + links[0])
            bare_page = browser.new_page(viewport={"width": 1440, "height": 900})
            bare_page.goto(bare_url)
            bare_page.wait_for_selector("#bA")
            for _round in range(ROUNDS):
                times["ours"] += click_through(our_page)
                times["gradio"] += _bare(bare_page)
            browser.close()
    ratio = median(times["ours"]) / median(times["gradio"])
    rows = [_row(name, values) for name, values in times.items()]
    return [*rows, f"| ratio of medians, ours / bare Gradio | {ratio:.2f} | |"]


def click_through(page: Page) -> list[float]:
    """Vote some pairs on our page; milliseconds from each click to the next pair."""
    page.bring_to_front()
    found = []
    for _ in range(CLICKS):
        page.wait_for_selector('#evenhand[data-state="rate"][data-ready="1"]')
        found.append(page.evaluate(CLICK, ['.eh-choice[data-choice="left"]', ".eh-rows"]))
    return found


def _bare(page: Page) -> list[float]:
    page.bring_to_front()
    found = []
    for _ in range(CLICKS):
        page.wait_for_timeout(350)  # as long as our page keeps its keys shut
        found.append(page.evaluate(CLICK, ["#bA", "#left"]))
    return found


def _row(name: str, values: list[float]) -> str:
    high = quantiles(values, n=20)[-1]
    label = {"ours": "Evenhand", "gradio": "bare Gradio page"}[name]
    return f"| click to next pair, {label} | median {median(values):.0f} ms | p95 {high:.0f} ms |"


if __name__ == "__main__":
    print("\n".join(main()))
