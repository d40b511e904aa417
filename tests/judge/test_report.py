"""The report as text, Markdown and JSON: readable, labelled, deterministic."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

from judge.reporting.report import to_json, to_markdown, to_text
from judge.reporting.summary import agreement_report
from judge.reporting.values import Report
from judge.stats.estimate import Estimate


def study(questions: int = 6, *, raters: int = 3, **other: Any) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    rows = []
    for question in range(questions):
        for turn in (1, 2):
            for source in ["tiny-judge", *(f"r{i}" for i in range(raters))]:
                judge = source == "tiny-judge"
                failed = judge and question == 0
                rows.append(
                    {
                        "unit_id": f"q{question}",
                        "subject": "pair",
                        "question_id": question,
                        "category": "",
                        "model_a": "alder",
                        "model_b": "birch",
                        "turn": turn,
                        "dimension": "harmlessness",
                        "source_kind": "judge" if judge else "rater",
                        "source_id": source,
                        "rater_group": None if judge else "crowd",
                        "layer": None if judge else "vote",
                        "occurrence": 1,
                        "purpose": "estimation",
                        "value": None
                        if failed
                        else ["a", "a", "b", "tie", "both_bad"][rng.integers(5)],
                        "status": "truncated" if failed else "ok",
                    }
                    | ({} if judge else other)
                )
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def report() -> Report:
    return agreement_report(study(), resamples=300)


def numbers(value: object) -> Iterator[float]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from numbers(part)
    elif isinstance(value, float):
        yield value


def test_text_is_readable_at_a_hundred_columns(report: Report) -> None:
    text = to_text(report)
    assert max(map(len, text.splitlines())) <= 100
    for words in (
        "Agreement report",
        "Dimension: harmlessness",
        "Votes of 3 people, group crowd",
        "human–human",
        "judge tiny-judge – human",
        "12 pair verdicts, 10 usable",
        "2 truncated",
        "indicative: 6 questions, fewer than 30",
        "both_bad votes as ties; S2 drops both",
        "How to read",
    ):
        assert words in text


def test_columns_are_aligned(report: Report) -> None:
    lines = to_text(report).splitlines()
    start = next(n for n, line in enumerate(lines) if line.endswith("judge tiny-judge – human"))
    table = lines[start + 2 : start + 10]
    heading, rows = table[1], table[2:]
    assert [row.split(",")[0].strip() for row in rows] == ["all", "all", "1", "1", "2", "2"]
    end = heading.index("alpha") + len("alpha")
    assert all(row[end : end + 1] in ("", " ") and row[end - 1] != " " for row in rows)


def test_every_format_shows_the_same_counts(report: Report) -> None:
    line = report.dimensions[0].blocks[0].lines[0]
    share = f"{line.agreement.numerator}/{line.agreement.denominator}"
    assert share in to_text(report)
    assert share in to_markdown(report)
    shown = json.loads(to_json(report))["dimensions"][0]["blocks"][0]["lines"][0]["agreement"]
    assert (shown["numerator"], shown["denominator"]) == (
        line.agreement.numerator,
        line.agreement.denominator,
    )
    assert shown["population"].startswith("votes of 3 people, group crowd; dimension harmlessness;")


def test_json_is_versioned_and_strict(report: Report) -> None:
    text = to_json(report)
    value = json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} in JSON"))
    assert value["schema"] == "evenhand.report/2"
    assert all(math.isfinite(number) for number in numbers(value))
    assert text == json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False) + "\n"
    line = value["dimensions"][0]["blocks"][0]["lines"][0]
    assert set(line["alpha"]) == {
        "clusters",
        "denominator",
        "excluded",
        "high",
        "level",
        "low",
        "method",
        "n",
        "name",
        "numerator",
        "population",
        "reason",
        "value",
    }


def test_undefined_is_null_with_a_reason_in_json() -> None:
    value = json.loads(to_json(agreement_report(study(raters=1), resamples=100)))
    alpha = value["dimensions"][0]["blocks"][0]["lines"][0]["alpha"]
    assert alpha["value"] is None
    assert alpha["reason"] == "no unit has two votes"


def test_same_table_same_bytes() -> None:
    table = study()
    shuffled = table.sample(frac=1, random_state=4)
    one, other = (agreement_report(rows, resamples=300) for rows in (table, shuffled))
    for render in (to_text, to_markdown, to_json):
        assert render(one) == render(other)


def test_an_undefined_comparison_is_said_in_words() -> None:
    report = agreement_report(study(raters=1), resamples=100)
    words = "human–human: undefined: no unit has two votes (12 only vote of its unit)"
    assert words in to_text(report)
    assert words in to_markdown(report)
    assert "judge tiny-judge – human" in to_text(report)


def test_a_missing_figure_or_interval_is_explained_by_its_letter() -> None:
    report = agreement_report(study(raters=1, questions=2), resamples=100)
    table = to_text(report).split("judge tiny-judge – human", 1)[1].split("What this report", 1)[0]
    # Question 0 was not judged, so one question is left for the judge.
    assert re.search(r"^  \(a\) no interval: fewer than two questions$", table, flags=re.M)
    assert re.search(r"\d \(a\)", table)
    used = set(re.findall(r"[\d–] \(([a-z])\)", table))
    explained = set(re.findall(r"^  \(([a-z])\) \S", table, flags=re.M))
    assert used == explained
    page = to_markdown(report).replace("\\", "")
    assert "(a) no interval: fewer than two questions" in page


def test_simulated_votes_are_labelled_everywhere() -> None:
    report = agreement_report(study(layer="simulated", rater_group="sim"), resamples=100)
    warning = "simulated: a program made these votes; never quote them as people's"
    for text in (to_text(report), to_markdown(report), to_json(report)):
        assert "SIMULATED votes by 3 program-made raters (not people)" in text
        assert warning in text
        assert "votes of 3 people" not in text.lower()


def test_names_from_files_are_only_names() -> None:
    # A group called like markup or a terminal command must stay a name.
    report = agreement_report(study(rater_group="x|**y**\x1b[31m\n# z"), resamples=100)
    assert "\x1b" not in to_text(report) + to_markdown(report)
    assert "### Votes of 3 people, group x\\|\\*\\*y\\*\\*" in to_markdown(report)
    assert "\n# z" not in to_markdown(report)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"value": math.nan}, "no estimate"),
        ({"low": 0.1, "high": math.inf}, "no estimate"),
        ({"value": None}, "needs a reason"),
        ({"low": 0.1}, "two ends or none"),
    ],
)
def test_an_estimate_cannot_be_nan_or_half(change: dict[str, Any], message: str) -> None:
    good: dict[str, Any] = {
        "name": "alpha",
        "value": 0.5,
        "population": "everyone",
        "n": 3,
        "clusters": 2,
    }
    assert Estimate(**good).value == 0.5
    with pytest.raises(ValueError, match=message):
        Estimate(**(good | change))
