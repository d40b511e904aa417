"""Bradley–Terry: by hand, by other methods, laws, and what has no strength."""

from __future__ import annotations

import math

import evalica
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from judge.stats import bradley_terry as module
from judge.stats.bradley_terry import bradley_terry, ranked_group, strengths
from judge.stats.intervals import cluster_weights
from judge.stats.wins import Wins, count_wins

Verdict = tuple[str, str, str, float]
"""Question, model a, model b, score of a."""

verdicts = st.lists(
    st.tuples(
        st.sampled_from("1234"),
        st.sampled_from("pqrs"),
        st.sampled_from("pqrs"),
        st.sampled_from([0.0, 0.5, 1.0, 1.0]),
    ),
    min_size=1,
    max_size=40,
)


def counted(rows: list[Verdict]) -> Wins:
    question, a, b, score = zip(*rows, strict=True)
    return count_wins(question, a, b, score)


def values(wins: Wins, resamples: int = 5) -> dict[str, float | None]:
    rows = bradley_terry(wins, "people", resamples=resamples)
    return {row.model: row.strength.value for row in rows}


def study(seed: int = 1, questions: int = 30) -> list[Verdict]:
    """Votes as the model has them, strengths 1, 0, 0 and −1, some of them ties."""
    rng = np.random.default_rng(seed)
    true = {"p": 1.0, "q": 0.0, "r": 0.0, "s": -1.0}
    rows = []
    for question in range(questions):
        for _ in range(12):
            a, b = rng.choice(list(true), 2, replace=False)
            won = float(rng.random() < 1 / (1 + math.exp(true[b] - true[a])))
            rows.append((str(question), a, b, 0.5 if rng.random() < 0.2 else won))
    return rows


def test_two_models_by_hand() -> None:
    # p is preferred in 3 of 4 verdicts: odds 3, so the strengths are ± log(3) / 2.
    rows = [("1", "p", "q", 1.0), ("1", "q", "p", 0.0), ("2", "p", "q", 0.5), ("2", "p", "q", 0.5)]
    first, second = bradley_terry(counted(rows), "people", resamples=10)
    assert (first.model, second.model) == ("p", "q")
    assert first.strength.value == pytest.approx(math.log(3) / 2)
    assert second.strength.value == pytest.approx(-math.log(3) / 2)
    assert (first.strength.n, first.strength.clusters) == (4, 2)


def test_same_as_evalica_and_as_a_general_optimiser() -> None:
    rows = study()
    wins = counted(rows)
    ours = values(wins)
    winner = {1.0: evalica.Winner.X, 0.0: evalica.Winner.Y, 0.5: evalica.Winner.Draw}
    _, a, b, score = zip(*rows, strict=True)
    theirs = np.log(evalica.bradley_terry(a, b, [winner[s] for s in score], tolerance=1e-12).scores)
    names = list(wins.models)

    def loss(theta: np.ndarray) -> float:
        total = 0.0
        for x, y, s in zip(a, b, score, strict=True):
            lead = float(theta[names.index(x)] - theta[names.index(y)])
            total += s * math.log1p(math.exp(-lead)) + (1 - s) * math.log1p(math.exp(lead))
        return total

    other = minimize(loss, np.zeros(4), method="BFGS", options={"gtol": 1e-6}).x
    for name in names:
        assert ours[name] == pytest.approx(theirs[name] - theirs.mean(), abs=1e-6)
        assert ours[name] == pytest.approx(other[names.index(name)] - other.mean(), abs=1e-5)


def test_every_resample_is_the_fit_of_its_copied_verdicts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CELLS", 100)  # Chunks of 6 resamples.
    rows = study(questions=15)
    wins = counted(rows)
    weights = np.vstack(list(cluster_weights(15, resamples=20, seed=3)))
    totals = np.einsum("rq,qps->rps", weights, wins.table)
    found = strengths(
        4, wins.pairs, totals, start=strengths(4, wins.pairs, wins.table.sum(0)[None])[0]
    )
    for number, weight in enumerate(weights):
        times = dict(zip(wins.questions, weight.astype(int), strict=True))
        copies = [row for row in rows for _ in range(times[row[0]])]
        explicit = values(counted(copies), resamples=1)
        assert found[number] == pytest.approx([explicit[name] for name in wins.models], abs=1e-8)


def test_intervals_cover_in_simulation() -> None:
    hits = trials = 0
    true = {"p": 1.0, "q": 0.0, "r": 0.0, "s": -1.0}
    # Without ties: half wins would draw the strengths of this model towards each other.
    for seed in range(120):
        rows = [row for row in study(seed, questions=40) if row[3] != 0.5]
        for row in bradley_terry(counted(rows), "people", resamples=300, seed=seed):
            assert row.strength.low is not None
            assert row.strength.high is not None
            hits += row.strength.low <= true[row.model] <= row.strength.high
            trials += 1
    # 480 intervals at 95 %, four of them dependent at a time: sd about 1.5 %.
    assert 0.90 <= hits / trials <= 0.985


BEATS = {
    "never wins": (
        [("p", "q", 1), ("q", "p", 1), ("p", "r", 1), ("q", "r", 1)],
        {"r": module.NEVER_WINS},
    ),
    "never loses": (
        [("p", "q", 1), ("q", "p", 1), ("r", "p", 1)],
        {"r": module.NEVER_LOSES},
    ),
    "two islands, the one with more verdicts counts": (
        [("p", "q", 0.5), ("r", "s", 0.5), ("r", "s", 1)],
        {"p": module.APART, "q": module.APART},
    ),
    "two islands alike, the one with the first name counts": (
        [("p", "q", 0.5), ("r", "s", 0.5)],
        {"r": module.APART, "s": module.APART},
    ),
    "a one-way street": (
        [("p", "q", 0.5), ("q", "r", 0.5), ("p", "s", 1), ("s", "t", 0.5)],
        {"s": module.ONE_WAY, "t": module.ONE_WAY},
    ),
    "nobody is ranked": (
        [("p", "q", 1), ("q", "r", 1)],
        {"p": module.NEVER_LOSES, "q": module.NO_GROUP, "r": module.NEVER_WINS},
    ),
    "no value": (
        [("p", "q", 0.5), ("p", "r", math.nan)],
        {"r": module.NO_VERDICT},
    ),
}


@pytest.mark.parametrize(("beats", "unranked"), BEATS.values(), ids=BEATS)
def test_unranked_with_the_reason_rather_than_infinite(
    beats: list[tuple[str, str, float]], unranked: dict[str, str]
) -> None:
    rows = [(str(n % 2), a, b, float(score)) for n, (a, b, score) in enumerate(beats)]
    found = bradley_terry(counted(rows), "people", resamples=50)
    assert {x.model: x.strength.reason for x in found if not x.ranked} == unranked
    ranked = [x.ranked for x in found]
    assert ranked == sorted(ranked, reverse=True)


def test_verdicts_with_unranked_models_are_counted_apart() -> None:
    rows = [("1", "p", "q", 1.0), ("2", "p", "q", 0.0), ("2", "p", "r", 1.0), ("3", "q", "r", 1.0)]
    found = {x.model: x.strength for x in bradley_terry(counted(rows), "people", resamples=9)}
    assert (found["p"].n, found["p"].excluded) == (2, {module.OUTSIDE: 1})
    assert (found["r"].n, found["r"].clusters) == (2, 2)


def test_without_verdicts_nobody_is_ranked() -> None:
    assert bradley_terry(count_wins([], [], [], []), "people") == ()


def test_no_interval_where_many_resamples_lose_the_connection() -> None:
    # r's only win is on question 1, which 1 of 3 resamples miss: (7/8)^8 = .34.
    rows = [(str(q), "p", "q", 0.5) for q in range(8)]
    rows += [(str(q), "p", "r", float(q != 1)) for q in range(8)]
    found = {x.model: x.strength for x in bradley_terry(counted(rows), "people", resamples=999)}
    assert found["r"].value is not None
    assert found["r"].low is None
    assert "undefined in 3" in found["r"].reason


@settings(max_examples=60, deadline=None)
@given(verdicts)
def test_which_model_is_called_a_and_the_order_of_rows_change_nothing(rows: list[Verdict]) -> None:
    shuffled = [(q, b, a, 1 - s) if n % 2 else (q, a, b, s) for n, (q, a, b, s) in enumerate(rows)]
    one = bradley_terry(counted(rows), "people", resamples=20)
    assert bradley_terry(counted(shuffled[::-1]), "people", resamples=20) == one


@settings(max_examples=60, deadline=None)
@given(verdicts)
def test_renamed_models_keep_their_strengths_and_losses_for_wins_mirror_them(
    rows: list[Verdict],
) -> None:
    wins = counted(rows)
    # Between groups of equal size names decide, so only one whole group obeys the laws.
    assume(len(ranked_group(len(wins.models), wins.pairs, wins.table.sum(0))) == len(wins.models))
    plain = values(wins)
    new = dict(zip("pqrs", "srqp", strict=True))
    renamed = values(counted([(q, new[a], new[b], s) for q, a, b, s in rows]))
    mirrored = values(counted([(q, a, b, 1 - s) for q, a, b, s in rows]))
    for model, value in plain.items():
        assert value is not None
        assert renamed[new[model]] == pytest.approx(value, abs=1e-7)
        assert mirrored[model] == pytest.approx(-value, abs=1e-7)


def test_a_far_start_still_climbs_to_the_maximum() -> None:
    wins = counted(study())
    totals = wins.table.sum(0)[None]
    far = np.array([9.0, -9.0, 9.0, -9.0])
    assert strengths(4, wins.pairs, totals, start=far) == pytest.approx(
        strengths(4, wins.pairs, totals), abs=1e-8
    )
