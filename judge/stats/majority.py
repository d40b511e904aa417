"""People as one voice per unit: the plurality of its votes.

The outcome with the most votes on a unit (pair × turn); when two or more share the first
place the unit is *split* and counts as a tie. A unit with one vote has that vote. Averaging
over people takes their noise out, so agreement with the plurality is not agreement with a
person: it is printed beside the vote level, never in its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from judge.stats.agreement import S1, S2, Votes
from judge.stats.coefficients import FloatArray
from judge.stats.joint import Figure, share
from judge.stats.rows import TIE, confusion_figures, judged_rows, positions

JUDGE_ALL = "judge, all units"
JUDGE_SAME = "judge, units with votes"
PLURALITY = "plurality of votes"
RANDOM_RATER = "a random rater"
WIN_RATES = (JUDGE_ALL, JUDGE_SAME, PLURALITY, RANDOM_RATER)

NO_UNIT = {
    S1: "no unit has a vote and a usable verdict of this judge",
    S2: "on no unit do the plurality of votes and the judge both name a winner",
}


def plurality(votes: Votes, *, at_least: int = 1) -> Votes:
    """One vote per unit, that of most raters; a split is a tie.

    Args:
        votes: from `judge.stats.agreement.select_votes`.
        at_least: votes that a unit must have.

    Returns:
        Rows as of votes, `source_id` "plurality", and in addition `votes` (how many),
        `split` (1 if the first place is shared) and `mean` (the mean of 1 for a, ½ for a
        tie, 0 for b).
    """
    rows = votes.rows
    unit = rows.groupby(["unit_id", "turn"], sort=True).ngroup().to_numpy()
    first = np.unique(unit, return_index=True)[1]
    tally = np.bincount(3 * unit + rows["code"].to_numpy(), minlength=3 * len(first))
    per_unit = tally.reshape(-1, 3)
    m = per_unit.sum(1)
    split = (per_unit == per_unit.max(1, keepdims=True, initial=0)).sum(1) > 1
    made = rows.iloc[first].reset_index(drop=True)
    made = made.assign(
        source_id="plurality",
        code=np.where(split, TIE, per_unit.argmax(1)),
        votes=m,
        split=split.astype(np.int64),
        mean=(per_unit @ np.array([1.0, 0.5, 0.0])) / np.maximum(m, 1),
    )
    return replace(votes, rows=made[m >= at_least].reset_index(drop=True))


def majority_figures(
    votes: Votes,
    verdicts: pd.DataFrame,
    setup: str,
    questions: pd.Index[str],
    population: str,
    *,
    at_least: int = 1,
) -> dict[str, Figure]:
    """The judge beside the plurality, one row per unit: agreement, kappa*, alpha, AC1 by name.

    S1 takes a split as a tie; S2 keeps the units on which both name a winner. Other
    arguments as for `judge.stats.rows.judged_rows`.
    """
    rows = judged_rows(plurality(votes, at_least=at_least), verdicts, setup, questions)
    where = f"{population}; plurality per unit"
    made = confusion_figures(rows, where)
    if len(rows.vote):
        return made
    return {name: replace(one, undefined=NO_UNIT[setup]) for name, one in made.items()}


def win_rate_figures(
    votes: Votes,
    verdicts: pd.DataFrame,
    baseline: str,
    questions: pd.Index[str],
    population: str,
) -> dict[tuple[str, str], Figure]:
    """Each model's win rate against one baseline, ties half, as four sources see it.

    1: wins every unit; ½: as good as the baseline; 0: loses every unit. The judge on all it
    judged and on the units with votes; the plurality; and a random rater, the mean over
    units of the mean vote. The last three are on the same units, so that they can be
    compared; units whose verdict failed are not among them.

    Args:
        votes: from `judge.stats.agreement.select_votes`.
        verdicts: from `judge.stats.agreement.select_verdicts`.
        baseline: the model to compare with.
        questions: of votes and verdicts, from `judge.stats.rows.question_index`.
        population: whose votes, in words.

    Returns:
        By (model, one of WIN_RATES), models in alphabetical order.
    """
    judged = verdicts[verdicts["code"] >= 0]
    units = plurality(votes).rows.merge(
        judged[["unit_id", "turn", "code"]].rename(columns={"code": "verdict"}),
        on=["unit_id", "turn"],
        validate="one_to_one",
    )
    everything, both = _against(judged, baseline), _against(units, baseline)
    models = sorted({*everything["opponent"], *both["opponent"]})
    figures = {}
    for model in models:
        wanted = everything[everything["opponent"] == model]
        shared = both[both["opponent"] == model]
        sources: Mapping[str, tuple[pd.DataFrame, FloatArray]] = {
            JUDGE_ALL: (wanted, _score(wanted["code"])),
            JUDGE_SAME: (shared, _score(shared["verdict"])),
            PLURALITY: (shared, _score(shared["code"])),
            RANDOM_RATER: (shared, shared["mean"].to_numpy(dtype=np.float64)),
        }
        for source, (rows, score) in sources.items():
            # Scores are of a; the model is b where the baseline is a.
            won = np.where(rows["model_a"] == baseline, 1 - score, score)
            made = share(
                "win_rate",
                won,
                np.ones(len(won)),
                positions(rows["cluster"], questions),
                f"{source}; {model} against {baseline}; {population}",
                f"no unit of {model} against {baseline}",
            )
            figures[model, source] = replace(made, numerator=None)
    return figures


def _against(rows: pd.DataFrame, baseline: str) -> pd.DataFrame:
    """Rows of the baseline and another model, with `opponent`."""
    first, second = rows["model_a"] == baseline, rows["model_b"] == baseline
    chosen = rows[first ^ second]
    opponent = chosen["model_b"].where(chosen["model_a"] == baseline, chosen["model_a"])
    return chosen.assign(opponent=opponent)


def _score(codes: pd.Series[int]) -> FloatArray:
    """1 for a, ½ for a tie, 0 for b."""
    return 1 - codes.to_numpy(dtype=np.float64) / 2
