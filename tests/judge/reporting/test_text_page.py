"""The report in a terminal: aligned, at most 100 columns, nothing that steers."""

from __future__ import annotations

import pytest

from judge.reporting import cells
from judge.reporting.document import Cell, Column, Document, Section, Table, Text
from judge.reporting.text_page import to_text
from tests.judge.reporting.documents import HOSTILE, document, estimate

TABLE = f"""\
Table 1. Agreement by category, {HOSTILE}

  setup  who                                       agree, percent                kappa
  S1     writing                                63.0 [58.1, 68.0]             .400 (a)
         maths                                              – (a)  −.012 [−.050, .030]
  S2     {HOSTILE}  50.0 [40.0, 60.0]                – (b)

  Votes of 65 people.
  (a) under 30 questions
  (b) one category only, says {HOSTILE}
"""


def test_a_table_is_aligned_with_its_letters_below() -> None:
    assert to_text(document()).partition("Table 1. ")[2].startswith(TABLE.partition("1. ")[2])


def test_lines_fit_and_no_character_steers_the_terminal() -> None:
    text = to_text(document("\x1b[31mred\x07", "文心一言"))
    assert max(map(len, text.splitlines())) <= 100
    assert [ch for ch in text if ch != "\n" and not ch.isprintable()] == []


def test_weights_are_said_in_words() -> None:
    text = to_text(document())
    assert "\nKey result: Judge alder" in text
    assert "\nBefore you quote this: Its" in text


@pytest.mark.parametrize(
    ("where", "line"),
    [
        ("", "Not shown here: 1 figure and 1 quoted exchange, in the report's folder (--out DIR)."),
        ("out", "Not shown here: 1 figure and 1 quoted exchange, in out."),
    ],
)
def test_what_is_left_out_is_told(where: str, line: str) -> None:
    assert to_text(document(), where).endswith(f"\n{line}\n")


def test_a_table_too_wide_continues_below_beside_its_names() -> None:
    numbers = [Column(f"figure number {i}") for i in range(8)]
    share = cells.share(estimate(0.5, 0.4, 0.6))
    wide = Table(
        "w", "Wide", (Column("model", True), *numbers), ((cells.words("x"), *[share] * 8),)
    )
    text = to_text(Document("T", (), "", (Section("s", "S", (Text("a"), wide)),)))
    assert max(map(len, text.splitlines())) <= 100
    assert text.count("50.0 [40.0, 60.0]") == 8
    assert sum(line.startswith("  x ") for line in text.splitlines()) == 2


def test_double_width_letters_keep_columns_aligned() -> None:
    lines = to_text(document("文心一言")).splitlines()
    wide = next(line for line in lines if "文心一言" in line)
    plain = next(line for line in lines if "writing" in line)
    assert wide.index("50.0") + 4 == plain.index("63.0")


def test_a_table_of_sentences_is_a_list() -> None:
    columns = tuple(Column(name, words=True) for name in ("criterion", "", "found", "to do"))
    long = "it contradicts itself on 100.0 % of pairs when they change places, always for the first"
    rows = (
        tuple(map(Cell, ("order", "not met", long, ""))),
        tuple(map(Cell, ("harm", "open", "no calibration", "evenhand plan"))),
    )
    made = Section("s", "Criteria", (Table("t", "Criteria", columns, rows),))
    text = to_text(Document("Card", (), "", (made,)))
    assert max(map(len, text.splitlines())) <= 100
    assert "  order: not met\n    found: it contradicts itself" in text
    assert "  harm: open\n    found: no calibration\n    to do: evenhand plan\n" in text
