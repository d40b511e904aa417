"""Raters as a topic: each beside judge and others, the alternative test, repeats."""

from __future__ import annotations

from typing import Any

import pytest

from judge.reporting.document import Picture
from judge.reporting.pictures import RaterMap
from judge.reporting.topics.raters import found, section
from tests.judge.reporting.scopes import parts_of, scope_of, tables_of, texts_of
from tests.judge.stats.tables import row, study, units


def test_each_rater_by_hand_most_votes_first() -> None:
    # r0: votes a, b, a; judge a, b, b: 2 of 3; others on q0: 1 of 2 (a, b), on q1: 0 of 1 (a).
    values = found(scope_of(units("aab/a", "ba/b", "a/b")))
    assert [(one.rater, one.votes) for one in values.raters] == [("r0", 3), ("r1", 2), ("r2", 1)]
    first = values.raters[0]
    assert (first.judge.numerator, first.judge.denominator) == (2, 3)
    assert (first.others.numerator, first.others.denominator) == (1, 3)


def test_few_raters_are_said_to_be_these_raters() -> None:
    words = texts_of(section(found(scope_of(study(5, questions=30, raters=4)))))
    assert "conditional on these 4 raters" in words
    assert "Leaving one rater out moves it between" in words


def test_ten_raters_get_an_interval_for_others() -> None:
    values = found(scope_of(study(5, questions=30, raters=12)))
    assert all(one.agreement.low is not None for one in values.other_raters)
    assert "other raters of the same kind" in texts_of(section(values))


def test_the_alternative_test_shows_epsilon_and_who_is_left_out() -> None:
    rows = [
        *study(5, questions=30, raters=4),
        row("0:alder-birch", "late", "a"),
        row("0:alder-birch", "judge2", "a", source_kind="rater"),
    ]
    values = found(scope_of(rows), epsilon=0.15)
    test = values.alternative.test
    assert test.winning_rate is not None
    assert values.alternative.advantage.value == pytest.approx(test.average_advantage)
    words = texts_of(section(values))
    assert "ε = 0.15" in words
    assert "raters have fewer than 30 units" in words
    (table,) = tables_of(section(values))
    wins = {line[0].text: line[5].text for line in table.rows}
    assert wins["late"] == ""
    assert {wins[f"r{i}"] for i in range(4)} <= {"yes", "no"}


def test_thirty_raters_in_the_table_and_all_in_the_values() -> None:
    values = found(scope_of(study(2, questions=6, raters=35)), flagged={"r3"})
    votes = [one.votes for one in values.raters]
    assert votes == sorted(votes, reverse=True)
    (table,) = tables_of(section(values))
    assert (len(table.rows), len(values.raters)) == (30, 35)
    assert any("The 30 raters with most votes of 35" in one for one in table.remarks)
    (picture,) = (part for part in parts_of(section(values)) if isinstance(part, Picture))
    assert isinstance(picture.plot, RaterMap)
    assert [dot.label for dot in picture.plot.dots if dot.flagged] == ["r3"]


def twice(unit: str, first: str, second: str, **other: Any) -> list[dict[str, Any]]:
    again = {"occurrence": 2, "purpose": "repeat", **other}
    return [row(unit, "r0", first, **other), row(unit, "r0", second, **again)]


def test_repeats_of_this_population_and_kind_of_turn() -> None:
    rows = [
        *twice("q0", "a", "a"),
        *twice("q1", "a", "b"),
        # Its first vote is no vote to be counted, so the question has none.
        *twice("q2", "b", "b"),
        *twice("q3", "a", "b", layer="simulated"),
        *units("/a", "/a"),
    ]
    rows[4]["purpose"] = "queue"
    values = found(scope_of(rows)).consistency
    assert (values.same.numerator, values.same.denominator, values.raters) == (2, 3, 1)
    assert values.with_other_raters.reason.startswith("conditional on this one rater")
    assert "of 3 repeats, sides flipped, by 1 rater," in texts_of(section(found(scope_of(rows))))
