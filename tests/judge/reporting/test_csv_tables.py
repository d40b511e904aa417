"""tables/*.csv: tidy, in full, and inert in a spreadsheet."""

from __future__ import annotations

import csv
import io

import pytest

from judge.reporting import cells
from judge.reporting.csv_tables import csv_files, to_csv
from judge.reporting.document import Cell, Column, Table
from tests.judge.reporting.documents import HOSTILE, document, estimate, table


def _rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_every_figure_stands_in_full_beside_what_is_printed() -> None:
    first, second, third = _rows(to_csv(table()))
    assert first["agree, percent"] == "63.0 [58.1, 68.0]"
    names = ("value", "low", "high", "n", "numerator", "denominator", "reason")
    assert [first[f"agree, percent: {name}"] for name in names] == [
        "0.63", "0.581", "0.68", "721", "454", "721", "",
    ]  # fmt: skip
    assert [second[f"agree, percent: {name}"] for name in names] == [
        "", "", "", "721", "0", "0", "under 30 questions",
    ]  # fmt: skip
    assert second["kappa: value"] == "-0.012"
    assert first["kappa: reason"] == "under 30 questions"
    assert third["kappa: reason"] == f"one category only, says {HOSTILE}"


def test_a_blank_that_means_as_above_is_filled() -> None:
    assert [row["setup"] for row in _rows(to_csv(table("t", "one more")))] == [
        "S1", "S1", "S2", "S2",
    ]  # fmt: skip


def test_a_remark_without_a_figure_is_a_reason() -> None:
    one = Table("t", "", (Column("rank"),), ((Cell("–", remark="never wins"),),))
    assert _rows(to_csv(one))[0]["rank: reason"] == "never wins"


def test_columns_of_one_name_stay_two() -> None:
    twice = Table("t", "", (Column("n"), Column("n")), ((cells.count(1), cells.count(2)),))
    assert _rows(to_csv(twice)) == [{"n": "1", "n (2)": "2"}]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ('=HYPERLINK("x")', '\'=HYPERLINK("x")'),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("-cmd|' /C calc'!A0", "'-cmd|' /C calc'!A0"),
        ("\t=1+1", "'=1+1"),
        ("＝1", "'＝1"),
        ("+2.7 [−0.4, +5.9]", "+2.7 [−0.4, +5.9]"),
        ("–", "–"),
        ("a=b", "a=b"),
    ],
)
def test_formulas_are_inert_and_figures_stay(text: str, written: str) -> None:
    one = Table("t", "", (Column("x", True),), ((cells.words(text),),))
    assert _rows(to_csv(one)) == [{"x": written}]


def test_headings_are_inert_too() -> None:
    one = Table("t", "", (Column("=1+A1"),), ((cells.share(estimate(0.5)),),))
    assert all(name[0] == "'" for name in _rows(to_csv(one))[0])


def test_every_table_has_its_file() -> None:
    assert list(csv_files(document())) == ["main.csv", "raters.csv", "excess.csv"]
