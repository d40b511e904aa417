"""A plan is frozen once, cannot be edited unseen, and the report says whether it was kept."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from annotate.store import Store
from annotate.verify import verify
from judge.database.analysis_plan import freeze, kept, plans
from tests.judge.study import make_study

SETTINGS = {"level": 0.95, "resamples": 10_000, "seed": 7, "by": ["turn"]}


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Store]:
    store = make_study(tmp_path)
    yield store
    store.close()


def cast(store: Store) -> None:
    """One imported vote."""
    with store.write() as conn:
        conn.execute(
            "INSERT INTO rater (id, created_at, rater_group, kind, label, seat)"
            " VALUES ('r', '2026-01-01T00:00:00.000Z', 'expert', 'imported', 'r', 1)"
        )
        conn.execute(
            "INSERT INTO vote (id, client_key, rater, layer, subject, pair, turn, dimension,"
            " status, outcome, order_shown, purpose, created_at) SELECT 'v', 'k', 'r', 'vote',"
            " 'pair', id, 1, 'overall', 'ok', 'a', 'unknown', 'estimation',"
            " '2026-01-01T00:00:00.000Z' FROM pair LIMIT 1"
        )


def test_a_plan_before_the_first_vote_is_kept_or_not(study: Store) -> None:
    first = freeze(study, SETTINGS)
    assert first.votes_before == 0
    assert freeze(study, SETTINGS) == first, "the same plan again is no second one"
    assert len(plans(study)) == 1
    cast(study)
    assert kept(study, SETTINGS).startswith("This report keeps to the analysis plan frozen")
    assert first.hash[:12] in kept(study, SETTINGS)
    departed = kept(study, {**SETTINGS, "level": 0.9})
    assert departed.endswith("level: 0.95 → 0.9.")
    assert "departs" in departed


def test_a_choice_of_raters_or_judges_is_not_the_plan(study: Store) -> None:
    freeze(study, SETTINGS)
    said = kept(study, SETTINGS, narrowed=True)
    assert said.startswith("This report keeps to the settings alone of the analysis plan")
    assert "this report was asked for some of them" in said
    departed = kept(study, {**SETTINGS, "level": 0.9}, narrowed=True)
    assert "departs" in departed
    assert "this report was asked for some of them" in departed


def test_a_plan_after_votes_does_not_pass_for_one_before(study: Store) -> None:
    cast(study)
    freeze(study, SETTINGS)
    assert "after 1 votes: not before the first one" in kept(study, SETTINGS)


def test_a_change_of_plan_after_votes_does_not_replace_the_first(study: Store) -> None:
    freeze(study, SETTINGS)
    cast(study)
    freeze(study, {**SETTINGS, "level": 0.9})
    assert "departs" in kept(study, {**SETTINGS, "level": 0.9})


def test_no_plan_is_said(study: Store) -> None:
    assert "No analysis plan was frozen" in kept(study, SETTINGS)


def test_an_edited_plan_is_noticed(study: Store) -> None:
    freeze(study, SETTINGS)
    path = study.path
    study.close()
    conn = sqlite3.connect(path)
    conn.execute("UPDATE event_body SET body = replace(body, '0.95', '0.90')")
    conn.commit()
    conn.close()
    again = Store.open(path)
    assert any("its body was changed" in line for line in verify(again).breaks)
    again.close()
