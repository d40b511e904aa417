"""The plurality as a topic: agreement with it, and win rates against a baseline."""

from __future__ import annotations

import pytest

from annotate.errors import UsageError
from judge.reporting.topics.majority import found, section
from tests.judge.reporting.scopes import scope_of, tables_of, texts_of
from tests.judge.stats.tables import row, study, units


def test_units_with_one_vote_or_two_by_hand() -> None:
    # Plurality a, b, tie (split), a; judge a, a, tie, tie.
    values = found(scope_of(units("aab/a", "bb/a", "ab/t", "a/t")))
    shares = {
        (one.setup, one.at_least): (one.agreement.numerator, one.agreement.denominator)
        for one in values.lines
    }
    assert shares == {("S1", 1): (2, 4), ("S1", 2): (2, 3), ("S2", 1): (1, 2), ("S2", 2): (1, 2)}
    assert [(one.units, one.split) for one in values.lines[:2]] == [(4, 1), (3, 1)]


def test_the_baseline_is_the_model_with_most_votes_and_is_named() -> None:
    rows = [
        row("q0:alder-birch", "r0", "a"),
        row("q0:birch-cedar", "r0", "a"),
        row("q1:birch-cedar", "r0", "b"),
        row("q0:birch-cedar", "judge", "a"),
        row("q1:birch-cedar", "judge", "a"),
        # The judge alone judged this question; nobody voted on it.
        row("q9:birch-cedar", "judge", "b"),
    ]
    values = found(scope_of(rows))
    assert (values.baseline, values.baseline_named) == ("birch", False)
    (cedar,) = (one for one in values.win_rates if one.model == "cedar")
    assert [rate.value for rate in (cedar.judge_all, cedar.judge_same, cedar.plurality)] == [
        pytest.approx(1 / 3),
        0,
        0.5,
    ]
    table = tables_of(section(values))[-1]
    assert "Baseline: birch, the model with the most votes" in table.remarks[0]


def test_a_baseline_can_be_asked_for_and_an_unknown_one_is_refused() -> None:
    scope = scope_of(study(3))
    asked = found(scope, "cedar")
    assert (asked.baseline, {one.model for one in asked.win_rates}) == ("cedar", {"alder", "birch"})
    assert "cedar, as asked for" in tables_of(section(asked))[-1].remarks[0]
    with pytest.raises(UsageError, match=r"'oak'.*known: alder, birch, cedar"):
        found(scope, "oak")


def test_models_known_by_a_hash_only_have_no_win_rates() -> None:
    hashed = {"model_a": "unnamed:01", "model_b": "unnamed:02"}
    values = found(scope_of([row("q0", "r0", "a", **hashed), row("q0", "judge", "a", **hashed)]))
    assert (values.baseline, values.win_rates) == ("", ())
    assert "no win rates" in texts_of(section(values))
