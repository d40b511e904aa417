"""Rankings of MT-Bench's models by expert votes and by GPT-4: independent packages' figures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import evalica
import numpy as np
import pytest

from judge.stats.bradley_terry import bradley_terry
from judge.stats.elo import elo
from judge.stats.gap import gap_points
from judge.stats.rank_correlation import rank_correlation
from judge.stats.wins import Wins, count_wins

SHARED = Path(__file__).parents[2] / ".." / "shared" / "data"
FILES = [
    SHARED / "golden.json",
    SHARED / "mt_bench/human.jsonl",
    SHARED / "mt_bench/gpt4_pair.jsonl",
]

pytestmark = pytest.mark.skipif(
    not all(path.exists() for path in FILES),
    reason=f"MT-Bench labels and golden figures are not at {SHARED}: rankings NOT checked",
)

Label = dict[str, Any]
SCORE = {"model_a": 1.0, "model_b": 0.0}


def score(label: Label) -> float:
    return SCORE.get(label["winner"], 0.5)


def labels(path: Path, judge: str) -> list[Label]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [label for label in map(json.loads, lines) if label["judge"].startswith(judge)]


def counted(rows: list[Label]) -> Wins:
    return count_wins(
        [str(row["question_id"]) for row in rows],
        [row["model_a"] for row in rows],
        [row["model_b"] for row in rows],
        [score(row) for row in rows],
    )


@pytest.fixture(scope="module")
def golden() -> dict[str, Any]:
    figures: dict[str, Any] = json.loads(FILES[0].read_text(encoding="utf-8"))
    return figures


@pytest.fixture(scope="module")
def experts() -> list[Label]:
    return labels(FILES[1], "expert")


@pytest.fixture(scope="module")
def gpt4() -> list[Label]:
    return labels(FILES[2], "gpt4")


def test_bradley_terry_of_expert_votes(golden: dict[str, Any], experts: list[Label]) -> None:
    expected = golden["bradley_terry_log_strength_centred_expert_votes"]
    found = bradley_terry(counted(experts), "experts", resamples=2_000)
    assert [row.model for row in found] == sorted(expected, key=expected.__getitem__, reverse=True)
    for row in found:
        assert row.strength.value == pytest.approx(expected[row.model], abs=5.1e-7)
        assert row.strength.low is not None
        assert row.strength.high is not None
        assert row.strength.low < expected[row.model] < row.strength.high
    assert sum(row.strength.n for row in found) == 2 * 2668


def test_intervals_are_wider_than_if_votes_were_independent(experts: list[Label]) -> None:
    clustered = bradley_terry(counted(experts), "experts", resamples=2_000)
    alone = [{**row, "question_id": n} for n, row in enumerate(experts)]
    apart = bradley_terry(counted(alone), "experts", resamples=2_000)
    widths = [
        np.mean([(x.strength.high or 0) - (x.strength.low or 0) for x in rows])
        for rows in (clustered, apart)
    ]
    assert 1.2 < widths[0] / widths[1] < 2


def test_gpt4s_win_rates(golden: dict[str, Any], gpt4: list[Label]) -> None:
    wins = counted(gpt4)
    found = dict(zip(wins.models, wins.rates(wins.table.sum(0)), strict=True))
    for model, rate in golden["adjusted_win_rate_gpt4_all_pairs"].items():
        assert found[model] == pytest.approx(rate, abs=5.1e-5)


def test_gpt4_ranks_as_experts_do(experts: list[Label], gpt4: list[Label]) -> None:
    rankings = [
        {row.model: row.strength.value for row in bradley_terry(counted(rows), "x", resamples=9)}
        for rows in (experts, gpt4)
    ]
    for found in rank_correlation(*rankings):
        assert (found.value, found.n) == (1.0, 6)
        assert found.p == pytest.approx(2 / 720)


def test_elo_depends_on_the_order_and_evalicas_shuffles_lie_in_the_spread(
    experts: list[Label],
) -> None:
    winner = {1.0: evalica.Winner.X, 0.0: evalica.Winner.Y, 0.5: evalica.Winner.Draw}
    a, b, scores = zip(*((x["model_a"], x["model_b"], score(x)) for x in experts), strict=True)
    ours = {row.model: row for row in elo(a, b, scores)}

    def theirs(order: Sequence[int]) -> dict[str, float]:
        won = [winner[scores[n]] for n in order]
        return dict(evalica.elo([a[n] for n in order], [b[n] for n in order], won).scores)

    rng = np.random.default_rng(0)
    shuffles = [theirs(rng.permutation(len(a)).tolist()) for _ in range(40)]
    inside = [
        ours[model].low <= rating <= ours[model].high
        for ratings in shuffles
        for model, rating in ratings.items()
    ]
    # 240 ratings, each within the middle 95 % up to chance (sd .014, somewhat dependent).
    assert 0.89 <= np.mean(inside) <= 1
    # The file is sorted by category, and that alone lifts gpt-4 out of the spread.
    assert theirs(range(len(a)))["gpt-4"] > ours["gpt-4"].high + 20


def test_points_of_all_model_pairs_add_up_to_the_agreement(
    golden: dict[str, Any], experts: list[Label], gpt4: list[Label]
) -> None:
    verdicts = {}
    for row in gpt4:
        for a, b, mirrored in (("model_a", "model_b", False), ("model_b", "model_a", True)):
            key = (row["question_id"], row["turn"], row[a], row[b])
            verdicts[key] = 1 - score(row) if mirrored else score(row)
    points = gap_points(
        [str(row["question_id"]) for row in experts],
        [row["model_a"] for row in experts],
        [row["model_b"] for row in experts],
        [score(row) for row in experts],
        [verdicts[x["question_id"], x["turn"], x["model_a"], x["model_b"]] for x in experts],
        "experts",
        resamples=200,
    )
    assert len(points) == 15
    expected = golden["gpt4_vs_expert_votes"]["overall"]
    for setup in ("S1", "S2"):
        parts = [getattr(point, setup.lower()) for point in points]
        assert sum(part.numerator for part in parts) == expected[setup]["agree"]
        assert sum(part.n for part in parts) == expected[setup]["n"]
    # Zheng et al. 2023, Figure 2: from about 70 % for close models to nearly 100 %.
    assert points[0].s2.value == pytest.approx(0.68, abs=0.01)
    assert all(point.s2.value > 0.92 for point in points[-4:] if point.s2.value)
