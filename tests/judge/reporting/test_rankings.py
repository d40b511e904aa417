"""Rankings by people and by the judge on the same units, as values and as a section."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotate.records import Outcome
from judge.reporting.document import Weight
from judge.reporting.pictures import RatePlot
from judge.reporting.ranked import Model, Rankings
from judge.reporting.topics.rankings import found, headline, section
from judge.stats.win_rates import Comparison, win_rates
from tests.judge.reporting.made import Row, cells_of, pictures, scope_of, tables, verdict, words
from tests.judge.stats.tables import OUTCOMES, row, study

RENAMED = {"alder": "zelkova", "birch": "birch", "cedar": "ash"}


def by_model(values: Rankings) -> dict[str, Model]:
    return {one.model: one for one in values.models}


def column(values: Rankings, table: int, heading: str) -> dict[str, str]:
    shown = tables(section(values))[table]
    at = [one.heading for one in shown.columns].index(heading)
    return {line[0]: line[at] for line in cells_of(shown)}


SMALL: list[Row] = [
    *(row("1:alder-birch", f"r{n}", said) for n, said in enumerate(["a", "a", "tie"])),
    verdict("1:alder-birch", "b"),
    row("2:alder-birch", "r0", "b"),
    verdict("2:alder-birch", "tie"),
    # Not voted on: only in the column of all verdicts.
    verdict("3:alder-birch", "a"),
    # Not judged: in no figure.
    row("4:alder-birch", "r0", "a"),
]


def test_rates_by_hand() -> None:
    values = found(scope_of(SMALL))
    alder = by_model(values)["alder"]
    # People, a row per vote: won 2, tied 1, lost 1. The judge beside them: lost 3, tied 1.
    assert (values.rows, values.excluded) == (4, {"not judged": 1})
    assert alder.people.ties_half.value == pytest.approx(2.5 / 4)
    assert alder.people.decisive.value == pytest.approx(2 / 3)
    assert alder.people.strict.value == pytest.approx(2 / 4)
    assert alder.judge.ties_half.value == pytest.approx(0.5 / 4)
    assert alder.judge.decisive.value == 0
    assert alder.difference.value == pytest.approx(-2 / 4)
    # Each verdict once: lost 1, tied 1, won 1.
    assert {one.model: one.rate.value for one in values.all_verdicts} == {
        "alder": 0.5,
        "birch": 0.5,
    }
    assert column(values, 0, "people")["alder"].startswith("62.5")
    assert column(values, 1, "strict, people")["alder"].startswith("50.0")


def test_the_strengths_of_two_models_are_their_log_odds() -> None:
    alder = by_model(found(scope_of(SMALL)))["alder"]
    # 2.5 wins to 1.5: θ_a − θ_b = ln(5/3), centred.
    assert alder.people.strength.value == pytest.approx(np.log(5 / 3) / 2)
    assert alder.people.elo is not None
    assert alder.people.elo.n == 4


def test_an_unranked_model_is_a_sentence_never_a_number() -> None:
    rows = [
        one
        for q in range(4)
        for one in (
            row(f"{q}:alder-birch", "r0", "aaab"[q]),
            verdict(f"{q}:alder-birch", "aaab"[q]),
            row(f"{q}:alder-cedar", "r0", "a"),
            verdict(f"{q}:alder-cedar", "ab"[q % 2]),
        )
    ]
    values = found(scope_of(rows))
    said = words(section(values))
    assert "By people, cedar is unranked: never wins" in said
    assert "By the judge" not in said
    assert column(values, 2, "Bradley–Terry, people")["cedar"] == "–"
    assert by_model(values)["cedar"].judge.strength.value is not None
    assert "Ranked by one side only in Bradley–Terry strength, so in no correlation: cedar." in said


def test_models_out_of_reach_of_each_other_are_not_put_on_one_scale() -> None:
    rows = []
    for q in range(4):
        for models in ("alder-birch", "alder-cedar", "dogwood-elm"):
            unit, said = f"{q}:{models}", "ab"[q % 2]
            rows += [row(unit, "r0", said), verdict(unit, said)]
    values = found(scope_of(rows))
    assert [one.model for one in values.models if one.people.strength.value is None] == [
        "dogwood",
        "elm",
    ]
    assert "dogwood, elm are each unranked: not compared with the ranked models" in words(
        section(values)
    )


def test_the_headline_names_models_coefficients_and_the_model_that_differs() -> None:
    values = found(scope_of(study(2, questions=30)))
    said = headline(values).words
    assert "order 3 models by Bradley–Terry strength with Kendall's tau" in said
    assert "only 3 models: of their 6 orders" in said
    assert headline(values).weight is Weight.PLAIN


def test_a_judge_with_a_favourite_differs_most_on_it() -> None:
    rows = []
    for one in study(2, questions=30):
        if one["source_id"] == "judge" and one["model_b"] == "cedar":
            one = {**one, "value": "b"}
        rows.append(one)
    said = headline(found(scope_of(rows))).words
    assert "Their win rates part most for cedar: the judge gives it +" in said


def test_the_picture_has_both_rates() -> None:
    (picture,) = pictures(section(found(scope_of(SMALL))))
    assert isinstance(picture.plot, RatePlot)
    dots = {dot.model: (dot.people.value, dot.judge.value) for dot in picture.plot.dots}
    assert dots == {"alder": (0.625, 0.125), "birch": (0.375, 0.875)}


def test_people_rank_alone_where_the_judge_only_failed() -> None:
    rows = [one for one in SMALL if one["source_kind"] == "rater"]
    rows.append(verdict("1:alder-birch", None, status="refused"))
    values = found(scope_of(rows))
    made = section(values)
    assert by_model(values)["alder"].people.ties_half.value == pytest.approx(3.5 / 5)
    assert headline(values).weight is Weight.WARNING
    assert "no vote has a usable verdict of this judge (3 refused)" in words(made)
    headings = [column.heading for table in tables(made) for column in table.columns]
    assert not [one for one in headings if "judge" in one]


def test_names_of_hashes_are_no_models() -> None:
    hashed = {"model_a": "unnamed:1", "model_b": "alder"}
    values = found(scope_of([*SMALL, row("9", "r0", "a", **hashed), verdict("9", "a", **hashed)]))
    assert [one.model for one in values.models] == ["alder", "birch"]
    assert values.excluded["a model without a name"] == 1
    assert len(values.all_verdicts) == 2


def test_rates_are_those_of_the_win_table() -> None:
    """The judge's column of all verdicts against `judge.stats.win_rates`, counted otherwise."""
    rows = study(4, questions=20)
    values = found(scope_of(rows))
    expected = win_rates(
        Comparison(one["model_a"], one["model_b"], Outcome(one["value"]))
        for one in rows
        if one["source_kind"] == "judge"
    )
    assert {one.model: one.rate.value for one in values.all_verdicts} == pytest.approx(
        {one.model: one.adjusted.value for one in expected}
    )


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10_000))
def test_renamed_models_and_shuffled_rows_change_nothing_but_names(seed: int) -> None:
    rows = study(seed, questions=5)
    if not any(one["source_kind"] == "judge" for one in rows):
        return
    if not any(one["source_kind"] == "rater" for one in rows):
        return
    random = np.random.default_rng(seed)
    turned = [_renamed(rows[at]) for at in random.permutation(len(rows))]
    first, second = (by_model(found(scope_of(each))) for each in (rows, turned))
    assert {RENAMED[name] for name in first} == set(second)
    for name, one in first.items():
        other = second[RENAMED[name]]
        for mine, theirs in ((one.people, other.people), (one.judge, other.judge)):
            assert mine.ties_half.value == pytest.approx(theirs.ties_half.value)
            assert mine.ties_half.low == pytest.approx(theirs.ties_half.low)
            assert mine.strict.numerator == theirs.strict.numerator
            assert mine.strength.value == pytest.approx(theirs.strength.value, abs=1e-8)
        assert one.difference.value == pytest.approx(other.difference.value)


def _renamed(one: Row) -> dict[str, Any]:
    """Other names, in their own alphabetical order, as an importer would make it."""
    a, b = RENAMED[one["model_a"]], RENAMED[one["model_b"]]
    mirror = dict(zip(OUTCOMES, reversed(OUTCOMES), strict=True))
    if a < b:
        return {**one, "model_a": a, "model_b": b}
    value = one["value"] if one["value"] is None else mirror[one["value"]]
    return {**one, "model_a": b, "model_b": a, "value": value}
