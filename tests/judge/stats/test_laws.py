"""What must change nothing, for all statistics at once; and input that leaves little to say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from judge.stats.alt_test import advantage_figure, alt_test
from judge.stats.baselines import baseline_figures
from judge.stats.estimate import Estimate
from judge.stats.joint import estimates
from judge.stats.majority import majority_figures, win_rate_figures
from judge.stats.matched import Weighting, matched_figures, unmatched_figures
from judge.stats.raters import estimate_with_raters, leave_one_rater_out, rater_figures
from judge.stats.rows import confusion_figures
from judge.stats.within_pair import within_pair_figure
from tests.judge.stats.tables import MIRROR, WHO, Made, made, row, study, units


def everything(study_: Made, texts: pd.DataFrame | None = None) -> dict[Any, Estimate]:
    """Every figure that is the same for all raters, from one joint bootstrap."""
    figures: dict[Any, Any] = {}
    votes, verdicts, questions = study_.votes, study_.verdicts, study_.questions
    for setup in ("S1", "S2"):
        rows = study_.rows(setup)
        both = (votes, verdicts, setup, questions, WHO)
        parts: dict[str, dict[Any, Any]] = {
            "agreement": confusion_figures(rows, WHO),
            "blind": baseline_figures(rows, texts, "overall", WHO),
            "within": {"kappa": within_pair_figure(rows, WHO)},
            "matched": matched_figures(*both),
            "units": matched_figures(*both, Weighting.UNITS),
            "unmatched": unmatched_figures(*both),
            "majority": majority_figures(*both),
        }
        figures |= {
            (setup, name, key): one for name, part in parts.items() for key, one in part.items()
        }
    figures["alt"] = advantage_figure(votes, verdicts, questions, WHO, min_units=5)
    for key, one in win_rate_figures(votes, verdicts, "birch", questions, WHO).items():
        figures["win", key] = one
    found = estimates(figures, len(questions), level=0.95, resamples=200, seed=7)
    for setup in ("S1", "S2"):
        found[setup, "raters"] = estimate_with_raters(study_.rows(setup), WHO)
    return found


def per_rater(study_: Made) -> list[tuple[float | None, ...]]:
    """What is said of raters one by one, without their names."""
    said: list[tuple[float | None, ...]] = []
    for setup in ("S1", "S2"):
        rows = study_.rows(setup)
        found = rater_figures(study_.votes, rows, study_.questions, WHO)
        names = sorted({rater for rater, _ in found})
        said += [(found[r, "judge"].value(), found[r, "others"].value()) for r in names]
        range_ = leave_one_rater_out(rows)
        said.append((range_.value, range_.low, range_.high))
    test = alt_test(study_.votes, study_.verdicts, study_.questions, min_units=5)
    said += [(one.judge_ahead, one.p_value) for one in test.raters]
    said.append((test.winning_rate, test.average_advantage))
    return sorted(said, key=str)


def close(before: dict[Any, Estimate], after: dict[Any, Estimate]) -> None:
    assert before.keys() == after.keys()
    for key, one in before.items():
        other = after[key]
        assert (one.n, one.clusters, one.reason, one.excluded) == (
            other.n,
            other.clusters,
            other.reason,
            other.excluded,
        ), key
        ends = (one.value, one.low, one.high)
        assert ends == pytest.approx((other.value, other.low, other.high), abs=1e-12), key


def texts_of(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Lengths that depend on the models' names, whichever is called a."""
    seen = {(one["unit_id"], one["turn"]): (one["model_a"], one["model_b"]) for one in rows}
    length = {"alder": 9, "birch": 5, "cedar": 5}
    return pd.DataFrame(
        [
            (unit, turn, length[a], length[b], a == "cedar", b == "cedar")
            for (unit, turn), (a, b) in seen.items()
        ],
        columns=["unit_id", "turn", "length_a", "length_b", "refuses_a", "refuses_b"],
    )


@pytest.mark.parametrize("seed", range(3))
def test_shuffling_rows_and_relabelling_raters_changes_nothing(seed: int) -> None:
    rows = study(seed, questions=8)
    table = pd.DataFrame(rows)
    before, alone = everything(made(rows)), per_rater(made(rows))
    shuffled = made(table.sample(frac=1, random_state=seed))
    close(before, everything(shuffled))
    for one, other in zip(per_rater(shuffled), alone, strict=True):
        assert one == pytest.approx(other)
    names = {f"r{i}": name for i, name in enumerate(("zoe", "ann", "max", "eva", "bob"))}
    renamed = made(table.replace({"source_id": names}))
    close(before, everything(renamed))
    for one, other in zip(per_rater(renamed), alone, strict=True):
        assert one == pytest.approx(other)


@pytest.mark.parametrize("seed", range(3))
def test_calling_the_other_model_a_changes_nothing(seed: int) -> None:
    rows = study(seed, questions=8)
    rng = np.random.default_rng(seed)
    turned = {one["unit_id"]: bool(rng.integers(2)) for one in rows}
    swapped = [
        {
            **one,
            "model_a": one["model_b"],
            "model_b": one["model_a"],
            "value": MIRROR[one["value"]],
        }
        if turned[one["unit_id"]]
        else one
        for one in rows
    ]
    before, after = (
        everything(made(rows), texts_of(rows)),
        everything(made(swapped), texts_of(swapped)),
    )
    # Alpha and AC1 look at how often a and b occur, and so at the naming, as plain kappa does.
    kept = [key for key in before if not {"alpha", "ac1"} & set(key)]
    close({key: before[key] for key in kept}, {key: after[key] for key in kept})


@pytest.mark.parametrize(
    "rows",
    [
        units("a/a", "b/a", "t/b"),
        units("aa/a", "aa/a", "aa/a"),
        units("tt/t", "tt/t"),
        units("ab/a"),
        units("aab", "abb"),
        [row("q0", "judge", "a"), row("q1", "judge", "b")],
        [row("q0", "r", "a"), row("q1", "judge", "b")],
        [row("q0", "r", "a"), row("q0", "judge", None, status="timeout")],
    ],
    ids=[
        "one rater",
        "unanimous",
        "only ties",
        "one question",
        "no judge",
        "no votes",
        "no overlap",
        "only failures",
    ],
)
def test_little_to_say_is_said_in_words(rows: list[dict[str, Any]]) -> None:
    study_ = made(rows)
    for key, one in everything(study_).items():
        assert (one.value is not None and one.low is not None) or one.reason, key
    assert per_rater(study_)
