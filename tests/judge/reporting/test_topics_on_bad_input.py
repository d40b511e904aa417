"""What cannot be computed is said in words: no error, no nan, no table of dashes."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from judge.reporting.document import Picture, Section, Table
from judge.reporting.plain import plain
from judge.reporting.scope import Scope
from judge.reporting.topics import breakdown, confusion, majority, raters, reference
from tests.judge.reporting.scopes import parts_of, scope_of, texts_of, words_of
from tests.judge.stats.tables import row, study, units

TOPICS: dict[str, tuple[Callable[[Scope], Any], Callable[[Any], Section]]] = {
    "reference": (reference.found, reference.section),
    "majority": (majority.found, majority.section),
    "raters": (raters.found, raters.section),
    "confusion": (confusion.found, confusion.section),
    **{
        f"by {one}": (partial(breakdown.found, by=one), breakdown.section)
        for one in breakdown.Breakdown
    },
}

TABLES: dict[str, list[dict[str, Any]]] = {
    "one vote": units("a/a"),
    "one rater": units("a/a", "b/a", "t/b"),
    "one category": units("aa/a", "aaa/a", "a/a"),
    "all ties": units("tt/t", "ttt/t"),
    "unanimous": units("aa/a", "bb/b", "tt/t"),
    "no overlap": units("a/a", "a/b", "b/t"),
    "ten questions": study(1, questions=10),
    "only failures": [
        *units("ab", "aa", "bt"),
        *(row(f"q{i}", "judge", None, status="unparseable") for i in range(3)),
    ],
    "one vote and a failure": [*units("a"), row("q0", "judge", None, status="timeout")],
    "votes and verdicts on other questions": [*units("ab", "aa"), row("q9", "judge", "a")],
    "one question": [row("q0", f"r{i}", "a", turn=t) for i in range(4) for t in range(1, 41)]
    + [row("q0", "judge", "b", turn=t) for t in range(1, 41)],
    "whole dialogues": [{**one, "turn": 0} for one in study(1) if one["turn"] == 1],
    "hashed models": [
        {**one, "model_a": f"unnamed:{one['unit_id']}1", "model_b": f"unnamed:{one['unit_id']}2"}
        for one in study(1)
    ],
}


@pytest.mark.parametrize("topic", TOPICS)
@pytest.mark.parametrize("table", TABLES)
def test_every_topic_says_in_words_what_it_cannot_compute(topic: str, table: str) -> None:
    find, show = TOPICS[topic]
    values = find(scope_of(TABLES[table]))
    json.dumps(plain(values), allow_nan=False)
    made = show(values)
    assert texts_of(made)
    assert "ceiling" not in words_of(made).lower()
    for part in parts_of(made):
        if isinstance(part, Table):
            estimates = [cell.estimate for line in part.rows for cell in line if cell.estimate]
            assert part.rows
            assert not estimates or any(one.value is not None for one in estimates), part.id
    assert " nan" not in words_of(made)


@pytest.mark.parametrize("table", ["only failures", "votes and verdicts on other questions"])
@pytest.mark.parametrize("topic", TOPICS)
def test_without_a_usable_verdict_the_reason_is_printed(topic: str, table: str) -> None:
    find, show = TOPICS[topic]
    assert "verdict" in texts_of(show(find(scope_of(TABLES[table]))))


def test_ids_are_unique_and_end_in_the_scopes_key() -> None:
    scope = scope_of(study(1))
    sections = [show(find(scope)) for find, show in TOPICS.values()]
    assert len({one.id for one in sections}) == len(sections)
    for kind in (Table, Picture):
        found = [part.id for one in sections for part in parts_of(one) if isinstance(part, kind)]
        assert len(set(found)) == len(found)
        assert all(one.endswith(scope.key) for one in found)
    assert all(one.id.endswith(scope.key) for one in sections)


@pytest.mark.parametrize("topic", TOPICS)
def test_votes_of_a_program_are_never_called_peoples(topic: str) -> None:
    find, show = TOPICS[topic]
    rows = [
        {**one, "layer": "simulated"} if one["source_kind"] == "rater" else one for one in study(1)
    ]
    words = words_of(show(find(scope_of(rows)))).replace("(not people)", "")
    assert "SIMULATED" in words
    assert "of people" not in words
    assert "human–human" not in words
    assert "judge–human" not in words
