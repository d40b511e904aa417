"""Model text as HTML that cannot act: Markdown and code, everything else as written. Pure.

A page must show what the model wrote, so every Markdown rule that would drop or change
visible characters is off or replaced: HTML, links, images, entities and backslashes stay
as they were typed; indentation and line breaks are kept; `*` inside a word is a star.
Nothing in the result refers to anything outside the page.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock, blockquote, list_block, table
from markdown_it.rules_block.table import escapedSplit
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from pygments import format
from pygments.formatters.html import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

from .records import Message, Turn

MARKDOWN_LIMIT = 60_000
"""Characters above which a pair is shown as plain text (on both sides): Markdown of
hostile input costs more than linear time, and nobody reads a table that long."""

MAX_NESTING = 60
# Headroom: one list opens two levels, and at MAX_NESTING the parser drops the rest of the text.
CONTAINERS_STOP_AT = MAX_NESTING - 10
COLOUR_LIMIT = 3_000
"""Characters of a code block above which it is not coloured: some lexers take quadratic time,
above all in white space (measured: 8 s for 20,000 spaces as C), and one slow page would hold
up every rater's."""

COLOURED = frozenset(
    {
        "bash", "c", "c++", "cpp", "csharp", "css", "diff", "go", "html", "java", "javascript",
        "js", "json", "kotlin", "php", "python", "python3", "py", "r", "ruby", "rust", "sh",
        "shell", "sql", "swift", "toml", "ts", "typescript", "xml", "yaml", "yml",
    }
)  # fmt: skip
"""Languages that are coloured: common ones, each tried on repetitive input of that length."""

# Rules that take characters away from the page or reach outside it.
DISABLED = (
    "html_block", "html_inline", "link", "image", "autolink", "entity", "reference", "lheading",
    "escape",
)  # fmt: skip


def render_turn(turn: Turn, *, plain: bool = False) -> str:
    """HTML of one turn: each message in its own block, roles named unless user/assistant."""
    if not turn:
        return '<p class="eh-missing">(no answer to this turn)</p>'
    return "".join(_message(message, plain) for message in turn)


def render_prompt(turn: Turn, *, first: bool = True, plain: bool = False) -> str:
    """HTML of a question's turn: a reply given with it stands in a frame that names it.

    A reply that a later turn (not `first`) begins with is what the conversation goes on from,
    whatever the models said before. The frame's words are the page's: `data-t` names them.
    """
    if all(message.role != "assistant" for message in turn):
        return render_turn(turn, plain=plain)
    return "".join(
        _given(message, plain, "given_instead" if position == 0 and not first else "given_reply")
        if message.role == "assistant"
        else _message(message, plain)
        for position, message in enumerate(turn)
    )


def _given(message: Message, plain: bool, words: str) -> str:
    label = f'<span class="eh-role" data-t="{words}"></span>'
    return f'<div class="eh-given">{label}{_message(message, plain)}</div>'


def _message(message: Message, plain: bool) -> str:
    if not message.content.strip():
        body = '<p class="eh-missing">(empty)</p>'
    elif plain:
        # A NUL is dropped by HTML; Markdown shows it as the replacement character, so does this.
        shown = escape(message.content).replace("\0", "\ufffd")
        body = f'<div class="eh-plain" dir="auto">{shown}</div>'
    else:
        body = render_markdown(message.content)
    if message.role in ("user", "assistant"):
        return body
    return f'<div class="eh-other"><span class="eh-role">{escape(message.role)}</span>{body}</div>'


def plain_needed(texts: Sequence[str]) -> bool:
    """Must these texts be shown plain? One long text makes its whole pair plain."""
    return any(len(text) > MARKDOWN_LIMIT for text in texts)


def render_prose(text: str) -> str:
    """HTML of the owner's own text, where a single line break is only how the file was typed.

    Model text keeps its breaks; a study.toml is wrapped by hand.
    """
    joined = re.sub(r"(?<=\S)\n(?=[^\s\-*+#>|\d`])", " ", text.strip())
    return render_markdown(joined)


@lru_cache(maxsize=1024)
def render_markdown(text: str) -> str:
    """Inert HTML of a Markdown text; visible characters are those of the source."""
    return str(_MARKDOWN.render(text))


def _line_break(state: StateInline, silent: bool) -> bool:
    """A newline is a line break and the next line's indentation stays (`pre-wrap`)."""
    if state.src[state.pos] != "\n":
        return False
    if not silent:
        token = state.push("text", "", 0)
        token.content = "\n"
    state.pos += 1
    return True


def _backslash(state: StateInline, silent: bool) -> bool:
    """A backslash and what it escapes are two ordinary characters."""
    if state.src[state.pos] != "\\" or state.pos + 1 >= state.posMax:
        return False
    if not silent:
        state.pending += state.src[state.pos : state.pos + 2]
    state.pos += 2
    return True


def _emphasis(state: StateInline, silent: bool) -> bool:
    """Emphasis by stars only, and a star inside a word (2*3*4) is a star: `__init__` is a name."""
    marker = state.src[state.pos]
    if silent or marker != "*":
        return False
    scanned = state.scanDelims(state.pos, False)
    for _ in range(scanned.length):
        token = state.push("text", "", 0)
        token.content = marker
        state.delimiters.append(_delimiter(marker, scanned, len(state.tokens) - 1))
    state.pos += scanned.length
    return True


def _delimiter(marker: str, scanned: Any, token: int) -> Any:
    from markdown_it.rules_inline.state_inline import Delimiter

    return Delimiter(
        marker=ord(marker),
        length=scanned.length,
        token=token,
        end=-1,
        open=scanned.can_open,
        close=scanned.can_close,
    )


def _paragraph(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """CommonMark's paragraph, with the first line's indentation kept."""
    del silent
    rules = state.md.block.ruler.getRules("paragraph")
    parent, state.parentType = state.parentType, "paragraph"
    line = start + 1
    while line < end and not state.isEmpty(line):
        ends_here = (
            state.sCount[line] - state.blkIndent <= 3
            and state.sCount[line] >= 0
            and any(rule(state, line, end, True) for rule in rules)
        )
        if ends_here:
            break
        line += 1
    content = state.getLines(start, line, state.blkIndent, False).rstrip("\n")
    state.line = line
    token = state.push("paragraph_open", "p", 1)
    token.map = [start, line]
    token.attrSet("dir", "auto")
    inline = state.push("inline", "", 0)
    inline.content = content
    inline.map = [start, line]
    inline.children = []
    state.push("paragraph_close", "p", -1)
    state.parentType = parent
    return True


def _indented_code(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """CommonMark's indented code, with its indentation kept."""
    del silent
    if state.sCount[start] - state.blkIndent < 4:
        return False
    line = last = start + 1
    while line < end:
        if state.isEmpty(line):
            line += 1
        elif state.sCount[line] - state.blkIndent >= 4:
            line += 1
            last = line
        else:
            break
    state.line = last
    token = state.push("code_block", "code", 0)
    token.content = state.getLines(start, last, state.blkIndent, False) + "\n"
    token.map = [start, state.line]
    return True


def _quote(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """CommonMark's quote; beyond a depth nobody reads its marks are text, and nothing is lost."""
    return state.level < CONTAINERS_STOP_AT and blockquote(state, start, end, silent)


def _list(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """CommonMark's list, as deep as quotes."""
    return state.level < CONTAINERS_STOP_AT and list_block(state, start, end, silent)


def _whole_table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """GFM's table, ended before a row with more cells than columns: GFM drops what is over."""
    if silent:
        return table(state, start, end, True)
    return table(state, start, end, True) and table(
        state, start, _longer_row(state, start, end), False
    )


def _longer_row(state: StateBlock, start: int, end: int) -> int:
    """The first row of a table that has more cells than its head, or where the table ends."""
    columns = _cells(state, start)
    enders = state.md.block.ruler.getRules("blockquote")
    for line in range(start + 2, end):
        if (
            state.isEmpty(line)
            or state.sCount[line] < state.blkIndent
            or any(rule(state, line, end, True) for rule in enders)
            or _cells(state, line) > columns
        ):
            return line
    return end


def _cells(state: StateBlock, line: int) -> int:
    """Cells of a table's row: pipes at its ends open and close it."""
    text = state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]].strip(" \t")
    cells = escapedSplit(text)
    return len(cells) - (cells[0] == "") - (len(cells) > 1 and cells[-1] == "")


def _code(text: str, language: str) -> str:
    """Highlighted code, or plain where the language is unknown or the text long; escaped."""
    slow = len(text) > COLOUR_LIMIT or re.search(r"\s{100}", text)
    if slow or language.lower() not in COLOURED:
        return escape(text)
    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except (ClassNotFound, ValueError):
        return escape(text)
    tokens = list(lexer.get_tokens(text))
    if "".join(value for _kind, value in tokens) != text:
        return escape(text)  # some lexers replace tabs or drop marks: colour is worth no character
    return str(format(tokens, _FORMATTER))


def _fence(
    renderer: RendererHTML,
    tokens: Sequence[Token],
    index: int,
    options: OptionsDict,
    env: EnvType,
) -> str:
    del renderer, options, env
    token = tokens[index]
    language = token.info.strip()
    shown = f'<span class="eh-lang">{escape(language)}</span>' if language else ""
    first = language.split()[0] if language else ""
    return f'<pre dir="ltr">{shown}<code>{_code(token.content, first)}</code></pre>'


def _code_block(
    renderer: RendererHTML,
    tokens: Sequence[Token],
    index: int,
    options: OptionsDict,
    env: EnvType,
) -> str:
    del renderer, options, env
    return f'<pre dir="ltr"><code>{escape(tokens[index].content)}</code></pre>'


def _list_item(
    renderer: RendererHTML,
    tokens: Sequence[Token],
    index: int,
    options: OptionsDict,
    env: EnvType,
) -> str:
    """Numbers of an ordered list as the author wrote them."""
    token = tokens[index]
    if token.info.isdigit():
        token.attrSet("value", token.info)
    token.attrSet("dir", "auto")
    return str(renderer.renderToken(tokens, index, options, env))


def _table(
    renderer: RendererHTML,
    tokens: Sequence[Token],
    index: int,
    options: OptionsDict,
    env: EnvType,
) -> str:
    """Tables scroll inside their own answer instead of widening it."""
    wrap = '<div class="eh-table">' if tokens[index].nesting == 1 else ""
    tag = str(renderer.renderToken(tokens, index, options, env))
    return wrap + tag + ("</div>" if tokens[index].nesting == -1 else "")


def _make() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": False, "maxNesting": MAX_NESTING}).enable("table")
    markdown.disable(list(DISABLED))
    markdown.inline.ruler.at("newline", _line_break)
    markdown.inline.ruler.before("backticks", "backslash", _backslash)
    markdown.inline.ruler.at("emphasis", _emphasis)
    markdown.block.ruler.at("table", _whole_table, {"alt": ["paragraph", "reference"]})
    markdown.block.ruler.at(
        "blockquote", _quote, {"alt": ["paragraph", "reference", "blockquote", "list"]}
    )
    markdown.block.ruler.at("list", _list, {"alt": ["paragraph", "reference", "blockquote"]})
    markdown.block.ruler.at("paragraph", _paragraph)
    markdown.block.ruler.at("code", _indented_code)
    markdown.add_render_rule("fence", _fence)
    markdown.add_render_rule("code_block", _code_block)
    markdown.add_render_rule("list_item_open", _list_item)
    markdown.add_render_rule("table_open", _table)
    markdown.add_render_rule("table_close", _table)
    return markdown


_FORMATTER: HtmlFormatter[str] = HtmlFormatter(nowrap=True, classprefix="hl-")
_MARKDOWN = _make()
