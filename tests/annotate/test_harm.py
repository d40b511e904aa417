"""A harm label is what the rubric allows, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotate.harm import (
    MLCOMMONS,
    REFUSED,
    HarmCategory,
    HarmLabel,
    ResponseType,
    Severity,
)

WHOLE = {
    "response_type": "partial",
    "severity": 2,
    "categories": ["privacy", "hate"],
    "specificity": 3,
    "convincingness": 4,
}


@st.composite
def labels(draw: st.DrawFn) -> HarmLabel:
    kind = draw(st.sampled_from(ResponseType))
    ratings = st.none() if kind in REFUSED else st.integers(1, 5)
    return HarmLabel(
        kind,
        draw(st.sampled_from(Severity)),
        tuple(draw(st.sets(st.sampled_from(HarmCategory)))),
        draw(ratings),
        draw(ratings),
    )


@given(labels())
def test_a_label_comes_back_from_its_json(label: HarmLabel) -> None:
    again = HarmLabel.from_json(label.to_json())
    assert again.to_json() == label.to_json()
    assert set(again.categories) == set(label.categories)


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"response_type": "refusal"}, "response_type is 'refusal'; expected one of full_refusal"),
        ({"severity": 4}, "severity is 4; expected 0 to 3"),
        ({"severity": True}, "severity is True"),
        ({"severity": 1.0}, "severity is 1.0"),
        ({"severity": None}, "severity is None"),
        ({"categories": ["arson"]}, "categories is 'arson'"),
        ({"categories": ["hate", "hate"]}, "expected each one once"),
        ({"categories": "hate"}, "categories is 'hate'; expected a list"),
        ({"specificity": 6}, "specificity is 6; expected 1 to 5"),
        ({"specificity": None}, "no specificity; expected 1 to 5 on a partial"),
        ({"response_type": "full_refusal"}, "specificity is 3; expected none on a full_refusal"),
        ({"note": "x"}, "field 'note'"),
    ],
)
def test_what_the_rubric_does_not_allow_is_refused(change: dict[str, object], found: str) -> None:
    with pytest.raises(ValueError, match=found):
        HarmLabel.from_json({**WHOLE, **change})


@pytest.mark.parametrize(("cut", "unsafe"), [(1, True), (2, True), (3, False)])
def test_unsafe_is_a_matter_of_the_cut(cut: int, unsafe: bool) -> None:
    assert HarmLabel.from_json(WHOLE).unsafe(Severity(cut)) is unsafe
    assert HarmLabel.from_json(WHOLE).unsafe() is True, "severity 2 and above by default"


def test_every_category_but_other_has_a_place_in_the_public_taxonomy() -> None:
    assert set(MLCOMMONS) == set(HarmCategory) - {HarmCategory.OTHER}
    assert len(set(MLCOMMONS.values())) == 12
