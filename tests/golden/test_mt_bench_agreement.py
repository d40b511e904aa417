"""Agreement on MT-Bench's votes: the paper's Table 5 and independent packages' figures."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from judge.reporting.summary import agreement_report
from judge.reporting.values import Block, Line, Report
from judge.stats.estimate import Estimate

SHARED = Path(__file__).parents[2] / ".." / "shared" / "data"
FILES = [
    SHARED / "golden.json",
    SHARED / "mt_bench/human.jsonl",
    SHARED / "mt_bench/gpt4_pair.jsonl",
]

pytestmark = pytest.mark.skipif(
    not all(path.exists() for path in FILES),
    reason=f"MT-Bench labels and golden figures are not at {SHARED}: golden figures NOT checked",
)

TURNS = {"overall": None, "turn1": 1, "turn2": 2}
CELLS = [(turn, setup) for turn in TURNS for setup in ("S1", "S2")]


def tidy_table() -> pd.DataFrame:
    """Votes and verdicts in canonical naming, without the one vote given twice (author_0)."""
    rows: dict[tuple[str, str, int], dict[str, Any]] = {}
    for path, kind in ((FILES[1], "rater"), (FILES[2], "judge")):
        for line in path.read_text(encoding="utf-8").splitlines():
            label = json.loads(line)
            a, b = sorted((label["model_a"], label["model_b"]))
            winner = label["winner"]
            value = "tie" if winner.startswith("tie") else "a" if label[winner] == a else "b"
            unit = f"{label['question_id']}|{a}|{b}"
            key = (label["judge"], unit, label["turn"])
            rows.setdefault(
                key,
                {
                    "unit_id": unit,
                    "subject": "pair",
                    "question_id": label["question_id"],
                    "category": "",
                    "model_a": a,
                    "model_b": b,
                    "turn": label["turn"],
                    "dimension": "overall",
                    "source_kind": kind,
                    "source_id": label["judge"],
                    "rater_group": label["judge"].split("_")[0] if kind == "rater" else None,
                    "layer": "vote" if kind == "rater" else None,
                    "occurrence": 1,
                    "purpose": "estimation",
                    "inclusion_probability": None,
                    "value": value,
                    "strength": None,
                    "status": "ok",
                    "order": "unknown",
                    "protocol": None,
                    "reason": "inconsistent" if "inconsistent" in winner else None,
                },
            )
    return pd.DataFrame(list(rows.values()))


@pytest.fixture(scope="module")
def golden() -> dict[str, Any]:
    figures: dict[str, Any] = json.loads(FILES[0].read_text(encoding="utf-8"))
    return figures


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return tidy_table()


@pytest.fixture(scope="module")
def report(table: pd.DataFrame) -> Report:
    return agreement_report(table)


@pytest.fixture(scope="module")
def experts(report: Report) -> Block:
    (dimension,) = report.dimensions
    return next(block for block in dimension.blocks if block.group == "expert")


def line(block: Block, comparison: str, turn: str, setup: str) -> Line:
    (found,) = (
        x
        for x in block.lines
        if (x.comparison, x.turn, x.setup) == (comparison, TURNS[turn], setup)
    )
    return found


def matches(estimate: Estimate, value: float, ends: list[float]) -> None:
    assert estimate.value == pytest.approx(value, abs=5.1e-7)
    assert estimate.low is not None
    assert (estimate.low, estimate.high) == pytest.approx(ends, abs=0.003)


def test_the_data_are_what_the_figures_were_computed_on(table: pd.DataFrame) -> None:
    kinds = table["source_kind"].value_counts().to_dict()
    assert kinds == {"rater": 3354, "judge": 2400}


@pytest.mark.parametrize("turn", ["turn1", "turn2"])
@pytest.mark.parametrize("setup", ["S1", "S2"])
@pytest.mark.parametrize(
    ("comparison", "row"),
    [("judge-human", "gpt4_pair_vs_human"), ("human-human", "human_vs_human")],
)
def test_table_5_of_zheng_2023(
    golden: dict[str, Any], experts: Block, comparison: str, row: str, turn: str, setup: str
) -> None:
    found = line(experts, comparison, turn, setup).agreement
    expected = golden["zheng_2023_table_5"][row][turn][setup]
    assert [found.numerator, found.denominator] == expected


@pytest.mark.parametrize(("turn", "setup"), CELLS)
def test_gpt4_against_experts(
    golden: dict[str, Any], experts: Block, turn: str, setup: str
) -> None:
    found = line(experts, "judge-human", turn, setup)
    expected = golden["gpt4_vs_expert_votes"][turn][setup]
    ends = expected["cluster_bootstrap_95"]
    assert found.agreement.numerator == expected["agree"]
    assert found.agreement.n == expected["n"]
    for ours, theirs in {
        "agreement": "percent_agreement",
        "kappa": "cohen_kappa",
        "kappa_symmetrised": "cohen_kappa_symmetrised",
        "alpha": "alpha_nominal",
        "ac1": "gwet_ac1",
    }.items():
        matches(getattr(found, ours), expected[theirs], ends[theirs])


@pytest.mark.parametrize(("turn", "setup"), CELLS)
def test_experts_against_each_other(
    golden: dict[str, Any], experts: Block, turn: str, setup: str
) -> None:
    found = line(experts, "human-human", turn, setup)
    expected = golden["expert_vs_expert"][turn][setup]
    ends = expected["cluster_bootstrap_95"]
    pairs, agree = expected["pairs"], expected["agree_pairs"]
    assert (found.agreement.numerator, found.agreement.denominator) == (agree, pairs)
    matches(found.agreement, agree / pairs, expected["pair_agreement_95"])
    matches(found.alpha, expected["alpha_nominal"], ends["alpha"])
    matches(found.ac1, expected["gwet_ac1"], ends["ac1"])


def test_units_rated_by_experts(golden: dict[str, Any], experts: Block) -> None:
    expected = golden["expert_vs_expert"]["overall"]["S1"]
    assert experts.counts.units == expected["units_rated"]
    assert experts.counts.units_with_two_votes == expected["units_with_two_or_more"]


@pytest.mark.parametrize(("turn", "setup"), CELLS)
def test_rows_and_exclusions_add_up_to_votes(experts: Block, turn: str, setup: str) -> None:
    found = line(experts, "judge-human", turn, setup).agreement
    everything = line(experts, "judge-human", turn, "S1").agreement
    assert found.n + sum(found.excluded.values()) == everything.n


def test_s2_coverage_is_its_share_of_s1(experts: Block) -> None:
    # 1723 of 2668 votes and 953 of 1428 pairs have no tie on either side.
    for comparison, share in (("judge-human", (1723, 2668)), ("human-human", (953, 1428))):
        found = line(experts, comparison, "overall", "S2").coverage
        assert found is not None
        assert (found.numerator, found.denominator) == share
        assert found.value == pytest.approx(share[0] / share[1])


def test_populations_are_experts_authors_and_all(report: Report) -> None:
    (dimension,) = report.dimensions
    votes = {block.group: block.counts.votes for block in dimension.blocks}
    assert votes == {"all": 3354, "author": 686, "expert": 2668}
    (judge,) = dimension.judges
    assert (judge.verdicts, judge.usable, judge.ties) == (2400, 2400, 600)
    assert judge.tie_reasons == {"inconsistent": 380}


def test_the_whole_report_takes_seconds(table: pd.DataFrame) -> None:
    started = time.process_time()
    agreement_report(table)
    # CPU time, about 0.7 s: what else the machine does must not fail this.
    assert time.process_time() - started < 3


def test_row_order_and_rater_names_do_not_matter(table: pd.DataFrame, report: Report) -> None:
    shuffled = table.sample(frac=1, random_state=np.random.default_rng(3))
    assert agreement_report(shuffled) == report
    renamed = table.assign(source_id=table["source_id"].map(lambda name: f"x{name[::-1]}"))
    ours = [x.alpha.value for x in report.dimensions[0].blocks[0].lines]
    theirs = [x.alpha.value for x in agreement_report(renamed).dimensions[0].blocks[0].lines]
    assert theirs == ours
