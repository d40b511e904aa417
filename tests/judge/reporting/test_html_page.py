"""report.html: whole, valid, and nothing in it acts that came from a file."""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser

import pytest

from judge.reporting.document import Document
from judge.reporting.html_page import to_html
from tests.judge.reporting.documents import HOSTILE, LONG, SVG, document

VOID = {"meta", "img", "br", "link"}
OURS = {
    "html", "head", "meta", "title", "style", "body", "a", "div", "header", "h1", "h2", "h3", "h4",
    "h5", "p", "strong", "nav", "ol", "li", "main", "section", "ul", "figure", "figcaption", "b",
    "table", "thead", "tbody", "tr", "th", "td", "sup", "span", "bdi", "img", "article", "details",
    "summary", "footer", "code",
}  # fmt: skip


class Page(HTMLParser):
    """Elements, their attributes, the text, and every end that does not meet its start."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.wrong: list[str] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, name: str) -> list[str]:
        return [attributes[name] for _, attributes in self.elements if name in attributes]


@pytest.fixture(scope="module")
def page() -> Page:
    return Page(to_html(document(), {"excess": SVG}, [("every table", "tables/")]))


def test_the_foot_names_what_lies_beside_the_page_and_nothing_else() -> None:
    two = [("every table", "tables/"), ("all values", "report.json")]
    assert (
        "page: every table in tables/, and all values in report.json."
        in Page(to_html(document(), {}, two)).text
    )
    assert "In the folder of this page" not in Page(to_html(document(), {})).text


def test_elements_are_ours_and_nest(page: Page) -> None:
    assert page.wrong == []
    assert page.open == []
    assert {tag for tag, _ in page.elements} == OURS
    assert [name for name in _attributes(page) if name.startswith("on")] == []


def _attributes(page: Page) -> set[str]:
    return {name for _, attributes in page.elements for name in attributes}


def test_it_asks_for_nothing(page: Page) -> None:
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    assert policy in page.all("content")
    sources = page.all("src")
    assert len(sources) == 1
    assert sources[0].startswith("data:image/svg+xml;base64,")
    assert [target for target in page.all("href") if not target.startswith("#")] == []


def test_ids_are_unique_and_every_link_arrives(page: Page) -> None:
    ids = Counter(page.all("id"))
    assert [id for id, n in ids.items() if n > 1] == []
    targets = {target[1:] for target in page.all("href")}
    assert targets - set(ids) == set()
    assert set(page.all("aria-labelledby")) - set(ids) == set()


def test_hostile_names_are_text(page: Page) -> None:
    assert page.text.count(HOSTILE) >= 8
    assert [alt for tag, a in page.elements if tag == "img" and (alt := a["alt"])] == [
        f"A forest plot of {HOSTILE}"
    ]


def test_texts_are_as_written_with_what_hides_made_visible(page: Page) -> None:
    assert f"{HOSTILE}\n\n  1. ⟨U+202E⟩gpj.exe⟨U+202C⟩ ␛[31m␀" in page.text
    assert "Say\n\thello." in page.text
    assert LONG in page.text
    assert "(empty)" in page.text


def test_long_answers_fold_together_and_short_ones_stand_open(page: Page) -> None:
    summaries = re.findall(r"Show .*", page.text)
    assert summaries == [f"Show both answers ({len(LONG):,} and 12 characters)"]


def test_weights_are_said_in_words(page: Page) -> None:
    assert "Key result Judge alder agrees" in page.text
    assert "Before you quote this Its interval" in page.text


def test_figures_stand_apart_from_their_intervals_and_say_what_is_behind_them() -> None:
    html = to_html(document(), {})
    title = "n = 721; 80 questions; 95 % interval: cluster bootstrap; 3 left out: no verdict"
    figure = '63.0 <span class="interval">[58.1, 68.0]</span>'
    assert f'<td title="{title}">{figure}</td>' in html


def test_letters_are_given_in_reading_order_and_explained_once() -> None:
    html = to_html(document(), {})
    row = html.index(">writing<")
    assert html.index('href="#table-main-a"') > row
    assert html.count('href="#table-main-a"') == 2
    assert html.count('href="#table-main-b"') == 1
    assert '<p id="table-main-a"><sup>a</sup> under 30 questions</p>' in html


def test_a_picture_that_was_not_drawn_is_told() -> None:
    page = Page(to_html(document(), {}))
    assert f"Not drawn. A forest plot of {HOSTILE}" in page.text
    assert page.all("src") == []


def test_a_document_of_nothing_is_a_page() -> None:
    page = Page(to_html(Document("Report", (), "", ()), {}))
    assert page.wrong == []
    assert "Report" in page.text


def test_same_document_same_bytes() -> None:
    assert to_html(document(), {"excess": SVG}) == to_html(document(), {"excess": SVG})
