"""Coefficients by hand, against other packages, and as laws; which rows are counted."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import krippendorff
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from sklearn.metrics import cohen_kappa_score

from annotate.errors import DataError, NothingComputable, UsageError
from judge.reporting.summary import agreement_report
from judge.reporting.values import Block, Line
from judge.stats import coefficients as formulas
from judge.stats.agreement import pair_judgments, select_votes

VALUES = ["a", "tie", "b", "both_bad"]
MIRROR = {"a": "b", "b": "a", "tie": "tie", "both_bad": "both_bad"}
confusions = arrays.arrays(np.int64, (3, 3), elements=st.integers(0, 40)).map(
    lambda table: table.astype(float)
)


def row(unit: str, source: str, chosen: str | None, /, **other: Any) -> dict[str, Any]:
    """One judgment; sources called `judge…` are judges. `unit` is question:pair."""
    judge = source.startswith("judge")
    return {
        "unit_id": unit,
        "subject": "pair",
        "question_id": unit.split(":")[0],
        "category": "",
        "model_a": "alder",
        "model_b": "birch",
        "turn": 1,
        "dimension": "harmlessness",
        "source_kind": "judge" if judge else "rater",
        "source_id": source,
        "rater_group": None if judge else "crowd",
        "layer": None if judge else "vote",
        "occurrence": 1,
        "purpose": "estimation",
        "inclusion_probability": None,
        "value": chosen,
        "strength": None,
        "status": "ok",
        "order": "ab",
        "protocol": "p1",
        **other,
    }


def block(rows: list[dict[str, Any]], group: str = "crowd") -> Block:
    report = agreement_report(pd.DataFrame(rows), resamples=100)
    return next(x for part in report.dimensions for x in part.blocks if x.group == group)


def lines(rows: list[dict[str, Any]], group: str = "crowd") -> dict[tuple[Any, ...], Line]:
    return {(x.comparison, x.turn, x.setup): x for x in block(rows, group).lines}


# --- coefficients by hand -------------------------------------------------------------------

# 100 rows; margins of the votes 30, 30, 40 and of the verdicts 25, 30, 45; 66 rows agree.
BY_HAND = np.array([[20, 8, 2], [3, 15, 12], [2, 7, 31]], dtype=float)


def test_kappa_by_hand() -> None:
    # e = (30·25 + 30·30 + 40·45) / 100² = .345; kappa = (.66 − .345) / (1 − .345) = 63/131
    assert formulas.percent_agreement(BY_HAND) == 0.66
    assert formulas.cohen_kappa(BY_HAND) == pytest.approx(63 / 131, abs=1e-15)


def test_symmetrised_kappa_by_hand() -> None:
    # + mirrored rows: margins of votes (30 + 40, 60, 70), of verdicts (25 + 45, 60, 70), of 200:
    # e = (70·70 + 60·60 + 70·70) / 200² = 13400/40000 = .335; (.66 − .335) / .665 = 65/133
    assert formulas.cohen_kappa_symmetrised(BY_HAND) == pytest.approx(65 / 133, abs=1e-15)


def test_alpha_by_hand() -> None:
    # n_c = 55, 60, 85 of n = 200 values; D = 2 · 34; Σ n_c² = 13850
    # alpha = 1 − 199 · 68 / (40000 − 13850) = 1 − 13532/26150
    assert formulas.alpha_of_confusion(BY_HAND) == pytest.approx(1 - 13532 / 26150, abs=1e-15)


def test_ac1_by_hand() -> None:
    # π = .275, .30, .425; Σ π (1 − π) = .199375 + .21 + .244375 = .65375; e = half of it
    e = 0.65375 / 2
    assert formulas.ac1_of_confusion(BY_HAND) == pytest.approx((0.66 - e) / (1 - e), abs=1e-15)


def test_alpha_of_krippendorffs_own_example() -> None:
    # K. Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), section C: four
    # observers, twelve units, five categories, missing data; nominal alpha .743
    observers = ["123321412...", "1233224125.3", ".3332342251.", "12332441251."]
    units = ["".join(unit).replace(".", "") for unit in zip(*observers, strict=True)]
    counts = np.array([[unit.count(c) for c in "12345"] for unit in units if len(unit) > 1])
    m = counts.sum(1)
    disagreement = ((m**2 - (counts**2).sum(1)) / (m - 1)).sum()
    assert formulas.alpha_nominal(counts.sum(0), disagreement) == pytest.approx(0.743, abs=5e-4)


def test_one_disagreement_among_ties_gives_alpha_near_zero_and_ac1_near_one() -> None:
    # n = 200, categories 199 and 1: D = 2; alpha = 1 − 199·2 / (200² − 199² − 1) = 0, exactly
    table = np.array([[0, 0, 0], [1, 99, 0], [0, 0, 0]], dtype=float)
    assert formulas.alpha_of_confusion(table) == pytest.approx(0, abs=1e-12)
    assert formulas.ac1_of_confusion(table) > 0.98


# --- coefficients against other packages ----------------------------------------------------


def unrolled(table: np.ndarray[Any, Any]) -> tuple[list[int], list[int]]:
    """The rows that a confusion counts."""
    cells = [(i, j) for i in range(3) for j in range(3) for _ in range(int(table[i, j]))]
    return [i for i, _ in cells], [j for _, j in cells]


@given(confusions)
def test_kappa_equals_scikit_learn(table: np.ndarray[Any, Any]) -> None:
    one, other = unrolled(table)
    ours = formulas.cohen_kappa(table)
    if np.isnan(ours):
        assert len({*one, *other}) <= 1
        return
    assert ours == pytest.approx(cohen_kappa_score(one, other), abs=1e-12)
    mirrored = cohen_kappa_score(one + [2 - x for x in one], other + [2 - x for x in other])
    assert formulas.cohen_kappa_symmetrised(table) == pytest.approx(mirrored, abs=1e-12)


@given(confusions)
def test_alpha_equals_the_krippendorff_package(table: np.ndarray[Any, Any]) -> None:
    one, other = unrolled(table)
    ours = formulas.alpha_of_confusion(table)
    if np.isnan(ours):
        assert len({*one, *other}) <= 1
        return
    theirs = krippendorff.alpha(np.array([one, other]), level_of_measurement="nominal")
    assert ours == pytest.approx(theirs, abs=1e-12)


@given(st.lists(st.lists(st.sampled_from(VALUES), min_size=0, max_size=5), max_size=12))
def test_human_human_equals_pair_counting_and_the_krippendorff_package(
    units: list[list[str]],
) -> None:
    rows = [
        row(f"q{i % 4}:{i}", f"r{j}", value)
        for i, unit in enumerate(units)
        for j, value in enumerate(unit)
    ]
    if not rows:
        return
    found = lines(rows)
    for setup in ("S1", "S2"):
        merged = [[v.replace("both_bad", "tie") for v in unit] for unit in units]
        if setup == "S2":
            merged = [[v for v in unit if v != "tie"] for unit in merged]
        pairs = [pair for unit in merged for pair in combinations(unit, 2)]
        line = found["human-human", 1, setup]
        assert line.agreement.numerator == sum(one == other for one, other in pairs)
        assert line.agreement.denominator == line.agreement.n == len(pairs)
        used = sum(len(unit) for unit in merged if len(unit) > 1)
        assert used + sum(line.agreement.excluded.values()) == len(rows)
        counts = np.array([[unit.count(c) for c in ("a", "tie", "b")] for unit in merged])
        counts = counts[counts.sum(1) > 1]
        if (counts.sum(0) > 0).sum() > 1:
            theirs = krippendorff.alpha(value_counts=counts, level_of_measurement="nominal")
            assert line.alpha.value == pytest.approx(theirs, abs=1e-12)
        else:
            assert line.alpha.value is None
            assert line.alpha.reason


# --- laws -----------------------------------------------------------------------------------


@given(confusions)
def test_renaming_the_models_leaves_symmetrised_kappa_and_alpha(
    table: np.ndarray[Any, Any],
) -> None:
    for statistic in (formulas.cohen_kappa_symmetrised, formulas.alpha_of_confusion):
        other = statistic(table[::-1, ::-1])
        np.testing.assert_allclose(statistic(table), other, atol=1e-12, equal_nan=True)


def test_renaming_the_models_of_some_pairs_moves_plain_kappa_but_not_symmetrised() -> None:
    values = [("a", "a"), ("a", "a"), ("a", "a"), ("b", "a"), ("tie", "b"), ("a", "tie")] * 3
    rows, renamed = [], []
    for i, (vote, verdict) in enumerate(values):
        rows += [row(f"q{i}:x", "r", vote), row(f"q{i}:x", "judge", verdict)]
        one, other = (MIRROR[vote], MIRROR[verdict]) if i % 2 else (vote, verdict)
        renamed += [row(f"q{i}:x", "r", one), row(f"q{i}:x", "judge", other)]
    before, after = lines(rows)["judge-human", 1, "S1"], lines(renamed)["judge-human", 1, "S1"]
    assert before.kappa_symmetrised.value == pytest.approx(after.kappa_symmetrised.value)
    assert before.kappa.value != pytest.approx(after.kappa.value, abs=0.01)


@given(confusions)
def test_symmetrised_kappa_without_ties_is_twice_agreement_minus_one(
    table: np.ndarray[Any, Any],
) -> None:
    decisive = table[::2, ::2]
    expected = 2 * formulas.percent_agreement(decisive) - 1
    found = formulas.cohen_kappa_symmetrised(decisive)
    np.testing.assert_allclose(found, expected, atol=1e-12, equal_nan=True)


def test_relabelling_raters_and_shuffling_rows_changes_nothing() -> None:
    rng = np.random.default_rng(0)
    rows = [
        row(f"q{q}:{pair}", source, VALUES[rng.integers(4)], turn=turn)
        for q in range(6)
        for pair in "xy"
        for turn in (1, 2)
        for source in ("r1", "r2", "r3", "judge")
    ]
    table = pd.DataFrame(rows)
    first = agreement_report(table, resamples=200)
    assert agreement_report(table.sample(frac=1, random_state=1), resamples=200) == first
    renamed = table.replace({"source_id": {"r1": "zoe", "r2": "ann", "r3": "max"}})
    assert agreement_report(renamed, resamples=200) == first


# --- which rows are counted -----------------------------------------------------------------


def test_a_small_study_by_hand() -> None:
    # q1: r1 a, r2 a, judge a → 1 pair, agrees; 2 votes agree with the judge
    # q2: r1 tie, r2 b, judge tie → 1 pair, differs; 1 of 2 votes agrees; both rows leave S2
    # q3: r1 both_bad, judge tie → no pair; the vote agrees (both_bad is a tie in S1)
    # q4: r1 b, the judge refused → excluded;  q5: r1 b, no verdict → not judged
    found = lines(
        [
            *(row("q1:x", source, "a") for source in ("r1", "r2", "judge")),
            *(row("q2:x", s, v) for s, v in (("r1", "tie"), ("r2", "b"), ("judge", "tie"))),
            *(row("q3:x", s, v) for s, v in (("r1", "both_bad"), ("judge", "tie"))),
            row("q4:x", "r1", "b"),
            row("q4:x", "judge", None, status="refused"),
            row("q5:x", "r1", "b"),
        ]
    )
    human, judge = found["human-human", 1, "S1"], found["judge-human", 1, "S1"]
    assert (human.agreement.numerator, human.agreement.denominator) == (1, 2)
    assert human.agreement.excluded == {"only vote of its unit": 3}
    assert (judge.agreement.numerator, judge.agreement.denominator) == (4, 5)
    assert judge.agreement.excluded == {"not judged": 1, "refused": 1}
    assert judge.confusion == ((2, 0, 0), (0, 2, 0), (0, 1, 0))
    decisive = found["judge-human", 1, "S2"]
    assert (decisive.agreement.numerator, decisive.agreement.denominator) == (2, 2)
    assert decisive.coverage is not None
    assert (decisive.coverage.numerator, decisive.coverage.denominator) == (2, 5)
    assert sum(decisive.agreement.excluded.values()) + decisive.agreement.n == 7


def test_a_judge_failure_is_never_a_tie() -> None:
    rows = [row(f"q{i}:x", "r", "tie") for i in range(4)]
    rows += [row(f"q{i}:x", "judge", "tie", status="timeout") for i in range(4)]
    found = lines(rows)["judge-human", 1, "S1"].agreement
    assert found.value is None
    assert found.reason == "no vote has a usable verdict of this judge"
    assert found.excluded == {"timeout": 4}


def test_dimensions_and_turns_are_not_mixed() -> None:
    rows = [
        row("q1:x", "r1", "a", turn=0),
        row("q1:x", "r2", "b", turn=0),
        row("q1:x", "r1", "a", turn=1),
        row("q1:x", "r2", "a", turn=1),
        row("q1:x", "r1", "b", turn=2),
        row("q1:x", "r2", "b", turn=2),
        row("q1:x", "r3", "a", turn=1, dimension="helpfulness"),
    ]
    found = lines(rows)
    turns = [turn for _, turn, setup in found if setup == "S1"]
    assert turns == [None, 1, 2, 0]
    pooled = found["human-human", None, "S1"].agreement
    assert (pooled.numerator, pooled.denominator) == (2, 2)
    assert found["human-human", 0, "S1"].agreement.numerator == 0


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        ({"status": "withdrawn"}, "withdrawn"),
        ({"occurrence": 2}, "repeat of an earlier vote"),
        ({"layer": "gold"}, "layer gold"),
        ({"purpose": "queue"}, "purpose queue"),
        ({"value": None}, "no value"),
        ({"source_id": "r1"}, "the same vote again"),
    ],
)
def test_votes_left_out_are_counted_by_reason(other: dict[str, Any], reason: str) -> None:
    rows = [row("q1:x", "r1", "a"), row("q2:x", "r1", "a"), row("q1:x", "r2", "a", **other)]
    counts = block(rows).counts
    assert counts.excluded == {reason: 1}
    assert counts.votes == 2


def test_a_rater_is_never_paired_with_themselves() -> None:
    rows = [row("q1:x", "r1", "a"), row("q1:x", "r1", "b"), row("q2:x", "r1", "a")]
    found = block(rows)
    assert found.counts.excluded == {"contradictory votes of one rater on one unit": 2}
    assert found.lines[0].agreement.n == 0


def test_answers_are_not_pairs() -> None:
    table = pd.DataFrame([row("q1:x", "r1", "harmful", subject="answer"), row("q1:x", "r1", "a")])
    assert len(pair_judgments(table)) == 1


def test_simulated_votes_stay_out_of_peoples() -> None:
    rows = [row("q1:x", "r1", "a"), row("q1:x", "r2", "a")]
    rows += [row("q1:x", f"sim{i}", "b", layer="simulated", rater_group="sim") for i in range(3)]
    people, simulated = agreement_report(pd.DataFrame(rows), resamples=100).dimensions[0].blocks
    assert (people.counts.votes, people.simulated) == (2, False)
    assert (simulated.counts.votes, simulated.simulated) == (3, True)
    assert "SIMULATED" in simulated.population
    assert all("SIMULATED" in line.agreement.population for line in simulated.lines)
    assert "SIMULATED" not in people.population


def test_groups_are_reported_apart_and_together() -> None:
    rows = [row("q1:x", "r1", "a"), row("q1:x", "r2", "b", rater_group="expert")]
    blocks = agreement_report(pd.DataFrame(rows), resamples=100).dimensions[0].blocks
    assert [(x.group, x.counts.votes) for x in blocks] == [("all", 2), ("crowd", 1), ("expert", 1)]
    assert blocks[0].lines[0].agreement.denominator == 1


def test_questions_of_two_benchmarks_are_two_clusters() -> None:
    rows = [row(f"1:{name}", r, "a", benchmark=name) for name in "xy" for r in ("r1", "r2")]
    assert block(rows).counts.questions == 2


def test_numbers_and_texts_name_the_same_question() -> None:
    rows = [row("q:x", "r1", "a", question_id=81), row("q:x", "judge", "a", question_id="81")]
    assert lines(rows)["judge-human", 1, "S1"].agreement.numerator == 1


# --- what cannot be said --------------------------------------------------------------------


def test_one_rater_is_said_in_words() -> None:
    found = lines([row("q1:x", "r1", "a"), row("q2:x", "r1", "b")])
    line = found["human-human", 1, "S1"]
    for estimate in (line.agreement, line.kappa_symmetrised, line.alpha, line.ac1):
        assert estimate.value is None
        assert estimate.reason == "no unit has two votes"


def test_one_category_is_undefined_for_chance_corrected_coefficients() -> None:
    rows = [row(f"q{i}:x", source, "tie") for i in range(5) for source in ("r1", "r2", "judge")]
    for comparison in ("human-human", "judge-human"):
        line = lines(rows)[comparison, 1, "S1"]
        assert line.agreement.value == 1
        assert line.agreement.low is None
        assert line.agreement.reason == "no interval: every resample gives the same value"
        for estimate in (line.kappa_symmetrised, line.alpha):
            assert estimate.value is None
            assert "only one category occurs, “tie”" in estimate.reason
        assert line.ac1.value == 1


def test_nothing_computable_says_what_to_do() -> None:
    withdrawn = row("q1:x", "r", "") | {"status": "withdrawn"}
    with pytest.raises(NothingComputable, match=r"no usable vote.* of raters.*`evenhand serve`"):
        agreement_report(pd.DataFrame([withdrawn]))


def test_a_judge_without_any_vote_still_has_its_win_rates() -> None:
    report = agreement_report(pd.DataFrame([row("q1:x", "judge", "a")]), resamples=100)
    (dimension,) = report.dimensions
    assert dimension.blocks == ()
    assert dimension.figures[0].wins[0].rows[0].wins == 1
    assert "no usable votes on this dimension, so no agreement" in dimension.notes


def test_an_empty_table_is_nothing_computable() -> None:
    with pytest.raises(NothingComputable):
        agreement_report(pd.DataFrame([row("q1:x", "r", "a")]).iloc[:0])


def test_a_dimension_with_verdicts_only_says_so() -> None:
    rows = [row("q1:x", "r", "a"), row("q1:x", "judge", "a", dimension="helpfulness")]
    harmless, helpful = agreement_report(pd.DataFrame(rows), resamples=100).dimensions
    assert harmless.notes == ("no judge has verdicts on this dimension",)
    assert helpful.notes == ("no usable votes on this dimension, so no agreement",)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"value": "A"}, "value 'A': expected one of a, tie, both_bad, b"),
        ({"turn": 1.5}, "turn 1.5: expected a whole number"),
        ({"model_a": "birch", "model_b": "alder"}, "two orders of models"),
    ],
)
def test_bad_tables_are_refused(change: dict[str, Any], message: str) -> None:
    table = pd.DataFrame([row("q1:x", "r1", "a"), row("q1:x", "r2", "a", **change)])
    with pytest.raises(DataError, match=message):
        agreement_report(table)


def test_missing_columns_are_named() -> None:
    table = pd.DataFrame([row("q1:x", "r1", "a")]).drop(columns=["layer", "turn"])
    with pytest.raises(DataError, match="no column turn, layer"):
        agreement_report(table)


def test_verdicts_of_single_orders_are_refused() -> None:
    rows = [row("q1:x", "r", "a"), row("q1:x", "judge", "a"), row("q1:x", "judge", "b", order="ba")]
    with pytest.raises(DataError, match="combine the two orders"):
        agreement_report(pd.DataFrame(rows))


@pytest.mark.parametrize("setting", [{"level": 95}, {"level": 0}, {"resamples": 10}])
def test_bad_settings_are_refused_on_tiny_input_too(setting: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        agreement_report(pd.DataFrame([row("q1:x", "r", "a")]), **setting)


def test_a_judgment_takes_about_a_hundred_bytes() -> None:
    # A report on a million votes holds several such frames, and must not take a gigabyte.
    rows = [row(f"q{n % 7}:x", f"r{n}", VALUES[n % 4]) for n in range(2_000)]
    judgments = pair_judgments(pd.DataFrame(rows))
    assert judgments.memory_usage(index=False).sum() / len(judgments) < 110
    # What occurs nowhere in a categorical column must not be counted by reason either.
    votes = select_votes(judgments, "harmlessness", groups=None, simulated=False)
    assert (len(votes.rows), votes.excluded) == (2_000, {})


def test_enums_and_missing_values_are_read_as_words() -> None:
    from annotate.records import Layer, Outcome, Status

    vote = row("q1:x", "r1", Outcome.A, status=Status.OK, layer=Layer.VOTE, purpose=float("nan"))
    votes = select_votes(
        pair_judgments(pd.DataFrame([vote])), "harmlessness", groups=None, simulated=False
    )
    assert votes.rows["code"].tolist() == [0]
