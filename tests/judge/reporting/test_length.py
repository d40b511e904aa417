"""Preference for longer answers as a section: both sides on the same units, models held fixed."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from judge.reporting.document import Weight
from judge.reporting.pictures import CurvePlot
from judge.reporting.topics.length import found, headline, section
from tests.judge.reporting.made import Row, cells_of, pictures, scope_of, tables, verdict, words
from tests.judge.stats.tables import row


def study(cases: list[tuple[int, int, str, str]]) -> tuple[list[Row], pd.DataFrame]:
    """A question per (length of a, length of b, vote, verdict)."""
    rows, answers = [], []
    for n, (a, b, vote, said) in enumerate(cases):
        rows += [row(f"{n}", "r0", vote), verdict(f"{n}", said)]
        answers.append((f"{n}", 1, a, b))
    return rows, pd.DataFrame(answers, columns=["unit_id", "turn", "length_a", "length_b"])


def test_shares_by_hand() -> None:
    # People name the longer in 2 of 3 (one tie), the judge in 3 of 3 (one tie); one pair of
    # equal length counts for neither.
    rows, answers = study(
        [
            (30, 10, "a", "a"),
            (10, 30, "b", "b"),
            (30, 10, "b", "a"),
            (30, 10, "tie", "tie"),
            (10, 10, "a", "a"),
        ]
    )
    values = found(scope_of(rows, answers=answers))
    people, judge = values.sides
    assert (people.longer.numerator, people.longer.denominator) == (2, 3)
    assert (judge.longer.numerator, judge.longer.denominator) == (3, 3)
    assert values.difference is not None
    assert values.difference.value == pytest.approx(1 / 3)
    (table,) = tables(section(values))
    assert [line[:2] for line in cells_of(table)] == [["people", "2/3"], ["judge judge", "3/3"]]
    assert "1 both answers equally long, 1 tie" in table.remarks[-1]


def test_the_verdict_counts_once_per_vote_on_its_unit() -> None:
    """Else a unit with many votes would weigh more for people than for the judge."""
    rows, answers = study([(30, 10, "a", "a"), (30, 10, "b", "b")])
    rows += [row("0", "r1", "a"), row("0", "r2", "a")]
    values = found(scope_of(rows, answers=answers))
    assert [(one.longer.numerator, one.longer.n) for one in values.sides] == [(3, 4), (3, 4)]
    assert values.difference is not None
    assert values.difference.value == 0


def test_a_judge_that_takes_the_longer_is_warned_of() -> None:
    rng = np.random.default_rng(3)
    cases = []
    for n in range(120):
        a, b = (int(x) for x in rng.integers(50, 500, 2))
        said = ("a" if a > b else "b") if n % 8 else ("b" if a > b else "a")
        cases.append((a, b + (a == b), str(rng.choice(["a", "b"])), said))
    rows, answers = study(cases)
    values = found(scope_of(rows, answers=answers))
    text = headline(values)
    assert text.weight is Weight.WARNING
    assert "leans to longer answers more than people" in text.words
    effect = values.sides[1].effect
    assert effect.low is not None
    assert effect.low > 0
    assert f"{math.exp(effect.value or 0):.2f} times the odds" in words(section(values))


def test_a_lean_that_the_models_explain_is_called_so() -> None:
    """Cedar writes longer and is the judge's favourite, whatever the lengths between two."""
    rng = np.random.default_rng(5)
    rows, answers = [], []
    for n in range(150):
        unit = f"{n}:birch-cedar"
        longer = int(rng.integers(300, 600))
        said = "b" if rng.random() < 0.8 else "a"
        rows += [row(unit, "r0", str(rng.choice(["a", "b"]))), verdict(unit, said)]
        answers.append((unit, 1, 200, longer))
    frame = pd.DataFrame(answers, columns=["unit_id", "turn", "length_a", "length_b"])
    text = headline(found(scope_of(rows, answers=frame)))
    assert text.weight is Weight.KEY
    assert "the lean may be one to models that write longer" in text.words


def test_the_curve_goes_by_how_much_longer() -> None:
    rows, answers = study([(11, 10, "a", "b"), (40, 10, "b", "a"), (50, 10, "a", "a")])
    values = found(scope_of(rows, answers=answers))
    (picture,) = pictures(section(values))
    assert isinstance(picture.plot, CurvePlot)
    people, judge = picture.plot.curves
    assert [(dot.least, dot.most, dot.longer.value) for dot in people.dots] == [
        (1.0, 1.25, 1.0),
        (3.0, math.inf, 0.5),
    ]
    assert [dot.longer.value for dot in judge.dots] == [0.0, 1.0]
    assert values.sides[0].curve[-1].most is None


@pytest.mark.parametrize("unknown", ["no frame", "no rows", "no numbers"])
def test_without_texts_it_says_so(unknown: str) -> None:
    rows, answers = study([(30, 10, "a", "a")])
    frame = {"no frame": None, "no rows": answers.iloc[:0], "no numbers": answers.assign(
        length_a=None)}[unknown]  # fmt: skip
    made = section(found(scope_of(rows, answers=frame)))
    assert len(made.parts) == 1
    assert "texts are not known" in words(made)


def test_models_without_names_have_no_term() -> None:
    """Each pair would have a term of its own and nothing would be left to tell of length."""
    rows, answers = study([(30, 10, "a", "a"), (10, 30, "a", "b"), (20, 10, "a", "b")] * 4)
    hashed = [
        {**one, "model_a": f"unnamed:{n // 2}a", "model_b": f"unnamed:{n // 2}b"}
        for n, one in enumerate(rows)
    ]
    values = found(scope_of(hashed, answers=answers))
    assert not values.model_terms
    # 2 of 3 votes go to the longer: a fit without terms has a value.
    assert values.sides[0].effect.value is not None


def test_renaming_the_models_changes_nothing() -> None:
    rng = np.random.default_rng(1)
    mirror = {"a": "b", "b": "a", "tie": "tie"}
    cases = []
    for _ in range(30):
        a, b = (int(x) for x in rng.integers(1, 9, 2))
        vote, said = (str(x) for x in rng.choice(list("ab"), 2))
        cases.append((a, b, vote, said))
    turned = [(b, a, mirror[vote], mirror[said]) for a, b, vote, said in cases]
    first, second = (
        found(scope_of(rows, answers=answers)) for rows, answers in (study(cases), study(turned))
    )
    assert [one.longer for one in first.sides] == [one.longer for one in second.sides]
    assert first.difference == second.difference
    for one, other in zip(first.sides, second.sides, strict=True):
        assert one.effect.value == pytest.approx(other.effect.value)
