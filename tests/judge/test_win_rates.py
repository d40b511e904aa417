"""Win rates: definitions by hand, laws, and FastChat's counting done naively."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotate.errors import UsageError
from annotate.records import Outcome, mirrored
from judge.stats.win_rates import Comparison, WinRates, win_rates

A, B, TIE, BAD = Outcome.A, Outcome.B, Outcome.TIE, Outcome.BOTH_BAD
FEW = [
    Comparison("alder", "birch", A, question="1"),
    Comparison("alder", "birch", TIE, question="1"),
    Comparison("alder", "birch", BAD, question="2"),
    Comparison("alder", "cedar", B, question="2"),
    Comparison("birch", "cedar", None, "incomplete", "3"),
    Comparison("birch", "birch", A, question="3"),
]


def by_model(rows: tuple[WinRates, ...]) -> dict[str, WinRates]:
    return {row.model: row for row in rows}


def test_by_hand() -> None:
    rows = win_rates(FEW)
    assert [row.model for row in rows] == ["cedar", "alder", "birch"]
    alder = by_model(rows)["alder"]
    assert (alder.wins, alder.losses, alder.ties, alder.both_bad, alder.n) == (1, 1, 2, 1, 4)
    # (1 + 2/2) / 4, 1 / (1 + 1), 1 / 4
    assert [alder.adjusted.value, alder.decisive.value, alder.strict.value] == [0.5, 0.5, 0.25]
    assert (alder.adjusted.numerator, alder.adjusted.denominator) == (2.0, 4)
    assert alder.by_question == {"1": (1, 0, 1), "2": (0, 1, 1)}


def test_what_has_no_outcome_is_counted_by_reason_and_in_no_rate() -> None:
    rows = by_model(win_rates(FEW))
    assert rows["birch"].excluded == {"incomplete": 1, "two versions of one model": 1}
    assert rows["cedar"].excluded == {"incomplete": 1}
    assert rows["alder"].excluded == {}
    assert rows["birch"].n == 3


def test_against_a_baseline_which_has_no_row() -> None:
    rows = win_rates(FEW, "alder")
    assert [(row.model, row.adjusted.value) for row in rows] == [("cedar", 1.0), ("birch", 1 / 3)]


def test_a_model_without_a_usable_verdict_has_no_rate_and_comes_last() -> None:
    rows = win_rates([*FEW, Comparison("alder", "dogwood", None, "incomplete")])
    assert rows[-1].model == "dogwood"
    last = rows[-1]
    assert [last.adjusted.value, last.decisive.value, last.strict.value] == [None, None, None]


def test_only_ties_leave_the_decisive_rate_undefined() -> None:
    (one, _) = win_rates([Comparison("alder", "birch", TIE)])
    assert (one.adjusted.value, one.decisive.value, one.strict.value) == (0.5, None, 0.0)


def test_an_unknown_baseline_is_refused() -> None:
    with pytest.raises(UsageError, match="baseline 'oak': no verdict compares a model with it"):
        win_rates(FEW, "oak")


names = st.sampled_from(["alder", "birch", "cedar"])
comparisons = st.lists(
    st.builds(Comparison, names, names, st.none() | st.sampled_from(Outcome), st.just("failed"))
)


@given(comparisons)
def test_fastchats_counting_done_naively_gives_the_same(made: list[Comparison]) -> None:
    expected: dict[str, list[int]] = {}
    for one in made:
        if one.outcome is None or one.model_a == one.model_b:
            continue
        for model, mine in ((one.model_a, A), (one.model_b, B)):
            won, lost, tied = expected.setdefault(model, [0, 0, 0])
            if one.outcome in (TIE, BAD):
                expected[model] = [won, lost, tied + 1]
            elif one.outcome is mine:
                expected[model] = [won + 1, lost, tied]
            else:
                expected[model] = [won, lost + 1, tied]
    found = {row.model: row for row in win_rates(made) if row.n}
    assert {m: [r.wins, r.losses, r.ties] for m, r in found.items()} == expected
    for model, (won, lost, tied) in expected.items():
        share = found[model].adjusted
        assert Fraction(share.numerator) / share.denominator == (
            Fraction(2 * won + tied, 2 * (won + lost + tied))
        )


@given(comparisons)
def test_every_win_is_a_loss_and_naming_does_not_matter(made: list[Comparison]) -> None:
    rows = win_rates(made)
    assert sum(row.wins for row in rows) == sum(row.losses for row in rows)
    turned = [
        Comparison(c.model_b, c.model_a, c.outcome and mirrored(c.outcome), c.failure) for c in made
    ]
    assert win_rates(turned) == rows


@given(comparisons)
def test_records_against_each_baseline_add_up_to_the_whole(made: list[Comparison]) -> None:
    whole = by_model(win_rates(made))
    for model, row in whole.items():
        others = [name for name in whole if name != model]
        wins = ties = 0
        for other in others:
            if any({model, other} == {c.model_a, c.model_b} for c in made):
                against = by_model(win_rates(made, other))[model]
                wins += against.wins
                ties += against.ties
        assert (wins, ties) == (row.wins, row.ties)
