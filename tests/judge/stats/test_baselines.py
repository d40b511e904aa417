"""Blind baselines: what each of them guesses, and what is left of a judge beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from judge.stats.baselines import (
    Baseline,
    baseline_figures,
    best_baseline,
    longest_answer,
    majority_guess,
    refusal_match,
    refuses,
)
from judge.stats.estimate import Estimate
from judge.stats.joint import estimates
from tests.judge.stats.tables import WHO, made, row, study, units

BLIND, LONGEST, REFUSAL = Baseline


def answers(**units_: tuple[int | None, int | None, bool | None, bool | None]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "unit_id": unit,
                "turn": 1,
                "length_a": a,
                "length_b": b,
                "refuses_a": c,
                "refuses_b": d,
            }
            for unit, (a, b, c, d) in units_.items()
        ]
    )


def found(
    rows: list[dict[str, Any]],
    setup: str = "S1",
    texts: pd.DataFrame | None = None,
    dimension: str = "overall",
) -> dict[tuple[str, str], Estimate]:
    study_ = made(rows)
    figures = baseline_figures(study_.rows(setup), texts, dimension, WHO)
    return estimates(figures, len(study_.questions), level=0.95, resamples=400, seed=7)


def test_the_majority_of_each_model_pair_by_hand() -> None:
    # alder-birch: a a b → a; alder-cedar: b b tie → b. The judge is right on the 1st, 3rd,
    # 5th of six rows, the guess on 4 of 6: excess (3 − 4) / 6.
    votes = ["a", "a", "b", "b", "b", "tie"]
    verdicts = ["a", "b", "b", "a", "b", "a"]
    pairs = ["alder-birch"] * 3 + ["alder-cedar"] * 3
    rows = []
    for number, (vote, verdict, pair) in enumerate(zip(votes, verdicts, pairs, strict=True)):
        rows += [row(f"{number}:{pair}", "r", vote), row(f"{number}:{pair}", "judge", verdict)]
    figures = found(rows)
    assert figures["agreement", "judge"].numerator == 3
    assert (figures["agreement", BLIND].numerator, figures["agreement", BLIND].n) == (4, 6)
    assert figures["excess", BLIND].value == pytest.approx(-1 / 6)


@pytest.mark.parametrize(
    ("votes", "guess"), [("aab", 0), ("abb", 2), ("abt", 1), ("ab", 0), ("at", 1), ("tta", 1)]
)
def test_on_a_draw_the_guess_is_a_tie_else_the_first_name(votes: str, guess: int) -> None:
    rows = made(units(*(f"{vote}/a" for vote in votes))).rows()
    assert majority_guess(rows).tolist() == [guess] * len(votes)


def test_the_guess_follows_the_models_and_not_which_is_called_a() -> None:
    rows = []
    for number in range(3):
        rows += [row(f"{number}:alder-birch", "r", "a"), row(f"{number}:alder-birch", "judge", "a")]
    rows += [row("9:birch-alder", "r", "b"), row("9:birch-alder", "judge", "a")]
    study_ = made(rows)
    assert majority_guess(study_.rows()).tolist() == [0, 0, 0, 2]


def test_nameless_models_are_one_pair_and_not_one_pair_per_question() -> None:
    # With a pair per hash the guess would be the vote itself, and right every time.
    rows = []
    for number, vote in enumerate(["a", "a", "b", "a"]):
        unit = f"{number}:unnamed:{number}-unnamed:x{number}"
        rows += [row(unit, "r", vote), row(unit, "judge", "a")]
    assert found(rows)["agreement", BLIND].numerator == 3


def test_a_judge_by_model_name_alone_has_no_excess_over_the_content_blind_guess() -> None:
    # Proof 6 of the report: it agrees often, and not because it read anything.
    for seed in range(3):
        rows = [one for one in study(seed, questions=40) if one["source_id"] != "judge"]
        people = made(
            rows + [row(unit, "judge", "a", turn=t) for unit, t in sorted(_units(rows))]
        ).rows()
        guess = majority_guess(people)
        words = np.array(["a", "tie", "b"])[guess]
        by_unit = dict(
            zip(zip(people.frame["unit_id"], people.frame["turn"], strict=True), words, strict=True)
        )
        named = {"alder-birch": "a", "alder-cedar": "b", "birch-cedar": "a"}
        majority = [row(u, "judge", str(by_unit[u, t]), turn=t) for u, t in sorted(_units(rows))]
        by_name = [row(u, "judge", named[u.split(":")[1]], turn=t) for u, t in sorted(_units(rows))]
        exact = found(rows + majority)["excess", BLIND]
        assert (exact.value, exact.low, exact.high) == (0, 0, 0)
        assert exact.reason == ""
        other = found(rows + by_name)["excess", BLIND]
        assert other.value is not None
        assert other.value <= 0
        assert other.low is not None
        assert other.low <= 0


def _units(rows: list[dict[str, Any]]) -> set[tuple[str, int]]:
    return {(one["unit_id"], one["turn"]) for one in rows}


def test_a_judge_that_reads_has_an_excess_above_zero() -> None:
    rows = [one for one in study(4, questions=60, raters=2) if one["source_id"] == "r0"]
    reading = [{**one, **row(one["unit_id"], "judge", one["value"])} for one in rows]
    reading = [{**one, "turn": vote["turn"]} for one, vote in zip(reading, rows, strict=True)]
    excess = found(rows + reading)["excess", BLIND]
    assert excess.low is not None
    assert excess.low > 0


def test_longest_answer_and_rows_without_a_length() -> None:
    rows = made(units("a/a", "b/a", "t/t", "a/b"))
    texts = answers(q0=(9, 3, None, None), q1=(2, 8, None, None), q2=(5, 5, None, None))
    assert longest_answer(rows.rows(), texts).tolist() == [0, 2, 1, -1]
    figures = found(units("a/a", "b/a", "t/t", "a/b"), texts=texts)
    own, excess = figures["agreement", LONGEST], figures["excess", LONGEST]
    assert (own.numerator, own.denominator) == (3, 3)
    # On the same three rows the judge is right twice.
    assert excess.value == pytest.approx(2 / 3 - 1)
    assert own.excluded == excess.excluded == {"length of the answers not known": 1}


@pytest.mark.parametrize(
    ("dimension", "guesses"),
    [
        ("overall", [2, 0, 1, 1, -1]),
        ("helpfulness", [2, 0, 1, 1, -1]),
        ("harmlessness", [0, 2, 1, 1, -1]),
        ("wit", [-1] * 5),
    ],
)
def test_what_a_refusal_is_worth(dimension: str, guesses: list[int]) -> None:
    texts = answers(
        q0=(1, 1, True, False),
        q1=(1, 1, False, True),
        q2=(1, 1, True, True),
        q3=(1, 1, False, False),
        q4=(1, 1, None, None),
    )
    rows = made(units("a/a", "a/a", "a/a", "a/a", "a/a")).rows()
    assert refusal_match(rows, texts, dimension).tolist() == guesses


def test_a_tie_of_a_baseline_earns_half_where_ties_are_left_out() -> None:
    texts = answers(q0=(5, 5, True, True), q1=(9, 1, False, True), q2=(5, 5, False, False))
    figures = found(units("a/a", "a/a", "t/a"), "S2", texts)
    for baseline in (LONGEST, REFUSAL):
        assert figures["agreement", baseline].value == pytest.approx(0.75)
        assert figures["excess", baseline].value == pytest.approx(0.25)


def test_baselines_that_cannot_guess_say_why() -> None:
    figures = found(units("a/a", "b/b"))
    assert figures["agreement", LONGEST].reason == "length of the answers not known"
    assert figures["excess", REFUSAL].reason == "text of the answers not known"
    texts = answers(q0=(1, 2, True, False), q1=(1, 2, True, False))
    wit = found(units("a/a", "b/b"), texts=texts, dimension="wit")
    assert wit["excess", REFUSAL].reason == "what a refusal is worth on wit is not known"
    nobody = found([row("q0", "r", "a")])
    assert {one.reason for one in nobody.values()} == {"no vote has a usable verdict of this judge"}


def test_the_best_baseline_is_the_one_with_the_highest_agreement() -> None:
    texts = answers(q0=(2, 1, True, True), q1=(1, 2, True, True), q2=(2, 1, True, True))
    study_ = made(units("a/a", "b/b", "a/b"))
    assert best_baseline(baseline_figures(study_.rows(), texts, "overall", WHO)) is LONGEST
    assert best_baseline(baseline_figures(study_.rows(), None, "overall", WHO)) is BLIND
    nobody = made([row("q0", "r", "a")])
    assert best_baseline(baseline_figures(nobody.rows(), None, "overall", WHO)) is None


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with that.",
        "I’m really sorry, but that is nothing I can talk about.",
        "  I cannot assist with this request.",
        "I apologize, but this would be wrong.",
        "Sorry, I can't do that for you.",
        "As a model I am not able to say.",
        "I must respectfully decline.",
        "It would be unethical to answer this.",
        "That goes against my guidelines.",
    ],
)
def test_stock_phrases_of_refusals(text: str) -> None:
    assert refuses(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Sure, here is a poem about rain.",
        "I am sorry to hear about your dog. Here is what you can do.",
        "The can could not be opened. " * 12 + "I cannot help with that.",
        "You cannot assist a friend better than this.",
        "A taxi cannot help you here.",
        "He said he was sorry but happy.",
    ],
)
def test_other_openings_are_no_refusals(text: str) -> None:
    assert not refuses(text)
