"""plan, calibrate and gate from end to end: a judge that errs, people who label, a decision."""

from __future__ import annotations

from pathlib import Path

import pytest

from annotate import library
from annotate.records import Layer
from annotate.study import open_study
from tests.judge.calibration.commands import (
    LIMITS,
    MODELS,
    artefact,
    drawn,
    evenhand,
    harmful,
    label,
    people_label,
    run_name,
    said,
)


def test_plan_label_calibrate(study: Path, tmp_path: Path) -> None:
    run = run_name(study)
    text = said("plan", study, "--run", run, "--labels", 60, "--draw")
    assert "Raters are not asked for these: study.toml has no fitting" in " ".join(text.split())
    assert people_label(study, drawn(study)) == 120
    shown = said(
        "calibrate", study, "--run", run, "--baseline", "model-v1", "--out", tmp_path / "o"
    )
    made = artefact(tmp_path / "o")
    scores = {one["model"]: one["score"] for one in made["calibration"]["scores"]}
    truth = {m: sum(harmful(m, n) for n in range(1, 61)) / 60 for m in MODELS}
    for model in MODELS:
        assert scores[model]["low"] <= truth[model] <= scores[model]["high"]
    assert made["status"] == "ok"
    assert made["draw"]["plan"] is not None
    assert made["labels"]["alpha"]["value"] == 1.0
    assert "The calibrated harm rate is" in shown
    assert "relative reduction" in shown
    assert (tmp_path / "o" / "report.html").is_file()


def test_a_set_that_gave_labels_for_another_use_is_scored_without_them(
    study: Path, tmp_path: Path
) -> None:
    run = run_name(study)
    said("plan", study, "--run", run, "--labels", 60, "--draw", "--use", "test")
    tested = {one for one in drawn(study)}
    text = " ".join(said("plan", study, "--run", run, "--labels", 40, "--draw").split())
    left = int(text.split(" items are left out, of the draw and of the score")[0].split()[-1])
    assert f"labels promise the score of {120 - left} items within" in text
    assert left >= len(tested)
    people_label(study, drawn(study))
    shown = said("calibrate", study, "--run", run, "--out", tmp_path / "o")
    made = artefact(tmp_path / "o")
    assert made["set"]["items"] == 120 - left
    assert made["set"]["left_out"] == left
    assert sum(row["size"] for row in made["calibration"]["strata"]) == 120 - left
    assert f"{left} whose labels are for another use are not scored" in " ".join(shown.split())


def test_what_is_random_by_word_only_decides_nothing(study: Path, tmp_path: Path) -> None:
    """128 of 160 that somebody picked are no draw: what they left out is not known."""
    opened = open_study(study)
    some = set(library.answer_ids(opened.store)[:100])
    opened.close()
    people_label(study, some)
    run = run_name(study)
    text = said("calibrate", study, "--run", run, "--labels-are-random", "--out", tmp_path / "o")
    text = " ".join(text.split())
    assert "labels: 100, said to be random; no draw is written down" in text
    assert "of these very answers; its labels are random by word only" in text
    assert "only the draw of the labels is random" not in text
    assert "drawn were labelled" not in text
    (tmp_path / "gate.toml").write_text(LIMITS)
    text = evenhand("gate", study, "--run", run, "--config", tmp_path / "gate.toml").output
    assert "its labels are random by word only" in " ".join(text.split())


def test_labels_are_not_random_where_a_plan_drew_them(study: Path, tmp_path: Path) -> None:
    """Whoever left out what is harmful must not get it scored as a random sample."""
    run = run_name(study)
    said("plan", study, "--run", run, "--labels", 100, "--draw")
    people_label(study, set(sorted(drawn(study))[:60]))
    text = said("calibrate", study, "--run", run, "--labels-are-random", "--out", tmp_path / "o",
                code=3)  # fmt: skip
    assert "--labels-are-random, but plan" in " ".join(text.split())


def test_what_cannot_be_shown_is_not_drawn_and_leaves_no_plan(study: Path) -> None:
    opened = open_study(study)
    (answer, *_rest) = library.answer_ids(opened.store)
    with opened.store.write() as conn:
        conn.execute("INSERT INTO answer_excluded (answer, reason) VALUES (?, 'leak')", (answer,))
    opened.close()
    done = evenhand("plan", study, "--run", run_name(study), "--labels", 120, "--draw")
    assert done.exit_code == 2
    assert "1 of 120 drawn items have no text in this study, e.g. question bench/" in " ".join(
        done.output.split()
    )
    opened = open_study(study)
    count = opened.store.conn.execute("SELECT count(*) FROM label_plan").fetchone()[0]
    opened.close()
    assert count == 0


def test_labels_kept_for_a_test_do_not_calibrate(study: Path, tmp_path: Path) -> None:
    run = run_name(study)
    said("plan", study, "--run", run, "--labels", 60, "--draw", "--use", "test")
    people_label(study, raters=1)
    text = said("calibrate", study, "--run", run, "--labels-are-random", "--out", tmp_path / "o",
                code=3)  # fmt: skip
    assert "questions whose labels are kept for a test (bench/" in " ".join(text.split())


def test_a_label_that_people_gave_differently_waits_for_the_adjudicator(
    study: Path, tmp_path: Path
) -> None:
    run = run_name(study)
    said("plan", study, "--run", run, "--labels", 100, "--draw")
    wanted = drawn(study)
    opened = open_study(study)
    for answer in library.answers(opened.store, sorted(wanted)):
        model, number = answer.answer.model, int(answer.question.key.question_id)
        label(opened, model, number, "expert_0", answer.id)
        label(opened, model, number, "expert_1", answer.id, lies=number % 2 == 0)
    opened.close()
    text = " ".join(said("calibrate", study, "--run", run, "--out", tmp_path / "o", code=3).split())
    assert "people's labels differ on" in text
    assert "settle them (evenhand invite STUDY NAME --group adjudicator), then" in text


def test_a_perfect_label_set_needs_no_plan(study: Path, tmp_path: Path) -> None:
    people_label(study, raters=1)
    text = said("calibrate", study, "--run", run_name(study), "--out", tmp_path / "o")
    assert "labels: all labels there are, 120 of 120 items" in " ".join(text.split())
    score = artefact(tmp_path / "o")["calibration"]["scores"][0]["score"]
    assert score["value"] == pytest.approx(26 / 120)
    assert (score["low"], score["high"]) == (score["value"], score["value"])


@pytest.mark.parametrize("looked_at_again", [True, False])
def test_what_one_label_per_answer_would_miss_is_printed(
    study: Path, tmp_path: Path, *, looked_at_again: bool
) -> None:
    """One of two people is wrong on every question that five divides; those are settled."""
    opened = open_study(study)
    for answer in library.answers(opened.store, library.answer_ids(opened.store)):
        model, number = answer.answer.model, int(answer.question.key.question_id)
        apart = number % 5 == 0
        label(opened, model, number, "expert_0", answer.id)
        label(opened, model, number, "expert_1", answer.id, lies=apart)
        if apart or (looked_at_again and number % 2):
            label(opened, model, number, "expert_2", answer.id, layer=Layer.ADJUDICATED)
    opened.close()
    shown = said("calibrate", study, "--run", run_name(study), "--out", tmp_path / "o")
    text = " ".join(shown.split())
    # v1 is harmful on 3, 6, …: 4 of 20 of these are apart; v2 on 10, 20, …: all 6. Of 52 labels
    # on harm 10 miss it. 24 answers are apart, so 14 of 188 labels on safe answers are false.
    floor = artefact(tmp_path / "o")["calibration"]["label_error"]
    assert floor["missed"]["value"] == pytest.approx(10 / 52)
    assert floor["false_alarms"]["value"] == pytest.approx(14 / 188)
    assert floor["reads"]["value"] == pytest.approx(26 / 120 * 42 / 52 + 94 / 120 * 14 / 188)
    assert "one person's label misses 19.2 [" in text
    assert "at the calibrated rate of 21.7 % one label per answer would read 23.3 [" in text
    if looked_at_again:
        assert "48 of 96 agreements were looked at again, 0 overturned" in text
    else:
        assert "0 of 96 agreements were looked at again: they are taken as right" in text


def test_labels_that_no_plan_drew_are_refused_unless_said_to_be_random(
    study: Path, tmp_path: Path
) -> None:
    opened = open_study(study)
    some = set(library.answer_ids(opened.store)[:80])
    opened.close()
    people_label(study, some, raters=1)
    run = run_name(study)
    text = said("calibrate", study, "--run", run, "--out", tmp_path / "o", code=3)
    assert "labels that no plan drew" in " ".join(text.split())
    assert artefact(tmp_path / "o")["status"] == "refused"
    said("calibrate", study, "--run", run, "--labels-are-random", "--out", tmp_path / "o")
    assert artefact(tmp_path / "o")["draw"]["how"] == "said to be random"


def test_without_labels_it_is_refused_and_says_what_to_do(study: Path, tmp_path: Path) -> None:
    text = said("calibrate", study, "--run", run_name(study), "--out", tmp_path / "o", code=3)
    assert "Refused: there is no calibrated harm rate" in text
    made = artefact(tmp_path / "o")
    assert made["status"] == "refused"
    assert made["calibration"]["scores"][0]["score"]["value"] is None


def test_a_refusal_says_each_reason_once_and_leaves_names_as_they_are(
    study: Path, tmp_path: Path
) -> None:
    """It stood in the lead, in the section, in a list and below two tables, "Model-v1" first."""
    run = run_name(study)
    said("plan", study, "--run", run, "--labels", 100, "--draw")
    options = ("--run", run, "--baseline", "model-v1", "--out", tmp_path / "o")
    text = " ".join(said("calibrate", study, *options, code=3).split())
    assert "reasons: model-v1 · harmful: " in text
    assert "Model-v" not in text
    page = (tmp_path / "o" / "report.md").read_text("utf-8")
    reasons = artefact(tmp_path / "o")["calibration"]["refusals"]
    # The first one is in the lead too.
    assert page.count("no label for") == 1 + sum("no label for" in one["found"] for one in reasons)
    assert page.count("label what is drawn: it waits for labels") == 2
    assert "refused: see why above" in page
    # Nothing changed between two scores that are not there.
    assert "Changes" not in page


def test_a_page_says_its_key_result_once_and_has_no_column_without_a_figure(
    study: Path, tmp_path: Path
) -> None:
    people_label(study, raters=1)
    options = ("--run", run_name(study), "--labels-are-random", "--out", tmp_path / "o")
    said("calibrate", study, *options)
    page = (tmp_path / "o" / "report.md").read_text("utf-8")
    assert page.count("The calibrated harm rate is") == 1
    assert "| model | verdict | items | drawn | labelled | mean label |" in page


def test_non_response_that_hides_harm_is_refused(study: Path, tmp_path: Path) -> None:
    """Everyone leaves out what is harmful: the rest would score as safe."""
    run = run_name(study)
    said("plan", study, "--run", run, "--labels", 100, "--draw")
    opened = open_study(study)
    safe = {
        answer.id
        for answer in library.answers(opened.store, library.answer_ids(opened.store))
        if not harmful(answer.answer.model, int(answer.question.key.question_id))
    }
    opened.close()
    people_label(study, drawn(study) & safe, raters=1)
    text = said("calibrate", study, "--run", run, "--out", tmp_path / "o", code=3)
    assert "drawn items without a label" in " ".join(text.split())


def test_labels_that_tuned_a_prompt_do_not_calibrate(study: Path, tmp_path: Path) -> None:
    run = run_name(study)
    said("plan", study, "--run", run, "--labels", 60, "--draw", "--use", "tune")
    tuned = drawn(study)
    people_label(study, raters=1)
    text = said("calibrate", study, "--run", run, "--labels-are-random", "--out", tmp_path / "o",
                code=3)  # fmt: skip
    assert "labels tuned a prompt" in " ".join(text.split())
    said("plan", study, "--run", run, "--labels", 40, "--draw")
    assert not drawn(study) & tuned
