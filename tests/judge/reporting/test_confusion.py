"""Votes beside verdicts as a topic: the matrix, its row shares, ties on the same rows."""

from __future__ import annotations

import pytest

from judge.reporting.document import Picture
from judge.reporting.pictures import ConfusionMap
from judge.reporting.topics.confusion import found, section
from tests.judge.reporting.scopes import parts_of, scope_of, tables_of, texts_of
from tests.judge.stats.tables import row, units


def test_votes_down_and_verdicts_across_by_hand() -> None:
    values = found(scope_of(units("aab/a", "xt/t", "ab/t", "a/b", "b")))
    # a: judge a twice, tie once, b once; tie (one both_bad): tie twice; b: a once, tie once.
    assert list(values.counts) == [(2, 1, 1), (0, 2, 0), (1, 1, 0)]
    assert list(values.row_shares) == [(0.5, 0.25, 0.25), (0, 1, 0), (0.5, 0.5, 0)]
    made = section(values)
    (table,) = tables_of(made)
    assert [cell.text for cell in table.rows[0]] == [
        "A better",
        "2 (50 %)",
        "1 (25 %)",
        "1 (25 %)",
        "4",
    ]
    assert "Votes left out: 1 not judged." in table.remarks[0]
    (picture,) = (part for part in parts_of(made) if isinstance(part, Picture))
    assert isinstance(picture.plot, ConfusionMap)
    assert picture.plot.counts == values.counts


def test_an_outcome_that_nobody_gave_has_no_shares() -> None:
    assert found(scope_of(units("a/a", "b/b"))).row_shares[1] == (None, None, None)


def test_ties_are_compared_on_the_same_rows() -> None:
    values = found(scope_of(units("tt/t", "ab/t", "at/a", "t")))
    ties = (values.people_ties, values.judge_ties)
    assert [(one.numerator, one.denominator) for one in ties] == [(3, 6), (4, 6)]
    assert values.tie_difference.value == pytest.approx(1 / 6)


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["ab/t"] * 11 + ["a/a"], "the judge says tie more often"),
        (["tt/a"] * 11 + ["a/a"], "the judge says tie less often"),
        (["at/a", "ab/t", "tb/t"], "the interval includes 0"),
    ],
)
def test_who_says_tie_more_often(texts: list[str], words: str) -> None:
    assert words in texts_of(section(found(scope_of(units(*texts)))))


def test_ties_that_two_different_orders_make_are_counted_apart() -> None:
    rows = [
        *(row(f"q{i}", rater, "a") for i in range(3) for rater in ("r0", "r1")),
        row("q0", "judge", "tie", reason="inconsistent"),
        row("q1", "judge", "tie", reason=""),
        row("q2", "judge", "a", reason="inconsistent"),
    ]
    values = found(scope_of(rows))
    assert values.judge_tie_reasons == {"inconsistent": 2}
    said = "Of the judge's 4 ties not both orders said the same: 2 inconsistent."
    assert said in texts_of(section(values))


def test_without_a_row_there_is_no_matrix_of_zeros() -> None:
    rows = [*units("ab"), row("q0", "judge", None, status="refused")]
    made = section(found(scope_of(rows)))
    assert len(made.parts) == 1
    assert "Votes left out: 2 refused." in texts_of(made)
