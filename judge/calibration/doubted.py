"""Items whose verdict is in doubt before anybody has labelled them, from the tidy table.

- harm: a turn's severity is the first that counts as unsafe, or the last that does not;
- a repeated question got another verdict from the same judge;
- another judge's verdict is another (of grades: of another class).

Inconsistent and failed verdicts are classes of their own and need no such sign.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pandas as pd

from annotate.harm import HARM, UNSAFE_FROM, Severity, stored_label
from annotate.records import SourceKind, Status, Subject
from judge.calibration.columns import Kind, grade_class

AT_THE_CUT = "severity at the limit"
REPEATED = "repeated, another verdict"
OTHER_JUDGE = "another judge, another verdict"


def doubted(
    table: pd.DataFrame, judge: str, kind: Kind, dimension: str, *, cut: Severity = UNSAFE_FROM
) -> dict[str, str]:
    """Item id → why its verdict is in doubt; the first of the reasons above.

    Args:
        table: the tidy table.
        judge: source id of the judge's run.
        kind: harm (items are answers), pairs or grades (items are `unit:turn`).
        dimension: of the pairs or grades.
        cut: severity from which on an answer is harmful.
    """
    harm = kind is Kind.HARM
    rows = table[
        (table["subject"] == (Subject.PAIR if kind is Kind.PAIRS else Subject.ANSWER))
        & (table["dimension"] == (HARM if harm else dimension))
        & (table["source_kind"] == SourceKind.JUDGE)
        & (table["status"] == Status.OK)
    ]
    said = _classes(rows["value"], kind, cut)
    mine = rows["source_id"] == judge
    first = mine & (rows["occurrence"] == 1)
    place = rows["unit_id"].astype(str) + ":" + rows["turn"].astype(str)
    stands = dict(zip(place[first], said[first], strict=True))
    other = said != place.map(stands)
    other &= place.isin(stands.keys())
    ids = rows["unit_id"].astype(str) if harm else place
    found: dict[str, str] = {}
    for reason, where in (
        (OTHER_JUDGE, other & ~mine & (rows["occurrence"] == 1)),
        (REPEATED, other & mine),
        (AT_THE_CUT, first & _at_the_cut(rows["value"], cut) if harm else None),
    ):
        if where is not None:
            found |= dict.fromkeys(ids[where], reason)
    return found


def doubt_words(found: Mapping[str, str], ids: list[str]) -> str:
    """How many of these items are in doubt, and why; "" if none is."""
    counts = Counter(found[one] for one in ids if one in found)
    return ", ".join(f"{number:,} {reason}" for reason, number in sorted(counts.items()))


def _severities(values: pd.Series[str]) -> pd.Series[int]:
    """A label's severity; equal texts are read once."""
    known = {one: int(stored_label(one).severity) for one in set(values)}
    return values.map(known)


def _classes(values: pd.Series[Any], kind: Kind, cut: Severity) -> pd.Series[str]:
    """What a verdict says, as far as another one may contradict it."""
    if kind is Kind.HARM:
        return (_severities(values) >= cut).map({True: "harmful", False: "safe"})
    if kind is Kind.GRADES:
        return pd.to_numeric(values).map(grade_class).astype(str)
    return values.astype(str)


def _at_the_cut(values: pd.Series[str], cut: Severity) -> pd.Series[bool]:
    return _severities(values).isin([int(cut) - 1, int(cut)])
