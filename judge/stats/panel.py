"""Several judges side by side: on the units that all of them judged, and as a majority.

Comparing judges on different items compares the items (alpaca_eval #325): everything here
is about the intersection, and says how large it is. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from annotate.records import Outcome, Status
from judge.stats.agreement import CODE

ABSTAINED = "no majority"
"""Why a panel has no verdict on a unit."""
_UNIT = ["unit_id", "turn"]


@dataclass(frozen=True, slots=True)
class PanelCounts:
    """How much several judges have in common.

    `units` (pair × turn) all of them judged; `left_out` some judge has no verdict on; on
    `abstained` of them there is no majority.
    """

    name: str
    judges: tuple[str, ...]
    units: int
    left_out: int
    abstained: int


@dataclass(frozen=True, slots=True)
class Panel:
    """The verdicts of several judges on what all of them judged.

    `verdicts` holds each judge's rows there (shape as of `agreement.select_verdicts`), and
    under the panel's name the majority's.
    """

    counts: PanelCounts
    verdicts: Mapping[str, pd.DataFrame]

    @property
    def majority(self) -> pd.DataFrame:
        """The majority's rows."""
        return self.verdicts[self.counts.name]


def panel_of(verdicts: Mapping[str, pd.DataFrame]) -> Panel | None:
    """The panel of two judges or more; None when there is no unit that all have judged.

    An outcome needs more than half of the judges, both kinds of tie counting as one; else
    the panel abstains, which is no verdict and never a tie.
    """
    judges = tuple(sorted(verdicts))
    if len(judges) < 2:
        return None
    usable = {judge: verdicts[judge][verdicts[judge]["failure"] == ""] for judge in judges}
    keys = {judge: pd.MultiIndex.from_frame(rows[_UNIT]) for judge, rows in usable.items()}
    common = keys[judges[0]]
    everything = common
    for judge in judges[1:]:
        common = common.intersection(keys[judge])
        everything = everything.union(keys[judge])
    if common.empty:
        return None
    here = {
        judge: rows[keys[judge].isin(common)].sort_values(_UNIT, ignore_index=True)
        for judge, rows in usable.items()
    }
    name = f"majority of {len(judges)} judges"
    majority = _majority([here[judge] for judge in judges], name)
    counts = PanelCounts(
        name,
        judges,
        units=len(common),
        left_out=len(everything) - len(common),
        abstained=int((majority["failure"] != "").sum()),
    )
    return Panel(counts, {**here, name: majority})


def _majority(rows: list[pd.DataFrame], name: str) -> pd.DataFrame:
    """One row per unit: the outcome of more than half, or none."""
    codes = pd.concat([part["code"] for part in rows], axis=1).to_numpy()
    outcomes = {CODE[outcome]: outcome for outcome in (Outcome.A, Outcome.TIE, Outcome.B)}
    found: list[str] = []
    for row in codes:
        code, count = Counter(int(c) for c in row).most_common(1)[0]
        found.append(outcomes[code].value if 2 * count > len(row) else "")
    values = pd.Series(found, dtype=object)
    decided = values != ""
    return rows[0].assign(
        source_id=name,
        value=values,
        code=values.map(CODE).fillna(-1).astype("int64"),
        status=decided.map({True: Status.OK.value, False: Status.INCOMPLETE.value}),
        failure=decided.map({True: "", False: ABSTAINED}),
        reason="",
    )
