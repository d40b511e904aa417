"""Harm labels of people and judge: the table, its rates, and verdicts that failed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import confusion_matrix, precision_score, recall_score

from judge.stats.binomial import clopper_pearson
from judge.stats.harm_confusion import HarmConfusion, Labelled, harm_confusions

LABELS = {"H": True, "S": False, "?": None}


def answers(model: str, words: str, first: int = 0) -> list[Labelled]:
    """People's and the judge's label per word: HS is harmful to people, safe to the judge."""
    return [
        Labelled(model, f"q{first + i}", LABELS[word[0]], LABELS[word[1]], "refused")
        for i, word in enumerate(words.split())
    ]


def only(rows: list[Labelled]) -> HarmConfusion:
    (found,) = harm_confusions(rows, "people", resamples=200)
    return found


def test_the_table_and_its_rates_by_hand() -> None:
    found = only(answers("m", "HH HH HH HS SH SS SS H? S? ?H"))
    counts = found.counts
    assert (counts.tp, counts.fn, counts.fp, counts.tn) == (3, 1, 1, 2)
    assert (counts.failed_harmful, counts.failed_safe) == (1, 1)
    assert (counts.failures, counts.unlabelled, counts.answers) == ({"refused": 2}, 1, 9)
    shares = {
        name: (getattr(found, name).numerator, getattr(found, name).denominator)
        for name in HarmConfusion.__dataclass_fields__
        if name not in ("model", "counts")
    }
    assert shares == {
        "sensitivity": (3, 4),
        "specificity": (2, 3),
        "ppv": (3, 4),
        "false_omission_rate": (1, 3),
        "failed_harm_rate": (1, 2),
        "people_harm_rate": (5, 9),
        "judge_harm_rate": (4, 7),
    }
    assert found.sensitivity.excluded == {"no label of people": 1, "no usable verdict": 2}
    assert found.people_harm_rate.excluded == {"no label of people": 1}


def test_intervals_are_exact_where_every_answer_has_its_own_question() -> None:
    found = only(answers("m", "HH HH HH HS SH SS SS"))
    assert (found.sensitivity.low, found.sensitivity.high) == clopper_pearson(3, 4)
    assert found.sensitivity.method.startswith("exact")
    none = only(answers("m", "HH HH SS"))
    assert (none.sensitivity.value, none.sensitivity.high) == (1, 1)
    assert none.sensitivity.low == pytest.approx(0.025**0.5)


def test_answers_that_share_questions_are_resampled_by_question() -> None:
    words = "HH HS SS SH HH SS HH HS"
    pooled, one, two = harm_confusions(
        [*answers("m", words), *answers("n", words)], "people", resamples=300
    )
    assert (pooled.model, one.model, two.model) == ("", "m", "n")
    assert pooled.counts.tp == 2 * one.counts.tp
    assert pooled.sensitivity.method.startswith("percentile cluster bootstrap")
    assert pooled.sensitivity.clusters == 5
    assert one.sensitivity.method.startswith("exact")
    # The same answers twice over are no new evidence: 10 independent ones would be narrower.
    assert pooled.sensitivity.low is not None
    assert pooled.sensitivity.high is not None
    assert pooled.sensitivity.high - pooled.sensitivity.low > 0.6


@pytest.mark.parametrize(
    ("words", "statistic", "reason"),
    [
        ("SS SH", "sensitivity", "people call no answer with a verdict harmful"),
        ("HH HS", "specificity", "people call no answer with a verdict safe"),
        ("HS SS", "ppv", "the judge calls no answer harmful"),
        ("HH SH", "false_omission_rate", "the judge calls no answer safe"),
        ("HH SS", "failed_harm_rate", "no verdict failed"),
        ("?H ?S", "people_harm_rate", "no answer has a label of people"),
        ("H? S?", "judge_harm_rate", "no answer has a usable verdict"),
    ],
)
def test_what_is_undefined_says_why(words: str, statistic: str, reason: str) -> None:
    estimate = getattr(only(answers("m", words)), statistic)
    assert (estimate.value, estimate.low, estimate.reason) == (None, None, reason)


def test_what_failed_verdicts_would_do_if_they_were_read() -> None:
    counts = only(answers("m", "HH SS H? H? S?")).counts
    safe, harmful = counts.if_failed(harmful=False), counts.if_failed(harmful=True)
    assert (safe.tp, safe.fn, safe.fp, safe.tn) == (1, 2, 0, 2)
    assert (harmful.tp, harmful.fn, harmful.fp, harmful.tn) == (3, 0, 1, 1)
    assert safe.answers == harmful.answers == counts.answers == 5
    assert (safe.failed_harmful, safe.failed_safe, safe.failures) == (0, 0, {})


@settings(max_examples=30)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40))
def test_counts_and_rates_equal_scikit_learn(pairs: list[tuple[bool, bool]]) -> None:
    rows = [Labelled("m", f"q{i}", people, judge) for i, (people, judge) in enumerate(pairs)]
    found = only(rows)
    people, judge = [one for one, _ in pairs], [other for _, other in pairs]
    (tn, fp), (fn, tp) = confusion_matrix(people, judge, labels=[False, True]).tolist()
    counts = found.counts
    assert (counts.tp, counts.fn, counts.fp, counts.tn) == (tp, fn, fp, tn)
    for ours, theirs in (
        (found.sensitivity, recall_score(people, judge, zero_division=float("nan"))),
        (found.ppv, precision_score(people, judge, zero_division=float("nan"))),
        (
            found.specificity,
            recall_score(people, judge, pos_label=False, zero_division=float("nan")),
        ),
    ):
        if ours.value is None:
            assert theirs != theirs
        else:
            assert ours.value == pytest.approx(theirs)


def test_no_answers_are_no_rows() -> None:
    assert harm_confusions([], "people") == ()
