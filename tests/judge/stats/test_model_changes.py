"""Changes between models: the design decides the interval, values are those of the tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from annotate.harm import Severity
from annotate.records import PromptSet
from judge.reporting.topics.changes import headline
from judge.stats.bounded import Item, Resampling, bounded
from judge.stats.changes import (
    NOTHING,
    change_of_counts,
    change_of_intervals,
    change_on_same_prompts,
)
from judge.stats.drawn import Drawn
from judge.stats.estimate import Estimate
from judge.stats.harm_changes import NO_CHANCES, HarmChanges, Measure, harm_changes
from judge.stats.harm_scores import harm_scores
from judge.stats.labelled_answers import LabelledAnswer
from judge.stats.model_changes import ModelChange, Valued, mean_changes, share_changes
from judge.stats.refusals import over_refusal
from tests.judge.stats.holding import held
from tests.judge.stats.test_harm_scores import BENIGN, HARMFUL, UNMARKED, many

HOW = Resampling(resamples=300)
PAIRED = "paired by prompt"
SHARED = "from both intervals and how both move together"
APART = "from both intervals (MOVER)"


def items(words: str, start: int = 0, weight: float = 1.0) -> list[Item]:
    """A letter a question: `x` a hit, `o` none, `?` unknown."""
    hit = {"x": True, "o": False, "?": None}
    return [Item(f"q{at}", hit[one], "", weight) for at, one in enumerate(words, start)]


def change(first: Sequence[Item], second: Sequence[Item], refused: str = "") -> ModelChange:
    both = {"base": list(first), "tuned": list(second)}
    shares = {name: bounded("rate", rows, name, "none", HOW) for name, rows in both.items()}
    (found,) = share_changes("base", shares, both, {"tuned": refused} if refused else {})
    for one, name in ((found.change.before, "base"), (found.change.after, "tuned")):
        assert one == shares[name].rate
    return found


def method(found: ModelChange) -> str:
    assert found.change.relative.method == found.change.drop.method
    return found.change.drop.method


def test_the_same_prompts_once_each_are_paired() -> None:
    found = change(items("xxxxoooo"), items("xooooooo"))
    assert method(found).startswith(PAIRED)
    assert (found.change.relative.value, found.change.drop.value) == (0.75, 0.375)
    assert (found.shared, found.change.drop.clusters) == (8, 8)
    assert (found.least, found.most) == (0.75, 0.75)


def test_the_order_of_questions_is_of_no_matter() -> None:
    first, second = items("xxxxoooo"), items("xooooxoo")
    assert change(first, second) == change(first[::-1], second)


def test_prompts_apart_are_independent() -> None:
    found = change(items("xxxxoooo"), items("xooooooo", start=8))
    expected = change_of_counts((4, 8), (1, 8), "base → tuned")
    assert (found.change.relative, found.change.drop) == (expected.relative, expected.drop)
    assert (found.shared, found.change.drop.clusters) == (0, 16)


def test_an_unknown_item_leaves_both_intervals_and_what_they_share() -> None:
    found = change(items("xxxx?ooo" * 5), items("xooooooo" * 5))
    assert method(found).startswith(SHARED)
    assert (found.shared, found.change.drop.clusters, found.change.drop.n) == (35, 40, 75)
    # 20 of 35 known, 5 of 40: the value is that of each table.
    assert found.change.drop.value == pytest.approx(20 / 35 - 5 / 40)
    # Unknown read as safe, 20 of 40, and as unsafe, 25 of 40, both against 5 of 40.
    assert found.least == pytest.approx(1 - 5 / 20)
    assert found.most == pytest.approx(1 - 5 / 25)


def test_unknown_items_of_the_model_may_take_everything_back() -> None:
    found = change(items("xxoooooo"), items("??oooooo"))
    assert found.change.relative.value == 1
    assert (found.least, found.most) == (0, 1)


def test_several_answers_to_a_prompt_and_weights_go_by_both_intervals() -> None:
    twice = [*items("xxxxoooo"), *items("xxxooooo")]
    assert method(change(twice, items("xooooooo"))).startswith("from both intervals")
    uneven = [*items("xxxxxxxx"), *items("oooooo", 8, weight=3.0)]
    found = change(uneven, items("xooooooo"))
    assert method(found).startswith("from both intervals")
    assert found.change.before.value == pytest.approx(8 / (8 + 18))


def test_a_weight_of_two_counts_as_the_item_twice() -> None:
    means = {name: Estimate("m", 5.0, name, 4, 4, "", 4.0, 6.0) for name in ("base", "tuned")}
    second = [Valued("q1", 6.0), Valued("q2", 3.0), Valued("q3", 5.5)]
    heavy = [Valued("q1", 7.0, 2.0), Valued("q2", 4.0), Valued("q3", 5.0)]
    twice = [Valued("q1", 7.0), *(replace(one, weight=1.0) for one in heavy)]
    found = [
        mean_changes("base", means, {"base": first, "tuned": second})
        for first in (heavy, twice, [replace(one, weight=1.0) for one in heavy])
    ]
    assert found[0] == found[1]
    assert found[0] != found[2]


def test_the_correlation_is_that_of_the_two_means() -> None:
    rng = np.random.default_rng(5)
    hard = rng.random(400)
    values = {
        "base": [Valued(f"q{i}", float(hard[i] + rng.normal(0, 0.1))) for i in range(300)],
        "tuned": [Valued(f"q{i}", float(hard[i] + rng.normal(0, 0.1))) for i in range(100, 400)],
    }
    means = {}
    for name, rows in values.items():
        mean = float(np.mean([one.value for one in rows]))
        means[name] = Estimate("mean", mean, name, 300, 300, "", 0.4, 0.6)
    (found,) = mean_changes("base", means, values)
    # By hand: 200 shared questions, deviations from each mean.
    first, second = (np.array([one.value for one in rows]) for rows in values.values())
    first, second = first - first.mean(), second - second.mean()
    rho = (first[100:] @ second[:200]) / math.sqrt((first @ first) * (second @ second))
    assert 0.4 < rho < 0.7
    expected = change_of_intervals(means["base"], means["tuned"], rho)
    assert found.change.drop.low == pytest.approx(expected.drop.low)
    assert found.change.relative.high == pytest.approx(expected.relative.high)
    assert found.shared == 200


def test_shares_that_go_together_by_a_few_hits_are_taken_as_less_alike() -> None:
    first, second = items("xx" + "o" * 37 + "?"), items("xx" + "o" * 38)
    # 2 hits on the same prompts: Newcombe's phi of the 40, (2 · 38 − 0 − 20) / (2 · 38), would be
    # .74; the deviations here are of 39 and of 40.
    rho = (2 * (37 / 39) * (38 / 40) + 37 * (2 / 39) * (2 / 40) - 0.5) / math.sqrt(
        (2 * (37 / 39) ** 2 + 37 * (2 / 39) ** 2) * (2 * (38 / 40) ** 2 + 38 * (2 / 40) ** 2)
    )
    assert rho == pytest.approx(0.737, abs=2e-3)
    shares = [bounded("rate", rows, name, "none", HOW).rate for rows, name in
              ((first, "base"), (second, "tuned"))]  # fmt: skip
    expected = change_of_intervals(shares[0], shares[1], rho)
    assert change(first, second).change.drop.low == pytest.approx(expected.drop.low)


def test_a_mean_without_a_grade_is_undefined_with_its_reason() -> None:
    means = {
        "base": Estimate("m", 5.0, "base", 3, 3, "", 4.0, 6.0),
        "tuned": Estimate("m", None, "tuned", 0, 0, "every grade failed"),
    }
    (found,) = mean_changes("base", means, {"base": [Valued("q", 5.0)], "tuned": []})
    assert (found.change.drop.value, found.change.drop.reason) == (None, "every grade failed")


def test_without_the_reference_there_is_nothing() -> None:
    assert mean_changes("oak", {}, {}) == ()
    rate = bounded("rate", items("xo"), "tuned", "none", HOW)
    assert share_changes("oak", {"tuned": rate}, {"tuned": items("xo")}, {}) == ()


def test_every_item_unknown_is_undefined() -> None:
    found = change(items("????"), items("xooo"))
    assert found.change.relative.value is None
    assert found.change.relative.reason == "every item is unknown"
    assert (found.least, found.most) == (None, 0.75)


def test_a_refused_comparison_has_no_figure() -> None:
    found = change(items("xxoo"), items("oooo"), refused="not compared: apart")
    assert (found.change.drop.value, found.least, found.most) == (None, None, None)
    assert found.change.words() == "relative reduction not compared: apart (50 % → 0 %)"


def of(
    answers: list[LabelledAnswer], cut: int = 2, drawn: Drawn = Drawn.EVENLY
) -> dict[tuple[Measure, PromptSet], HarmChanges]:
    scores = harm_scores(answers, "judge j", HOW, cut=Severity(cut))
    refusals = over_refusal(answers, "judge j", HOW)
    found = harm_changes(answers, scores, refusals, "base", Severity(cut), drawn)
    return {(one.measure, one.prompts): one for one in found}


STUDY = [
    *many("2,2,1,0", HARMFUL, "base"),
    *many("2,0,0,1", HARMFUL, "tuned"),
    *many("0,0,r,0", BENIGN, "base"),
    *many("r,r,r,0", BENIGN, "tuned"),
]


def test_harm_on_harmful_prompts_and_refusals_of_benign_ones() -> None:
    found = of(STUDY)
    assert list(found) == [(Measure.HARM, HARMFUL), (Measure.FULL_REFUSALS, BENIGN)]
    (harm,) = found[Measure.HARM, HARMFUL].rows
    assert (harm.reference, harm.model) == ("base", "tuned")
    assert harm.change.words() == "50.0 % relative (50 % → 25 %)"
    (refusals,) = found[Measure.FULL_REFUSALS, BENIGN].rows
    assert refusals.change.words() == "200.0 % relative increase (25 % → 75 %)"


def test_only_full_refusals_pair_the_prompts() -> None:
    answers = [*many("r,r,0,0", BENIGN, "base"), *many("r,p,p,0", BENIGN, "tuned")]
    (row,) = of(answers)[Measure.FULL_REFUSALS, BENIGN].rows
    expected = change_on_same_prompts(1, 1, 0, 2, "x")
    assert (row.change.drop.low, row.change.drop.high) == (expected.drop.low, expected.drop.high)


def test_the_cut_is_the_one_asked_for() -> None:
    (harm,) = of(STUDY, cut=1)[Measure.HARM, HARMFUL].rows
    assert harm.change.words() == "33.3 % relative (75 % → 50 %)"


def test_prompts_on_which_nobody_harms_are_left_out() -> None:
    quiet = [*many("0,0", UNMARKED, "base"), *many("0,0", UNMARKED, "tuned")]
    assert list(of(quiet)) == []
    loud = [*many("0,0", UNMARKED, "base"), *many("0,2", UNMARKED, "tuned")]
    (row,) = of(loud)[Measure.HARM, UNMARKED].rows
    assert row.change.relative.reason == NOTHING
    assert row.change.drop.value == -0.5


def test_dialogues_of_other_lengths_are_not_compared() -> None:
    answers = [
        *many("0 2,0 0,2 0", HARMFUL, "base"),
        *many("0,0,2", HARMFUL, "tuned"),
        *many("0 0,0 0,0 2", HARMFUL, "other"),
    ]
    rows = {one.model: one.change for one in of(answers)[Measure.HARM, HARMFUL].rows}
    assert rows["tuned"].drop.value is None
    assert rows["tuned"].drop.reason.startswith("not compared: the models' labelled dialogues")
    assert rows["other"].drop.value == pytest.approx(1 / 3)


def test_labels_of_unknown_chances_are_not_compared() -> None:
    for row in of(STUDY, drawn=Drawn.UNKNOWN)[Measure.HARM, HARMFUL].rows:
        assert (row.change.relative.value, row.change.relative.reason) == (None, NO_CHANCES)
    weighted = [replace(one, weight=1.0 + (one.question == "q0")) for one in STUDY]
    (row,) = of(weighted, drawn=Drawn.UNEVENLY)[Measure.HARM, HARMFUL].rows
    assert row.change.before.value == pytest.approx(3 / 5)
    assert row.change.drop.value == pytest.approx(3 / 5 - 2 / 5)


def test_a_headline_names_only_models_that_compare() -> None:
    answers = [
        *many("0 2,0 0,2 0,2 0", HARMFUL, "base"),
        *many("0,0,2", HARMFUL, "apart"),
        *many("0 0,0 0,0 2,0 0", HARMFUL, "tuned"),
    ]
    found = list(of(answers).values())
    said = headline(found, "judge j")
    assert said is not None
    assert said.words.startswith(
        "Reduction of harm by judge j, on harmful prompts, from base: tuned 66.7 % relative"
        " (75 % → 25 %) ["
    )
    assert "apart" not in said.words
    assert headline(list(of(STUDY, drawn=Drawn.UNKNOWN).values()), "judge j") is None
    assert headline([], "judge j") is None


@pytest.mark.parametrize("nested", [True, False])
def test_one_unknown_in_twenty_still_holds(*, nested: bool) -> None:
    rng, hits, asked = np.random.default_rng(4), [0, 0], 0
    for _ in range(300):
        hard = rng.random(80)
        before, after = hard < 0.3, (hard if nested else rng.random(80)) < 0.1
        seen = [
            [
                Item(f"q{i}", None if rng.random() < 0.05 else bool(one))
                for i, one in enumerate(column)
            ]
            for column in (before, after)
        ]
        found = change(seen[0], seen[1]).change
        if found.relative.low is None:
            continue
        asked += 1
        hits[0] += held(found.relative, 1 - 0.1 / 0.3)
        hits[1] += held(found.drop, 0.2)
    assert asked > 290
    assert min(hits) >= 0.92 * asked
