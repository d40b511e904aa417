"""The matrix method against explicit resamples: rows really copied, other packages' figures.

Proof 2 of the report: 100 resamples, equal to 1e-12.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import krippendorff
import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, cohen_kappa_score

from judge.stats.agreement import S2
from judge.stats.baselines import Baseline, baseline_figures, majority_guess
from judge.stats.intervals import cluster_weights
from judge.stats.joint import Figure, drawn
from judge.stats.majority import majority_figures, plurality
from judge.stats.matched import matched_figures, unmatched_figures
from judge.stats.rows import TIE, Rows, confusion_figures, judged_rows
from judge.stats.views import of_block
from judge.stats.within_pair import within_pair_figure
from tests.judge.stats.tables import WHO, Made, made, study

RESAMPLES = 100
SEED = 11
QUESTIONS = 20


@pytest.fixture(scope="module")
def one() -> Made:
    return made(study(21, questions=QUESTIONS))


def copies(rows: Rows) -> Iterator[np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """Per resample, row numbers with every question as often as it was drawn."""
    for weights in cluster_weights(QUESTIONS, resamples=RESAMPLES, seed=SEED):
        for weight in weights.astype(int):
            yield np.repeat(np.arange(len(rows.vote)), weight[rows.question])


def matrix(figure: Figure) -> list[float]:
    draws = drawn({1: figure}, QUESTIONS, resamples=RESAMPLES, seed=SEED)[1]
    return [float(value) for value in draws]


def same(ours: list[float], theirs: list[float]) -> None:
    assert len(ours) == len(theirs) == RESAMPLES
    assert len(set(ours)) > RESAMPLES / 2, "resamples that do not differ prove nothing"
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)


@pytest.mark.parametrize("setup", ["S1", "S2"])
def test_agreement_kappas_alpha_and_ac1(one: Made, setup: str) -> None:
    rows = one.rows(setup)
    figures = confusion_figures(rows, WHO)
    taken = [(rows.vote[at], rows.verdict[at]) for at in copies(rows)]
    same(matrix(figures["agreement"]), [accuracy_score(v, j) for v, j in taken])
    mirrored = [
        cohen_kappa_score(np.concatenate([v, 2 - v]), np.concatenate([j, 2 - j])) for v, j in taken
    ]
    same(matrix(figures["kappa_symmetrised"]), mirrored)
    nominal = [krippendorff.alpha(np.array(t), level_of_measurement="nominal") for t in taken]
    same(matrix(figures["alpha"]), nominal)
    same(matrix(figures["ac1"]), [ac1(v, j, 3 if setup == "S1" else 2) for v, j in taken])


@pytest.mark.parametrize("setup", ["S1", "S2"])
def test_the_views_of_the_agreement_report(one: Made, setup: str) -> None:
    # The statistics of judge.stats.coefficients, through the views that the report makes of them.
    rows = one.rows(setup)
    view = next(
        view
        for view in of_block(one.votes, {"judge": one.verdicts})
        if (view.comparison, view.turn, view.setup) == ("judge-human", None, setup)
    )
    assert len(view.counts) == QUESTIONS
    chunks = list(cluster_weights(QUESTIONS, resamples=RESAMPLES, seed=SEED))
    totals = np.vstack(chunks) @ view.counts
    taken = [(rows.vote[at], rows.verdict[at]) for at in copies(rows)]
    for name, theirs in {
        "agreement": [accuracy_score(v, j) for v, j in taken],
        "kappa": [cohen_kappa_score(v, j) for v, j in taken],
        "alpha": [krippendorff.alpha(np.array(t), level_of_measurement="nominal") for t in taken],
        "ac1": [ac1(v, j, 3 if setup == "S1" else 2) for v, j in taken],
    }.items():
        same([float(x) for x in view.statistics[name](totals)], theirs)


@pytest.mark.parametrize("setup", ["S1", "S2"])
def test_excess_over_the_content_blind_guess(one: Made, setup: str) -> None:
    rows = one.rows(setup)
    guess = majority_guess(rows)
    excess = baseline_figures(rows, None, "overall", WHO)["excess", Baseline.CONTENT_BLIND]
    theirs = [
        accuracy_score(rows.vote[at], rows.verdict[at])
        - sum(credit(g, v, setup) for g, v in zip(guess[at], rows.vote[at], strict=True)) / len(at)
        for at in copies(rows)
    ]
    same(matrix(excess), theirs)


@pytest.mark.parametrize("setup", ["S1", "S2"])
def test_within_pair_kappa(one: Made, setup: str) -> None:
    rows = one.rows(setup)
    pairs = (rows.frame["model_a"] + rows.frame["model_b"]).to_numpy()
    theirs = []
    for at in copies(rows):
        top = bottom = 0.0
        for pair in sorted(set(pairs[at])):
            own = at[pairs[at] == pair]
            vote, verdict = rows.vote[own], rows.verdict[own]
            room = len(own) * (
                1 - sum((vote == c).mean() * (verdict == c).mean() for c in range(3))
            )
            if room > 1e-9:
                top += room * cohen_kappa_score(vote, verdict)
                bottom += room
        theirs.append(top / bottom)
    same(matrix(within_pair_figure(rows, WHO)), theirs)


@pytest.mark.parametrize("setup", ["S1", "S2"])
def test_matched_and_unmatched_gap(one: Made, setup: str) -> None:
    everything = one.rows("S1")
    pairs = pair_rows(one, setup)
    matched, loose, judged = [], [], one.rows(setup)
    unjudged = all_pairs(one, setup)
    for weights in cluster_weights(QUESTIONS, resamples=RESAMPLES, seed=SEED):
        for weight in weights:
            w = weight[pairs["question"]]
            matched.append(float((w * (pairs["judge"] - pairs["same"])).sum() / w.sum()))
            u, j = weight[unjudged["question"]], weight[judged.question]
            human = (u * unjudged["same"]).sum() / u.sum()
            loose.append(float((j * judged.agree).sum() / j.sum() - human))
    assert len(everything.vote) > len(pairs) / 2
    arguments = (one.votes, one.verdicts, setup, one.questions, WHO)
    same(matrix(matched_figures(*arguments)["difference"]), matched)
    same(matrix(unmatched_figures(*arguments)["difference"]), loose)


def test_majority_kappa(one: Made) -> None:
    rows = judged_rows(plurality(one.votes), one.verdicts, "S1", one.questions)
    figures = majority_figures(one.votes, one.verdicts, "S1", one.questions, WHO)
    theirs = []
    for at in copies(rows):
        vote, verdict = rows.vote[at], rows.verdict[at]
        doubled = np.concatenate([vote, 2 - vote]), np.concatenate([verdict, 2 - verdict])
        theirs.append(cohen_kappa_score(*doubled))
    same(matrix(figures["kappa_symmetrised"]), theirs)


def ac1(vote: np.ndarray[tuple[int], np.dtype[np.int64]], verdict: object, k: int) -> float:
    """Gwet's formula, category by category."""
    agree = float((vote == verdict).mean())
    both = np.concatenate([vote, np.asarray(verdict)])
    shares = [float((both == c).mean()) for c in ((0, 1, 2) if k == 3 else (0, 2))]
    chance = sum(share * (1 - share) for share in shares) / (k - 1)
    return (agree - chance) / (1 - chance)


def credit(guess: int, vote: int, setup: str) -> float:
    return 0.5 if setup == S2 and guess == TIE else float(guess == vote)


def all_pairs(one: Made, setup: str) -> pd.DataFrame:
    """Every pair of votes on a unit, one row each."""
    rows = one.votes.rows
    if setup == S2:
        rows = rows[rows["code"] != TIE]
    return pd.DataFrame(
        [
            {
                "unit": unit,
                "question": one.questions.get_loc(c),
                "one": i,
                "other": j,
                "same": i == j,
            }
            for unit, part in rows.groupby(["unit_id", "turn"])
            for c in [part["cluster"].iloc[0]]
            for i, j in combinations(part["code"], 2)
        ]
    )


def pair_rows(one: Made, setup: str) -> pd.DataFrame:
    """The pairs on judged units; `judge` is the mean agreement of the judge with either."""
    said = {
        (unit, turn): code
        for unit, turn, code in zip(
            one.verdicts["unit_id"], one.verdicts["turn"], one.verdicts["code"], strict=True
        )
        if code >= 0 and not (setup == S2 and code == TIE)
    }
    pairs = all_pairs(one, setup)
    pairs = pairs[[unit in said for unit in pairs["unit"]]]
    verdict = np.array([said[unit] for unit in pairs["unit"]])
    judge = ((pairs["one"] == verdict).astype(float) + (pairs["other"] == verdict)) / 2
    return pairs.assign(judge=judge)
