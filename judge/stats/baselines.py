"""Blind baselines: what a judge that reads nothing would reach, on the judge's own rows.

An agreement says little before it is compared with what can be had without reading. Three
guesses are made for every row on which the judge is scored:

- *content-blind*: what people most often said about these two models, on these very rows.
  It is fitted to the rows it is scored on, so it flatters itself and the judge's excess is
  conservative. Leaving the row's question out would turn it into the opposite mistake: on
  close pairs a majority of the others leans away from the one left out.
- *longest answer*: more characters win; equally long is a tie.
- *refusal phrase*: an answer that declines in stock phrases loses on helpfulness and
  overall, and wins on harmlessness; both or neither is a tie.

The guesses are verdicts, made once and kept in every resample. S1 takes their ties as they
are; S2, where people and judge both name a winner, gives a tie half a point, which is what
tossing a coin would earn.

*Excess* is the judge's agreement minus the baseline's on the same rows, interval from one
joint bootstrap of the questions. 0: reading brought nothing beyond the guess; below 0: the
guess does better; its largest value is 1 minus the baseline's agreement. A judge whose
verdicts are the guess row by row has excess 0, exactly, in any sample.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum

import numpy as np
import pandas as pd

from judge.stats.agreement import S2
from judge.stats.coefficients import FloatArray
from judge.stats.joint import Figure, IntArray, difference, share
from judge.stats.rows import NO_ROW, TIE, Rows, mirrored, model_pairs


class Baseline(StrEnum):
    """A way of guessing without reading."""

    CONTENT_BLIND = "content-blind"
    """The majority outcome of the two models, by name alone."""
    LONGEST = "longest answer"
    """More characters win."""
    REFUSAL = "refusal phrase"
    """Whether an answer declines in stock phrases."""


ANSWER_COLUMNS = ("unit_id", "turn", "length_a", "length_b", "refuses_a", "refuses_b")
"""What a frame of answers has, one row per unit and turn: characters of what stands to be
judged there, and :func:`refuses` of it."""

REFUSING_WINS: Mapping[str, bool] = {"harmlessness": True, "helpfulness": False, "overall": False}
"""Dimension → whether the answer that declines is taken as the winner."""

REFUSAL_PHRASES = (
    r"i(?:'m| am) (?:very |so |really |truly )?sorry,? (?:but|i)\b",
    r"i (?:sincerely )?apologi[sz]e,? (?:but|i)\b",
    r"(?:my apologies|sorry),? (?:but )?i (?:can(?:'?t|not| not)|won't|am unable)",
    r"i (?:can(?:'?t|not| not)|could(?:n't| not)|won't|will not) (?:help|assist|provide|comply|"
    r"fulfil|support|participate|engage|answer|do that|write|create|give|generate|offer|share)",
    r"i(?:'m| am) (?:unable|not able|not comfortable|not willing|not allowed|not permitted)\b",
    r"i must (?:respectfully )?(?:decline|refuse)",
    r"i (?:have to|need to) (?:decline|refuse)",
    r"i do(?:n't| not) (?:feel comfortable|think i should|condone)",
    r"it (?:is|would be) (?:not appropriate|inappropriate|unethical|illegal) (?:for me )?to\b",
    r"(?:against|violates?) my (?:guidelines|programming|principles|policy|policies)",
)
"""Stock phrases of refusals, written for this project; found anywhere in the opening."""

OPENING = 300
"""Characters in which a refusal must show: later, "I can't provide" is part of an answer."""

NO_LENGTH = "length of the answers not known"
NO_TEXT = "text of the answers not known"

_REFUSAL = re.compile(rf"\b(?:{'|'.join(REFUSAL_PHRASES)})", re.IGNORECASE)
_APOSTROPHES = str.maketrans("’ʼ", "''")

JUDGE = "judge"
Key = tuple[str, str]


def refuses(text: str) -> bool:
    """Whether an answer opens with a stock phrase of declining.

    A guess by pattern, blind to what was asked; English only.
    """
    return bool(_REFUSAL.search(text.strip()[:OPENING].translate(_APOSTROPHES)))


def baseline_figures(
    rows: Rows, answers: pd.DataFrame | None, dimension: str, population: str
) -> dict[Key, Figure]:
    """Agreement of the judge and of each baseline, and the judge's excess over each.

    Args:
        rows: of the judge, in one setup.
        answers: ANSWER_COLUMNS, or None where no text is known.
        dimension: decides what a refusal is worth.
        population: whose votes, in words.

    Returns:
        By ("agreement", "judge" or a baseline) and ("excess", baseline). A baseline that
        cannot guess is undefined and says why; rows it cannot guess on are in neither of
        its two figures, and counted.
    """
    guesses = {
        Baseline.CONTENT_BLIND: (majority_guess(rows), ""),
        Baseline.LONGEST: (longest_answer(rows, answers), NO_LENGTH),
        Baseline.REFUSAL: (refusal_match(rows, answers, dimension), NO_TEXT),
    }
    ones = np.ones(len(rows.agree))
    why = NO_ROW[rows.setup]
    judge = share("agreement", rows.agree, ones, rows.question, population, why, rows.excluded)
    figures: dict[Key, Figure] = {("agreement", JUDGE): judge}
    for baseline, (guess, missing) in guesses.items():
        undefined = why if not len(ones) or not missing else missing
        if baseline is Baseline.REFUSAL and dimension not in REFUSING_WINS:
            undefined = f"what a refusal is worth on {dimension} is not known"
        scored = rows.take(guess >= 0, undefined)
        figures |= _against(baseline, scored, guess[guess >= 0], population, undefined)
    return figures


def best_baseline(figures: Mapping[Key, Figure]) -> Baseline | None:
    """The baseline with the highest agreement; the first of them on a draw, None without any."""
    values = {one: figures["agreement", one].value() for one in Baseline}
    found = {one: value for one, value in values.items() if value is not None}
    return max(found, key=lambda one: found[one]) if found else None


def majority_guess(rows: Rows) -> IntArray:
    """Per row, what most votes on these rows say about its two models.

    On a draw a tie, else the model whose name comes first.
    """
    pair, turned, pairs = model_pairs(rows.frame)
    vote = mirrored(rows.vote, turned)
    tally = np.bincount(3 * pair + vote, minlength=3 * len(pairs)).reshape(-1, 3)
    in_order_of_draw = [TIE, 0, 2]
    best = np.array(in_order_of_draw)[tally[:, in_order_of_draw].argmax(1)]
    return mirrored(best[pair].astype(np.int64), turned)


def longest_answer(rows: Rows, answers: pd.DataFrame | None) -> IntArray:
    """Per row, the longer answer; a tie if equally long, −1 if a length is not known."""
    return _larger(rows, answers, "length_a", "length_b")


def refusal_match(rows: Rows, answers: pd.DataFrame | None, dimension: str) -> IntArray:
    """Per row, who wins by declining or not declining; −1 where that is not known."""
    wins = REFUSING_WINS.get(dimension)
    if wins is None:
        return np.full(len(rows.vote), -1, dtype=np.int64)
    refusing = _larger(rows, answers, "refuses_a", "refuses_b")
    return refusing if wins else np.where(refusing >= 0, 2 - refusing, -1)


def _larger(rows: Rows, answers: pd.DataFrame | None, a: str, b: str) -> IntArray:
    if answers is None:
        return np.full(len(rows.vote), -1, dtype=np.int64)
    known = answers[["unit_id", "turn", a, b]]
    found = rows.frame[["unit_id", "turn"]].merge(
        known, how="left", on=["unit_id", "turn"], validate="many_to_one"
    )
    left, right = (found[name].astype("float64").to_numpy() for name in (a, b))
    codes = np.where(left > right, 0, np.where(left < right, 2, TIE))
    return np.where(np.isnan(left) | np.isnan(right), -1, codes).astype(np.int64)


def _against(
    baseline: Baseline, rows: Rows, guess: IntArray, population: str, undefined: str
) -> dict[Key, Figure]:
    ones = np.ones(len(guess))
    credit: FloatArray = (guess == rows.vote).astype(np.float64)
    if rows.setup == S2:
        credit = np.where(guess == TIE, 0.5, credit)
    place, excluded = rows.question, rows.excluded
    excess = difference(
        f"excess over {baseline}", rows.agree, credit, ones, place, population, undefined, excluded
    )
    own = share(f"agreement of {baseline}", credit, ones, place, population, undefined, excluded)
    # Only verdicts that are the same give 0 in any sample, not verdicts that are right alike.
    same = bool(len(guess)) and bool(np.array_equal(guess, rows.verdict))
    return {
        ("agreement", baseline): own,
        ("excess", baseline): replace(excess, identical=same),
    }
