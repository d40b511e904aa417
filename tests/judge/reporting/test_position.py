"""Position bias of a judge as a section: which figures, which warnings, and when none."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge.reporting.document import Weight
from judge.reporting.pictures import PositionBars
from judge.reporting.topics.position import found, headline, section
from tests.judge.reporting.made import Row, cells_of, in_orders, pictures, scope_of, tables, words
from tests.judge.reporting.made import verdict as one_verdict
from tests.judge.stats.tables import row

SAME, FIRST, SECOND, ERROR = ("a", "a"), ("a", "b"), ("b", "a"), ("a", "timeout")


def judged(*orders: tuple[str, str], **other: object) -> list[Row]:
    """A question per pair of orders, one vote each."""
    made = []
    for n, (ab, ba) in enumerate(orders):
        made += [row(f"{n}", "r0", "a", **other), in_orders(f"{n}", ab, ba, **other)]
    return made


def test_shares_add_up_and_are_drawn() -> None:
    values = found(scope_of(judged(*[SAME] * 6, FIRST, FIRST, SECOND, ERROR)))
    made = section(values)
    (table,) = tables(made)
    (line,) = cells_of(table)
    starts = [text.split(" ")[0] for text in line[2:]]
    assert line[0] == "all questions"
    assert [line[1], *starts] == ["10", "60.0", "20.0", "10.0", "0", "10.0"]
    (picture,) = pictures(made)
    assert isinstance(picture.plot, PositionBars)
    (bar,) = picture.plot.bars
    assert (bar.n, bar.consistent, bar.first, bar.second, bar.error) == (10, 0.6, 0.2, 0.1, 0.1)


def test_each_category_has_a_bar_of_its_own() -> None:
    rows = judged(SAME, FIRST, category="maths")
    rows += [{**one, "unit_id": f"w{one['unit_id']}"} for one in judged(SAME, category="writing")]
    (picture,) = pictures(section(found(scope_of(rows))))
    assert isinstance(picture.plot, PositionBars)
    assert [(bar.label, bar.consistent) for bar in picture.plot.bars] == [
        ("all questions", pytest.approx(2 / 3)),
        ("maths", 0.5),
        ("writing", 1),
    ]


@pytest.mark.parametrize(
    ("orders", "weight", "said"),
    [
        # 2 of 20 inconsistent, one to each side.
        ([SAME] * 18 + [FIRST, SECOND], Weight.PLAIN, "as many favour"),
        # 3 of 20 is 15 % exactly.
        ([SAME] * 17 + [FIRST, FIRST, SECOND], Weight.WARNING, "warns from 15 %"),
        # 5 of 20 is 25 % exactly.
        ([SAME] * 15 + [FIRST] * 2 + [SECOND] * 3, Weight.WARNING, "at 25 % or more a judge fails"),
        # 6 of 60 all for the first: p = 2 / 2⁶ = .031.
        ([SAME] * 54 + [FIRST] * 6, Weight.WARNING, "6 of the 6 inconsistent ones with known"),
        # 4 of 60 all for the second: p = 2 / 2⁴ = .125.
        ([SAME] * 56 + [SECOND] * 4, Weight.PLAIN, "p = .125), which so few may do by chance"),
    ],
)
def test_warnings_begin_where_they_should(
    orders: list[tuple[str, str]], weight: Weight, said: str
) -> None:
    text = headline(found(scope_of(judged(*orders))))
    assert (text.weight, said in text.words) == (weight, True), text.words


def test_combined_verdicts_tell_their_inconsistency_in_words_only() -> None:
    rows = [row("1", "r0", "a"), row("2", "r0", "a")]
    rows += [one_verdict("1", "a"), one_verdict("2", "tie", reason="inconsistent")]
    values = found(scope_of(rows))
    assert values.inconsistent.value == 0.5
    assert values.sidedness.p is None
    made = section(values)
    assert not tables(made)
    assert not pictures(made)
    assert "2 of 2 verdicts came as one combined verdict" in words(made)


def test_a_failed_order_is_no_inconsistency() -> None:
    values = found(scope_of(judged(SAME, SAME, ERROR)))
    assert (values.inconsistent.numerator, values.inconsistent.denominator) == (0, 2)
    assert "1 incomplete" in words(section(values))


kinds = st.lists(st.sampled_from([SAME, FIRST, SECOND, ERROR, ("a", "tie")]), min_size=1)


@settings(max_examples=15, deadline=None)
@given(kinds, st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing(orders: list[tuple[str, str]], random: object) -> None:
    rows = judged(*orders)
    shuffled = list(rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert found(scope_of(shuffled)) == found(scope_of(rows))
