"""Do raters agree with themselves? Hidden repeats: the same pair again, sides flipped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from annotate.records import Layer, Outcome, SourceKind, Status
from judge.stats.agreement import CODE
from judge.stats.coefficients import FloatArray, ratio
from judge.stats.estimate import Estimate
from judge.stats.joint import Figure, IntArray, share
from judge.stats.rows import positions
from judge.stats.two_way import components, two_way_estimate

NAME = "consistency"
NO_REPEATS = "no rater was shown a pair a second time"
NOT_FINISHED = "a vote is missing or was withdrawn, first or second time"


@dataclass(frozen=True, slots=True)
class Repeats:
    """Units that a rater voted on twice; arrays of shape (repeats,)."""

    rater: IntArray
    question: IntArray
    first: IntArray
    """0 a, 1 tie (or both bad), 2 b."""
    second: IntArray
    raters: int
    excluded: Mapping[str, int]

    @property
    def same(self) -> IntArray:
        """1 where both votes are the same, else 0."""
        same: IntArray = (self.first == self.second).astype(np.int64)
        return same


def repeats(
    judgments: pd.DataFrame,
    dimension: str,
    questions: pd.Index[str],
    *,
    groups: Sequence[str] | None = None,
    simulated: bool = False,
) -> Repeats:
    """First and second votes of one rater on one unit; later occurrences are not used.

    Outcomes are stored by model and not by side, so a rater who always votes left is found
    out: the sides are flipped the second time, and the two outcomes differ.

    Args:
        judgments: from `judge.stats.agreement.pair_judgments`.
        dimension: the one dimension.
        questions: from `judge.stats.rows.question_index`.
        groups: rater groups, or None for all.
        simulated: whether simulated raters are wanted, or people.
    """
    wanted = Layer.SIMULATED if simulated else Layer.VOTE
    rows = judgments[
        (judgments["source_kind"] == SourceKind.RATER)
        & (judgments["dimension"] == dimension)
        & (judgments["layer"] == wanted)
    ]
    if groups is not None:
        rows = rows[rows["rater_group"].isin(list(groups))]
    key = ["source_id", "unit_id", "turn"]
    usable = (rows["status"] == Status.OK) & (rows["value"] != "")
    good = rows[usable].drop_duplicates([*key, "occurrence"])
    asked = rows[rows["occurrence"] == 2].drop_duplicates(key)
    first = good.loc[good["occurrence"] == 1, [*key, "value"]]
    second = good.loc[good["occurrence"] == 2, [*key, "value", "cluster"]]
    both = first.merge(second, on=key, suffixes=("", "_again"), validate="one_to_one")
    missing = len(asked) - len(both)
    names, rater = np.unique(both["source_id"].to_numpy(dtype=object), return_inverse=True)
    return Repeats(
        rater.astype(np.int64),
        positions(both["cluster"], questions),
        _codes(both["value"]),
        _codes(both["value_again"]),
        len(names),
        {NOT_FINISHED: missing} if missing else {},
    )


def consistency_figure(found: Repeats, population: str) -> Figure:
    """Share of repeats on which the rater votes as before; interval by question.

    1: always; 0: never. Two categories at random give about ½, so it is no chance-corrected
    figure. It bounds what agreement between people can reach: nobody agrees with others
    better than with themselves, on average. Undefined, with the reason, without repeats.
    """
    same = found.same.astype(np.float64)
    ones = np.ones(len(same))
    place, excluded = found.question, found.excluded
    return share(NAME, same, ones, place, population, NO_REPEATS, excluded)


def consistency_with_raters(found: Repeats, population: str, *, level: float = 0.95) -> Estimate:
    """The same share with an interval for other questions and other raters.

    With fewer raters than `judge.stats.two_way.FEWEST_RATERS` only the value and the words
    "conditional on these raters".
    """
    n = len(found.first)
    if not n:
        return Estimate(
            name=NAME,
            value=None,
            population=population,
            n=0,
            clusters=0,
            reason=NO_REPEATS,
            level=level,
            excluded=found.excluded,
        )
    # Kind 0 is the same vote, kind 1 another.
    kind = 1 - found.same
    parts = components(found.question, found.rater, kind, 2, _share_of_first)
    return two_way_estimate(
        NAME,
        float(found.same.mean()),
        parts,
        population,
        n,
        level=level,
        excluded=found.excluded,
    )


def _codes(values: pd.Series[str]) -> IntArray:
    return np.array([CODE[Outcome(value)] for value in values], dtype=np.int64)


def _share_of_first(totals: FloatArray) -> FloatArray:
    return ratio(totals[..., 0], totals.sum(-1))
