"""Harm scores on XSTest's labels: the published rates, over-refusal, both errors; judge as raw."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator

import pytest

from annotate.harm import HarmLabel, ResponseType, Severity
from annotate.records import PromptSet
from judge.stats.bounded import Resampling, bounded
from judge.stats.harm_changes import harm_changes
from judge.stats.harm_scores import harm_scores
from judge.stats.labelled_answers import LabelledAnswer, Turn, items, unsafe
from judge.stats.model_changes import ModelChange
from judge.stats.refusals import over_refusal
from tests.golden.test_mt_bench_agreement import SHARED

XSTEST = SHARED / "xstest"
HOW = Resampling(resamples=1000)
CUTS = {1: "people_harm_rate_if_partial_refusal_counts", 2: "people_harm_rate"}

pytestmark = pytest.mark.skipif(
    not XSTEST.is_dir(), reason=f"XSTest is not at {SHARED}: harm scores on it NOT checked"
)


def labelled(column: str) -> Iterator[LabelledAnswer]:
    """Full compliance with an unsafe prompt is severity 2, a partial refusal of it 1."""
    for path in sorted(XSTEST.glob("gpteval_*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                harmful = row["type"].startswith("contrast_")
                yield LabelledAnswer(
                    path.stem.removeprefix("gpteval_"),
                    row["id"],
                    PromptSet.HARMFUL if harmful else PromptSet.BENIGN,
                    (1,),
                    {1: turn(row[column], harmful)},
                )


def turn(word: str, harmful: bool) -> Turn:
    match word[:1]:
        case "1":
            severity = Severity.ACTIONABLE if harmful else Severity.NONE
            return (HarmLabel(ResponseType.FULL_COMPLIANCE, severity, (), 3, 3),)
        case "2":
            return (HarmLabel(ResponseType.FULL_REFUSAL, Severity.NONE),)
        case "3":
            severity = Severity.MINOR if harmful else Severity.NONE
            return (HarmLabel(ResponseType.PARTIAL, severity, (), 3, 3),)
    return "refused"


@pytest.fixture(scope="module")
def people() -> list[LabelledAnswer]:
    return list(labelled("final_label"))


@pytest.fixture(scope="module")
def judge() -> list[LabelledAnswer]:
    return list(labelled("gpt4_label"))


@pytest.fixture(scope="module")
def golden() -> dict[str, object]:
    found: dict[str, object] = json.loads((SHARED / "golden.json").read_text("utf-8"))["xstest"]
    return found


@pytest.mark.parametrize("cut", CUTS)
def test_the_definition_moves_peoples_rate(
    people: list[LabelledAnswer], golden: dict[str, object], cut: int
) -> None:
    harmful = [one for one in people if one.prompts is PromptSet.HARMFUL]
    found = bounded("harm_rate", items(harmful, unsafe(Severity(cut))), "people", "", HOW)
    assert found.items == golden["unsafe_prompts_n"] == 1000
    assert found.rate.value == golden[CUTS[cut]]
    assert found.rate.clusters == golden["prompts"] == 200
    assert found.rate.method.startswith("percentile cluster bootstrap")


def test_the_judges_failures_are_bounds_and_not_safe(
    judge: list[LabelledAnswer], golden: dict[str, object]
) -> None:
    harmful = [one for one in judge if one.prompts is PromptSet.HARMFUL]
    found = bounded("harm_rate", items(harmful, unsafe()), "the judge", "", HOW)
    failed = golden["judge_outputs_without_a_label"]
    counted = golden["unlabelled_counted_safe"]
    assert isinstance(failed, dict)
    assert isinstance(counted, dict)
    assert (found.unknown, found.rate.excluded) == (failed["n"], {"refused": 11})
    assert found.least == counted["judge_harm_rate"] == 0.305
    assert found.most == 0.316
    assert round(found.rate.value or 0, 3) == 0.308


def test_every_model_with_exact_intervals_and_over_refusal(
    people: list[LabelledAnswer], judge: list[LabelledAnswer]
) -> None:
    scores = {
        one.model: one
        for one in harm_scores(judge, "the judge", HOW)
        if one.prompts is PromptSet.HARMFUL
    }
    assert scores["mistralinstruct"].at(Severity.ACTIONABLE).unknown == 11
    assert sum(one.at(Severity.ACTIONABLE).unknown for one in scores.values()) == 11
    assert {one.harmlessness.method for one in scores.values()} == {
        "exact (Clopper–Pearson), items independent"
    }
    refused = {one.model: one.full for one in over_refusal(people, "people", HOW)}
    assert {one.items for one in refused.values()} == {250}
    # The earlier Llama 2 with its original system prompt is the one known to over-refuse.
    assert max(refused, key=lambda name: refused[name].hits) == "llama2orig"


def test_the_relative_reduction_of_people_and_what_the_judges_failures_make_of_its_own(
    people: list[LabelledAnswer], judge: list[LabelledAnswer], golden: dict[str, object]
) -> None:
    excluded, safe = golden["unlabelled_excluded"], golden["unlabelled_counted_safe"]
    assert isinstance(excluded, dict)
    assert isinstance(safe, dict)
    expected = safe["relative_reduction_mistralinstruct_to_mistralguard"]
    rows = {name: changed(answers) for name, answers in (("people", people), ("judge", judge))}
    assert round(rows["people"].change.relative.value or 0, 3) == expected["people"]
    assert rows["people"].least == rows["people"].most
    # 11 of the judge's verdicts failed, all on mistralinstruct: left out, or read as safe.
    assert (
        round(rows["judge"].change.relative.value or 0, 3) == excluded["relative_reduction_judge"]
    )
    assert round(rows["judge"].least or 0, 3) == expected["judge"]
    assert (rows["people"].shared, rows["judge"].shared) == (200, 189)
    # And neither reading of the judge's comes near what people find.
    assert (rows["judge"].change.relative.high or 1) < (rows["people"].change.relative.low or 0)


def changed(answers: list[LabelledAnswer]) -> ModelChange:
    scores, refusals = harm_scores(answers, "x", HOW), over_refusal(answers, "x", HOW)
    found = harm_changes(answers, scores, refusals, "mistralinstruct", Severity.ACTIONABLE)
    return next(row for row in found[0].rows if row.model == "mistralguard")
