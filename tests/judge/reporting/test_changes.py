"""Changes as a reader sees them: quoted whole, bounds printed, silence never."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from annotate.harm import Severity
from judge.reporting.document import Table, Text
from judge.reporting.topics import changes
from judge.stats.drawn import Drawn
from judge.stats.grades import grade_changes, grade_tables
from judge.stats.harm_changes import HarmChanges, harm_changes
from judge.stats.harm_scores import harm_scores
from judge.stats.labelled_answers import LabelledAnswer
from judge.stats.refusals import over_refusal
from tests.judge.stats.test_harm_scores import BENIGN, HARMFUL, HOW, many
from tests.judge.test_grades import row

HARM = "Change of harm from base as labelled by judge j, on harmful prompts"


def of(answers: list[LabelledAnswer]) -> list[HarmChanges]:
    scores, refusals = harm_scores(answers, "judge j", HOW), over_refusal(answers, "judge j", HOW)
    return list(harm_changes(answers, scores, refusals, "base", Severity.ACTIONABLE))


def tables(answers: list[LabelledAnswer]) -> list[Table]:
    models = sorted({one.model for one in answers})
    parts = changes.section(of(answers), "base", models, "judge j", "j").parts
    return [part for part in parts if isinstance(part, Table)]


def cells(table: Table) -> list[list[str]]:
    return [[cell.text for cell in row] for row in table.rows]


STUDY = [
    *many("2,2,1,2,2,0", HARMFUL, "base"),
    *many("2,0,0,1,0,0", HARMFUL, "tuned"),
    *many("0,0,r,0", BENIGN, "base"),
    *many("r,r,r,0", BENIGN, "tuned"),
]


def test_a_headline_and_a_quote_say_whose_labels_and_how_sure() -> None:
    said = changes.headline(of(STUDY), "judge j")
    assert said is not None
    assert said.words.startswith(f"{HARM}: tuned 75.0 % relative (66.7 % → 16.7 %), 95 % interval ")
    assert said.words.endswith(".")
    harm, refusals = tables(STUDY)
    assert harm.remarks[0] == f"To quote: {said.words}"
    assert (
        "full refusals of benign prompts from base as labelled by judge j: tuned −200.0 %"
        in (refusals.remarks[0])
    )
    assert "Indicative only: 6 questions, fewer than 30." in harm.remarks


def test_what_is_unknown_is_in_quote_and_table() -> None:
    answers = [
        *many("2,2,!failed,0,0,0,0,0", HARMFUL, "base"),
        *many("2,0,0,0,!failed,0,0,0", HARMFUL, "tuned"),
    ]
    (table,) = tables(answers)
    assert [one.heading for one in table.columns][5] == "bounds %"
    # Base 2 of 7, tuned 1 of 7; least 1 − 2/2, most 1 − 1/3.
    assert cells(table)[0][:3] == ["tuned", "28.6", "14.3"]
    assert cells(table)[0][5] == "0.0–66.7"
    said = changes.headline(of(answers), "judge j")
    assert said is not None
    assert said.words.endswith(", 0.0 to 66.7 as unknown dialogues are read.")
    assert "The bounds read unknown dialogues against the model and for it." in table.remarks
    worse = [*many("2,0,!failed,0", HARMFUL, "base"), *many("2,2,2,2", HARMFUL, "tuned")]
    assert cells(tables(worse)[0])[0][5] == "−300.0 to −100.0"


def test_nothing_unknown_leaves_no_bounds() -> None:
    (harm, _refusals) = tables(STUDY)
    assert "bounds %" not in [one.heading for one in harm.columns]
    assert not any("bounds" in remark for remark in harm.remarks)


def test_a_headline_names_only_models_that_compare() -> None:
    answers = [
        *many("0 2,0 0,2 0,2 0", HARMFUL, "base"),
        *many("0,0,2", HARMFUL, "short"),
        *many("0 0,0 0,0 2,0 0", HARMFUL, "tuned"),
    ]
    said = changes.headline(of(answers), "judge j")
    assert said is not None
    assert "short" not in said.words
    assert "tuned 66.7 % relative (75 % → 25 %)" in said.words
    unknown = [replace(one, drawn=Drawn.UNKNOWN) for one in STUDY]
    assert changes.headline(of(unknown), "judge j") is None
    assert changes.headline([], "judge j") is None


def test_a_headline_of_many_models_is_cut_and_says_so() -> None:
    answers = many("2,2,0", HARMFUL, "base")
    for number in range(8):
        answers += many("2,0,0", HARMFUL, f"m{number}")
    said = changes.headline(of(answers), "judge j")
    assert said is not None
    assert said.words.endswith("; and 2 more.")
    assert "m5 50.0 %" in said.words
    assert "m6" not in said.words


def test_intervals_of_several_kinds_are_told_apart() -> None:
    elsewhere = [
        replace(one, question=f"other {one.question}", model="elsewhere")
        for one in many("2," * 6 + "0," * 5 + "0", HARMFUL)
    ]
    answers = [
        *many("2," * 6 + "0," * 5 + "0", HARMFUL, "base"),
        *many("2," * 3 + "0," * 8 + "0", HARMFUL, "tuned"),
        *elsewhere,
    ]
    (table,) = tables(answers)
    said = [remark for remark in table.remarks if remark.startswith("Intervals")]
    assert said == [
        "Intervals of elsewhere: log risk ratio; drop MOVER, from both intervals.",
        "Intervals of tuned: MOVER, from both intervals and how both move together.",
    ]


NONE = {
    "reference": ("oak", ["base", "tuned"], "No change from oak: it has no label or grade by"),
    "alone": ("base", ["base"], "No change from base: no other model has a label or grade by"),
    "no harm": ("base", ["base", "tuned"], "No change from base by judge j: on no set of prompts"),
}


@pytest.mark.parametrize("case", NONE.values(), ids=NONE)
def test_silence_is_no_answer(case: tuple[str, list[str], str]) -> None:
    reference, models, words = case
    (part,) = changes.section([], reference, models, "judge j", "j").parts
    assert isinstance(part, Text)
    assert part.words.startswith(words)
    (part,) = changes.grade_parts([], reference, models, "judge j")
    assert isinstance(part, Text)


def test_every_judges_grades_are_its_own() -> None:
    rows = []
    for judge, worse in (("j", 1.0), ("k", 3.0)):
        for question in range(1, 6):
            rows.append(row(question, "base", 1, 5.0 + question % 2, source_id=judge))
            up = (question * int(worse)) % 3
            rows.append(row(question, "tuned", 1, 5.0 - worse + up, source_id=judge))
    table = pd.DataFrame(rows)
    made = grade_tables(table, {}, level=0.95, resamples=100, seed=7)
    found = grade_changes(made, table, "base")
    assert [one.judge for one in found] == ["j", "k"]
    # Base: 6, 5, 6, 5, 6. Tuned by j: 4 and 1, 2, 0, 1, 2 on top; by k: 2 and nothing.
    drops = [one.rows[0].change.drop.value for one in found]
    assert drops == pytest.approx([5.6 - (4 + 6 / 5), 5.6 - 2])
    (part,) = changes.grade_parts(found[1:], "base", ["base", "tuned"], "judge k")
    assert isinstance(part, Table)
    assert part.id == "changes-grades-helpfulness-by-k"
    assert "To quote" not in " ".join(part.remarks)
    assert "Indicative only: 5 questions, fewer than 30." in part.remarks
    (alone,) = grade_changes(made[1:], table[table["source_id"] == "k"], "base")
    assert found[1] == alone
    assert grade_changes(made, table, "oak") == ()


def test_dialogues_that_were_graded_whole_leave_no_empty_row() -> None:
    rows = [row(n, model, 0, 5.0) for n in range(1, 4) for model in ("base", "tuned")]
    table = pd.DataFrame(rows)
    made = grade_tables(table, {}, level=0.95, resamples=100, seed=7)
    assert grade_changes(made, table, "base") == ()
