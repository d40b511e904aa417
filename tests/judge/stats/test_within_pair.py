"""Within-pair kappa: by hand, as Cohen's, and what it says of a judge that knows the names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from sklearn.metrics import cohen_kappa_score

from judge.stats import coefficients as formulas
from judge.stats.within_pair import NO_VARIATION, within_pair_figure, within_pair_kappa
from tests.judge.stats.tables import MIRROR, WHO, made, row, study, units

tables = arrays.arrays(np.int64, (4, 3, 3), elements=st.integers(0, 9)).map(
    lambda table: table.astype(float)
)


def value(rows: list[dict[str, Any]], setup: str = "S1") -> float | None:
    return within_pair_figure(made(rows).rows(setup), WHO).value()


def test_by_hand() -> None:
    # Pair 1: 10 rows, 8 agree, margins (6, 4) and (6, 4): e₁ = .36 + .16 = .52
    # Pair 2: 10 rows, 9 agree, margins (9, 1) and (10, 0): e₂ = .9
    # p = 17/20; e = (5.2 + 9) / 20 = .71; kappa = .14 / .29
    both = np.array([[[5, 1], [1, 3]], [[9, 0], [1, 0]]], dtype=float)
    assert within_pair_kappa(both) == pytest.approx(0.14 / 0.29)


@given(arrays.arrays(np.int64, (3, 3), elements=st.integers(0, 20)))
def test_with_one_pair_it_is_cohens_kappa(table: np.ndarray[Any, Any]) -> None:
    ours = within_pair_kappa(table[None].astype(float))
    np.testing.assert_allclose(ours, formulas.cohen_kappa(table.astype(float)), atol=1e-12)


@given(tables)
def test_it_is_the_average_of_the_pairs_kappas_by_their_room(table: np.ndarray[Any, Any]) -> None:
    # scikit-learn per pair; weights n (1 − e), which leave out pairs without variation.
    top = bottom = 0.0
    for one in table:
        n = one.sum()
        if n == 0:
            continue
        room = n - (one.sum(0) * one.sum(1)).sum() / n
        if room < 1e-9:
            continue
        cells = [(i, j) for i in range(3) for j in range(3) for _ in range(int(one[i, j]))]
        kappa = cohen_kappa_score([i for i, _ in cells], [j for _, j in cells])
        top, bottom = top + room * kappa, bottom + room
    ours = within_pair_kappa(table)
    if bottom == 0:
        assert np.isnan(ours)
    else:
        assert ours == pytest.approx(top / bottom, abs=1e-12)


def test_a_verdict_per_pair_of_names_has_exactly_nothing() -> None:
    people = [one for one in study(1, questions=30) if one["source_id"] != "judge"]
    named = {"alder-birch": "a", "alder-cedar": "b", "birch-cedar": "tie"}
    seen = sorted({(one["unit_id"], one["turn"]) for one in people})
    judge = [row(u, "judge", named[u.split(":")[1]], turn=t) for u, t in seen]
    rows = made(people + judge).rows()
    assert rows.agree.mean() > 0.4
    assert within_pair_figure(rows, WHO).value() == pytest.approx(0, abs=1e-12)


def test_a_judge_that_always_agrees_has_one() -> None:
    assert value(units("a/a", "b/b", "t/t", "a/a")) == pytest.approx(1)


def test_opposite_verdicts_are_below_zero() -> None:
    found = value(units("a/b", "b/a"))
    assert found == pytest.approx(-1)


@pytest.mark.parametrize("setup", ["S1", "S2"])
def test_exchanging_the_names_of_some_units_changes_nothing(setup: str) -> None:
    rows = study(3)
    swapped = [one if int(one["question_id"]) % 2 else exchanged(one) for one in rows]
    assert value(swapped, setup) == pytest.approx(value(rows, setup), abs=1e-12)


def test_two_versions_of_one_model_have_no_first_and_second() -> None:
    # Which of them is called a is arbitrary, unit by unit.
    texts = ["a/a", "a/a", "a/a", "b/a", "t/a", "a/t", "b/b"]
    rows = [
        {**one, "unit_id": f"{one['unit_id']}:oak-oak", "model_a": "oak", "model_b": "oak"}
        for one in units(*texts)
    ]
    mirrored = [
        {**one, "value": MIRROR[one["value"]]} if int(one["question_id"][1:]) % 2 else one
        for one in rows
    ]
    assert value(mirrored) == pytest.approx(value(rows), abs=1e-12)
    # And with one pair it is the symmetrised kappa.
    table = np.zeros((3, 3))
    for text in texts:
        table["atb".index(text[0]), "atb".index(text[2])] += 1
    assert value(rows) == pytest.approx(float(formulas.cohen_kappa_symmetrised(table)), abs=1e-12)


def test_undefined_says_why() -> None:
    figure = within_pair_figure(made(units("a/a", "a/a")).rows(), WHO)
    assert (figure.value(), figure.undefined) == (None, NO_VARIATION)
    nobody = within_pair_figure(made([row("q0", "r", "a")]).rows(), WHO)
    assert nobody.value() is None
    assert nobody.undefined == "no vote has a usable verdict of this judge"


def exchanged(one: dict[str, Any]) -> dict[str, Any]:
    return {
        **one,
        "model_a": one["model_b"],
        "model_b": one["model_a"],
        "value": MIRROR[one["value"]],
    }
