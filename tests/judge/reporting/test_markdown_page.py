"""report.md: read back with a Markdown parser, it is the document and no more."""

from __future__ import annotations

from markdown_it import MarkdownIt
from markdown_it.token import Token

from judge.reporting.markdown_page import to_markdown
from tests.judge.reporting.documents import HOSTILE, LONG, document

PARSER = MarkdownIt("commonmark").enable("table")


def _tokens(text: str) -> list[Token]:
    return PARSER.parse(text)


def _inline(tokens: list[Token]) -> list[Token]:
    return [child for token in tokens for child in token.children or []]


def test_nothing_is_markup_that_was_a_name() -> None:
    tokens = _tokens(to_markdown(document()))
    kinds = {token.type for token in [*tokens, *_inline(tokens)]}
    assert not {kind for kind in kinds if kind.startswith(("html", "link", "ordered", "code_"))}
    assert sum(HOSTILE in _text(token) for token in tokens if token.type == "inline") >= 8


def _text(token: Token) -> str:
    return "".join(child.content for child in token.children or [] if child.type == "text")


def test_facts_are_one_flat_list() -> None:
    tokens = _tokens(to_markdown(document()))
    before = tokens[: next(i for i, token in enumerate(tokens) if token.type == "table_open")]
    assert sum(token.type == "bullet_list_open" for token in before) == 1
    items = [_text(token) for token in before if token.type == "inline" and token.level == 3]
    assert items == ["1. of all: 80 questions", "- and 3,354 votes"]


def test_tables_keep_their_columns() -> None:
    tokens = _tokens(to_markdown(document("a|b", "x`y`", "&lt;b&gt; ~~$x$")))
    rows = [i for i, token in enumerate(tokens) if token.type == "tr_open"]
    assert len(rows) == (1 + 6) + (1 + 48) + (1 + 3)
    cells = [tokens[i + 1 : i + 13].copy() for i in rows]
    assert all(sum(t.type in ("td_open", "th_open") for t in row) == 4 for row in cells)
    assert {"a|b", "x`y`", "&lt;b&gt; ~~$x$"} <= {_text(token) for token in tokens}


def test_texts_are_as_written_inside_fences() -> None:
    fences = [token.content for token in _tokens(to_markdown(document())) if token.type == "fence"]
    assert fences == [
        "Say\n\thello.\n",
        f"{HOSTILE}\n\n  1. ⟨U+202E⟩gpj.exe⟨U+202C⟩ ␛[31m␀\n",
        "\n",
        "Again.\n",
        f"{LONG}\n",
        "```\ncode\n```\n",
    ]


def test_pictures_are_linked_only_if_drawn() -> None:
    pictures = [t for t in _inline(_tokens(to_markdown(document()))) if t.type == "image"]
    assert [picture.attrs["src"] for picture in pictures] == ["figures/excess.svg"]
    text = to_markdown(document(), ())
    assert not [t for t in _inline(_tokens(text)) if t.type == "image"]
    assert "*Not drawn.* A forest plot" in text


def test_weights_and_letters_are_said() -> None:
    text = to_markdown(document())
    assert "> **Key result.** Judge alder agrees on 63.0 % of votes." in text
    assert "> **Before you quote this.** Its interval does not lie above 0." in text
    assert "| S1 | writing | 63.0 \\[58.1, 68.0\\] | .400 (a) |" in text
    assert "\n(a) under 30 questions\n" in text
