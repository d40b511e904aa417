"""Whether an interval holds the truth."""

from __future__ import annotations

from judge.stats.estimate import Estimate


def held(one: Estimate, truth: float) -> bool:
    """An interval there must be."""
    assert one.low is not None
    assert one.high is not None
    return one.low <= truth <= one.high
