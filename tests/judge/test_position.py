"""Position figures: definitions by hand, laws, and judges whose figures are known beforehand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotate.records import Choice, Game, Order, Outcome, Status, mirrored, outcome
from judge.ask.verdicts import INCONSISTENT, Verdict, combine
from judge.stats.position import NOT_BOTH, Position, classify, position, tie_in_one_order

A, B, TIE, BAD = Outcome.A, Outcome.B, Outcome.TIE, Outcome.BOTH_BAD
FAILED = Status.UNPARSEABLE

outcomes = st.sampled_from(Outcome)
games = outcomes | st.sampled_from([Status.UNPARSEABLE, Status.TIMEOUT, Status.REFUSED])


@pytest.mark.parametrize(
    ("ab", "ba", "expected"),
    [
        (A, A, Position.CONSISTENT),
        (TIE, BAD, Position.CONSISTENT),
        (A, B, Position.FIRST),
        (B, A, Position.SECOND),
        # A wins where it comes first and ties where it comes second: the first place helped it.
        (A, TIE, Position.FIRST),
        (TIE, B, Position.FIRST),
        (BAD, A, Position.SECOND),
        (B, TIE, Position.SECOND),
        (A, FAILED, Position.ERROR),
        (Status.API_ERROR, FAILED, Position.ERROR),
        (None, A, NOT_BOTH),
        (Status.SKIPPED_BUDGET, A, "skipped_budget"),
    ],
)
def test_by_hand(ab: Game | None, ba: Game | None, expected: str) -> None:
    assert classify(ab, ba) == expected


def test_columns_make_up_all_pairs_and_the_rest_is_counted_by_reason() -> None:
    counted = position([(A, A), (A, B), (A, TIE), (B, A), (A, FAILED), (None, A), (A, None)])
    assert counted.counts == {
        Position.CONSISTENT: 1, Position.FIRST: 2, Position.SECOND: 1, Position.ERROR: 1
    }  # fmt: skip
    assert (counted.n, counted.ties_in_one_order) == (5, 1)
    assert counted.share(Position.FIRST) == 0.4
    assert counted.excluded == {NOT_BOTH: 2}
    assert position([]).share(Position.FIRST) is None


@given(st.lists(outcomes, min_size=1))
def test_a_judge_that_always_takes_the_first_is_never_consistent(truth: list[Outcome]) -> None:
    seen = [(outcome(Choice.LEFT, Order.AB), outcome(Choice.LEFT, Order.BA)) for _ in truth]
    counted = position(seen)
    assert counted.share(Position.CONSISTENT) == 0
    assert counted.share(Position.FIRST) == 1
    assert counted.ties_in_one_order == 0


@given(st.lists(outcomes, min_size=1))
def test_a_judge_that_knows_the_truth_is_always_consistent(truth: list[Outcome]) -> None:
    assert position([(true, true) for true in truth]).share(Position.CONSISTENT) == 1


@given(games, games)
def test_consistent_is_what_the_pair_rule_calls_so(ab: Game, ba: Game) -> None:
    """The same border as in win rates: an inconsistent pair verdict is first or second."""
    pair = combine(_verdict(ab), _verdict(ba))
    kind = classify(ab, ba)
    if pair.status is Status.OK:
        assert (kind is Position.CONSISTENT) == (pair.reason != INCONSISTENT)
    else:
        assert kind is Position.ERROR


@given(games, games)
def test_names_do_not_matter_and_exchanged_orders_exchange_first_and_second(
    ab: Game, ba: Game
) -> None:
    kind = classify(ab, ba)
    # The models renamed: what was called ab is now ba, and every outcome is mirrored.
    assert classify(_mirrored(ba), _mirrored(ab)) is kind
    swap = {Position.FIRST: Position.SECOND, Position.SECOND: Position.FIRST}
    assert isinstance(kind, Position)
    assert classify(ba, ab) is swap.get(kind, kind)
    assert tie_in_one_order(ab, ba) == tie_in_one_order(ba, ab)


def _verdict(game: Game) -> Verdict:
    return Verdict(Status.OK, game) if isinstance(game, Outcome) else Verdict(game)


def _mirrored(game: Game) -> Game:
    return mirrored(game) if isinstance(game, Outcome) else game
