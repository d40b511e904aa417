"""Graded answers as a set to be scored, with people's grades as its labels.

An item is an answer at one turn (where no turn is graded, as a whole): its verdict class is that
of the judge's grade, its label the mean of people's grades there, what a random rater would give.
The score is the mean over items: helpfulness is the mean grade over turns.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from annotate.errors import UsageError
from annotate.harm import HARM
from annotate.records import Layer, PromptSet, Purpose, SourceKind, Status, Subject
from judge.calibration.columns import Items, Kind, grade_class
from judge.calibration.from_table import Scored, drawn_labels
from judge.calibration.merging import merge_small
from judge.calibration.rows import question_of, set_name, tally, unit_turn


def grade_set(
    table: pd.DataFrame,
    judge: str,
    fingerprint: str,
    dimension: str,
    *,
    drawn: Sequence[tuple[str, float]] | None = None,
    merged: bool = True,
) -> Scored:
    """Every answer and turn that the judge graded, and people's grades.

    Answers to prompts that ask for harm are left out: a high grade for help would be a fault.

    Args:
        table: the tidy table.
        judge: source id of the judge's run.
        fingerprint: of the run, kept with the items.
        dimension: of the grades.
        drawn: (answer and turn, inclusion probability) of a draw in its order; then only its
            labels count, and what was drawn and not graded is said. None takes every grade.
        merged: small verdict classes join a neighbour, as for labelling.

    Raises:
        UsageError: the judge graded no answer on the dimension, or it is `harm`.
    """
    if dimension == HARM:
        raise UsageError(f"dimension {HARM!r} has labels, not grades; expected --score harm")
    rows = table[
        (table["subject"] == Subject.ANSWER)
        & (table["dimension"] == dimension)
        & (table["occurrence"] == 1)
    ]
    if "prompt_set" in rows:
        rows = rows[rows["prompt_set"].fillna("") != PromptSet.HARMFUL]
    judged = rows[(rows["source_kind"] == SourceKind.JUDGE) & (rows["source_id"] == judge)]
    # Turns and whole dialogues are different questions; they never pool.
    if (judged["turn"] > 0).any():
        judged, rows = judged[judged["turn"] > 0], rows[rows["turn"] > 0]
    if judged.empty:
        raise UsageError(
            f"judge {judge}: graded no answer on {dimension}; run evenhand judge --mode grade"
            f" --dimension {dimension} first, or name another --dimension"
        )
    items = _items(judged, fingerprint)
    items = merge_small(items) if merged else items
    means = _people(rows)
    wanted = drawn if drawn is not None else [(str(one), 1.0) for one in means.index]
    values = [float(means.get(one, np.nan)) for one, _p in wanted]
    return Scored(
        items,
        drawn_labels(items.name, wanted, values, drawn),
        questions=len(set(items.questions)),
        categories=tally(judged["category"].fillna("")),
    )


def _items(judged: pd.DataFrame, fingerprint: str) -> Items:
    judged = judged.assign(item=unit_turn(judged), asked=question_of(judged)).sort_values("item")
    usable = judged["status"] == Status.OK
    grades = pd.to_numeric(judged["value"].where(usable), errors="coerce").to_numpy(np.float64)
    sets = judged["prompt_set"].fillna("") if "prompt_set" in judged else ""
    return Items(
        Kind.GRADES,
        set_name(judged["item"]),
        list(judged["item"]),
        list(judged["model_a"].astype(str)),
        list(judged["asked"]),
        [grade_class(None if np.isnan(grade) else float(grade)) for grade in grades],
        sets if isinstance(sets, str) else list(sets),
        judges=fingerprint,
        predicted=grades,
    )


def _people(rows: pd.DataFrame) -> pd.Series[float]:
    """The mean grade of each answer and turn that people graded."""
    given = rows[
        (rows["source_kind"] == SourceKind.RATER)
        & (rows["layer"] == Layer.VOTE)
        & (rows["status"] == Status.OK)
        & rows["purpose"].isin(["", Purpose.ESTIMATION])
    ]
    return given["value"].astype(float).groupby(unit_turn(given)).mean()
