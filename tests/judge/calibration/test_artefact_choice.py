"""Which calibration goes with a run and a score."""

from __future__ import annotations

import pytest

from judge.commands.artefact_choice import same_score
from judge.commands.calibration_basis import Asked, score_name

WIN = Asked("run", "win-rate", "overall", "a:7b", "b:7b")
OTHERS = {
    "another dimension": Asked("run", "win-rate", "helpfulness", "a:7b", "b:7b"),
    "another reference": Asked("run", "win-rate", "overall", "a:7b", "7b"),
    "grades": Asked("run", "grade", "overall"),
    "harm": Asked("run"),
}


def test_a_win_rate_against_the_same_reference_is_the_same_question() -> None:
    """Names may hold colons; the target may be a new model."""
    artefact = {"score": {"name": score_name(WIN)}}
    assert same_score(artefact, WIN)
    assert same_score(artefact, Asked("run", "win-rate", "overall", "new", "b:7b"))


@pytest.mark.parametrize("asked", OTHERS.values(), ids=OTHERS)
def test_another_question_is_another_score(asked: Asked) -> None:
    assert not same_score({"score": {"name": score_name(WIN)}}, asked)
