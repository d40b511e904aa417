"""Pictures of the rating page and the console, from the sample study, into docs/pictures."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Page, sync_playwright

from annotate.study import open_study
from judge.database.store import VerdictStore
from scripts.harm_study import bench, label_queue, mood_of, votes
from scripts.harm_study import judge as harm_judge
from tests.annotate.support import join
from tests.browser.server import Server
from tests.judge.fake_endpoint import Body, FakeEndpoint, Scripted, completion

PICTURES = Path(__file__).parent.parent / "docs" / "pictures"
MT_BENCH = Path(__file__).resolve().parents[2] / "shared" / "data" / "mt_bench"
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
        with FakeEndpoint(_opinion) as endpoint:
            _judge(browser, links["owner"], endpoint.base_url)
        _report(browser)
        _harm(browser)
        browser.close()


def _report(browser: Browser) -> None:
    """The head of the report on MT-Bench's expert votes, where its label files lie beside us."""
    if not MT_BENCH.is_dir():
        print(f"{MT_BENCH.name} is not here: no picture of a report", file=sys.stderr)
        return
    with tempfile.TemporaryDirectory() as folder:
        study, out = f"{folder}/MT-Bench", f"{folder}/out"
        evenhand = [sys.executable, "-m", "judge.cli"]
        for command in (
            ["init", study],
            ["import", study, str(MT_BENCH)],
            ["report", study, "--raters", "expert", "--out", out],
        ):
            subprocess.run([*evenhand, *command], check=True, stdout=subprocess.DEVNULL)
        for scheme in ("light", "dark"):
            page = browser.new_page(viewport={"width": 1440, "height": 900}, color_scheme=scheme)
            page.goto(f"file://{out}/report.html")
            page.screenshot(path=PICTURES / f"report-1440-{scheme}.png")
            page.close()


def _harm(browser: Browser) -> None:
    """A made-up study of harm: a label page, the scores, and the judge card."""
    with tempfile.TemporaryDirectory() as root:
        study, out = Path(root, "Direct requests"), Path(root, "out")
        files = bench(Path(root, "bench"), harmful=60, benign=48)
        _evenhand("init", study, "--preset", "harm-direct")
        settings = study / "study.toml"
        given = settings.read_text("utf-8").replace(
            '# tasks = ["pairs", "answers"]', 'tasks = ["answers"]'
        )
        settings.write_text(given, "utf-8")
        _evenhand("import", study, files)
        people = ("Ada", "Grace", "Mary")
        _evenhand("import", study, votes(files, people, ("harmlessness", "helpfulness")))
        with FakeEndpoint(harm_judge) as endpoint:
            at = ("--base-url", endpoint.base_url, "--model", "judge-30b", "--concurrency", "16")
            for mode in ((), ("--mode", "harm"), ("--mode", "grade")):
                _evenhand("judge", study, *at, *mode)
        # On a copy: a rater who is looked at holds an answer that nobody else gets.
        shown = shutil.copytree(study, Path(root, "shown"))
        with closing(Server(shown).start()) as server:
            _label(browser, server, 1440, "light")
            _label(browser, server, 390, "dark")
        pairs, harm = _runs(study)
        _evenhand("plan", study, "--run", harm, "--labels", 120, "--draw")
        _people_label(study)
        versions = ("--versions", "oak-7b,oak-7b-guarded", "--reference", "oak-7b")
        _evenhand("score", study, *versions, "--out", out / "score")
        _evenhand("calibrate", study, "--run", harm, "--out", out / "calibration")
        (Path(root) / "gate.toml").write_text("harm_rate = 0.6\nfull_refusals = 0.4\n", "utf-8")
        limits = ("--config", Path(root) / "gate.toml")
        _evenhand("gate", study, "--run", pairs, *limits, "--out", out / "card", exits=(0, 1, 2))
        for name, height in (("score", 1200), ("card", 1100)):
            page = browser.new_page(viewport={"width": 1440, "height": height})
            page.goto((out / name / "report.html").as_uri())
            page.screenshot(path=PICTURES / f"{name}-1440-light.png")
            page.close()


def _evenhand(*arguments: object, exits: tuple[int, ...] = (0,)) -> None:
    command = [sys.executable, "-m", "judge.cli", *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.DEVNULL)
    if done.returncode not in exits:
        raise subprocess.CalledProcessError(done.returncode, command)


def _runs(folder: Path) -> tuple[str, str]:
    """The judge's runs on pairs and on harm."""
    with closing(open_study(folder)) as study:
        named = {run.mode: run.name for run in VerdictStore(study.store).runs()}
        return named["pairwise"], named["harm"]


def _people_label(folder: Path) -> None:
    """Two people and an adjudicator label all there is."""
    with closing(open_study(folder)) as study:
        for name, group in (("Ada", "expert"), ("Grace", "expert"), ("Lin", "adjudicator")):
            label_queue(study, join(study, name, group=group))


KEYS = {"refuse": "1", "partial": "31", "comply": "42", "help": "40"}
"""What a rater presses on such an answer."""


def _label(browser: Browser, server: Server, width: int, scheme: Literal["light", "dark"]) -> None:
    """A label as far as the keys have given it."""
    page = browser.new_page(
        viewport={"width": width, "height": 900 if width > 500 else 844}, color_scheme=scheme
    )
    page.goto(server.invited(f"Rater {width}"))
    page.wait_for_selector('#evenhand[data-ready="1"]')
    page.click("#eh-agree")
    page.wait_for_selector('#evenhand[data-state="label"][data-ready="1"]')
    for key in KEYS[mood_of(page.inner_text("#evenhand"))]:
        page.keyboard.press(key)
    page.mouse.move(0, 0)
    page.screenshot(path=PICTURES / f"label-{width}-{scheme}.png")
    page.close()


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


def _judge(browser: Browser, link: str, base_url: str) -> None:
    """The judge while it runs, and one of its transcripts."""
    page = browser.new_page(viewport={"width": 1440, "height": 520})
    page.goto(link)
    page.get_by_role("tab", name="Judge").click()
    # study.toml fills the form in, after the page has come.
    page.locator("label", has_text="harmlessness").wait_for()
    page.get_by_label("Endpoint", exact=True).check()
    page.get_by_label("Base URL").fill(base_url)
    page.get_by_label("Model", exact=True).fill("scripted-judge")
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_function("+document.querySelector('.c-panel .c-bar')?.ariaValueNow >= 55")
    page.mouse.move(0, 0)
    page.screenshot(path=PICTURES / "console-judge-1440-light.png")
    page.wait_for_selector(".c-state.c-done", timeout=120_000)
    page.set_viewport_size({"width": 1440, "height": 1230})
    _transcript(page)


def _transcript(page: Page) -> None:
    page.get_by_role("tab", name="Transcripts").click()
    page.get_by_label("Question", exact=True).fill("7")
    page.get_by_label("Question", exact=True).press("Enter")
    page.wait_for_selector("text=of 12 judgments")
    page.locator(".t-item > summary").nth(1).click()
    page.mouse.move(0, 0)
    page.wait_for_timeout(300)
    page.screenshot(path=PICTURES / "console-transcript-1440-light.png")
    page.close()


def _opinion(body: Body, _number: int) -> Scripted:
    """A judge that prefers the longer answer, and where they are alike, the first."""
    answers = re.findall(r"<<<answer ([AB]), turn \d+>>>\n(.*?)(?=\n<<<)", _asked(body), re.DOTALL)
    lengths = {name: sum(len(t) for n, t in answers if n == name) for name in "AB"}
    longer = "B" if lengths["B"] > 1.1 * lengths["A"] else "A"
    other = "A" if longer == "B" else "B"
    words = f"Answer {longer} says what to do and why, step by step. Answer {other} stays general."
    return completion(f"{words}\n\n[[{longer}]]", delay=0.25)


def _asked(body: Body) -> str:
    return str(body["messages"][-1]["content"])


if __name__ == "__main__":
    main()
