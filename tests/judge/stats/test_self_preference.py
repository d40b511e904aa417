"""The residual of the judge's own model: by hand, explicit resamples, what is undefined."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import linregress

from judge.stats.intervals import cluster_weights
from judge.stats.self_preference import SelfPreference, self_preference, self_preferences
from judge.stats.wins import Wins, count_wins

MODELS = "pqrst"
Row = tuple[str, str, str, float]


def votes(seed: int, favour: float = 0.0, questions: int = 20) -> list[Row]:
    """Every pair on every question; `favour` is added to p's log strength."""
    rng = np.random.default_rng(seed)
    strength = {name: 0.5 * n for n, name in enumerate(MODELS)} | {"p": 0.8 + favour}
    rows = []
    for question in range(questions):
        for n, a in enumerate(MODELS):
            for b in MODELS[n + 1 :]:
                won = rng.random() < 1 / (1 + np.exp(strength[b] - strength[a]))
                rows.append((f"{question:02}", a, b, float(won)))
    return rows


def counted(rows: list[Row], extra: list[str] | None = None) -> Wins:
    question, a, b, score = ([row[at] for row in rows] for at in range(4))
    return count_wins(question, a, b, score, questions=extra or [])  # type: ignore[arg-type]


def rates(rows: list[Row]) -> dict[str, float]:
    gained = {
        name: [s if name == a else 1 - s for _, a, b, s in rows if name in (a, b)]
        for name in MODELS
    }
    return {name: float(np.mean(x)) for name, x in gained.items()}


def residual(judge: list[Row], people: list[Row]) -> float:
    y, x = rates(judge), rates(people)
    line = linregress([x[m] for m in MODELS[1:]], [y[m] for m in MODELS[1:]])
    return float(y["p"] - (line.intercept + line.slope * x["p"]))


def test_value_and_every_resample_are_scipys_line() -> None:
    judge, people = votes(1, favour=1.5), votes(2)
    made = self_preference(counted(judge), counted(people), "p", "x", resamples=100)
    assert made.residual.value == pytest.approx(residual(judge, people))
    assert made.others == tuple(MODELS[1:])
    assert (made.residual.n, made.residual.clusters) == (80, 20)
    assert made.judge_rate == pytest.approx(rates(judge)["p"])
    assert made.people_rate == pytest.approx(rates(people)["p"])
    assert made.expected == pytest.approx(rates(judge)["p"] - residual(judge, people))
    assert "over 4 other models" in made.residual.method
    drawn = []
    for weight in np.vstack(list(cluster_weights(20, resamples=100, seed=0))):
        both = [
            [row for row in rows for _ in range(int(weight[int(row[0])]))]
            for rows in (judge, people)
        ]
        drawn.append(residual(*both))
    assert (made.residual.low, made.residual.high) == pytest.approx(
        tuple(np.quantile(drawn, [0.025, 0.975]))
    )


def test_favour_shows_and_its_absence_does_not() -> None:
    fair = self_preference(counted(votes(3)), counted(votes(4)), "p", "x", resamples=500).residual
    unfair = self_preference(
        counted(votes(3, 2.0)), counted(votes(4)), "p", "x", resamples=500
    ).residual
    assert fair.low is not None
    assert fair.high is not None
    assert unfair.low is not None
    assert fair.low < 0 < fair.high
    assert unfair.low > 0.1


def test_says_when_the_line_is_followed_beyond_its_models() -> None:
    people = counted(votes(4))
    assert not self_preference(people, people, "r", "x", resamples=9).extrapolated
    assert self_preference(people, people, "t", "x", resamples=9).extrapolated


def test_a_judge_that_votes_as_people_do_has_no_residual() -> None:
    people = counted(votes(4))
    made = self_preference(people, people, "p", "x", resamples=50).residual
    assert made.value == pytest.approx(0)
    assert made.reason == "no interval: every resample gives the same value"


ROUND = [("1", a, b, 0.5) for n, a in enumerate(MODELS) for b in MODELS[n + 1 :]]


@pytest.mark.parametrize(
    ("rows", "own", "words"),
    [
        (votes(1), "", "the judge has no model of its own here"),
        (votes(1), "z", "z is not compared by both"),
        ([row for row in votes(1) if "p" not in row[1:3]], "p", "p is not compared by both"),
        ([*votes(1), ("00", "z", "p", np.nan)], "z", "z is not compared by both"),
        ([row for row in votes(1) if row[2] in "pqr"], "p", "2 other models, 3 needed"),
        (ROUND, "p", "people rate all the other models alike"),
        ([], "p", "p is not compared by both"),
    ],
)  # fmt: skip
def test_undefined_with_the_reason(rows: list[Row], own: str, words: str) -> None:
    wins = counted(rows)
    made = self_preference(wins, wins, own, "x", resamples=9)
    assert made.residual.value is None
    assert words in made.residual.reason
    assert (made.judge_rate, made.expected) == (None, None)


def test_both_sides_are_resampled_together() -> None:
    judge, people = votes(1), votes(2, questions=5)
    with pytest.raises(ValueError, match="the same questions"):
        self_preference(counted(judge), counted(people), "p", "x")
    same = counted(people, [row[0] for row in judge])
    assert self_preference(counted(judge), same, "p", "x", resamples=9).residual.value is not None


def test_naming_and_order_of_rows_change_nothing() -> None:
    def made(turn: bool) -> SelfPreference:
        sides = []
        for rows in (votes(1, 1.0), votes(2)):
            flipped = [
                (q, b, a, 1 - s) if n % 3 else (q, a, b, s) for n, (q, a, b, s) in enumerate(rows)
            ]
            sides.append(counted(flipped[::-1] if turn else rows))
        judge, people = sides
        return self_preference(judge, people, "p", "x", resamples=50)

    assert made(True) == made(False)


def test_all_models_at_once_are_each_model_alone() -> None:
    judge, people = counted(votes(1, favour=1.5)), counted(votes(2))
    names = ["", *MODELS, "unknown"]
    together = self_preferences(judge, people, names, "x", resamples=100, seed=3)
    alone = [self_preference(judge, people, m, "x", resamples=100, seed=3) for m in names]
    assert list(together) == alone
    assert [one.residual.value is None for one in together] == [True, *[False] * 5, True]
