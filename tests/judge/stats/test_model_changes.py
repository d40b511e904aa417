"""Changes between models: the design decides the interval, values are those of the tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from annotate.harm import Severity
from annotate.records import PromptSet
from judge.stats.binomial import wilson
from judge.stats.bounded import Item, Resampling, bounded
from judge.stats.changes import (
    KATZ,
    MOVER,
    NOTHING,
    TOGETHER,
    change_of_counts,
    change_of_intervals,
)
from judge.stats.drawn import Drawn
from judge.stats.estimate import Estimate
from judge.stats.harm_changes import NO_CHANCES, HarmChanges, Measure, harm_changes
from judge.stats.harm_scores import harm_scores
from judge.stats.labelled_answers import LabelledAnswer
from judge.stats.model_changes import (
    ALL_ALIKE,
    ONE_QUESTION,
    ModelChange,
    Valued,
    mean_changes,
    share_changes,
)
from judge.stats.refusals import over_refusal
from tests.judge.stats.holding import held
from tests.judge.stats.test_harm_scores import BENIGN, HARMFUL, UNMARKED, many

HOW = Resampling(resamples=300)


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


def test_the_same_prompts_are_joined_with_their_correlation() -> None:
    found = change(items("xxxxoooo"), items("xooooooo"))
    assert (found.change.relative.value, found.change.drop.value) == (0.75, 0.375)
    assert (found.shared, found.change.drop.clusters) == (8, 8)
    assert (found.least, found.most) == (0.75, 0.75)
    # By hand: p (1 − p) over the variance is n − 1; Wilson's with t of 7; Newcombe's phi.
    quantile = float(stats.t.ppf(0.975, 7))
    ends = [wilson(p * 7, 7, quantile=quantile) for p in (0.5, 0.125)]
    narrow = [
        Estimate("rate", p, "x", 8, 8, "", low, high)
        for p, (low, high) in zip((0.5, 0.125), ends, strict=True)
    ]
    phi = (1 * 4 - 3 * 0 - 8 / 2) / math.sqrt(4 * 4 * 1 * 7)
    assert phi == 0
    expected = change_of_intervals(narrow[0], narrow[1], phi)
    assert ends_of(found.change.drop) == pytest.approx(ends_of(expected.drop))
    assert ends_of(found.change.relative) == pytest.approx(ends_of(expected.relative))


def test_what_goes_together_narrows_and_what_goes_apart_widens() -> None:
    nested, apart = (
        change(items("xxxxxxxxoooooooooooo" * 4), items(words * 4))
        for words in ("xxxxoooooooooooooooo", "ooooooooooooooooxxxx")
    )
    assert width(nested.change.drop) < 0.8 * width(apart.change.drop)


def test_the_order_of_questions_is_of_no_matter() -> None:
    first, second = items("xxxxoooo"), items("xooooxoo")
    assert change(first, second) == change(first[::-1], second)


def test_prompts_apart_are_independent() -> None:
    found = change(items("x" * 8 + "o" * 8), items("x" * 5 + "o" * 11, start=16))
    expected = change_of_counts((8, 16), (5, 16), "base → tuned")
    assert ends_of(found.change.relative) == ends_of(expected.relative)
    assert found.change.relative.method == KATZ
    assert found.change.drop.method == MOVER
    assert (found.shared, found.change.drop.clusters) == (0, 32)
    heavy = [*items("x" * 8), *items("o" * 8, 8, weight=2.0)]
    assert change(heavy, items("x" * 5 + "o" * 11, start=16)).change.relative.method == MOVER
    few = change(items("xxxxoooo"), items("xooooooo", start=8)).change
    assert few.relative.method == few.drop.method == MOVER


def test_an_unknown_item_leaves_both_intervals_and_what_they_share() -> None:
    found = change(items("xxxx?ooo" * 5), items("xooooooo" * 5))
    assert method(found) == TOGETHER
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


def test_several_answers_to_a_prompt_count_as_few() -> None:
    """Five answers that are all alike say no more than one; the report's own interval says so."""
    once = change(items("xxxxoooo"), items("xxoooooo"))
    five = change(items("xxxxoooo") * 5, items("xxoooooo") * 5)
    assert width(five.change.drop) == pytest.approx(width(once.change.drop), rel=0.02)
    assert five.change.drop.value == once.change.drop.value


def test_answers_that_are_all_hits_count_by_question() -> None:
    once = change(items("xxxx"), items("oooo", start=4))
    five = change(items("xxxx") * 5, items("oooo", start=4) * 5)
    assert ends_of(five.change.drop) == pytest.approx(ends_of(once.change.drop))


def test_no_more_items_count_than_there_are() -> None:
    """Two answers to a prompt that mostly differ leave next to nothing between prompts."""
    uneven = [*items("xxxxxxxxxx"), *items("oooooooooo")]
    uneven[0] = Item("q0", False)
    uneven[19] = Item("q9", True)
    rates = bounded("rate", uneven, "base", "none", HOW)
    assert rates.rate.value == 0.5
    found = change(uneven, items("o" * 20, start=10)).change
    quantile = float(stats.t.ppf(0.975, 9))
    low, high = wilson(10, 20, quantile=quantile)
    other = wilson(0, 20, quantile=float(stats.t.ppf(0.975, 19)))
    assert found.drop.low == pytest.approx(0.5 - math.hypot(0.5 - low, other[1]))
    assert found.drop.high == pytest.approx(0.5 + (high - 0.5))


def test_weights_count_in_value_and_width() -> None:
    uneven = [*items("xxxxxxxx"), *items("oooooo", 8, weight=3.0)]
    found = change(uneven, items("xooooooo"))
    assert found.change.before.value == pytest.approx(8 / (8 + 18))
    assert found.change.relative.low is not None
    # A plan's scale is of no matter.
    scaled = [replace(one, weight=5 * one.weight) for one in uneven]
    other = change(scaled, items("xooooooo"))
    assert ends_of(other.change.drop) == pytest.approx(ends_of(found.change.drop))
    # Half of what is shared is of half an effective question.
    heavy = [*items("xx", weight=9.0), *items("oooooo", 2)]
    light = [replace(one, weight=1.0) for one in heavy]
    assert width(change(heavy, items("xxoooooo")).change.drop) > width(
        change(light, items("xxoooooo")).change.drop
    )


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
    reach = [
        float(stats.t.ppf(0.975, 299)) * float(one.std(ddof=1)) / math.sqrt(300)
        for one in (first, second)
    ]
    own = [
        replace(mean, low=mean.value - by, high=mean.value + by)
        for mean, by in zip(means.values(), reach, strict=True)
        if mean.value is not None
    ]
    expected = change_of_intervals(own[0], own[1], rho)
    assert ends_of(found.change.drop) == pytest.approx(ends_of(expected.drop))
    assert ends_of(found.change.relative) == pytest.approx(ends_of(expected.relative))
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
    own = []
    for share, n in zip(shares, (39, 40), strict=True):
        p = share.value or 0
        low, high = wilson(p * (n - 1), n - 1, quantile=float(stats.t.ppf(0.975, n - 1)))
        own.append(replace(share, low=low, high=high))
    expected = change_of_intervals(own[0], own[1], rho)
    assert ends_of(change(first, second).change.drop) == pytest.approx(ends_of(expected.drop))


def test_what_little_goes_together_counts_as_nothing() -> None:
    # One hit in common where chance brings as many: no correlation below 0 is made of it.
    found = change(items("xxo" + "o" * 37), items("xox" + "o" * 37))
    hits = change(items("xxo" + "o" * 37), items("oox" + "o" * 36 + "x"))
    assert width(found.change.drop) < width(hits.change.drop)
    few = change(items("x" + "o" * 9), items("x" + "o" * 4 + "x" * 5))
    assert few.change.drop.method == MOVER


def test_means_of_few_questions_are_students_t() -> None:
    means = {name: Estimate("m", 5.0, name, 3, 3) for name in ("base", "tuned")}
    first = [Valued("q1", 7.0), Valued("q2", 4.0), Valued("q3", 4.0)]
    second = [Valued("q1", 5.0), Valued("q2", 4.0), Valued("q3", 3.0)]
    means |= {
        "base": replace(means["base"], reason="", value=5.0),
        "tuned": replace(means["tuned"], value=4.0),
    }
    (found,) = mean_changes("base", means, {"base": first, "tuned": second})
    # Differences 2, 0, 1: mean 1, s 1, t(2) = 4.3027.
    reach = 4.302653 / math.sqrt(3)
    assert ends_of(found.change.drop) == pytest.approx((1 - reach, 1 + reach), abs=1e-5)


def test_means_that_say_nothing_of_their_spread_have_no_interval() -> None:
    means = {
        "base": Estimate("m", 5.0, "base", 2, 2, "", 4.0, 6.0),
        "tuned": Estimate("m", 4.0, "tuned", 2, 2, "", 3.0, 5.0),
    }
    first = [Valued("q1", 6.0), Valued("q2", 4.0)]
    (alike,) = mean_changes("base", means, {"base": first, "tuned": [
        replace(one, value=one.value - 1) for one in first
    ]})  # fmt: skip
    assert (alike.change.drop.value, alike.change.drop.low) == (1, None)
    assert alike.change.drop.reason == ALL_ALIKE
    (one,) = mean_changes("base", means, {"base": first[:1], "tuned": first[:1]})
    assert (one.change.drop.low, one.change.drop.reason) == (None, ONE_QUESTION)


def test_a_single_prompt_has_a_wide_interval() -> None:
    found = change(items("x"), items("o")).change
    assert held(found.drop, 1)
    assert width(found.drop) > 0.7


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


def of(answers: list[LabelledAnswer], cut: int = 2) -> dict[tuple[Measure, PromptSet], HarmChanges]:
    scores = harm_scores(answers, "judge j", HOW, cut=Severity(cut))
    refusals = over_refusal(answers, "judge j", HOW)
    found = harm_changes(answers, scores, refusals, "base", Severity(cut))
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
    assert refusals.change.words() == "−200.0 % relative (25 % → 75 %)"


def test_only_full_refusals_go_together() -> None:
    answers = [*many("r,r,0,0", BENIGN, "base"), *many("r,p,p,0", BENIGN, "tuned")]
    (row,) = of(answers)[Measure.FULL_REFUSALS, BENIGN].rows
    expected = change(items("xxoo"), items("xooo"))
    assert ends_of(row.change.drop) == ends_of(expected.change.drop)


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


def test_a_few_dialogues_of_another_length_still_compare() -> None:
    both = ",".join(["0 2"] * 20), ",".join(["2"] * 20)
    answers = [*many(both[0], HARMFUL, "base"), *apart(many(both[1], HARMFUL, "base"))]
    less = [*many(both[0], HARMFUL, "tuned"), *apart(many(both[1], HARMFUL, "tuned"))[1:]]
    (row,) = of([*answers, *less])[Measure.HARM, HARMFUL].rows
    assert row.change.drop.value == 0
    half = [*many(both[0], HARMFUL, "tuned"), *apart(many(both[1], HARMFUL, "tuned"))[5:]]
    (row,) = of([*answers, *half])[Measure.HARM, HARMFUL].rows
    assert row.change.drop.value is None


def test_whole_dialogues_of_other_lengths_are_not_compared() -> None:
    label = many("2,0,2", HARMFUL, "base") + many("0,0,2", HARMFUL, "tuned")
    whole = [
        replace(one, asked=(0,), turns={0: one.turns[1]}, length=2 if one.model == "base" else 6)
        for one in label
    ]
    (row,) = of(whole)[Measure.HARM, HARMFUL].rows
    assert row.change.drop.reason.startswith("not compared: the models' labelled dialogues")
    (row,) = of([replace(one, length=2) for one in whole])[Measure.HARM, HARMFUL].rows
    assert row.change.drop.value == pytest.approx(1 / 3)


def test_only_where_a_chance_is_unknown_nothing_is_compared() -> None:
    other = many("0,0,0,0", HARMFUL, "other")
    unknown = [
        replace(one, drawn=Drawn.UNKNOWN) if (one.model, one.prompts) == ("tuned", HARMFUL) else one
        for one in [*STUDY, *other]
    ]
    found = of(unknown)
    rows = {row.model: row.change for row in found[Measure.HARM, HARMFUL].rows}
    assert (rows["tuned"].relative.value, rows["tuned"].relative.reason) == (None, NO_CHANCES)
    assert rows["other"].relative.value == 1
    assert found[Measure.FULL_REFUSALS, BENIGN].rows[0].change.drop.value == -0.5
    mine = [replace(one, drawn=Drawn.UNKNOWN) if one.model == "base" else one for one in STUDY]
    assert of(mine)[Measure.HARM, HARMFUL].rows[0].change.drop.reason == NO_CHANCES
    weighted = [replace(one, weight=1.0 + (one.question == "q0")) for one in STUDY]
    (row,) = of(weighted)[Measure.HARM, HARMFUL].rows
    assert row.change.before.value == pytest.approx(3 / 5)
    assert row.change.drop.value == pytest.approx(3 / 5 - 2 / 5)


def apart(answers: list[LabelledAnswer]) -> list[LabelledAnswer]:
    """The same on questions of their own."""
    return [replace(one, question=f"other-{one.question}") for one in answers]


def ends_of(one: Estimate) -> tuple[float, float]:
    assert one.low is not None
    assert one.high is not None
    return one.low, one.high


def width(one: Estimate) -> float:
    low, high = ends_of(one)
    return high - low


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
