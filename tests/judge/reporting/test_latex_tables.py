"""tables/*.tex: compiled with pdflatex as they are, whatever the names."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import unicodedata
from pathlib import Path

import pytest

from judge.reporting.document import Document, Section
from judge.reporting.latex_tables import latex_files, to_latex
from judge.reporting.latex_text import _ACCENTS, _GREEK, _SIGNS, latex_words
from tests.judge.reporting.documents import HOSTILE, document, table

ACCENTED = "".join(
    whole
    for accent in _ACCENTS
    for letter in "aeiouncszjgkAEIOUNCSZ"
    if len(whole := unicodedata.normalize("NFC", letter + accent)) == 1
)
NAMES = (
    "".join(map(chr, range(0x20, 0x7F))),
    "".join([*_SIGNS, *_GREEK]),
    ACCENTED,
    "文心一言" * 15,
    "[first cell] *starred* \\input{/etc/passwd} \\end{tabular}",
    "文心一言 مثال 🦙 \U0010ffff",
    "name-without-any-space" * 12,
)


@pytest.fixture
def pdflatex() -> str:
    """Its path. Under CI a missing one is a failure; elsewhere a skip that is told."""
    path = os.environ.get("EVENHAND_PDFLATEX") or shutil.which("pdflatex")
    if path and Path(path).exists():
        return path
    advice = "pdflatex is missing (Debian: texlive-latex-base texlive-latex-recommended)"
    if os.environ.get("CI"):
        pytest.fail(f"{advice}: the report's tables were not compiled", pytrace=False)
    pytest.skip(f"{advice}: the report's tables were NOT compiled")


def _compiled(pdflatex: str, files: dict[str, str], folder: Path) -> str:
    """The log; the run fails at the first error."""
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
    command = [pdflatex, "-halt-on-error", "-interaction=nonstopmode", "-no-shell-escape"]
    done = subprocess.run(
        [*command, "all.tex"], cwd=folder, capture_output=True, check=False, timeout=120
    )
    log = done.stdout.decode("utf-8", "replace")
    assert done.returncode == 0, log[-3000:]
    return log


def test_everything_compiles_with_no_edits(pdflatex: str, tmp_path: Path) -> None:
    log = _compiled(pdflatex, latex_files(document(*NAMES)), tmp_path)
    assert re.search(r"Output written on all\.pdf \(\d+ pages", log)
    wrong = r"Missing character.*|Overfull \\[hv]box.*|undefined.*|too large.*"
    assert re.findall(wrong, log) == []


def test_many_tables_find_their_place(pdflatex: str, tmp_path: Path) -> None:
    many = Section("s", "S", tuple(table(f"t{i}") for i in range(120)))
    log = _compiled(pdflatex, latex_files(Document("Many", (), "", (many,))), tmp_path)
    assert "Output written" in log


def test_a_table_is_booktabs_with_caption_label_and_remarks() -> None:
    text = to_latex(table())
    for piece in (
        r"\begin{table}[htbp]",
        r"\caption{Agreement by category, \textless{}/script",
        r"\label{tab:by-category}",
        r"\toprule",
        r"S1 & writing & 63.0 {[}58.1, 68.0{]} & .400\rlap{\textsuperscript{a}} \\",
        r" & maths & --\rlap{\textsuperscript{a}} & $-$.012 {[}$-$.050, .030{]} \\",
        r"\addlinespace",
        r"\bottomrule",
        r"Votes of 65 people.\par",
        r"\textsuperscript{a}~under 30 questions\par",
    ):
        assert piece in text
    assert "longtable}{" not in text.split("\n", 1)[1]


def test_a_tall_table_breaks_over_pages() -> None:
    text = to_latex(table("tall", rows=60))
    assert r"\begin{longtable}{@{}llrr@{}}" in text
    assert text.count(r"\toprule") == 2


def test_a_document_without_tables_has_no_files() -> None:
    assert latex_files(Document("T", (), "", ())) == {}


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("a_b & 50 % of #1 {x} ~ ^ \\", r"a\_b \& 50 \% of \#1 \{x\} \textasciitilde{} "
         r"\textasciicircum{} \textbackslash{}"),
        ("−0.4 – κ ≥ ½", r"$-$0.4 -- $\kappa$ $\geq$ $\frac{1}{2}$"),
        ("“…”", r"``\ldots{}''"),
        ("Žižek, Łódź, naïve, façade", r"\v{Z}i\v{z}ek, \L{}\'{o}d\'{z}, na\"{\i{}}ve, fa\c{c}ade"),
        ("v--2 –- ''", r"v-{}-2 --{}- '{}'"),
        ("文", r"{[}U+6587{]}\allowbreak{}"),
        ("a\x07\u202eb\n c", "ab c"),
    ],
)  # fmt: skip
def test_text_is_escaped(text: str, latex: str) -> None:
    assert latex_words(text) == latex


def test_files_are_ascii_and_hostile_names_are_words() -> None:
    files = latex_files(document(*NAMES))
    assert all(text.isascii() for text in files.values())
    assert HOSTILE not in "".join(files.values())
    assert "\\input{/etc" not in "".join(files.values())
