"""The pair rule: two verdicts, one in each order, become one pair verdict (DESIGN §6).

Pure: no database, endpoint or command line.
"""

from __future__ import annotations

from dataclasses import dataclass

from annotate.records import Choice, Order, Outcome, Status, outcome

AGGREGATION = "both-orders-1"
"""Name of the rule in manifests; changes whenever the rule would give another outcome."""

SOFT = "soft"
"""One order said tie, the other both bad: a tie that hides a disagreement of degree."""
INCONSISTENT = "inconsistent"
"""The two orders disagree: a tie that says more of the judge than of the answers."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One call's result in canonical terms; `outcome` is set exactly when `ok`."""

    status: Status
    outcome: Outcome | None = None

    def __post_init__(self) -> None:
        """Refuse a value without `ok`, and `ok` without a value."""
        if (self.status is Status.OK) != (self.outcome is not None):
            raise ValueError(f"verdict {self.status} with outcome {self.outcome}: only ok has one")

    @classmethod
    def of(cls, status: Status, choice: Choice | None, order: Order) -> Verdict:
        """The verdict of one call, its side turned into an outcome."""
        return cls(status, None if choice is None else outcome(choice, order))


@dataclass(frozen=True, slots=True)
class PairVerdict:
    """What a judge holds of a pair; `incomplete` has no outcome and is counted apart.

    `reason` is "", `soft`, `inconsistent`, or the statuses of the failed calls.
    """

    status: Status
    outcome: Outcome | None
    reason: str
    orders: str = "both"


def combine(ab: Verdict, ba: Verdict) -> PairVerdict:
    """One pair verdict of the verdicts in order `ab` and in order `ba`."""
    failures = sorted({v.status.value for v in (ab, ba) if v.status is not Status.OK})
    if failures:
        return PairVerdict(Status.INCOMPLETE, None, "+".join(failures))
    if ab.outcome is ba.outcome:
        return PairVerdict(Status.OK, ab.outcome, "")
    if {ab.outcome, ba.outcome} == {Outcome.TIE, Outcome.BOTH_BAD}:
        return PairVerdict(Status.OK, Outcome.TIE, SOFT)
    return PairVerdict(Status.OK, Outcome.TIE, INCONSISTENT)
