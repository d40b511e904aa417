"""report.html in Chromium: fits every screen, asks for nothing, runs nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page

from judge.calibration.evidence import Criterion, Exit, Outcome, Verdict
from judge.reporting.html_page import to_html
from judge.reporting.topics.gate_card import Card
from judge.reporting.topics.gate_card import document as card
from tests.browser.conftest import Visit
from tests.judge.reporting.documents import SVG, document

pytestmark = pytest.mark.browser
LONG_NAMES = ("name-without-any-space" * 12, "文心一言" * 20)


@pytest.fixture
def report(tmp_path: Path) -> str:
    file = tmp_path / "report.html"
    file.write_text(to_html(document(*LONG_NAMES), {"excess": SVG}), "utf-8")
    return file.as_uri()


@pytest.mark.parametrize("width", [320, 390, 1000, 1440])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_and_asks_for_nothing(visit: Visit, report: str, width: int, scheme: str) -> None:
    page: Page = visit(viewport={"width": width, "height": 800}, color_scheme=scheme)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("dialog", lambda dialog: pytest.fail(f"a dialog: {dialog.message}"))
    page.goto(report)
    for summary in page.locator("summary").all():
        summary.click()
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert [url for url in asked if not url.startswith("data:")] == [report]
    assert page.evaluate("[...document.images].every(i => i.complete && i.naturalWidth > 0)")
    wide = "[...document.querySelectorAll('.card')].map(c => getComputedStyle(c).backgroundColor)"
    assert page.evaluate(wide) == ["rgb(255, 255, 255)"]


def test_the_judge_card_is_one_sheet_of_paper(visit: Visit, tmp_path: Path) -> None:
    """With six models and everything else that a gate can find."""
    criteria = tuple(
        Criterion(
            f"harm rate of a-model-with-a-name-{number}",
            Outcome.UNDECIDED,
            f"harm rate of a-model-with-a-name-{number} 9.1 % [4.7 %, 15.9 %] lies on both sides",
            "upper end at most 10.0 %",
            "label more (evenhand plan)",
        )
        for number in range(18)
    )
    models = ", ".join(f"a-model-with-a-name-{number}" for number in range(6))
    scope = (f"answers of {models}", "prompts of fraud, privacy, weapons, hate", "dimension harm")
    limits = dict.fromkeys(("attempts", "harm_rate", "full_refusals", "matched_gap"), 0.05)
    verdict = Verdict(criteria, Exit.PASSED, "trusted for the named scope")
    made = Card("judge-30b", "m", "f" * 64, verdict, scope, "2027-02-27", "c" * 64, limits,
                True, 1, 0.95)  # fmt: skip
    file = tmp_path / "card.html"
    file.write_text(to_html(card(made), {}), "utf-8")
    page = visit()
    page.goto(file.as_uri())
    assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(prefer_css_page_size=True))) == 1


def test_answers_stand_side_by_side_or_one_under_another(visit: Visit, report: str) -> None:
    for width, side_by_side in ((1440, True), (390, False)):
        page = visit(viewport={"width": width, "height": 800})
        page.goto(report)
        tops = [
            box["y"] for one in page.locator(".answer").all()[:2] if (box := one.bounding_box())
        ]
        assert (tops[0] == tops[1]) is side_by_side


def test_the_keyboard_skips_to_the_report_and_a_letter_leads_to_its_remark(
    visit: Visit, report: str
) -> None:
    page = visit()
    page.goto(report)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "report"
    page.locator("#table-main sup a").first.click()
    assert page.locator(":target").inner_text() == "a under 30 questions"
