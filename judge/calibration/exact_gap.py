"""A difference that is the same in every question: what it may still be elsewhere.

A judge that is always right beside people who always agree differs from them nowhere. A bootstrap
then says "no error" and gives no interval, and a gate that asks for one could never pass. Whole
questions are counted instead: with none of K questions off, at most a share
u = 1 − (tail)^(1/K) of all questions is (Clopper and Pearson), and on those the difference is at
worst −1 and at best +1.
"""

from __future__ import annotations

from dataclasses import replace

from judge.stats.binomial import clopper_pearson
from judge.stats.estimate import Estimate
from judge.stats.intervals import SAME_VALUE

METHOD = "exact (Clopper–Pearson) on questions, which all say the same"


def by_question(one: Estimate) -> Estimate:
    """The difference with low = (1 − u) d − u and high = (1 − u) d + u; others as they are."""
    if one.value is None or one.low is not None or SAME_VALUE not in one.reason:
        return one
    _none, off = clopper_pearson(0, one.clusters, one.level)
    kept = (1 - off) * one.value
    return replace(one, low=kept - off, high=kept + off, method=METHOD, reason="")
