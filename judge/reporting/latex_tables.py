"""Tables of a report as LaTeX: booktabs, one file each, and a document that holds them all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from judge.reporting.characters import one_line
from judge.reporting.document import Cell, Column, Document, Table
from judge.reporting.latex_text import latex_words
from judge.reporting.layout import wrapped
from judge.reporting.references import letters

ALL = "all.tex"
TALL = 40
"""Rows from which on a table may break over pages, as a `longtable`."""
_HEADING_WIDTH = 14
"""Characters of a heading on one line."""
_NAME_WIDTH = 40
"""Characters from which on the words of a column are set over several lines."""
_UNBROKEN = 20
"""Characters after which a word without a space may be broken there."""
_BETWEEN_PAGES = 10
"""TeX holds a limited number of tables that have not found their place yet."""

_NEEDS = r"% In the preamble: \usepackage{array,booktabs,graphicx,longtable}"
_PREAMBLE = r"""\documentclass[a4paper]{article}
\usepackage[margin=25mm]{geometry}
\usepackage{array,booktabs,graphicx,longtable}
\setlength{\emergencystretch}{3em}
\renewcommand{\topfraction}{.95}
\renewcommand{\bottomfraction}{.95}
\renewcommand{\textfraction}{.05}
\setcounter{totalnumber}{20}
"""
# As wide as it is, or shrunk to the line: a paper's column is narrower than ours.
_FIT = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
_PARAGRAPH = r">{\raggedright\arraybackslash}p{0.4\linewidth}"


def latex_files(document: Document) -> dict[str, str]:
    """File name and content for every table, and `all.tex`, which inputs them; none for none."""
    files = {f"{table.id}.tex": to_latex(table) for table in document.tables()}
    return {**files, ALL: _all(document.title, tuple(files))} if files else {}


def to_latex(table: Table) -> str:
    """One table with caption, label `tab:<id>` and its remarks in small print below."""
    lines = _long(table) if len(table.rows) > TALL else _floating(table)
    return "\n".join([_NEEDS, *lines]) + "\n"


def _all(title: str, names: tuple[str, ...]) -> str:
    lines = [_PREAMBLE + r"\begin{document}", rf"\section*{{{latex_words(title)}}}"]
    for i, name in enumerate(names, start=1):
        lines.append(rf"\input{{{name}}}")
        if i % _BETWEEN_PAGES == 0:
            lines.append(r"\clearpage")
    return "\n".join([*lines, r"\end{document}"]) + "\n"


def _floating(table: Table) -> Iterator[str]:
    yield from (r"\begin{table}[htbp]", r"\centering", _caption(table), r"\small", _FIT)
    yield rf"\begin{{tabular}}{{{_columns(table)}}}"
    yield from (r"\toprule", _heads(table), r"\midrule", *_rows(table), r"\bottomrule")
    yield r"\end{tabular}}"
    if notes := list(_notes(table)):
        yield from (r"\par\smallskip", r"\begin{minipage}{\linewidth}", r"\footnotesize")
        yield from (*notes, r"\end{minipage}")
    yield r"\end{table}"


def _long(table: Table) -> Iterator[str]:
    heads = (r"\toprule", _heads(table), r"\midrule")
    yield from (r"\begingroup\footnotesize\setlength{\tabcolsep}{4pt}",)
    yield rf"\begin{{longtable}}{{{_columns(table)}}}"
    yield from (_caption(table) + r"\\", *heads, r"\endfirsthead", *heads, r"\endhead")
    yield from (r"\bottomrule", r"\endfoot", *_rows(table), r"\end{longtable}")
    if notes := list(_notes(table)):
        yield from (r"\noindent", *notes)
    yield r"\par\endgroup"


def _caption(table: Table) -> str:
    return rf"\caption{{{latex_words(table.caption)}}}\label{{tab:{table.id}}}"


def _columns(table: Table) -> str:
    wraps = _wrapping(table)
    kinds = (
        _PARAGRAPH if i in wraps else "l" if column.words else "r"
        for i, column in enumerate(table.columns)
    )
    return f"@{{}}{''.join(kinds)}@{{}}"


def _wrapping(table: Table) -> set[int]:
    """Columns of words with a cell too long for one line."""
    return {
        i
        for i, column in enumerate(table.columns)
        if column.words and any(len(row[i].text) > _NAME_WIDTH for row in table.rows)
    }


def _heads(table: Table) -> str:
    return " & ".join(map(_head, table.columns)) + r" \\"


def _head(column: Column) -> str:
    lines = wrapped(one_line(column.heading), first="", rest="", width=_HEADING_WIDTH)
    if len(lines) == 1:
        return latex_words(lines[0])
    side = "l" if column.words else "r"
    inside = r" \\ ".join(map(latex_words, lines))
    return rf"\begin{{tabular}}[b]{{@{{}}{side}@{{}}}}{inside}\end{{tabular}}"


def _rows(table: Table) -> Iterator[str]:
    lettered, wraps = letters(table), _wrapping(table)
    grouped = bool(table.columns) and table.columns[0].words and _has_blanks(table)
    for i, row in enumerate(table.rows):
        if i and grouped and row[0].text:
            yield r"\addlinespace"
        cells = (_cell(cell, lettered, j in wraps) for j, cell in enumerate(row))
        yield " & ".join(cells) + r" \\"


def _has_blanks(table: Table) -> bool:
    return any(not row[0].text for row in table.rows)


def _cell(cell: Cell, lettered: Mapping[str, str], wraps: bool) -> str:
    text = _breakable(cell.text) if wraps else latex_words(cell.text)
    letter = lettered.get(cell.remark)
    # A letter takes no room, so that the digits above and below stay aligned.
    return rf"{text}\rlap{{\textsuperscript{{{letter}}}}}" if letter else text


def _breakable(text: str) -> str:
    pieces = (
        r"\allowbreak{}".join(
            latex_words(word[i : i + _UNBROKEN]) for i in range(0, len(word), _UNBROKEN)
        )
        for word in text.split()
    )
    return " ".join(pieces)


def _notes(table: Table) -> Iterator[str]:
    """Each a paragraph of its own."""
    for remark in table.remarks:
        yield latex_words(remark) + r"\par"
    for remark, letter in letters(table).items():
        yield rf"\textsuperscript{{{letter}}}~{latex_words(remark)}\par"
