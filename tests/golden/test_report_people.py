"""People beside GPT-4 in the report, on MT-Bench: human reference, plurality, raters, levels."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from judge.reporting.scope import Material, Scope, Settings, scopes
from judge.reporting.topics import breakdown, confusion, majority, raters, reference
from judge.stats.agreement import pair_judgments
from judge.stats.estimate import Estimate
from tests.golden.test_mt_bench_agreement import FILES, SHARED, tidy_table

pytestmark = pytest.mark.skipif(
    not all(path.exists() for path in FILES),
    reason=f"MT-Bench labels and golden figures are not at {SHARED}: golden figures NOT checked",
)


def scope_of(groups: list[str] | None) -> Scope:
    (scope,) = scopes(Material(pair_judgments(tidy_table())), Settings(), groups=groups)
    return scope


@pytest.fixture(scope="module")
def experts() -> Scope:
    return scope_of(["expert"])


@pytest.fixture(scope="module")
def expert_reference(experts: Scope) -> reference.Reference:
    return reference.found(experts)


def matches(found: Estimate, value: float, low: float, high: float) -> None:
    assert found.value == pytest.approx(value, abs=5.1e-5)
    # Ends of a bootstrap: as far as another seed moves them.
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.003)


def test_matched_differences_of_experts(expert_reference: reference.Reference) -> None:
    # The values also come out of a plain loop over pairs of votes in the label files.
    s1, s2 = expert_reference.setups
    matches(s1.pairs.difference, -0.0112, -0.0520, 0.0285)
    matches(s1.units.difference, 0.0007, -0.0303, 0.0307)
    assert s2.pairs.difference.value == pytest.approx(0.0075, abs=5.1e-5)
    assert s2.units.difference.value == pytest.approx(0.0079, abs=5.1e-5)


def test_the_sign_of_s1_depends_on_the_weighting_and_the_words_say_so(
    expert_reference: reference.Reference,
) -> None:
    assert [one.signs_differ for one in expert_reference.setups] == [True, False]
    assert "the sign depends on the weighting" in reference.headline(expert_reference).words


@pytest.mark.parametrize(("index", "setup"), [(0, "S1"), (1, "S2")])
def test_the_papers_figures_keep_their_name(
    expert_reference: reference.Reference, index: int, setup: str
) -> None:
    golden = json.loads(FILES[0].read_text(encoding="utf-8"))["judge_minus_human_ceiling"]
    expected = golden[f"overall_{setup}"]
    found = expert_reference.setups[index].as_in_the_paper
    assert found.rows == "as in the paper (not matched)"
    matches(
        found.difference,
        expected["judge_human_minus_human_human"],
        *expected["ci95_joint_cluster"],
    )


def test_turns_are_table_5(experts: Scope) -> None:
    golden = json.loads(FILES[0].read_text(encoding="utf-8"))["zheng_2023_table_5"]
    for turn, level in enumerate(breakdown.found(experts, "turn").levels, 1):
        assert level.label == f"turn {turn}"
        for part in level.setups:
            found = part.band.estimate
            expected = golden["gpt4_pair_vs_human"][f"turn{turn}"][part.setup]
            assert [found.numerator, found.denominator] == expected


def test_the_matrix_adds_up_to_the_votes_of_experts(experts: Scope) -> None:
    found = confusion.found(experts)
    agree = sum(found.counts[i][i] for i in range(3))
    assert (agree, sum(map(sum, found.counts))) == (1757, 2668)
    # golden.json, selective_mtbench: n_abst, the rows with an inconsistent verdict.
    assert found.judge_tie_reasons == {"inconsistent": 426}


def test_the_numbers_of_these_topics_take_a_second_or_two() -> None:
    scope = scope_of(None)
    assert scope.rows
    topics: dict[str, Any] = {
        "reference": lambda: reference.found(scope),
        "majority": lambda: majority.found(scope),
        "raters": lambda: raters.found(scope),
        "turn": lambda: breakdown.found(scope, "turn"),
        "category": lambda: breakdown.found(scope, "category"),
        "pair": lambda: breakdown.found(scope, "pair"),
        "confusion": lambda: confusion.found(scope),
    }
    taken = {}
    for name, find in topics.items():
        started = time.process_time()
        find()
        taken[name] = time.process_time() - started
    # CPU time, about 2 s in all on a busy machine of two cores, 0.46 s at most.
    assert sum(taken.values()) < 5, taken
    assert max(taken.values()) < 1.5, taken
