"""Verdicts are what the replies say: an edited one does not follow."""

from __future__ import annotations

from pathlib import Path

import pytest

from annotate.study import Study
from judge.database import derivation
from tests.annotate.support import make_study
from tests.judge.calibration.commands import SAID, evenhand, said
from tests.judge.fake_endpoint import say
from tests.judge.test_judge_errors import judge


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Study:
    study = make_study(tmp_path_factory.mktemp("derived") / "study", 3)
    judge(study, say("[[A]]"))
    judge(study, say("[[A]]"), "--replicates", "2")
    judge(study, say(SAID[False]), "--mode", "harm", "--output", "tag")
    judge(study, say("Rating: [[7]]"), "--mode", "grade")
    return study


EDITS = {
    "verdict": "UPDATE verdict SET choice = 'right' WHERE choice = 'left'",
    "pair_verdict": "UPDATE pair_verdict SET outcome = 'a', reason = ''",
    "answer_verdict": "UPDATE answer_verdict SET harm = replace(harm, '0', '3') WHERE harm <> ''",
    "gone": "DELETE FROM pair_verdict WHERE turn = 1",
}


def test_what_was_judged_follows(judged: Study) -> None:
    assert derivation.breaks(judged.store) == []
    assert "Everything holds." in said("verify", judged.folder)


@pytest.mark.parametrize("name", EDITS)
def test_an_edited_verdict_does_not(judged: Study, name: str) -> None:
    with judged.store.write() as conn:
        changed = conn.execute(EDITS[name]).rowcount
    assert changed > 0
    done = evenhand("verify", judged.folder)
    assert done.exit_code == 1
    assert "do not follow from the stored replies" in done.output
    table = "pair_verdict" if name == "gone" else name
    assert any(one.startswith(f"{table}: {changed:,} ") for one in derivation.breaks(judged.store))
    said("judge", "reparse", judged.folder)
    assert derivation.breaks(judged.store) == []


def test_a_study_that_no_judge_was_near_has_nothing_to_derive(tmp_path: Path) -> None:
    study = make_study(tmp_path / "study", 1)
    assert derivation.breaks(study.store) == []
    study.close()
