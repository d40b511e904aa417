"""A new set's score with another set's means: by hand."""

from __future__ import annotations

from typing import Any

import pytest

from judge.calibration.columns import Items, Kind
from judge.calibration.transported import KnownMean, known_means, transported


def items(*rows: tuple[str, str, int], kind: Kind = Kind.HARM, prompts: str = "") -> Items:
    """(model, verdict, how many)."""
    wide = [(model, verdict) for model, verdict, n in rows for _ in range(n)]
    ids = [str(n) for n in range(len(wide))]
    return Items(kind, "new", ids, [m for m, _v in wide], ids, [v for _m, v in wide], prompts)


def near(*values: float) -> Any:
    return pytest.approx(values)


OLD = (
    KnownMean("a", "harmful", "", 20, 0.8),
    KnownMean("a", "safe", "", 80, 0.1),
    KnownMean("b", "harmful", "", 40, 0.5),
    KnownMean("b", "safe", "", 60, 0.0),
)


def test_values_and_ranges_by_hand() -> None:
    found = transported(items(("a", "harmful", 5), ("a", "safe", 5), ("b", "safe", 10)), OLD)
    everyone, a, b = found.scores
    assert (a.model, a.items) == ("a", 10)
    assert a.value == pytest.approx((5 * 0.8 + 5 * 0.1) / 10)
    # With b's means: 5 × .5 and 5 × 0 of 10.
    assert (a.low, a.high) == near(0.25, 0.45)
    assert (b.value, b.low, b.high) == near(0.0, 0.0, 0.1)
    assert everyone.model == ""
    assert everyone.value == pytest.approx((5 * 0.8 + 5 * 0.1 + 0) / 20)
    # All with a's: (4 + 1.5) / 20; all with b's: 2.5 / 20.
    assert (everyone.low, everyone.high) == near(0.125, 0.275)
    assert found.unknown == ()


def test_a_model_that_was_not_calibrated_has_a_range_only() -> None:
    found = transported(items(("c", "harmful", 1), ("c", "safe", 1)), OLD)
    (score,) = found.scores
    assert score.value is None
    assert score.reason == "not calibrated: c"
    assert (score.low, score.high) == near(0.25, 0.45)
    assert found.unknown == ("c",)


def test_a_class_without_labels_is_bounded_and_gives_no_value() -> None:
    found = transported(items(("a", "safe", 1), ("a", "failed", 1)), OLD)
    (score,) = found.scores
    assert score.value is None
    assert score.reason == "no label in the calibration: a · failed"
    # a: .1 of 2 and the failed one 0 or 1; b: 0 and the failed one.
    (a, *with_a), (b, *with_b) = score.by_model
    assert (a, b) == ("a", "b")
    assert (*with_a, *with_b) == near(0.05, 0.55, 0.0, 0.5)
    assert (score.low, score.high) == near(0.0, 0.55)


def test_one_calibrated_model_gives_no_range() -> None:
    (score,) = transported(items(("a", "safe", 3)), OLD[:2]).scores
    assert score.value == pytest.approx(0.1)
    assert (score.low, score.high) == (None, None)


def test_its_own_prompt_set_comes_first_and_else_all_of_them() -> None:
    means = (KnownMean("a", "safe", "easy", 30, 0.0), KnownMean("a", "safe", "hard", 10, 0.4))
    for prompts, value in (("easy", 0.0), ("hard", 0.4), ("other", 0.1)):
        (score,) = transported(items(("a", "safe", 2), prompts=prompts), means).scores
        assert score.value == pytest.approx(value), prompts


def test_merged_classes_of_pairs_stand_for_each_of_them() -> None:
    means = (KnownMean("a", "tie+inconsistent", "", 9, 0.6), KnownMean("a", "win", "", 30, 0.9))
    rows = (("a", "tie", 1), ("a", "inconsistent", 1), ("a", "win", 2))
    (score,) = transported(items(*rows, kind=Kind.PAIRS), means).scores
    assert score.value == pytest.approx((0.6 + 0.6 + 1.8) / 4)


def test_means_come_from_an_artefact_and_unlabelled_strata_have_none() -> None:
    row = {"model": "a", "verdict": "safe", "prompt_set": "", "size": 9, "labelled": 4, "total": 1}
    assert known_means([row, row | {"labelled": 0, "total": 0}]) == (
        KnownMean("a", "safe", "", 9, 0.25),
    )


@pytest.mark.parametrize(("rows", "means"), [((), OLD), ((("a", "safe", 1),), ())])
def test_nothing_to_transport_is_an_error(
    rows: tuple[tuple[str, str, int], ...], means: tuple[KnownMean, ...]
) -> None:
    with pytest.raises(ValueError, match="expected some of both"):
        transported(items(*rows), means)


def test_a_mean_of_active_labels_is_weighted() -> None:
    """Of five draws the three labels stand for four: their sum is over four, not three."""
    row = {"model": "a", "verdict": "safe", "prompt_set": "", "size": 9, "labelled": 3}
    (alike,) = known_means([{**row, "total": 1.0, "weight": None}])
    (active,) = known_means([{**row, "total": 1.0, "weight": 4.0}])
    (older,) = known_means([{**row, "total": 1.0}])
    assert (alike.mean, active.mean, older.mean) == near(1 / 3, 1 / 4, 1 / 3)
