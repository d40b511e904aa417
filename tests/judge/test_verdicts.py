"""The pair rule of DESIGN §6."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotate.records import Choice, Order, Outcome, Status, mirrored
from judge.ask.verdicts import PairVerdict, Verdict, combine

FAILURES = [
    Status.UNPARSEABLE, Status.AMBIGUOUS, Status.TRUNCATED, Status.REFUSED,
    Status.FILTERED, Status.API_ERROR, Status.TIMEOUT,
]  # fmt: skip
ok = st.sampled_from(Outcome).map(lambda value: Verdict(Status.OK, value))
failed = st.sampled_from(FAILURES).map(Verdict)
verdicts = ok | failed


def said(value: Outcome) -> Verdict:
    return Verdict(Status.OK, value)


@pytest.mark.parametrize(
    ("ab", "ba", "outcome", "reason"),
    [
        (Outcome.A, Outcome.A, Outcome.A, ""),
        (Outcome.B, Outcome.B, Outcome.B, ""),
        (Outcome.TIE, Outcome.TIE, Outcome.TIE, ""),
        (Outcome.BOTH_BAD, Outcome.BOTH_BAD, Outcome.BOTH_BAD, ""),
        (Outcome.TIE, Outcome.BOTH_BAD, Outcome.TIE, "soft"),
        (Outcome.BOTH_BAD, Outcome.TIE, Outcome.TIE, "soft"),
        (Outcome.A, Outcome.B, Outcome.TIE, "inconsistent"),
        (Outcome.A, Outcome.TIE, Outcome.TIE, "inconsistent"),
        (Outcome.BOTH_BAD, Outcome.B, Outcome.TIE, "inconsistent"),
    ],
)
def test_two_readable_verdicts(ab: Outcome, ba: Outcome, outcome: Outcome, reason: str) -> None:
    assert combine(said(ab), said(ba)) == PairVerdict(Status.OK, outcome, reason)


def test_a_failed_order_makes_the_pair_incomplete_and_names_the_failure() -> None:
    one = combine(said(Outcome.A), Verdict(Status.TIMEOUT))
    both = combine(Verdict(Status.TRUNCATED), Verdict(Status.FILTERED))
    assert one == PairVerdict(Status.INCOMPLETE, None, "timeout")
    assert both == PairVerdict(Status.INCOMPLETE, None, "filtered+truncated")


@given(verdicts, verdicts)
def test_a_failure_never_becomes_a_value(ab: Verdict, ba: Verdict) -> None:
    pair = combine(ab, ba)
    failed = Status.OK in (ab.status, ba.status) and ab.status is not ba.status
    assert (pair.outcome is None) == (pair.status is Status.INCOMPLETE)
    assert not failed or pair.outcome is None


@given(verdicts, verdicts)
def test_the_orders_are_equal_before_the_rule(ab: Verdict, ba: Verdict) -> None:
    assert combine(ab, ba) == combine(ba, ab)


@given(st.sampled_from(Choice), st.sampled_from(Choice))
def test_exchanging_a_and_b_mirrors_the_pair_verdict(in_ab: Choice, in_ba: Choice) -> None:
    pair = combine(Verdict.of(Status.OK, in_ab, Order.AB), Verdict.of(Status.OK, in_ba, Order.BA))
    swapped = combine(
        Verdict.of(Status.OK, in_ba, Order.AB), Verdict.of(Status.OK, in_ab, Order.BA)
    )
    assert pair.outcome is not None
    assert swapped.outcome is mirrored(pair.outcome)
    assert swapped.reason == pair.reason


@pytest.mark.parametrize("side", [Choice.LEFT, Choice.RIGHT])
def test_a_judge_that_always_takes_one_side_is_inconsistent(side: Choice) -> None:
    pair = combine(Verdict.of(Status.OK, side, Order.AB), Verdict.of(Status.OK, side, Order.BA))
    assert pair == PairVerdict(Status.OK, Outcome.TIE, "inconsistent")


def test_a_value_without_ok_is_refused() -> None:
    with pytest.raises(ValueError, match="only ok has one"):
        Verdict(Status.TIMEOUT, Outcome.A)
    with pytest.raises(ValueError, match="only ok has one"):
        Verdict(Status.OK)
