"""A judge's position figures from a table of verdicts; the columns are `test_position.py`'s."""

from __future__ import annotations

from typing import Any

import pandas as pd

from judge.stats.both_orders import NO_VERDICT, UNKNOWN_ORDERS, UNMARKED, position_figures
from judge.stats.one_judge import judge_figures

OPTIONS: dict[str, Any] = {"level": 0.95, "resamples": 200, "seed": 7}
COLUMNS = (
    "cluster", "category", "model_a", "model_b", "turn", "value", "failure", "reason", "orders",
    "ab", "ba",
)  # fmt: skip


def verdicts(*said: tuple[str, str, str]) -> pd.DataFrame:
    """(category, ab, ba) per question; "" and "" is a verdict whose orders are unknown."""
    rows = []
    for n, (category, ab, ba) in enumerate(said):
        failed = {"", "a", "b", "tie"}.isdisjoint({ab, ba}) or "timeout" in (ab, ba)
        known = bool(ab)
        rows.append(
            (
                f"q{n}",
                category,
                "alder",
                "birch",
                1,
                "" if failed else ab if ab == ba else "tie",
                "incomplete" if failed else "",
                "inconsistent" if known and not failed and ab != ba else "",
                "both" if known else "unknown",
                ab,
                ba,
            )
        )
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    frame.loc[frame["orders"] == "unknown", "value"] = "a"
    return frame


SAID = [("m", "a", "a"), ("m", "a", "b"), ("w", "b", "a"), ("w", "tie", "a"), ("w", "a", "timeout")]


def test_lines_by_hand() -> None:
    found = position_figures(verdicts(*SAID), "x", **OPTIONS)
    shares = {
        line.category: [
            one.numerator for one in (line.consistent, line.first, line.second, line.error)
        ]
        for line in found.lines
    }
    assert shares == {"": [1, 1, 2, 1], "m": [1, 1, 0, 0], "w": [0, 0, 2, 1]}
    assert [line.ties_in_one_order for line in found.lines] == [1, 0, 1]
    assert (found.inconsistent.numerator, found.inconsistent.denominator) == (3, 4)
    assert found.inconsistent.excluded == {"incomplete": 1}
    assert (found.verdicts, found.unknown) == (5, 0)


def test_they_are_those_of_the_judges_own_figures() -> None:
    rows = verdicts(*SAID)
    (whole,) = judge_figures(rows, "judge", "overall", **OPTIONS)
    alone = position_figures(rows, "x", **OPTIONS)
    values = [[one.first.value for one in lines] for lines in (whole.position, alone.lines)]
    assert values[0] == values[1]
    assert whole.inconsistent.low == alone.inconsistent.low


def test_unknown_orders_are_counted_and_in_no_line() -> None:
    found = position_figures(verdicts(("", "", ""), ("", "", "")), "x", **OPTIONS)
    assert found.unknown == 2
    assert found.lines[0].consistent.reason == UNKNOWN_ORDERS
    assert found.inconsistent.reason == UNMARKED


def test_no_verdict_at_all() -> None:
    found = position_figures(verdicts(*SAID).iloc[:0], "x", **OPTIONS)
    assert found.inconsistent.reason == NO_VERDICT
    assert found.lines[0].error.value is None
