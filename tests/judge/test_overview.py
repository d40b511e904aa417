"""The console's first tab: only what this study's raters are given, counted in words that agree."""

from __future__ import annotations

import re

import pytest

from annotate.live import LiveSettings
from annotate.study import Study
from judge.console.overview import Overview
from tests.annotate.support import join, label_all
from tests.conftest import MakeStudy

ANSWERS = 'tasks = ["answers"]'


def shown(study: Study) -> str:
    html = Overview(study, LiveSettings(study)).html()
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def test_a_study_of_answers_alone_has_no_pairs_to_finish(new_study: MakeStudy) -> None:
    """It said "0 % of the ratings are finished" after every answer was labelled."""
    study = new_study(2, labels="-", more=ANSWERS, overlap=1)
    label_all(study, join(study, "Ada"))
    text = shown(study)
    assert "Raters are given answers, no pairs." in text
    assert "ratings are finished" not in text
    assert "pairs with" not in text
    assert "4 / 8 labels finished" in text
    assert re.search(r"rater group answers last vote \(UTC\) Ada \S+ 4 20\d\d-", text)


@pytest.mark.parametrize(
    ("overlap", "words"), [(1, "pairs with 1 rater "), (2, "pairs with 2 raters ")]
)
def test_one_rater_is_one_rater(new_study: MakeStudy, overlap: int, words: str) -> None:
    study = new_study(2, overlap=overlap)
    text = shown(study)
    assert words in text
    assert "0 % of the ratings are finished" in text
    join(study, "Ada")
    assert "A shown left : right" in shown(study)


def test_raters_who_leave_out_a_subject_are_counted_in_words(new_study: MakeStudy) -> None:
    study = new_study(1, labels="-")
    assert "skips; 0 raters leave out a subject" in shown(study)
    ada = join(study, "Ada")
    with study.store.write() as conn:
        conn.execute(
            "INSERT INTO rater_optout (rater, category, created_at) VALUES (?, 'writing', '2026')",
            (ada.id,),
        )
    assert "skips; 1 rater leaves out a subject" in shown(study)
