"""Agreement by pair of models as a section: closest first, beside the blind line."""

from __future__ import annotations

import pytest

from judge.reporting.document import Weight
from judge.reporting.pictures import GapPlot
from judge.reporting.topics.gap import MOST_ROWS, found, headline, section
from tests.judge.reporting.made import Row, cells_of, pictures, scope_of, tables, verdict, words
from tests.judge.stats.tables import row


def head_to_head(models: str, votes: str, verdicts: str) -> list[Row]:
    names = {"a": "a", "b": "b", "t": "tie"}
    rows = []
    for q, (vote, said) in enumerate(zip(votes, verdicts, strict=True)):
        unit = f"{q}:{models}"
        rows += [row(unit, "r0", names[vote]), verdict(unit, names[said])]
    return rows


CLOSE = head_to_head("alder-birch", "ababab", "ababab")
FAR = head_to_head("alder-cedar", "aaaaab", "aaaaaa")


def test_closest_pair_first_with_its_blind_line_by_hand() -> None:
    values = found(scope_of([*FAR, *CLOSE]))
    near, far = values.pairs
    assert (near.model_b, near.gap, near.blind, near.s2.value) == ("birch", 0.0, 0.5, 1.0)
    # Of six votes five to one: (5 − 1) / 6; blind (1 + 2/3) / 2 = 5/6, which the judge reaches.
    assert far.model_b == "cedar"
    assert far.gap == pytest.approx(2 / 3)
    assert far.blind == pytest.approx(5 / 6)
    assert far.s2.value == pytest.approx(5 / 6)
    (table,) = tables(section(values))
    assert [line[0] for line in cells_of(table)] == ["alder – birch", "alder – cedar"]
    assert [line[4] for line in cells_of(table)] == ["6/6", "5/6"]
    (picture,) = pictures(section(values))
    assert isinstance(picture.plot, GapPlot)
    assert [dot.gap for dot in picture.plot.dots] == [near.gap, far.gap]


def test_the_headline_counts_pairs_above_the_blind_line() -> None:
    rows = [*FAR, *head_to_head("alder-birch", "abab" * 8, "abab" * 7 + "baab")]
    text = headline(found(scope_of(rows)))
    assert text.weight is Weight.KEY
    assert text.words.startswith("Where models are closest (alder and birch), judge and votes")
    assert "Of 2 pairs of models 1 lies above" in text.words


def test_one_pair_of_models_shows_no_trend() -> None:
    text = headline(found(scope_of(CLOSE)))
    assert "One pair of models, alder and birch" in text.words
    assert text.weight is Weight.PLAIN


def test_pairs_without_a_decision_are_counted_in_words() -> None:
    rows = [*CLOSE, *head_to_head("birch-cedar", "tt", "ta")]
    values = found(scope_of(rows))
    assert [one.s2.value for one in values.pairs] == [1.0, None]
    assert "1 pair of models without a vote and verdict" in words(section(values))
    assert len(tables(section(values))[0].rows) == 1


def test_only_the_closest_pairs_are_in_the_table_and_all_in_the_picture() -> None:
    rows = [
        one
        for n in range(MOST_ROWS + 3)
        for one in head_to_head(f"m{n:02}-z{n:02}", "ab", "ab" if n else "ba")
    ]
    values = found(scope_of(rows))
    made = section(values)
    (table,) = tables(made)
    (picture,) = pictures(made)
    assert isinstance(picture.plot, GapPlot)
    assert (len(table.rows), len(picture.plot.dots)) == (MOST_ROWS, MOST_ROWS + 3)
    assert f"The {MOST_ROWS} closest of {MOST_ROWS + 3} pairs" in table.remarks[-1]
