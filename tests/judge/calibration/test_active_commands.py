"""Active labels from plan to gate: the draw in the raters' queue, the score, what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from annotate import library, planned
from annotate.records import Purpose
from annotate.study import open_study
from judge.calibration import active_plan
from judge.console.label_plan import label_plan
from judge.database.calibrations import Calibrations, LabelPlan
from tests.annotate.support import join, label_all
from tests.judge.calibration.commands import (
    LIMITS,
    MODELS,
    SAID,
    artefact,
    drawn,
    harmful,
    people_label,
    run_name,
    said,
)
from tests.judge.fake_endpoint import Body, FakeEndpoint, Scripted, completion

ACTIVE = ("--allocate", "active")


def plan(folder: Path, *options: object, labels: int = 60) -> str:
    text = said("plan", folder, "--run", run_name(folder), "--labels", labels, *ACTIVE, *options)
    return " ".join(text.split())


def kept(folder: Path) -> LabelPlan:
    opened = open_study(folder)
    try:
        return Calibrations(opened.store).plans()[-1]
    finally:
        opened.close()


def calibrated(folder: Path, out: Path, *options: object, code: int = 0) -> str:
    text = said("calibrate", folder, "--run", run_name(folder), *options, "--out", out, code=code)
    return " ".join(text.split())


def safe_ones(folder: Path) -> set[str]:
    opened = open_study(folder)
    try:
        every = library.answers(opened.store, library.answer_ids(opened.store))
        return {
            one.id
            for one in every
            if not harmful(one.answer.model, int(one.question.key.question_id))
        }
    finally:
        opened.close()


def test_a_plan_says_what_it_goes_by_and_what_as_many_in_proportion_would_give(
    study: Path,
) -> None:
    text = plan(study)
    assert "60 labels on average promise the score of 120 items within about ±" in text
    assert "as many in proportion to model and verdict ±" in text
    assert "means assumed for each verdict class: this judge has no earlier labels" in text
    # Severity 2 is the first that counts as harmful: of 60 answers of each model so many.
    unsure = sum(harmful(m, n) or n % 7 == 0 for m in MODELS for n in range(1, 61))
    assert f"verdicts in doubt: {unsure} severity at the limit" in text
    assert "are in the raters' queue" not in text
    opened = open_study(study)
    assert Calibrations(opened.store).plans() == []
    opened.close()


def test_drawn_items_are_in_the_raters_queue_each_with_its_probability(
    study: Path,
) -> None:
    settings = (study / "study.toml").read_text("utf-8")
    asked = (
        '[protocol.harm_labels]\nturns = "whole"\n'
        '[assignment]\ntasks = ["answers"]\nanswers = "planned"\n'
    )
    (study / "study.toml").write_text(settings.replace("[assignment]\n", asked, 1))
    text = plan(study, "--draw")
    one = kept(study)
    assert f"Drawn as plan {one.id[:8]}: {len(one.items)} items, each with its prob" in text
    assert one.active
    assert one.body["floor"] == pytest.approx(0.1 * one.body["expected"] / 120)
    by_cell = {(c["model"], c["verdict"]): c["probability"] for c in one.body["cells"]}
    assert len(set(by_cell.values())) > 1
    assert {p for _item, p in one.items} == set(by_cell.values())
    assert min(by_cell.values()) >= one.body["floor"]
    opened = open_study(study)
    try:
        queued = planned.fill(opened.store, one.id)
        assert [(q.unit, q.inclusion_probability) for q in queued] == one.items
        assert {q.purpose for q in queued} == {Purpose.ESTIMATION}
        seen = label_all(opened, join(opened, "Ada"))
        assert [(s.answer, s.inclusion_probability) for s in seen] == one.items
        votes = dict(opened.store.conn.execute("SELECT answer, inclusion_probability FROM vote"))
        assert votes == dict(one.items)
    finally:
        opened.close()


def test_the_same_seed_draws_the_same_and_another_one_others(
    study: Path,
) -> None:
    plan(study, "--draw")
    first = kept(study).items
    plan(study, "--draw")
    assert kept(study).items == first
    plan(study, "--draw", "--seed", 8)
    assert kept(study).items != first


def test_calibrate_uses_the_active_estimator_and_says_so(
    study: Path,
    tmp_path: Path,
) -> None:
    plan(study, "--draw", labels=80)
    people_label(study, drawn(study))
    text = calibrated(study, tmp_path / "o", "--baseline", "model-v1")
    made = artefact(tmp_path / "o")
    found, items = made["calibration"], dict(kept(study).items)
    assert made["status"] == "ok"
    assert found["estimator"].startswith("active labels: N⁻¹ Σ")
    assert found["active"]["drawn"] == found["active"]["labelled"] == len(items)
    assert found["active"]["greatest"] == pytest.approx(max(items.values()))
    assert found["active"]["effective"] < len(items)
    assert made["draw"]["how"] == "drawn one by one, every item with its own probability"
    assert "severity at the limit" in made["draw"]["chosen_by"]
    scores = {one["model"]: one["score"] for one in found["scores"]}
    for model in MODELS:
        truth = sum(harmful(model, n) for n in range(1, 61)) / 60
        assert scores[model]["low"] <= truth <= scores[model]["high"]
        assert "active inference, set" in scores[model]["method"]
    assert "Active labels: probabilities from" in text
    assert "without the judge they would be worth" in text
    assert "corrected by the labels at one over their probability" in text
    assert "relative reduction" in text


def test_labels_drawn_alike_keep_their_own_estimator(
    study: Path,
    tmp_path: Path,
) -> None:
    said("plan", study, "--run", run_name(study), "--labels", 60, "--draw")
    people_label(study, drawn(study))
    calibrated(study, tmp_path / "o")
    found = artefact(tmp_path / "o")["calibration"]
    assert found["active"] is None
    assert found["estimator"] == "labels drawn alike within strata: Σ W_h ȳ_h"
    assert "active" not in found["scores"][0]["score"]["method"]


def test_active_labels_are_no_random_sample(
    study: Path,
    tmp_path: Path,
) -> None:
    plan(study, "--draw")
    people_label(study, drawn(study))
    text = calibrated(study, tmp_path / "o", "--labels-are-random", code=3)
    number = len(kept(study).items)
    assert f"{number} of {number} labels were drawn by the active plan" in text
    assert artefact(tmp_path / "o")["status"] == "refused"


def test_an_active_plan_beside_one_in_proportion_each_counts_its_own(
    study: Path,
    tmp_path: Path,
) -> None:
    said("plan", study, "--run", run_name(study), "--labels", 60, "--draw")
    alike = kept(study)
    plan(study, "--draw")
    active = kept(study)
    people_label(study, {item for one in (alike, active) for item, _p in one.items})
    calibrated(study, tmp_path / "newest")
    calibrated(study, tmp_path / "alike", "--plan", alike.id)
    found = [artefact(tmp_path / name) for name in ("newest", "alike")]
    assert [one["draw"]["plan"] for one in found] == [active.id, alike.id]
    assert [one["calibration"]["active"] is not None for one in found] == [True, False]
    assert [one["labels"]["drawn"] for one in found] == [len(active.items), len(alike.items)]


def test_non_response_that_hides_harm_is_refused_with_its_worst_cases(
    study: Path,
    tmp_path: Path,
) -> None:
    plan(study, "--draw", labels=100)
    people_label(study, drawn(study) & safe_ones(study), raters=1)
    text = calibrated(study, tmp_path / "o", code=3)
    assert "drawn items without a label: whatever they are" in text
    made = artefact(tmp_path / "o")
    low, high = made["calibration"]["scores"][0]["worst_case"]
    assert low == 0
    assert high > 26 / 120 - 0.1


def test_a_poor_draw_is_not_made(
    study: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for least in active_plan.ON_AVERAGE:
        monkeypatch.setitem(active_plan.ON_AVERAGE, least, 6)
    run = ("plan", study, "--run", run_name(study), "--labels", 25, *ACTIVE, "--draw")
    text = said(*run, code=2)
    assert re.search(r"--seed 7: drew \d+ .*; take another seed, or more --labels", text)
    opened = open_study(study)
    assert Calibrations(opened.store).plans() == []
    opened.close()


def test_too_few_labels_are_refused(
    study: Path,
    tmp_path: Path,
) -> None:
    plan(study, "--draw")
    people_label(study, set(sorted(drawn(study))[:12]), raters=1)
    text = calibrated(study, tmp_path / "o", code=3)
    assert "12 labels in all" in text


def test_earlier_labels_of_another_use_are_what_it_goes_by(
    study: Path,
    tmp_path: Path,
) -> None:
    said("plan", study, "--run", run_name(study), "--labels", 50, "--draw", "--use", "tune")
    tuned = drawn(study)
    people_label(study)
    text = plan(study, "--draw", labels=58)
    assert not drawn(study) & tuned
    one = kept(study)
    known = sum(cell["earlier_labels"] for cell in one.body["cells"])
    calibrated(study, tmp_path / "o")
    made = artefact(tmp_path / "o")
    sizes = sum(row["size"] for row in made["calibration"]["strata"])
    assert sizes == 120 - made["set"]["left_out"]
    # Everybody's label is there; only those on questions with another use are gone by.
    assert known == made["set"]["left_out"] >= 50
    assert f"Chosen by {known} earlier labels of this judge's verdicts, given for another" in text


def test_verdicts_that_changed_since_the_draw_keep_their_probabilities(
    study: Path,
    tmp_path: Path,
) -> None:
    """Drawn alike, such labels are refused; of an active draw each has its own probability."""
    run = run_name(study)
    said("plan", study, "--run", run, "--labels", 60, "--draw")
    alike = kept(study)
    plan(study, "--draw", labels=80)
    people_label(study)
    opened = open_study(study)
    drawn_safe = {item for item, _p in alike.items} & safe_ones(study)
    with opened.store.write() as conn:
        # As if the judge had said so: a verdict that does not follow from its reply is refused.
        guards = (
            "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'judge_attempt'"
        )
        for (name,) in conn.execute(guards).fetchall():
            conn.execute(f"DROP TRIGGER {name}")
        conn.executemany(
            "UPDATE judge_attempt SET raw = replace(raw, 'severity=0', 'severity=2')"
            " WHERE request IN (SELECT request FROM judge_item WHERE answer = ?)",
            [(item,) for item in sorted(drawn_safe)[:5]],
        )
    opened.close()
    assert ": 0 verdicts changed" not in said("judge", "reparse", study)
    assert "inclusion probabilities from" in calibrated(
        study, tmp_path / "o", "--plan", alike.id, code=3
    )
    calibrated(study, tmp_path / "p")
    rows = artefact(tmp_path / "p")["calibration"]["strata"]
    assert len({row["least_chance"] for row in rows}) == 1


def test_the_console_shows_the_labels_and_no_early_stop(
    study: Path,
) -> None:
    plan(study, "--draw")
    (study / "gate.toml").write_text(LIMITS)
    opened = open_study(study)
    text = label_plan(opened)
    opened.close()
    assert f"0 / {len(kept(study).items)}" in text
    assert "no rule says whether one may stop early" in text


def test_the_gate_counts_active_labels_at_the_least_probability(
    study: Path,
    tmp_path: Path,
) -> None:
    plan(study, "--draw", labels=80)
    people_label(study, drawn(study))
    calibrated(study, tmp_path / "o")
    (tmp_path / "gate.toml").write_text(LIMITS)
    options = ("--run", run_name(study), "--config", tmp_path / "gate.toml", "--out", tmp_path)
    text = " ".join(said("gate", study, *options, code=2).split())
    rows = artefact(tmp_path / "o")["calibration"]["strata"]
    safe = [row for row in rows if row["verdict"] == "safe"]
    counted = sum(min(r["labelled"], int(r["size"] * r["least_chance"])) for r in safe)
    size = sum(row["size"] for row in safe)
    assert f"{counted} labels among {size} items judged safe (active labels, counted" in text


def test_failed_verdicts_are_a_class_of_their_own(
    study: Path,
    tmp_path: Path,
) -> None:
    def failing(body: Body, _number: int) -> Scripted:
        number = re.findall(r"model-v\d says \w+ (\d+)", json.dumps(body["messages"]))[-1]
        return completion("no tag" if int(number) % 6 == 0 else SAID[False])

    with FakeEndpoint(failing) as endpoint:
        at = ("--base-url", endpoint.base_url, "--model", "failing")
        said("judge", study, *at, "--mode", "harm", "--output", "tag", "--name", "failing")
    said("plan", study, "--run", "failing", "--labels", 70, *ACTIVE, "--draw")
    cells = kept(study).body["cells"]
    failed = [cell for cell in cells if cell["verdict"] == "failed"]
    assert sum(cell["items"] for cell in failed) == 20
    assert {cell["probability"] for cell in failed} == {1.0}
    # The first judge's verdicts on the same answers put some of these in doubt.
    assert "another judge, another verdict" in kept(study).body["chosen_by"]
    people_label(study, drawn(study))
    said("calibrate", study, "--run", "failing", "--out", tmp_path / "o")
    rows = artefact(tmp_path / "o")["calibration"]["strata"]
    mine: list[dict[str, Any]] = [row for row in rows if row["verdict"] == "failed"]
    assert all(row["labelled"] == row["size"] for row in mine)
