"""MT-Bench's golden rankings and inconsistency as the report's topics find them, in time."""

from __future__ import annotations

import json
import time
from types import ModuleType
from typing import Any

import pandas as pd
import pytest

from judge.reporting.plain import plain
from judge.reporting.scope import Material, Scope, Settings, scopes
from judge.reporting.topics import gap, length, own_models, position, rankings
from judge.stats.agreement import pair_judgments
from tests.golden.test_mt_bench_agreement import FILES, SHARED, tidy_table

pytestmark = pytest.mark.skipif(
    not all(path.exists() for path in FILES),
    reason=f"MT-Bench labels and golden figures are not at {SHARED}: topics NOT checked",
)

MOST_SECONDS = 2.0
"""CPU seconds of one topic; about .1 to .5 on a machine of its own."""


@pytest.fixture(scope="module")
def golden() -> dict[str, Any]:
    figures: dict[str, Any] = json.loads(FILES[0].read_text(encoding="utf-8"))
    return figures


@pytest.fixture(scope="module")
def experts() -> Scope:
    table = tidy_table()
    judged = table["source_kind"] == "judge"
    table = table.assign(orders=judged.map({True: "unknown", False: ""}))
    judgments = pair_judgments(table)
    units = judgments[["unit_id", "turn"]].drop_duplicates()
    # Lengths are made up: only the time of that topic is looked at.
    answers = units.assign(length_a=range(1, len(units) + 1), length_b=len(units) // 2)
    made = scopes(Material(judgments, pd.DataFrame(answers)), Settings(), groups=["expert"])
    return next(iter(made))


def test_rankings(golden: dict[str, Any], experts: Scope) -> None:
    values = rankings.found(experts)
    strengths = {one.model: one.people.strength.value for one in values.models}
    expected = golden["bradley_terry_log_strength_centred_expert_votes"]
    assert strengths == pytest.approx(expected, abs=5.1e-7)
    rates = {one.model: one.rate.value for one in values.all_verdicts}
    for model, rate in golden["adjusted_win_rate_gpt4_all_pairs"].items():
        assert rates[model] == pytest.approx(rate, abs=5.1e-5)
    assert (values.correlations[-1].kendall.value, values.correlations[-1].kendall.n) == (1.0, 6)


def test_inconsistency_warns(golden: dict[str, Any], experts: Scope) -> None:
    values = position.found(experts)
    count, n, share, _ = golden["position_inconsistency"]["overall"]
    one = values.inconsistent
    assert (one.numerator, one.denominator) == (count, n)
    assert one.value == pytest.approx(share, abs=5.1e-7)
    assert (one.low, one.high) == pytest.approx(
        golden["position_inconsistency"]["cluster_95"], abs=0.003
    )
    assert "warns from 15 %" in position.headline(values).words


def test_gpt4_is_named_like_its_judge(experts: Scope) -> None:
    values = own_models.found(experts)
    assert [one.found.own for one in values.models if one.named_like_judge] == ["gpt-4"]


@pytest.mark.parametrize("topic", [position, length, own_models, rankings, gap])
def test_a_topic_takes_no_long_time(experts: Scope, topic: ModuleType) -> None:
    topic.found(experts)
    start = time.process_time()
    values = topic.found(experts)
    assert time.process_time() - start < MOST_SECONDS
    json.dumps(plain(values), allow_nan=False)
