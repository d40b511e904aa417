"""Win rates and position figures of judges, from scripted endpoints to the printed report."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from annotate.store import Store
from judge.database.order_verdicts import OrderVerdicts, order_verdicts
from judge.database.store import VerdictStore
from judge.database.table import tidy
from judge.engine.runner import run
from judge.reporting.report import to_json, to_markdown, to_text
from judge.reporting.summary import agreement_report
from judge.stats.agreement import pair_judgments, select_verdicts
from judge.stats.one_judge import MOST_HEAD_TO_HEAD, JudgeFigures, judge_figures
from tests.annotate.support import label_line, read_in, write_lines
from tests.judge.fake_endpoint import Body, FakeEndpoint, Script, Scripted, completion, say
from tests.judge.study import make_study, settings

MODELS = ("alder", "birch", "cedar")
WORTH = {"alder": 3, "birch": 2, "cedar": 1}
DIMENSION = "harmlessness"


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Store]:
    store = make_study(tmp_path, 4, turns=2, models=MODELS)
    yield store
    store.close()


def knows_the_ranking(body: Body, _number: int) -> Scripted:
    """Compares what the two answers really are, wherever they stand."""
    first, second, *_ = re.findall(r"(alder|birch|cedar) on", str(body["messages"][-1]["content"]))
    return completion("[[A]]" if WORTH[first] > WORTH[second] else "[[B]]")


def figures_of(store: Store, script: Script, **changes: Any) -> JudgeFigures:
    with FakeEndpoint(script) as endpoint:
        run(store, settings(endpoint.base_url, name="judge", **changes))
    return made(tidy(store))


def made(table: pd.DataFrame, judge: str = "judge", **changes: Any) -> JudgeFigures:
    rows = select_verdicts(pair_judgments(table), DIMENSION, judge)
    options = {"level": 0.95, "resamples": 200, "seed": 7} | changes
    (only,) = judge_figures(rows, judge, DIMENSION, **options)
    return only


def columns(figures: JudgeFigures) -> list[tuple[int | None, int | None]]:
    line = figures.position[0]
    shares = (line.consistent, line.first, line.second, line.error)
    return [(share.numerator, share.denominator) for share in shares]


# 4 questions × 2 turns × 3 pairs of models.
ALL = 24


def test_a_judge_that_always_takes_the_first(study: Store) -> None:
    figures = figures_of(study, say("[[A]]"))
    assert columns(figures) == [(0, ALL), (ALL, ALL), (0, ALL), (0, ALL)]
    assert figures.inconsistent.value == 1
    for row in figures.wins[0].rows:
        assert (row.wins, row.losses, row.ties) == (0, 0, 16)
        assert row.adjusted.value == 0.5
        assert row.decisive.reason == "every verdict is a tie"


def test_a_judge_that_knows_the_true_ranking(study: Store) -> None:
    figures = figures_of(study, knows_the_ranking)
    assert columns(figures) == [(ALL, ALL), (0, ALL), (0, ALL), (0, ALL)]
    assert figures.inconsistent.value == 0
    over_all, *against = figures.wins
    assert [(row.model, row.wins, row.losses) for row in over_all.rows] == [
        ("alder", 16, 0),
        ("birch", 8, 8),
        ("cedar", 0, 16),
    ]
    assert [table.baseline for table in against] == ["alder", "birch", "cedar"]
    assert [(row.model, row.strict.value) for row in against[1].rows] == [
        ("alder", 1),
        ("cedar", 0),
    ]


def test_a_reply_without_a_verdict_is_an_error_and_in_no_rate(study: Store) -> None:
    def fails_on_first_birch(body: Body, number: int) -> Scripted:
        text = str(body["messages"][-1]["content"])
        first = re.findall(r"(alder|birch|cedar) on", text)[0]
        return completion("Hm.") if first == "birch" else knows_the_ranking(body, number)

    figures = figures_of(study, fails_on_first_birch)
    # Birch stands first in one order of two pairs in three.
    assert columns(figures) == [(8, ALL), (0, ALL), (0, ALL), (16, ALL)]
    rates = {row.model: row for row in figures.wins[0].rows}
    assert (rates["birch"].adjusted.value, rates["birch"].adjusted.n) == (None, 0)
    assert rates["birch"].adjusted.reason == "no usable verdict"
    assert rates["birch"].adjusted.excluded == {"incomplete": 16}
    assert (rates["alder"].wins, rates["alder"].adjusted.n) == (8, 8)


def test_verdicts_per_order_are_in_canonical_terms(study: Store) -> None:
    figures_of(study, say("[[A]]"), limit=1)
    found = list(order_verdicts(study))
    assert {(one.turn, one.ab, one.ba) for one in found} == {(1, "a", "b"), (2, "a", "b")}
    assert {(one.judge, one.dimension, one.replicate) for one in found} == {("judge", DIMENSION, 1)}


def test_an_order_without_an_answer_yet_is_none(study: Store) -> None:
    VerdictStore(study)
    figures_of(study, say("[[C]]"), limit=1)
    with study.write() as conn:
        conn.execute(
            "DELETE FROM verdict WHERE request IN"
            " (SELECT request FROM judge_item WHERE order_shown = 'ba')"
        )
    assert {(one.ab, one.ba) for one in order_verdicts(study)} == {("tie", None)}
    assert isinstance(next(order_verdicts(study)), OrderVerdicts)


# From a table


def row(question: int = 1, value: str | None = "a", **changes: Any) -> dict[str, Any]:
    model_a, model_b = changes.pop("models", ("alder", "birch"))
    return {
        "unit_id": f"{question}|{model_a}|{model_b}",
        "subject": "pair",
        "question_id": question,
        "category": "writing",
        "model_a": model_a,
        "model_b": model_b,
        "turn": 1,
        "dimension": DIMENSION,
        "source_kind": "judge",
        "source_id": "judge",
        "rater_group": None,
        "layer": None,
        "occurrence": 1,
        "purpose": "estimation",
        "value": value,
        "status": "ok" if value else "incomplete",
        "orders": "both",
        "reason": "",
        "ab": value,
        "ba": value,
    } | changes


def unknown(question: int, value: str, reason: str = "") -> dict[str, Any]:
    return row(question, value, orders="unknown", reason=reason, ab=None, ba=None)


def test_verdicts_of_unknown_order_enter_no_position_figure_and_it_is_said() -> None:
    marked = [unknown(1, "a"), unknown(2, "tie", "inconsistent"), unknown(3, "tie")]
    figures = made(pd.DataFrame(marked))
    line = figures.position[0]
    assert (line.consistent.value, line.consistent.reason) == (None, "orders unknown")
    assert line.first.excluded == {"orders unknown": 3}
    assert any("3 of 3 verdicts came as one combined verdict" in note for note in figures.notes)
    # The file itself says which verdicts were inconsistent.
    assert (figures.inconsistent.numerator, figures.inconsistent.denominator) == (1, 3)


def test_a_file_that_marks_no_verdict_as_inconsistent_says_nothing_of_consistency() -> None:
    figures = made(pd.DataFrame([unknown(1, "a"), unknown(2, "tie"), row(3), row(4)]))
    assert (figures.inconsistent.numerator, figures.inconsistent.denominator) == (0, 2)
    assert list(figures.inconsistent.excluded.values()) == [2]
    alone = made(pd.DataFrame([unknown(1, "a"), unknown(2, "tie")]))
    assert alone.inconsistent.value is None
    assert "none of these is marked" in alone.inconsistent.reason


def test_categories_have_lines_of_their_own() -> None:
    table = [
        row(1), row(2, "tie", ab="a", ba="b", reason="inconsistent"),
        row(3, category="math", value="tie", ab="tie", ba="a", reason="inconsistent"),
        row(4, category="math", value=None, ab="a", ba="timeout"),
    ]  # fmt: skip
    figures = made(pd.DataFrame(table))
    found = {
        line.category: [e.numerator for e in (line.consistent, line.first, line.second, line.error)]
        for line in figures.position
    }
    assert found == {"": [1, 1, 1, 1], "math": [0, 0, 1, 1], "writing": [1, 1, 0, 0]}
    assert [line.ties_in_one_order for line in figures.position] == [1, 1, 0]


def test_turns_and_whole_dialogues_never_pool() -> None:
    table = pd.DataFrame([row(1), row(2), row(2, "b", turn=0)])
    rows = select_verdicts(pair_judgments(table), DIMENSION, "judge")
    turns, whole = judge_figures(rows, "judge", DIMENSION, level=0.95, resamples=100, seed=7)
    assert (turns.turn, [r.wins for r in turns.wins[0].rows]) == (None, [2, 0])
    assert (whole.turn, [r.model for r in whole.wins[0].rows]) == (0, ["birch", "alder"])
    assert "whole dialogues" in whole.inconsistent.population


def test_an_interval_is_the_cluster_bootstrap_done_naively() -> None:
    rng = np.random.default_rng(5)
    table = [
        row(question, value, turn=turn)
        for question in range(12)
        for turn, value in enumerate(rng.choice(["a", "b", "tie"], size=4), start=1)
    ]
    found = next(r for r in made(pd.DataFrame(table)).wins[0].rows if r.model == "alder").adjusted
    points = {"a": 1.0, "tie": 0.5, "b": 0.0}
    questions = sorted({str(r["question_id"]) for r in table})
    scores = np.array(
        [[points[r["value"]] for r in table if str(r["question_id"]) == q] for q in questions]
    )
    weights = np.random.default_rng(7).multinomial(12, np.full(12, 1 / 12), size=200)
    draws = [float((w @ scores.sum(1)) / (w.sum() * 4)) for w in weights]
    assert found.value == pytest.approx(scores.mean())
    assert (found.n, found.clusters) == (48, 12)
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(draws, [0.025, 0.975])))


def test_many_models_are_not_set_against_each_other_one_by_one() -> None:
    names = [f"m{n:02}" for n in range(MOST_HEAD_TO_HEAD + 1)]
    table = pd.DataFrame([row(1, models=(a, b)) for a, b in pairwise(names)])
    figures = made(table)
    assert len(figures.wins) == 1
    assert any("13 models: not set against each other" in note for note in figures.notes)


# In the report


@pytest.fixture
def judged(study: Store, tmp_path: Path) -> Store:
    """A live judge that errs, and one vote, without which there is no report."""
    with FakeEndpoint(say("[[A]]")) as endpoint:
        run(study, settings(endpoint.base_url, name="judge"))
    votes = [label_line(n, dimension=DIMENSION) for n in range(1, 5)]
    read_in(study, write_lines(tmp_path / "votes.jsonl", votes))
    return study


def test_the_report_shows_win_rates_and_position(judged: Store) -> None:
    report = agreement_report(tidy(judged), resamples=200)
    for text in (to_text(report), to_markdown(report).replace("\\", "")):
        assert "Judge judge: win rates and position, all turns" in text
        assert "inconsistent pair verdicts: 24 of 24, 100.0 %" in text
        assert "Win rates over all pairs, percent" in text
        assert "Adjusted win rate of each model against each other one, percent" in text
        assert "Position: what both orders of a pair say together, percent" in text
        assert "(a) no interval: every resample gives the same value" in text
    assert max(map(len, to_text(report).splitlines())) <= 100
    value = json.loads(to_json(report))
    assert value["schema"] == "evenhand.report/2"
    (figures,) = value["dimensions"][0]["figures"]
    assert (figures["judge"], figures["turn"], figures["questions"]) == ("judge", None, 4)
    line = figures["position"][0]
    assert (line["first"]["numerator"], line["first"]["denominator"]) == (24, 24)
    alder = figures["wins"][0]["rows"][0]
    assert (alder["model"], alder["ties"], alder["adjusted"]["value"]) == ("alder", 16, 0.5)


def test_a_judges_name_and_a_models_name_are_only_names() -> None:
    vote = row(1, source_kind="rater", source_id="r1", rater_group="crowd", layer="vote")
    odd = row(1, source_id="x|**y**\x1b[31m\n# z")
    shown = [{**r, "model_a": "a|*b*\x1b", "unit_id": "u"} for r in (vote, odd)]
    report = agreement_report(pd.DataFrame(shown), resamples=100)
    assert "\x1b" not in to_text(report) + to_markdown(report)
    assert "\n# z" not in to_markdown(report)
    assert "| a\\|\\*b\\* | 1 |" in to_markdown(report)
