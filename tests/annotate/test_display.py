"""Model text as HTML: inert, and with every character that was written."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from importlib import resources
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pygments.lexers import get_all_lexers

from annotate.display import (
    MARKDOWN_LIMIT,
    plain_needed,
    render_markdown,
    render_prompt,
    render_turn,
)
from annotate.records import Message
from tests.browser.corpus import ATTACK, CORPUS, HUGE, Nasty, lines

TAGS = {
    "p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "pre", "code", "span",
    "div", "table", "thead", "tbody", "tr", "th", "td", "strong", "em", "hr",
}  # fmt: skip
ATTRIBUTES = {
    "dir": r"auto|ltr",
    "data-t": r"given_[a-z]+",
    "class": r"eh-[a-z]+|( ?hl-[\w-]+)+",
    "start": r"\d+",
    "value": r"\d+",
    "style": r"text-align:(left|center|right)",
}
BLOCKS = TAGS - {"code", "span", "strong", "em", "th", "td"}


class Page(HTMLParser):
    """Reads HTML as a browser would, and keeps what is visible; refuses what could act."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.text = ""
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS, tag
        for name, value in attrs:
            assert re.fullmatch(ATTRIBUTES[name], value or ""), (tag, name, value)
        if tag in BLOCKS or ("class", "eh-lang") in attrs:
            self.text += "\n"
        if tag in ("td", "th") and not self.text.endswith("\n"):
            self.text += "\t"
        if tag != "hr":
            self.open.append(tag + ".lang" * (("class", "eh-lang") in attrs))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        opened = self.open.pop()
        assert opened.split(".")[0] == tag
        if tag in BLOCKS or opened.endswith(".lang"):
            self.text += "\n"

    def handle_data(self, data: str) -> None:
        if not (self.open and self.open[-1] in ("tr", "thead", "tbody", "table")):
            self.text += data

    def handle_comment(self, data: str) -> None:
        pytest.fail(f"a comment hides {data!r}")

    def handle_decl(self, decl: str) -> None:
        pytest.fail(f"a declaration hides {decl!r}")

    def unknown_decl(self, data: str) -> None:
        pytest.fail(f"a declaration hides {data!r}")

    def handle_pi(self, data: str) -> None:
        pytest.fail(f"an instruction hides {data!r}")


def seen(html: str) -> str:
    """The visible text of our own HTML, which must be well formed."""
    page = Page()
    page.feed(html)
    page.close()
    assert page.open == []
    return page.text


def said(text: str, *, plain: bool = False) -> str:
    return seen(render_turn((Message("assistant", text),), plain=plain))


def test_the_corpus_is_large_and_named_once() -> None:
    assert len(CORPUS) >= 40
    assert len({nasty.name for nasty in CORPUS}) == len(CORPUS)
    assert len(HUGE) == 200_000


@pytest.mark.parametrize("nasty", CORPUS, ids=lambda nasty: nasty.name)
def test_visible_text_is_what_was_written(nasty: Nasty) -> None:
    assert lines(said(nasty.text)) == lines(nasty.visible)


@pytest.mark.parametrize("nasty", CORPUS, ids=lambda nasty: nasty.name)
def test_plain_shows_the_source(nasty: Nasty) -> None:
    source = nasty.text.replace("\0", "\ufffd")
    assert said(nasty.text, plain=True).strip("\n") == source.strip("\n")


def test_one_long_text_makes_its_pair_plain() -> None:
    assert plain_needed(["short", "x" * (MARKDOWN_LIMIT + 1)])
    assert not plain_needed(["short", "x" * MARKDOWN_LIMIT])
    assert plain_needed([HUGE])
    assert lines(said(HUGE, plain=True)) == lines(HUGE.replace("\0", "\ufffd"))


def test_missing_and_empty_are_told_apart() -> None:
    assert "no answer to this turn" in seen(render_turn(()))
    assert "(empty)" in said(" \n\t")


def test_roles_other_than_the_two_are_named_and_escaped() -> None:
    html = render_turn((Message("<tool>", "42"), Message("assistant", "so 42")))
    assert lines(seen(html)) == ["<tool>", "42", "so 42"]


def test_a_given_reply_stands_in_a_frame_that_names_it() -> None:
    """Its words come from the page's strings; a turn without one is shown as ever."""
    ask, reply = Message("user", "And?"), Message("assistant", "**So.**")
    ordinary = (Message("system", "Be brief."), ask)
    assert render_prompt(ordinary, first=False) == render_turn(ordinary)
    assert render_prompt(()) == render_turn(())
    frames = {
        (ask, reply): ("given_reply", "given_reply"),
        (reply, ask): ("given_reply", "given_instead"),
        (ask, reply, ask): ("given_reply", "given_reply"),
    }
    for turn, words in frames.items():
        for first, expected in zip((True, False), words, strict=True):
            html = render_prompt(turn, first=first)
            assert re.findall(r'class="eh-given"><span class="eh-role" data-t="(\w+)"', html) == [
                expected
            ]
            assert lines(seen(html)) == ["And?" if m is ask else "So." for m in turn]
    strings = json.loads(resources.files("annotate").joinpath("strings/en.json").read_text("utf-8"))
    assert {"given_reply", "given_instead"} <= set(strings)


@pytest.mark.parametrize(
    ("source", "values"), [("7. a\n9. b\n3. c", ["7", "9", "3"]), ("1. a\n1. b", ["1", "1"])]
)
def test_numbers_of_a_list_are_the_authors(source: str, values: list[str]) -> None:
    assert re.findall(r'<li value="(\d+)"', render_markdown(source)) == values


@pytest.mark.parametrize("depth", [1, 10, 24, 25, 26, 49, 50, 51, 59, 60, 61, 120, 1000])
def test_no_depth_of_quotes_or_lists_loses_the_text(depth: int) -> None:
    for mark in ("> ", "- ", "1. ", "> - ", "- > "):
        assert "bottom" in said(mark * depth + "bottom\n\nafter")
        assert "after" in said(mark * depth + "bottom\n\nafter")


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_no_cell_of_a_table_is_dropped(columns: int) -> None:
    def row(cells: list[str]) -> str:
        return "|" + "|".join(cells) + "|\n"

    for extra, enclosed in product(range(4), (True, False)):
        cells = [f"cell{n}" for n in range(columns + extra)]
        last = row(cells) if enclosed else "|".join(cells) + "\n"
        table = row(["head"] * columns) + row(["-"] * columns) + last
        shown = said(table + "| tail |")
        assert [c for c in [*cells, "tail"] if c not in shown] == []


# Letters never vanish: neither marks, list numbers nor white space are letters. (Whether a
# mark is Markdown's own is pinned by the corpus.)
MARKDOWN = st.lists(
    st.sampled_from(
        [*"*_`~#>-+|\\[](){}<>!&;:.=$'\" \t\n\r\x00\x0b\x0c", "\n\n", "```", "~~~", "    ", "1. ",
         "- ", "> ", "|--|", "|a|b|\n|-|-|\n|1|2|3|", "<b>", "</", "<!--", "-->", "&amp;", "http://",
         "a", "b", "word", "é", "ש", "😀", "\u202e", "\ufeff", "`` ", "python\n", "[a]: ", "<?x",
         "]]>"]
    ),
    max_size=40,
).map("".join)  # fmt: skip


@settings(max_examples=600, deadline=None)
@given(MARKDOWN)
def test_no_letter_is_lost_or_added(text: str) -> None:
    shown = said(text)
    if not text.strip():
        assert shown.strip() == "(empty)"
        return
    assert [c for c in shown if c.isalpha()] == [c for c in text if c.isalpha()]
    brackets = set("<>&$_{}()[]")
    quotes = text.count(">")
    assert [c for c in shown if c in brackets - {">"}] == [c for c in text if c in brackets - {">"}]
    assert shown.count(">") <= quotes


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=200))
def test_any_text_renders_inert_and_plain_is_exact(text: str) -> None:
    said(text)
    if text.strip():
        assert said(text, plain=True).replace("\n", "") == text.replace("\0", "\ufffd").replace(
            "\n", ""
        )


def test_highlighting_never_changes_code() -> None:
    code = (
        f"a < b\n  <script>{ATTACK}</script>\n\n\tx = '&amp;' # -- /* … */ \"q\"\n"
        "\\end  \n>>> 1\n$ ls"
    )
    wrong = []
    for _name, aliases, _globs, _mimes in get_all_lexers():
        for alias in aliases[:1]:
            shown = said(f"````{alias}\n{code}\n````")
            if lines(shown) != [alias, *lines(code)]:
                wrong.append((alias, shown))
    assert wrong == []


@pytest.mark.parametrize(
    ("language", "code", "coloured"),
    [
        ("python", "x = 1", True),
        ("python", "x = 1\n" * 600, False),
        ("c", "int x;" + " " * 200, False),
        ("basemake", "x = 1", False),
    ],
)
def test_only_short_blocks_of_common_languages_are_coloured(
    language: str, code: str, coloured: bool
) -> None:
    """Lexers of quadratic time held up the page of every rater for half a minute."""
    html = render_markdown(f"```{language}\n{code}\n```")
    assert ('class="hl-' in html) is coloured
