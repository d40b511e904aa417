"""The human reference as a topic: matched by pairs and by units, and as in the paper."""

from __future__ import annotations

import pytest

from judge.reporting.document import Picture, Weight
from judge.reporting.pictures import Forest
from judge.reporting.topics.reference import found, headline, section
from tests.judge.reporting.scopes import parts_of, scope_of, tables_of, texts_of, words_of
from tests.judge.stats.tables import row, units

# Pairs of votes: aab has 3 (1 the same; the judge's a in the place of either: 2 · 2/2 = 2),
# bb has 1 (1; 1). The lone vote is in no pair.
BY_HAND = ("aab/a", "bb/b", "a/b")


def test_both_weightings_and_the_papers_by_hand() -> None:
    values = found(scope_of(units(*BY_HAND)))
    s1 = values.setups[0]
    for compared, judge, human in (
        (s1.pairs, 3 / 4, 2 / 4),
        (s1.units, (2 / 3 + 1) / 2, (1 / 3 + 1) / 2),
        (s1.as_in_the_paper, 4 / 6, 2 / 4),
    ):
        assert compared.judge_human.value == pytest.approx(judge)
        assert compared.human_human.value == pytest.approx(human)
        assert compared.difference.value == pytest.approx(judge - human)
    assert (s1.matched_votes, s1.votes) == (5, 6)


def test_s2_keeps_the_units_on_which_all_name_a_winner() -> None:
    # The judge ties on the first; a tie vote leaves the second with one vote; the third stays.
    values = found(scope_of(units("ab/t", "at/a", "aa/a")))
    s2 = values.setups[1]
    assert (s2.setup, s2.matched_votes, s2.votes) == ("S2", 2, 6)
    assert s2.pairs.judge_human.value == 1


def test_signs_that_differ_are_said_and_are_a_warning() -> None:
    # ab/a: judge ½, people 0, one pair each, four times; aaaa/b: judge 0, people 6 of 6 pairs.
    values = found(scope_of(units("ab/a", "ab/a", "ab/a", "ab/a", "aaaa/b")))
    s1 = values.setups[0]
    assert s1.pairs.difference.value == pytest.approx((4 * 0.5 - 6) / 10)
    assert s1.units.difference.value == pytest.approx((4 * 0.5 - 1) / 5)
    assert s1.signs_differ
    said = headline(values)
    assert said.weight is Weight.WARNING
    assert "the sign depends on the weighting" in said.words
    assert "−40.0" in said.words
    assert "+20.0" in said.words


def test_signs_that_agree_are_no_warning() -> None:
    said = headline(found(scope_of(units(*BY_HAND))))
    assert said.weight is Weight.KEY
    assert "the sign" not in said.words
    assert "5 of 6 votes (83.3 %)" in said.words


@pytest.mark.parametrize(
    ("texts", "meaning"),
    [
        # Differences +½ or −1 on every question but one: the interval lies on one side of 0.
        (["ab/a"] * 11 + ["aa/a"], "more often than a second vote"),
        (["aa/b"] * 11 + ["ab/a"], "less often than a second vote"),
        (["ab/a"] * 6 + ["aa/b"] * 3, "includes 0"),
    ],
)
def test_what_the_interval_says(texts: list[str], meaning: str) -> None:
    assert meaning in headline(found(scope_of(units(*texts)))).words


def test_table_and_picture_hold_both_setups_three_ways() -> None:
    values = found(scope_of(units(*BY_HAND)))
    made = section(values)
    (table,) = tables_of(made)
    assert [(row[0].text, row[1].text) for row in table.rows] == [
        (setup, rows)
        for setup in ("S1", "S2")
        for rows in (
            "matched, weighted by pairs of votes",
            "matched, weighted by units",
            "as in the paper (not matched)",
        )
    ]
    assert "Indicative only: 3 questions, fewer than 30." in table.remarks
    (picture,) = (part for part in parts_of(made) if isinstance(part, Picture))
    assert isinstance(picture.plot, Forest)
    assert (len(picture.plot.rows), picture.plot.line) == (6, 0.0)
    assert "ceiling" not in words_of(made).lower()


def test_without_two_votes_the_reference_is_undefined_and_the_judge_still_shown() -> None:
    made = section(found(scope_of(units("a/a", "b/a"))))
    assert "no human reference" in texts_of(made)
    assert "no judged unit has two votes" in texts_of(made)
    (table,) = tables_of(made)
    assert {row[1].text for row in table.rows} == {"as in the paper (not matched)"}


def test_simulated_votes_are_never_called_peoples() -> None:
    rows = units(*BY_HAND)
    rows = [{**one, "layer": "simulated"} if one["source_kind"] == "rater" else one for one in rows]
    words = words_of(section(found(scope_of([*rows, row("q9", "judge", "a")]))))
    assert "simulated–simulated" in words
    assert "human–human" not in words
    assert "vote of people" not in words
