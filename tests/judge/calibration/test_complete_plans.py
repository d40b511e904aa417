"""Whatever the models, verdicts and prompt sets: a plan labelled in full is never refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge.calibration.active_plan import draw_active, forecast_active
from judge.calibration.columns import FAILED, JOINED, SCALES, VERDICTS, Chances, Items, Kind, Labels
from judge.calibration.merging import merge_small
from judge.calibration.planning import Allocation, draw, forecast
from judge.calibration.strata import Strata, stratify
from judge.calibration.uncertainty import cells

PROMPTS = ("harmful", "borderline", "")
SIZES = st.sampled_from((0, 0, 1, 3, 4, 9, 12, 40, 160))


@st.composite
def sets(draws: st.DrawFn) -> Items:
    """Some of every model, prompt set and verdict class, merged as before labelling."""
    kind = draws(st.sampled_from(list(Kind)))
    rows = [
        (f"{model}-{prompts}-{verdict}-{n}", model, prompts, verdict)
        for model in ("a", "b")
        for prompts in PROMPTS
        for verdict in (*VERDICTS[kind], FAILED)
        for n in range(draws(SIZES))
    ] or [("only", "a", "", FAILED)]
    ids, models, prompt_sets, verdicts = map(list, zip(*rows, strict=True))
    return merge_small(Items(kind, "set", ids, models, ids, verdicts, prompt_sets))


def labels_of(items: Items, drawn: list[tuple[str, float]], chances: Chances | None) -> Labels:
    ids, probabilities = map(list, zip(*drawn, strict=True))
    values = np.resize(np.array(SCALES[items.kind]), len(ids))
    return Labels("set", ids, values, probabilities=probabilities, active=chances)


def complete(items: Items, wanted: int, allocation: Allocation) -> Strata:
    """Planned, drawn, and every item labelled."""
    if allocation is not Allocation.ACTIVE:
        plan = forecast(items, wanted, allocation)
        return stratify(items, labels_of(items, draw(items, plan, 1), None))
    told, place = cells(items, set(items.ids[::3]))
    active = forecast_active(items, told, wanted)
    chances = Chances(active.labels, active.floor, active.least_by_stratum())
    # A draw with too few of a stratum is not made; with another seed it is.
    for seed in range(50):
        with suppress(ValueError):
            drawn = draw_active(items, place, active, seed)
            return stratify(items, labels_of(items, drawn, chances))
    raise AssertionError("no seed drew enough")


@pytest.mark.parametrize("allocation", Allocation)
@settings(max_examples=60, deadline=None)
@given(items=sets(), wanted=st.sampled_from((1, 60, 200, 900)))
def test_a_plan_labelled_in_full_is_not_refused(
    items: Items, wanted: int, allocation: Allocation
) -> None:
    found = complete(items, wanted, allocation)
    assert found.refusals == ()
    if allocation is Allocation.ACTIVE:
        assert all(row.least_chance is not None for row in found.rows)


def groups(items: Items) -> Iterator[tuple[str, str]]:
    """Each verdict class and prompt set that there is."""
    yield from sorted({(verdict, prompts) for _model, verdict, prompts in items.strata()})


def test_small_classes_join_within_their_prompt_set_only() -> None:
    verdicts = ["low"] * 4 + ["middle"] * 30 + ["high"] * 3
    prompts = ["benign"] * 34 + ["borderline"] * 3
    ids = [str(n) for n in range(37)]
    merged = merge_small(Items(Kind.GRADES, "set", ids, ["m"] * 37, ids, verdicts, prompts))
    assert list(groups(merged)) == [("high", "borderline"), (f"low{JOINED}middle", "benign")]
    plan = forecast(merged, 20)
    assert [(one.prompt_set, one.labels) for one in plan.strata] == [("borderline", 3),
                                                                     ("benign", 34)]  # fmt: skip


def test_each_prompt_set_has_its_own_least_probability() -> None:
    """Borderline prompts are few and drawn more often; one set's chance is not the other's."""
    ids = [str(n) for n in range(620)]
    prompts = ["harmful"] * 600 + ["borderline"] * 20
    items = Items(Kind.HARM, "set", ids, ["m"] * 620, ids, ["safe"] * 620, prompts)
    found = complete(items, 80, Allocation.ACTIVE)
    least = {row.prompt_set: row.least_chance or 0.0 for row in found.rows}
    assert least["borderline"] >= 12 / 20 > 0.2 > least["harmful"]
