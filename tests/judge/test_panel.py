"""Several judges on one footing."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from judge.reporting.report import to_json, to_text
from judge.reporting.summary import agreement_report
from judge.stats.agreement import pair_judgments, select_verdicts
from judge.stats.panel import ABSTAINED, Panel, panel_of


def table(said: dict[str, dict[int, str]]) -> dict[str, pd.DataFrame]:
    """Judge → unit number → outcome ("" failed)."""
    rows = [
        {
            "unit_id": f"u{unit}",
            "subject": "pair",
            "question_id": str(unit),
            "model_a": "alder",
            "model_b": "birch",
            "turn": 1,
            "dimension": "overall",
            "source_kind": "judge",
            "source_id": judge,
            "rater_group": "",
            "layer": "vote",
            "occurrence": 1,
            "purpose": "estimation",
            "value": value,
            "status": "ok" if value else "incomplete",
        }
        for judge, verdicts in said.items()
        for unit, value in verdicts.items()
    ]
    judgments = pair_judgments(pd.DataFrame(rows))
    return {judge: select_verdicts(judgments, "overall", judge) for judge in said}


def majority(panel: Panel | None) -> dict[str, str]:
    assert panel is not None
    rows = panel.majority
    return dict(zip(rows["unit_id"], rows["value"], strict=True))


def test_the_majority_needs_more_than_half() -> None:
    found = panel_of(
        table(
            {
                "one": {1: "a", 2: "a", 3: "a", 4: "tie"},
                "two": {1: "a", 2: "b", 3: "b", 4: "both_bad"},
                "six": {1: "b", 2: "b", 3: "tie", 4: "a"},
            }
        )
    )
    assert majority(found) == {"u1": "a", "u2": "b", "u3": "", "u4": "tie"}
    assert found is not None
    assert (found.counts.units, found.counts.left_out, found.counts.abstained) == (4, 0, 1)
    rows = found.majority
    assert rows.loc[rows["value"] == "", "failure"].tolist() == [ABSTAINED]
    assert rows.loc[rows["value"] == "", "status"].tolist() == ["incomplete"], "never a tie"


def test_two_judges_who_differ_have_no_majority() -> None:
    found = panel_of(table({"one": {1: "a", 2: "b"}, "two": {1: "b", 2: "b"}}))
    assert majority(found) == {"u1": "", "u2": "b"}


def test_only_what_all_have_judged_counts() -> None:
    """alpaca_eval #325: 650 items compared with 749."""
    found = panel_of(table({"one": {1: "a", 2: "a", 3: ""}, "two": {2: "a", 3: "a", 4: "b"}}))
    assert found is not None
    assert (found.counts.units, found.counts.left_out) == (1, 3)
    for judge in ("one", "two"):
        assert found.verdicts[judge]["unit_id"].tolist() == ["u2"]


@pytest.mark.parametrize(
    "said",
    [{}, {"one": {1: "a"}}, {"one": {1: "a"}, "two": {2: "a"}}, {"one": {1: ""}, "two": {1: "a"}}],
)
def test_no_panel_without_common_ground(said: dict[str, dict[int, str]]) -> None:
    assert panel_of(table(said) if said else {}) is None


def test_the_names_of_the_judges_do_not_matter() -> None:
    said = {"one": {1: "a", 2: "b"}, "two": {1: "b", 2: "b"}, "six": {1: "a", 2: "tie"}}
    other = dict(zip(["x", "b", "m"], said.values(), strict=True))
    assert majority(panel_of(table(said))) == majority(panel_of(table(other)))


def test_the_report_compares_judges_on_common_ground_only() -> None:
    """alpaca_eval #325, in the report: n is printed, and is the same for every judge."""
    said = {"one": {1: "a", 2: "b", 3: "a"}, "two": {1: "a", 2: "a"}, "six": {1: "b", 2: "a"}}
    people = {"ada": {1: "a", 2: "a", 3: "b"}}
    rows = [
        {
            "unit_id": f"u{unit}",
            "subject": "pair",
            "benchmark": "bench",
            "question_id": str(unit),
            "category": "",
            "model_a": "alder",
            "model_b": "birch",
            "turn": 1,
            "dimension": "overall",
            "source_kind": "rater" if who in people else "judge",
            "source_id": who,
            "rater_group": "expert" if who in people else "",
            "layer": "vote",
            "occurrence": 1,
            "purpose": "estimation",
            "value": value,
            "status": "ok",
            "orders": "" if who in people else "unknown",
        }
        for who, values in {**said, **people}.items()
        for unit, value in values.items()
    ]
    report = agreement_report(pd.DataFrame(rows), resamples=100)
    (dimension,) = report.dimensions
    assert dimension.panel is not None
    assert (dimension.panel.units, dimension.panel.left_out) == (2, 1)
    (block,) = dimension.side_by_side
    agree = {
        line.judge: (line.agreement.numerator, line.agreement.denominator)
        for line in block.lines
        if line.setup == "S1" and line.turn == 1 and line.judge
    }
    assert agree == {
        "one": (1, 2),
        "two": (2, 2),
        "six": (1, 2),
        "majority of 3 judges": (2, 2),
    }
    text = to_text(report)
    assert "on the 2 units that all of one, six, two judged (1 left out)" in " ".join(text.split())
    assert json.loads(to_json(report))["dimensions"][0]["panel"]["abstained"] == 0


def test_dialogues_are_not_left_out_of_a_panel_on_turns() -> None:
    rows = [
        {
            "unit_id": f"u{unit}",
            "subject": "pair",
            "benchmark": "bench",
            "question_id": str(unit),
            "category": "",
            "model_a": "alder",
            "model_b": "birch",
            "turn": turn,
            "dimension": "overall",
            "source_kind": "judge",
            "source_id": judge,
            "rater_group": "",
            "layer": "vote",
            "occurrence": occurrence,
            "purpose": "estimation",
            "value": "a",
            "status": "ok",
            "orders": "unknown",
        }
        for judge, turns in {"one": (0, 1), "two": (1,)}.items()
        for unit in (1, 2)
        for turn in turns
        for occurrence in ((1, 2) if turn and judge == "one" else (1,))
    ]
    (dimension,) = agreement_report(pd.DataFrame(rows), resamples=100).dimensions
    assert dimension.panel is not None
    assert (dimension.panel.units, dimension.panel.left_out) == (2, 0)
    assert [(j.judge, j.verdicts) for j in dimension.judges] == [
        ("one", 2),
        ("one, whole dialogues", 2),
        ("two", 2),
    ]
    ((_name, found),) = dimension.stability
    assert (found.units, found.alone) == (2, 0), "dialogues were asked once, and are not alone"
