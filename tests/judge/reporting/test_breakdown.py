"""Breakdowns as a topic: levels, bands, marks for few questions, design effect, prevalence."""

from __future__ import annotations

import pytest

from annotate.errors import UsageError
from judge.reporting.document import Picture
from judge.reporting.pictures import Forest
from judge.reporting.topics.breakdown import Breakdown, found, section
from tests.judge.reporting.scopes import parts_of, scope_of, tables_of, texts_of
from tests.judge.stats.tables import row, study, units


@pytest.mark.parametrize(
    ("by", "labels"),
    [
        ("turn", ["turn 1", "turn 2", "turn 10"]),
        ("category", ["math", "writing", "no category"]),
        ("pair", ["alder – birch", "alder – cedar", "birch – cedar"]),
        ("rater", ["r0", "r2", "r10"]),
    ],
)
def test_levels_in_their_natural_order(by: str, labels: list[str]) -> None:
    rows = [
        row("q0:alder-birch", "r0", "a", turn=1, category="writing"),
        row("q1:alder-cedar", "r10", "a", turn=10, category=""),
        row("q2:birch-cedar", "r2", "b", turn=2, category="math"),
        *(
            row(f"q{i}:{pair}", "judge", "a", turn=turn)
            for i, (pair, turn) in enumerate([("alder-birch", 1), ("alder-cedar", 10)])
        ),
    ]
    values = found(scope_of(rows), by)
    assert [one.label for one in values.levels] == labels
    agree = [one.setups[0].band.estimate.value for one in values.levels]
    assert sorted(agree, key=str) == [1.0, 1.0, None], "one level has votes but no verdict"
    (table, _) = tables_of(section(values))
    assert len(table.rows) == 2
    assert any(one.startswith("No figure for ") for one in table.remarks)


def test_an_unknown_breakdown_lists_those_known() -> None:
    with pytest.raises(UsageError, match=r"'colour'.*turn, category, pair, rater"):
        found(scope_of(units("a/a")), "colour")


@pytest.mark.parametrize("by", list(Breakdown))
def test_levels_add_up_to_the_whole(by: str) -> None:
    values = found(scope_of(study(11, questions=40)), by)
    for index, overall in enumerate(values.overall):
        parts = [one.setups[index].band.estimate for one in values.levels]
        assert sum(one.n for one in parts) == overall.agreement.n
        effects = [one.setups[index].design_effect for one in values.levels]
        assert [one.n for one in effects] == [one.n for one in parts]
        assert sum(one.numerator or 0 for one in parts) == overall.agreement.numerator
    for counts in ("people", "judge"):
        total = sum(sum(getattr(one, counts)) for one in values.levels)
        assert total == values.overall[0].agreement.n


def test_bands_are_wider_than_the_levels_own_intervals_and_drawn() -> None:
    values = found(scope_of(study(11, questions=40)), "pair")
    for level in values.levels:
        band = level.setups[0].band
        assert band.low is not None
        assert band.estimate.low is not None
        assert band.low < band.estimate.low
        assert not level.setups[0].band.indicative or band.estimate.clusters < 30
    (picture,) = (part for part in parts_of(section(values)) if isinstance(part, Picture))
    assert isinstance(picture.plot, Forest)
    headings = [line.label for line in picture.plot.rows if line.heading]
    assert headings == ["S1", "S2"]
    assert all(line.band for line in picture.plot.rows if " – " in line.label)


def test_under_thirty_questions_a_level_is_marked() -> None:
    rows = study(11, questions=50)
    for one in rows:
        one["category"] = "few" if int(one["question_id"]) < 10 else "many"
    few, many = found(scope_of(rows), "category").levels
    assert few.setups[0].band.indicative
    assert not many.setups[0].band.indicative
    (table, _) = tables_of(section(found(scope_of(rows), "category")))
    assert table.rows[0][0].text == "few †"
    assert any("fewer than 30 questions" in one for one in table.remarks)


def test_prevalence_by_pair_is_of_the_first_name_whichever_is_called_a() -> None:
    rows = [
        row("q0", "r0", "a", model_a="birch", model_b="alder"),
        row("q0", "judge", "tie", model_a="birch", model_b="alder"),
        row("q1", "r0", "a"),
        row("q1", "judge", "a"),
    ]
    (level,) = found(scope_of(rows), "pair").levels
    assert level.label == "alder – birch"
    assert (level.people, level.judge) == ((1, 0, 1), (1, 1, 0))


def test_identical_votes_on_a_question_make_a_design_effect() -> None:
    # Three votes alike on each of six questions: n − 1 over C − 1, 17/5 = 3.4.
    texts = ["aaa/a", "aaa/a", "bbb/b", "aaa/b", "bbb/a", "bbb/b"]
    values = found(scope_of(units(*texts)), "turn")
    assert values.overall[0].design_effect.value == pytest.approx(3.4)
    assert "design effect 3.40, so intervals are 1.84 times as wide" in texts_of(section(values))


def test_thirty_levels_are_shown_and_all_are_kept() -> None:
    values = found(scope_of(study(2, questions=8, raters=35)), "rater")
    assert len(values.levels) == 35
    assert [len(table.rows) for table in tables_of(section(values))] == [30, 30]
