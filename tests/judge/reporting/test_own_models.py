"""Models named like the judge: who is, what the judge gives them, and never more than that."""

from __future__ import annotations

from itertools import combinations

import pytest

from judge.reporting.document import Weight
from judge.reporting.topics.own_models import found, headline, named_like, section
from tests.judge.reporting.made import Row, cells_of, scope_of, tables, verdict, words
from tests.judge.stats.tables import row

MODELS = ("alder", "birch", "cedar", "dogwood", "elm")


@pytest.mark.parametrize(
    ("judge", "model", "alike"),
    [
        ("gpt-4", "gpt-4", True),
        ("gpt4_pair", "gpt-4", True),
        ("GPT-4-0613", "gpt-4", True),
        ("gpt-4", "gpt-4-turbo", True),
        ("maker/llama-13b", "llama-13b-chat", True),
        ("gpt-4", "gpt-3.5-turbo", False),
        ("gpt-4", "my-gpt-4", False),
        ("gpt-41", "gpt-4", False),
        ("alder", "a", False),
        ("m10", "m1", False),
        ("---", "---", False),
        ("法官", "法官", True),
    ],
)
def test_names_match_word_by_word(judge: str, model: str, alike: bool) -> None:
    assert named_like(judge, model) is alike
    assert named_like(model, judge) is alike


def study(judge: str, favourite: str = "", models: tuple[str, ...] = MODELS) -> list[Row]:
    """People prefer the model that comes first with 3 of 4 votes, the judge too, but always
    its favourite.
    """
    rows = []
    for question in range(12):
        for number, (a, b) in enumerate(combinations(models, 2)):
            unit = f"{question}:{a}-{b}"
            said = "b" if (question + number) % 4 == 0 else "a"
            rows.append(row(unit, "r0", said))
            said = {a: "a", b: "b"}.get(favourite, said)
            rows.append(verdict(unit, said, judge))
    return rows


def test_a_favourite_named_like_the_judge_is_an_association() -> None:
    values = found(scope_of(study("cedar-judge", "cedar")))
    first = values.models[0]
    assert (first.found.own, first.named_like_judge) == ("cedar", True)
    assert [one.named_like_judge for one in values.models[1:]] == [False] * 4
    # People give cedar (2 · 1/4 + 2 · 3/4) / 4 = 1/2, the judge 1.
    assert (first.found.people_rate, first.found.judge_rate) == (0.5, 1.0)
    text = headline(values)
    assert text.weight is Weight.WARNING
    assert "cedar, named like the judge, +" in text.words
    assert "This is an association, no proof of favouritism." in text.words
    (table,) = tables(section(values))
    assert cells_of(table)[0][0] == "cedar (named like the judge)"
    assert [line[0] for line in cells_of(table)[1:]] == ["alder", "birch", "dogwood", "elm"]


def test_a_judge_that_says_what_people_say_has_no_residual() -> None:
    values = found(scope_of(study("cedar-judge")))
    assert all(abs(one.found.residual.value or 0) < 1e-12 for one in values.models)
    assert headline(values).weight is Weight.KEY


def test_without_a_namesake_no_model_is_singled_out() -> None:
    text = headline(found(scope_of(study("oak", "cedar"))))
    assert text.weight is Weight.PLAIN
    assert text.words.startswith("No model is named like the judge oak")


def test_three_models_make_no_line() -> None:
    made = section(found(scope_of(study("cedar", "cedar", MODELS[:3]))))
    assert not tables(made)
    assert "3 models are compared, and a line through the other models needs 3" in words(made)


def test_what_lies_outside_the_other_models_is_said() -> None:
    values = found(scope_of(study("alder-judge")))
    assert values.models[0].found.extrapolated
    assert "beyond the models that make it" in headline(values).words
