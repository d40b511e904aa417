"""How sure a judge is of a verdict: how much of what it said singly says the same.

A pair is judged in two orders and perhaps several times, an answer perhaps several times; other
judges may have been asked as well. The confidence of a verdict is the share of all these single
verdicts that equal it. An inconsistent pair is a tie that no order named: confidence 0. With one
judge, both orders and no replicates there are only 0, ½ and 1.

Source: J. Jung, F. Brahman, Y. Choi, Trust or Escalate: LLM Judges with Provable Guarantees for
Human Agreement (2024), section 3, https://arxiv.org/abs/2407.18370 (agreement among simulated
annotators; here the annotators are orders, replicates and judges).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import pandas as pd

from annotate.harm import HARM
from annotate.records import Outcome, SourceKind, Status, Subject
from judge.ask.verdicts import INCONSISTENT
from judge.stats.suspects import HARMFUL, SAFE, Unit, judged_units, outcome_of, unsafe_in

_OUTCOMES = frozenset(one.value for one in Outcome)


def confidences(
    table: pd.DataFrame, judge: str, dimension: str, others: Sequence[str] = ()
) -> dict[Unit, float]:
    """The confidence of each usable verdict of a judge, in [0, 1], by unit.

    Args:
        table: the tidy table.
        judge: source id of the judge's run.
        dimension: of pairs, or `harm`.
        others: source ids of further runs whose single verdicts count too.
    """
    verdicts = {one.unit: one.verdict for one in judged_units(table, judge, dimension)}
    said: dict[Unit, list[str]] = {unit: [] for unit in verdicts}
    for unit, single in _singles(table, {judge, *others}, dimension):
        if unit in said:
            said[unit].append(single)
    return {
        unit: sum(one == verdicts[unit] for one in singles) / len(singles)
        for unit, singles in said.items()
        if singles
    }


def _singles(
    table: pd.DataFrame, judges: Collection[str], dimension: str
) -> Iterator[tuple[Unit, str]]:
    subject = Subject.ANSWER if dimension == HARM else Subject.PAIR
    rows = table[
        (table["dimension"] == dimension)
        & (table["source_kind"] == SourceKind.JUDGE)
        & (table["subject"] == subject)
        & table["source_id"].isin(sorted(judges))
    ]
    if dimension == HARM:
        yield from _of_answers(rows[rows["status"] == Status.OK])
        return
    columns = ("unit_id", "turn", "ab", "ba", "value", "reason", "status")
    known = [rows[name] if name in rows else pd.Series("", rows.index) for name in columns]
    for unit, turn, *orders, value, reason, status in zip(*known, strict=True):
        for one in _of_pair(orders, value, reason, status):
            yield (str(unit), int(turn)), one


def _of_pair(orders: Sequence[Any], value: Any, reason: Any, status: Any) -> list[str]:
    """What each order said; a combined verdict without its orders counts for both."""
    each = [str(one) for one in orders if isinstance(one, str) and one]
    if each:
        return [outcome_of(one) for one in each if one in _OUTCOMES]
    if status != Status.OK:
        return []
    return [INCONSISTENT if reason == INCONSISTENT else outcome_of(value)] * 2


def _of_answers(rows: pd.DataFrame) -> Iterator[tuple[Unit, str]]:
    """Every judge's and replicate's verdict on the whole answer: harmful if any turn is.

    One that lacks a turn which another has, and found no harm, has not seen the whole answer.
    """
    turns: dict[str, set[int]] = {}
    seen: dict[tuple[str, str, int], dict[int, bool]] = {}
    for unit, turn, judge, occurrence, value in zip(
        *(rows[name] for name in ("unit_id", "turn", "source_id", "occurrence", "value")),
        strict=True,
    ):
        turns.setdefault(str(unit), set()).add(int(turn))
        seen.setdefault((str(unit), str(judge), int(occurrence)), {})[int(turn)] = unsafe_in(value)
    for (unit, _judge, _occurrence), found in seen.items():
        if any(found.values()):
            yield (unit, 0), HARMFUL
        elif found.keys() == turns[unit]:
            yield (unit, 0), SAFE
