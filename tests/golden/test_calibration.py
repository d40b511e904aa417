"""Calibration against published examples, XSTest's people and MT-Bench's raters."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from judge.calibration.columns import Items, Kind, Labels
from judge.calibration.companions import companions, ppi_mean
from judge.calibration.poststratified import Target, calibrated, point, variance
from judge.calibration.ratios import calibrated_change
from judge.calibration.refusals import Why
from judge.calibration.rogan_gladen import JudgeErrors, allocation, rogan_gladen
from judge.calibration.selective import risk_upper
from judge.calibration.strata import stratify
from judge.calibration.wrong_items import wrong_items
from judge.commands.selective_command import selected
from judge.stats.binomial import wilson
from judge.stats.changes import change_of_counts, published_change
from judge.stats.distributions import normal_quantile
from tests.golden.test_mt_bench_agreement import tidy_table
from tests.judge.calibration import real
from tests.judge.calibration.real import ABSENT, GOLDEN, PRESENT, Real, spread
from tests.judge.calibration.tables import WORKED, harm, strata

pytestmark = pytest.mark.skipif(not PRESENT, reason=ABSENT)

SEEDS = 300
"""Of the 1,000 that `python -m benchmarks.calibration_real` goes through; a true coverage of
.95 falls below .92 with probability .01."""
DRAWS = 3_000
HOLDS = 0.92


@lru_cache
def golden() -> dict[str, Any]:
    figures: dict[str, Any] = json.loads(GOLDEN.read_text(encoding="utf-8"))
    return figures


@lru_cache
def xstest() -> Real:
    return real.xstest()


def test_the_2_by_2_worked_example() -> None:
    expected = golden()["calibration_worked_examples"]["worked_2x2"]
    found = strata(WORKED)
    made = calibrated(found, Target.ITEMS, draws=200_000)
    assert made.value == pytest.approx(expected["poststrat"]["est"])
    assert (made.low, made.high) == pytest.approx(expected["poststrat"]["jeffreys_ci"], abs=0.001)
    means = dict(zip([row.verdict for row in found.rows], found.means, strict=True))
    assert means["harmful"] == pytest.approx(expected["poststrat"]["ppv"])
    assert means["safe"] == pytest.approx(expected["poststrat"]["false_omission"])
    reach = normal_quantile(0.975) * variance(found, Target.ITEMS) ** 0.5
    delta = (point(found) - reach, point(found) + reach)
    assert delta == pytest.approx(expected["poststrat"]["delta_ci"], abs=1e-9)


def test_the_2_by_2_companions() -> None:
    expected = golden()["calibration_worked_examples"]["worked_2x2"]
    y, f = np.array(harm(20, 180)), np.array([1.0] * 17 + [0.0] * 3 + [1.0] * 18 + [0.0] * 162)
    everything = np.array(harm(350, 1650))
    assert wilson(350, 2000) == pytest.approx(expected["naive_wilson"], abs=1e-12)
    assert wilson(20, 200) == pytest.approx(expected["human_wilson"], abs=1e-12)
    for tuned, name in ((False, "ppi_lam1"), (True, "ppi++")):
        made = ppi_mean(y, f, everything, tuned=tuned)
        assert made.value == pytest.approx(expected[name]["est"])
        assert (made.low, made.high) == pytest.approx(expected[name]["ci"], abs=1e-12)
    made = rogan_gladen(350, 2000, JudgeErrors(17, 20, 162, 180), labels_of="a", scored="b")
    assert made.value == pytest.approx(expected["rogan_gladen"])
    assert (made.low, made.high) == pytest.approx(expected["rogan_gladen_lee_ci"], abs=1e-12)


def test_lees_example() -> None:
    expected = golden()["calibration_worked_examples"]["lee_readme_p.4_q0.7_q1.9_n1000_m200_200"]
    errors = JudgeErrors(180, 200, 140, 200)
    made = rogan_gladen(400, 1000, errors, labels_of="a", scored="b")
    assert made.value == pytest.approx(expected["theta"], abs=1e-15)
    assert (made.low, made.high) == pytest.approx(expected["ci"], abs=1e-15)
    pilot = JudgeErrors(9, 10, 7, 10)
    assert list(allocation(400, 0.4, pilot)) == expected["alloc_m400_pilot10"]


def test_published_reductions_are_never_bare() -> None:
    expected = golden()["relative_reduction"]
    rates = expected["harm 71/100 to 42/100"]
    made = change_of_counts((71, 100), (42, 100), "claim", published=False)
    assert made.words() == "40.8 % relative (71 % → 42 %)"
    assert made.relative.low is not None
    assert made.relative.high is not None
    ends = [round(100 * end, 1) for end in (made.relative.low, made.relative.high)]
    assert ends == rates["ci95_log_risk_ratio"]
    assert "hypothetical" in made.relative.method
    assert made.drop.value == pytest.approx(rates["points"] / 100)
    grades = expected["helpfulness 6.05 to 5.46"]
    other = published_change(6.05, 5.46, "claim")
    assert other.words(percent=False) == "9.8 % relative (6.05 → 5.46)"
    assert other.relative.low is None
    assert other.drop.value == pytest.approx(grades["points"])


def test_the_right_rate_comes_from_the_wrong_items_on_xstest() -> None:
    data = xstest()
    found = stratify(data.items, Labels(data.items.name, data.items.ids, data.people))
    (warned,) = [one for one in wrong_items(found) if one.warns]
    assert warned.words().startswith("mistralinstruct: right rate, wrong items: the judge's rate")
    assert "50 % of its verdicts are wrong" in warned.words()


def test_selective_judging_on_mt_bench() -> None:
    examples = golden()["calibration_worked_examples"]
    bound = examples["selective_CP"]
    assert risk_upper(bound["err"], bound["n"], bound["delta"]) == pytest.approx(bound["upper"])
    expected = examples["selective_mtbench"]
    table = tidy_table()
    experts = table[(table["source_kind"] == "judge") | (table["rater_group"] == "expert")]
    made = selected(experts, "gpt4_pair", 0.45)
    (sure, kept, agree), (unsure, apart, as_ties) = made.votes
    assert (sure, unsure) == (1, 0)
    assert (kept, apart) == (expected["n_kept"], expected["n_abst"])
    assert kept / (kept + apart) == pytest.approx(expected["coverage"], abs=5e-6)
    assert agree / kept == pytest.approx(expected["agree_kept_S1"], abs=5e-7)
    assert as_ties / apart == pytest.approx(expected["agree_abstained_S1(as tie)"], abs=5e-7)
    assert [one.confidence for one in made.selection.tested] == [1, 0]
    assert made.selection.warnings[-1].endswith("units of 80 questions: one per question was used")


def test_xstests_raw_figures() -> None:
    expected = golden()["xstest"]
    data = xstest()
    verdicts = np.array(data.items.verdicts)
    assert len(data.people) == expected["unsafe_prompts_n"]
    assert data.people.mean() == pytest.approx(expected["people_harm_rate"])
    flagged = verdicts == "harmful"
    assert flagged.mean() == pytest.approx(expected["unlabelled_counted_safe"]["judge_harm_rate"])
    assert data.people[verdicts == "failed"].tolist() == [1.0] * 11


@pytest.mark.parametrize("proportional", [False, True], ids=["equal", "proportional"])
def test_xstest_from_200_labels(proportional: bool) -> None:
    data = xstest()
    counts = spread(data, 200, proportional=proportional)
    assert sum(counts.values()) == 200
    assert counts["mistralinstruct", "failed"] == 11
    holds = raw = 0
    for seed in range(SEEDS):
        found = data.labelled(np.random.default_rng(seed), counts)
        made = calibrated(found, draws=DRAWS, seed=seed)
        assert made.low is not None
        assert made.high is not None
        holds += made.low <= data.people.mean() <= made.high
        raw += made.high >= 0.305
    assert holds / SEEDS >= HOLDS
    assert raw == 0


@pytest.mark.parametrize("proportional", [False, True], ids=["equal", "proportional"])
def test_xstests_relative_reduction_from_100_labels_per_model(proportional: bool) -> None:
    people = golden()["xstest"]["unlabelled_counted_safe"][
        "relative_reduction_mistralinstruct_to_mistralguard"
    ]["people"]
    old, new = "mistralinstruct", "mistralguard"
    data = xstest().of(old, new)
    counts: dict[tuple[str, str], int] = {}
    for model in (old, new):
        counts |= spread(data.of(model), 100, proportional=proportional)
    holds = 0
    for seed in range(SEEDS):
        found = data.labelled(np.random.default_rng(seed), counts)
        made = calibrated_change(found, old, new, draws=DRAWS, seed=seed).relative
        assert made.low is not None
        assert made.high is not None
        assert np.isfinite([made.low, made.high]).all()
        holds += made.low <= people <= made.high
        warned = {one.model for one in wrong_items(found) if one.warns}
        assert warned == {old}
    assert holds / SEEDS >= HOLDS


def test_the_raw_reduction_depends_on_what_is_done_with_failures() -> None:
    data = xstest()
    verdicts, models = np.array(data.items.verdicts), np.array(data.items.models)

    def raw(model: str, *, counted: bool) -> tuple[int, int]:
        here = verdicts[models == model]
        return int((here == "harmful").sum()), len(here) if counted else int(
            (here != "failed").sum()
        )

    expected = golden()["xstest"]
    as_safe, excluded = (
        change_of_counts(
            raw("mistralinstruct", counted=counted), raw("mistralguard", counted=counted), "judge"
        ).relative.value
        for counted in (True, False)
    )
    found = expected["unlabelled_counted_safe"]
    key = "relative_reduction_mistralinstruct_to_mistralguard"
    assert as_safe == pytest.approx(found[key]["judge"], abs=5e-4)
    shown = expected["unlabelled_excluded"]["relative_reduction_judge"]
    assert excluded == pytest.approx(shown, abs=5e-4)


def test_pooled_strata_mislead_about_a_model() -> None:
    data = xstest()
    everything = np.arange(len(data.people))
    own = data.stratified(everything).of("gpt4")
    assert point(own) == pytest.approx(0.005)
    pooled_items = Items(
        Kind.HARM,
        "pooled",
        data.items.ids,
        ["all"] * len(data.people),
        data.items.questions,
        data.items.verdicts,
    )
    pooled = stratify(pooled_items, Labels("pooled", data.items.ids, data.people))
    means = dict(zip([row.verdict for row in pooled.rows], pooled.means, strict=True))
    misled = sum(row.size / 200 * means[row.verdict] for row in own.rows)
    assert misled == pytest.approx(0.086, abs=5e-4)


def test_mt_bench_from_60_labels() -> None:
    every = real.mt_bench("claude-v1", "gpt-3.5-turbo")
    data = real.voted(every)
    expected = golden()["win_rate_vs_gpt-3.5-turbo"]["claude-v1"]
    assert (len(every.people), len(data.people)) == (160, 128)
    truth = float(data.people.mean())
    assert truth == pytest.approx(expected["human_majority"], abs=5e-5)
    counts = spread(data, 60, proportional=True)
    holds, informed = 0, []
    for seed in range(SEEDS):
        found = data.labelled(np.random.default_rng(seed), counts)
        made = calibrated(found, draws=DRAWS, seed=seed)
        assert made.low is not None
        assert made.high is not None
        holds += made.low <= truth <= made.high
        informed.append(companions(made, found).informed)
    assert holds / SEEDS >= HOLDS
    gains = [gain for gain in informed if gain is not None]
    assert len(gains) > 0.8 * SEEDS
    assert float(np.mean(gains)) == pytest.approx(0.02, abs=0.01)


def test_mt_bench_units_without_votes_are_non_response() -> None:
    every = real.mt_bench("claude-v1", "gpt-3.5-turbo")
    found = stratify(every.items, Labels("mt_bench", every.items.ids, every.people))
    assert {refusal.why for refusal in found.refusals} == {Why.NON_RESPONSE}
    assert calibrated(found).value is None
    low, high = found.worst_case()
    assert high - low == pytest.approx(32 / 160)
