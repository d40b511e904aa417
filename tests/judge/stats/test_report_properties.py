"""What must change nothing in the whole agreement report, on any small table of judgments."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge.reporting.plain import plain
from judge.reporting.summary import agreement_report
from judge.reporting.values import Line, Report
from judge.stats.estimate import Estimate
from tests.judge.stats.tables import MIRROR, row

Row = dict[str, Any]
RATERS = ("r0", "r1", "r2", "r3")
MODELS = ("alder-birch", "alder-cedar", "birch-cedar")
units = st.tuples(st.integers(0, 4), st.sampled_from(MODELS), st.sampled_from((1, 2)))
sources = st.sampled_from([*RATERS, "judge"])
values = st.sampled_from([*MIRROR, None])


@st.composite
def tables(draw: st.DrawFn) -> list[Row]:
    """Votes and verdicts, failures among them; there is always one vote."""
    said = draw(st.dictionaries(st.tuples(units, sources), values, min_size=4, max_size=40))
    said[(0, MODELS[0], 1), "r0"] = "a"
    rows = []
    for ((question, models, turn), source), value in said.items():
        status = "ok" if value else "timeout"
        rows.append(row(f"q{question}:{models}", source, value, turn=turn, status=status))
    return rows


def report(rows: list[Row]) -> Report:
    return agreement_report(pd.DataFrame(rows), resamples=100)


def as_json(rows: list[Row]) -> str:
    return json.dumps(plain(report(rows)))


def lines(rows: list[Row]) -> dict[tuple[Any, ...], Line]:
    (dimension,) = report(rows).dimensions
    return {
        (block.group, line.comparison, line.turn, line.setup): line
        for block in dimension.blocks
        for line in block.lines
    }


@settings(max_examples=12)
@given(tables(), st.data())
def test_shuffling_rows_and_relabelling_raters_leaves_every_byte(
    rows: list[Row], data: st.DataObject
) -> None:
    names = data.draw(st.permutations([*RATERS, "zoe"]))
    label = dict(zip(RATERS, names, strict=False))
    renamed = [one | {"source_id": label.get(one["source_id"], "judge")} for one in rows]
    assert as_json(data.draw(st.permutations(renamed))) == as_json(rows)


@settings(max_examples=12)
@given(tables(), st.sets(units))
def test_models_that_swap_names_leave_symmetrised_kappa(
    rows: list[Row], turned: set[tuple[int, str, int]]
) -> None:
    pairs = {f"q{question}:{models}" for question, models, _ in turned}
    before, after = lines(rows), lines([_swapped(one, pairs) for one in rows])
    assert before.keys() == after.keys()
    for key, line in before.items():
        for name in ("agreement", "kappa_symmetrised", "coverage"):
            _close(getattr(line, name), getattr(after[key], name))


def _swapped(one: Row, pairs: set[str]) -> Row:
    if one["unit_id"] not in pairs:
        return one
    a, b, value = one["model_a"], one["model_b"], one["value"]
    return one | {"model_a": b, "model_b": a, "value": value and MIRROR[value]}


def _close(one: Estimate | None, other: Estimate | None) -> None:
    if one is None or other is None:
        assert one is other
        return
    assert (one.n, one.clusters, one.numerator, one.excluded) == (
        other.n,
        other.clusters,
        other.numerator,
        other.excluded,
    )
    ends = (one.value, one.low, one.high)
    assert ends == pytest.approx((other.value, other.low, other.high), abs=1e-12)
