"""Raters' checks as a section: sentences for who is flagged, a table for all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from judge.reporting.document import Weight
from judge.reporting.topics.people import MOST_ROWS, found, headline, section
from tests.judge.reporting.made import cells_of, scope_of, tables, verdict, words
from tests.judge.stats.tables import row

STUDY = [row("1", "r0", "a"), verdict("1", "a")]


def ballots(rater: str, choices: list[str], **other: Any) -> pd.DataFrame:
    """One rater's votes on as many pairs, sides known, no times."""
    count = len(choices)
    return pd.DataFrame(
        {
            "dimension": "overall",
            "rater": rater,
            "rater_group": "crowd",
            "layer": "vote",
            "pair": [f"{rater}:{n}" for n in range(count)],
            "choice": choices,
            "order": ["ab", "ba"] * (count // 2) + ["ab"] * (count % 2),
            "active_ms": np.nan,
            "sequence": range(count),
            **other,
        }
    )


def even(count: int = 24) -> list[str]:
    return (["left", "right", "tie", "right", "left", "tie"] * count)[:count]


def of(*frames: pd.DataFrame, **chosen: Any) -> Any:
    made = pd.concat(frames, ignore_index=True)
    return found(scope_of(STUDY, ballots=made, **chosen))


def test_a_side_is_a_sentence_with_its_figures() -> None:
    values = of(ballots("ann", ["left"] * 29 + ["right"]), ballots("ben", even()))
    made = section(values)
    # 2 · (1 + 30) / 2³⁰ is far below .0005, whatever Holm makes of it.
    assert "Rater ann prefers the left: on 29 of 30 pairs (left 96.7 [" in words(made)
    assert "p < .001, corrected for all raters" in words(made)
    assert "ben" not in words(made)
    assert headline(values).weight is Weight.WARNING
    assert "1 of 2 raters is flagged" in headline(values).words


def test_the_right_counts_what_went_right() -> None:
    made = section(of(ballots("ann", ["right"] * 29 + ["left"])))
    assert "prefers the right: on 29 of 30 pairs (left 3.3 [" in words(made)


def test_one_button_and_speed_are_sentences_too() -> None:
    rng = np.random.default_rng(0)
    others = [
        ballots(f"r{n}", even(), active_ms=rng.lognormal(10, 0.2, 24) * (1 + n / 20))
        for n in range(6)
    ]
    quick = ballots("quick", even(), active_ms=np.full(24, 300.0))
    made = section(of(*others, quick, ballots("bored", ["tie"] * 12)))
    said = words(made)
    assert "Rater quick is much faster than others: 0.3 s per vote, robust z −" in said
    assert "Rater bored pressed one button throughout: tie, 12 times." in said


def test_long_runs_are_a_sentence() -> None:
    choices = ["tie"] * 20 + ["left", "right"] * 20
    assert "Rater ann has long runs of one button: 20 times tie in a row (p" in words(
        section(of(ballots("ann", choices)))
    )


def test_nobody_flagged_is_said_and_columns_without_times_are_not_shown() -> None:
    values = of(ballots("ann", even()), ballots("ben", even()))
    (table,) = tables(section(values))
    assert headline(values).words.startswith("Of 2 raters, none is flagged")
    headings = [column.heading for column in table.columns]
    assert "seconds" not in headings
    assert "robust z" not in headings
    # 8 ties of 24 each.
    assert cells_of(table)[0][headings.index("ties of the others, %")] == "33.3"


@pytest.mark.parametrize("kind", ["none", "imported", "other dimension"])
def test_imported_votes_are_one_sentence(kind: str) -> None:
    frame = {
        "none": None,
        "imported": ballots("ann", even(), order="unknown"),
        "other dimension": ballots("ann", even(), dimension="harmlessness"),
    }[kind]
    made = section(found(scope_of(STUDY, ballots=frame)))
    assert len(made.parts) == 1
    assert words(made).startswith("These votes were imported")


def test_the_scopes_own_votes_only() -> None:
    frames = (
        ballots("ann", even()),
        ballots("eve", even(), rater_group="expert"),
        ballots("bot", even(), layer="simulated"),
    )
    everyone, crowd = of(*frames), of(*frames, groups=["crowd"])
    assert [one.check.rater for one in everyone.raters] == ["ann", "eve"]
    assert [one.check.rater for one in crowd.raters] == ["ann"]


def test_the_table_holds_the_raters_with_most_votes_and_says_how_many_more() -> None:
    frames = [ballots(f"r{n:02}", even(6)) for n in range(MOST_ROWS + 4)]
    values = of(*frames, ballots("zoe", even(12)))
    (table,) = tables(section(values))
    assert len(table.rows) == MOST_ROWS
    assert cells_of(table)[0][0] == "zoe"
    assert "5 more are in report.json" in table.remarks[-1]
    assert len(values.raters) == MOST_ROWS + 5


def test_the_order_of_rows_changes_nothing() -> None:
    frame = pd.concat([ballots("ann", even()), ballots("ben", ["left"] * 20)])
    shuffled = frame.sample(frac=1, random_state=1)
    assert of(shuffled) == of(frame)
