"""The paper's statistics on MT-Bench's votes and XSTest's labels: golden figures to the digit."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from typing import Any

import pytest

from judge.stats.agreement import Votes, pair_judgments, select_verdicts, select_votes
from judge.stats.alt_test import alt_test
from judge.stats.baselines import Baseline, baseline_figures, best_baseline
from judge.stats.estimate import Estimate
from judge.stats.harm_confusion import HarmConfusion, Labelled, harm_confusions
from judge.stats.joint import Figure, estimates
from judge.stats.majority import (
    JUDGE_ALL,
    JUDGE_SAME,
    PLURALITY,
    RANDOM_RATER,
    majority_figures,
    win_rate_figures,
)
from judge.stats.matched import Weighting, matched_figures, unmatched_figures
from judge.stats.raters import estimate_with_raters, leave_one_rater_out, row_components
from judge.stats.rows import judged_rows, question_index
from judge.stats.within_pair import within_pair_figure
from tests.golden.test_mt_bench_agreement import FILES, SHARED, tidy_table

XSTEST = SHARED / "xstest"
ANSWERS = SHARED / "mt_bench" / "model_answer"

pytestmark = pytest.mark.skipif(
    not all(path.exists() for path in [*FILES, XSTEST, ANSWERS]),
    reason=f"MT-Bench and XSTest labels are not at {SHARED}: golden figures NOT checked",
)


class MtBench:
    """GPT-4's verdicts beside the votes of experts, or of everyone."""

    def __init__(self) -> None:
        judgments = pair_judgments(tidy_table())
        self.verdicts = select_verdicts(judgments, "overall", "gpt4_pair")
        self.questions = question_index(judgments["cluster"])
        self.experts = select_votes(judgments, "overall", groups=["expert"], simulated=False)
        self.everyone = select_votes(judgments, "overall", groups=None, simulated=False)

    def estimated(self, figures: dict[Any, Figure]) -> dict[Any, Estimate]:
        return estimates(figures, len(self.questions), level=0.95, resamples=10_000, seed=7)

    def arguments(self, votes: Votes, setup: str) -> tuple[Any, ...]:
        return votes, self.verdicts, setup, self.questions, "experts"


@pytest.fixture(scope="module")
def bench() -> MtBench:
    return MtBench()


@pytest.fixture(scope="module")
def golden() -> dict[str, Any]:
    figures: dict[str, Any] = json.loads(FILES[0].read_text(encoding="utf-8"))
    return figures


@pytest.mark.parametrize("setup", ["S1", "S2"])
def test_the_unmatched_gap_as_in_the_paper(
    bench: MtBench, golden: dict[str, Any], setup: str
) -> None:
    expected = golden["judge_minus_human_ceiling"][f"overall_{setup}"]
    found = bench.estimated(unmatched_figures(*bench.arguments(bench.experts, setup)))["difference"]
    assert found.value == pytest.approx(expected["judge_human_minus_human_human"], abs=5.1e-7)
    assert (found.low, found.high) == pytest.approx(expected["ci95_joint_cluster"], abs=0.003)


@pytest.mark.parametrize(("weighting", "gap"), [("pairs", 0.0075), ("units", 0.0079)])
def test_the_s2_gap_is_about_eight_thousandths_on_matched_units(
    bench: MtBench, weighting: str, gap: float
) -> None:
    found = matched_figures(
        bench.experts, bench.verdicts, "S2", bench.questions, "experts", Weighting(weighting)
    )["difference"].value()
    assert found == pytest.approx(gap, abs=5e-5)


def test_two_thirds_agreement_of_which_the_names_of_the_models_reach_sixty_two_percent(
    bench: MtBench,
) -> None:
    rows = judged_rows(bench.everyone, bench.verdicts, "S1", bench.questions)
    figures = baseline_figures(rows, None, "overall", "everyone")
    assert figures["agreement", "judge"].value() == pytest.approx(0.6616, abs=5e-5)
    assert figures["agreement", Baseline.CONTENT_BLIND].value() == pytest.approx(0.6208, abs=5e-5)


def test_excess_and_within_pair_kappa_of_gpt4(bench: MtBench) -> None:
    # Computed a second time from the rows with pandas, before this code was written.
    expected = {"S1": (0.63156, 0.27026), "S2": (0.82240, 0.25276)}
    for setup, (guess, kappa) in expected.items():
        rows = judged_rows(bench.experts, bench.verdicts, setup, bench.questions)
        blind = baseline_figures(rows, None, "overall", "experts")
        assert blind["agreement", Baseline.CONTENT_BLIND].value() == pytest.approx(guess, abs=5e-6)
        assert within_pair_figure(rows, "experts").value() == pytest.approx(kappa, abs=5e-6)
        assert best_baseline(blind) is Baseline.CONTENT_BLIND


def test_the_longest_answer_of_mt_bench(bench: MtBench) -> None:
    import pandas as pd

    length = {}
    for path in ANSWERS.glob("*.jsonl"):
        for line in path.read_text(encoding="utf-8").splitlines():
            answer = json.loads(line)
            for turn, text in enumerate(answer["choices"][0]["turns"], 1):
                length[path.stem, str(answer["question_id"]), turn] = len(text)
    rows = judged_rows(bench.experts, bench.verdicts, "S1", bench.questions)
    units = rows.frame.drop_duplicates(["unit_id", "turn"])
    keys = list(zip(units["unit_id"].str.split("|").str[0], units["turn"], strict=True))
    answers = pd.DataFrame(
        {
            "unit_id": units["unit_id"],
            "turn": units["turn"],
            "length_a": [length[m, *k] for m, k in zip(units["model_a"], keys, strict=True)],
            "length_b": [length[m, *k] for m, k in zip(units["model_b"], keys, strict=True)],
            "refuses_a": None,
            "refuses_b": None,
        }
    )
    found = baseline_figures(rows, answers, "overall", "experts")
    # A second count with numpy, before this code was written: 1461 of 2668.
    assert found["agreement", Baseline.LONGEST].numerator == 1461


@pytest.mark.parametrize("model", ["claude-v1", "gpt-4"])
def test_win_rates_of_judge_and_people_against_gpt35(
    bench: MtBench, golden: dict[str, Any], model: str
) -> None:
    expected = golden["win_rate_vs_gpt-3.5-turbo"][model]
    found = win_rate_figures(
        bench.everyone, bench.verdicts, "gpt-3.5-turbo", bench.questions, "everyone"
    )
    assert found[model, PLURALITY].n == expected["n_human_units"]
    assert found[model, JUDGE_ALL].n == expected["n_human_units"] + expected["N_judge_only"]
    assert found[model, PLURALITY].value() == pytest.approx(expected["human_majority"], abs=5.1e-5)
    assert found[model, JUDGE_ALL].value() == pytest.approx(expected["judge_all160"], abs=5.1e-5)


def test_win_rates_on_the_units_with_votes(bench: MtBench) -> None:
    # The note in golden.json: raw judge .641, plurality .527, a random rater .509.
    found = win_rate_figures(
        bench.everyone, bench.verdicts, "gpt-3.5-turbo", bench.questions, "everyone"
    )
    values = [
        found["claude-v1", source].value() for source in (JUDGE_SAME, PLURALITY, RANDOM_RATER)
    ]
    assert values == pytest.approx([0.641, 0.527, 0.509], abs=5.1e-4)
    # And experts alone: .514 and .605.
    experts = win_rate_figures(
        bench.experts, bench.verdicts, "gpt-3.5-turbo", bench.questions, "experts"
    )
    for model, value in (("claude-v1", 0.514), ("gpt-4", 0.605)):
        assert experts[model, PLURALITY].value() == pytest.approx(value, abs=5.1e-4)


def test_majority_level_of_experts(bench: MtBench, golden: dict[str, Any]) -> None:
    found = majority_figures(*bench.arguments(bench.experts, "S1"))["agreement"]
    assert found.n == golden["expert_vs_expert"]["overall"]["S1"]["units_rated"]
    assert found.value() == pytest.approx(1088 / 1633)


def test_raters_and_alternative_annotators(bench: MtBench) -> None:
    rows = judged_rows(bench.experts, bench.verdicts, "S1", bench.questions)
    without = leave_one_rater_out(rows)
    assert without.raters == 58
    assert without.low is not None
    assert without.high is not None
    assert 0.65 < without.low < 1757 / 2668 < without.high < 0.67
    parts = row_components(rows)
    assert parts.design_effect == pytest.approx(2.877, abs=0.001)
    wider = estimate_with_raters(rows, "experts")
    assert wider.low is not None
    assert wider.low < 0.6277, "the interval by question alone starts there"
    test = alt_test(bench.experts, bench.verdicts, bench.questions, by_question=False)
    assert (test.won, len(test.raters)) == (9, 26)
    assert test.average_advantage == pytest.approx(0.8513, abs=5e-5)


def xstest() -> Iterator[Labelled]:
    """Answers to unsafe prompts; harmful is full compliance; a text without a label failed."""
    for path in sorted(XSTEST.glob("gpteval_*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            for line in csv.DictReader(file):
                if line["type"].startswith("contrast_"):
                    said = line["gpt4_label"].strip()
                    verdict = said.startswith("1_") if said[:2] in ("1_", "2_", "3_") else None
                    people = line["final_label"].startswith("1_")
                    model = path.stem.removeprefix("gpteval_")
                    yield Labelled(model, line["id"], people, verdict, "unparseable")


@pytest.fixture(scope="module")
def harm() -> dict[str, HarmConfusion]:
    return {one.model: one for one in harm_confusions(xstest(), "XSTest", resamples=500)}


def test_xstest_with_failed_verdicts_as_their_own_stratum(
    golden: dict[str, Any], harm: dict[str, HarmConfusion]
) -> None:
    expected, found = golden["xstest"], harm[""]
    assert found.counts.answers == expected["unsafe_prompts_n"]
    failed = expected["judge_outputs_without_a_label"]
    assert found.counts.failures == {"unparseable": failed["n"]}
    assert found.counts.failed_harmful == failed["harmful_by_people"]
    assert harm[failed["all_from"]].counts.failed_harmful == failed["n"]
    assert found.failed_harm_rate.value == 1
    assert found.people_harm_rate.value == expected["people_harm_rate"]
    assert found.judge_harm_rate.n == expected["unlabelled_excluded"]["n"]
    assert found.judge_harm_rate.value == pytest.approx(
        expected["unlabelled_excluded"]["judge_harm_rate"], abs=5.1e-4
    )
    usable = found.counts.tp + found.counts.fn
    assert usable / found.judge_harm_rate.n == pytest.approx(
        expected["unlabelled_excluded"]["people_harm_rate"], abs=5.1e-4
    )


def test_xstest_with_failed_verdicts_read_as_safe(
    golden: dict[str, Any], harm: dict[str, HarmConfusion]
) -> None:
    expected = golden["xstest"]["unlabelled_counted_safe"]
    read = harm[""].counts.if_failed(harmful=False)
    assert (read.tp, read.fn, read.fp, read.tn) == tuple(
        expected[name] for name in ("TP", "FN", "FP", "TN")
    )
    assert (read.tp + read.fp) / read.answers == expected["judge_harm_rate"]


def test_a_model_that_never_harms_has_no_sensitivity_and_says_why(
    harm: dict[str, HarmConfusion],
) -> None:
    found = harm["llama2new"].sensitivity
    assert (found.value, found.reason) == (None, "people call no answer with a verdict harmful")
