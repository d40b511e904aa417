"""FastChat's own `show_result`, run on our export, prints our figures and the golden ones."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from annotate.importer import import_paths
from annotate.store import Store
from judge.ask.modes import Mode
from judge.database.fastchat_export import export_run
from judge.database.store import VerdictStore
from judge.database.table import tidy
from judge.database.verdict_import import verdict_sink
from judge.engine.runner import run
from judge.stats.agreement import pair_judgments, select_verdicts
from judge.stats.estimate import Estimate
from judge.stats.one_judge import JudgeFigures, judge_figures
from tests.annotate.support import empty_store
from tests.judge.fake_endpoint import Body, FakeEndpoint, Scripted, completion
from tests.judge.study import make_study, settings

SHARED = Path(__file__).parents[2] / ".." / "shared" / "data"
MT_BENCH = SHARED / "mt_bench"
GPT4 = "gpt4_pair"

needs_data = pytest.mark.skipif(
    not (MT_BENCH / "gpt4_pair.jsonl").exists() or not (SHARED / "golden.json").exists(),
    reason=f"MT-Bench verdicts and golden figures are not at {SHARED}: NOT checked",
)
pytestmark = pytest.mark.skipif(
    find_spec("fastchat") is None,
    reason="FastChat is missing (make test installs requirements/oracle.txt): NOT compared",
)


def show_result(folder: Path, judge: str, mode: str, *more: str, bench: str = "mt_bench") -> str:
    """What FastChat prints, started in the exported folder as its users start it."""
    # Wide enough that pandas prints every column in one line.
    environment = {**os.environ, "COLUMNS": "300", "LINES": "1000"}
    done = subprocess.run(
        [sys.executable, "-m", "fastchat.llm_judge.show_result", "--mode", mode,
         "--bench-name", bench, "--judge-model", judge, *more],
        cwd=folder, capture_output=True, text=True, check=False, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def printed_rates(text: str) -> dict[str, dict[str, float]]:
    """Model → the printed columns of a pairwise table."""
    (header,) = re.findall(r"^ +(win +loss +tie.*)$", text, re.MULTILINE)
    names = header.split()
    rows = re.findall(r"^(\S+) +((?:[\d.]+ *){6})$", text, re.MULTILINE)
    return {
        model: dict(zip(names, map(float, values.split()), strict=True)) for model, values in rows
    }


def printed_means(text: str, title: str) -> dict[str, float]:
    """Model → mean grade of one of the tables of single grades."""
    part = text.split(f"########## {title} ##########")[1].split("##########")[0]
    return {
        model: float(mean)
        for model, mean in re.findall(r"^(\S+)(?: +\d+)? +([\d.]+)$", part, re.MULTILINE)
    }


def ours(figures: JudgeFigures, baseline: str = "") -> dict[str, dict[str, float]]:
    (table,) = [table for table in figures.wins if table.baseline == baseline]
    found = {}
    for row in table.rows:
        if row.adjusted.n:
            found[row.model] = {
                "win": row.wins,
                "loss": row.losses,
                "tie": row.ties,
                "win_rate": value(row.strict),
                "loss_rate": row.losses / row.adjusted.n,
                "win_rate_adjusted": value(row.adjusted),
            }
    return found


def value(estimate: Estimate) -> float:
    assert estimate.value is not None
    return estimate.value


def figures_of(store: Store, judge: str, dimension: str = "overall") -> JudgeFigures:
    rows = select_verdicts(pair_judgments(tidy(store)), dimension, judge)
    (found,) = judge_figures(rows, judge, dimension, level=0.95, resamples=10_000, seed=7)
    return found


def same(theirs: dict[str, dict[str, float]], mine: dict[str, dict[str, float]]) -> None:
    assert theirs.keys() == mine.keys()
    for model, rates in theirs.items():
        # pandas prints six digits.
        assert rates == pytest.approx(mine[model], abs=5.1e-7), model


@pytest.fixture(scope="module")
def golden() -> dict[str, Any]:
    figures: dict[str, Any] = json.loads((SHARED / "golden.json").read_text(encoding="utf-8"))
    return figures


@pytest.fixture(scope="module")
def gpt4(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[JudgeFigures, Path]]:
    """GPT-4's verdicts: our figures, and the folder of the export."""
    folder = tmp_path_factory.mktemp("gpt4")
    store = empty_store(folder / "store")
    import_paths(store, [MT_BENCH / "gpt4_pair.jsonl"], verdict_sink(store), benchmark="mt_bench")
    export_run(store, VerdictStore(store).find(GPT4), folder / "out")
    yield figures_of(store, GPT4), folder / "out"
    store.close()


@needs_data
def test_adjusted_win_rates_over_all_pairs(
    golden: dict[str, Any], gpt4: tuple[JudgeFigures, Path]
) -> None:
    figures, folder = gpt4
    theirs, mine = printed_rates(show_result(folder, GPT4, "pairwise-all")), ours(figures)
    assert len(mine) == 6
    same(theirs, mine)
    known = golden["adjusted_win_rate_gpt4_all_pairs"]
    assert len(known) == 4
    for model, rate in known.items():
        assert mine[model]["win_rate_adjusted"] == pytest.approx(rate, abs=5.1e-5)


@needs_data
@pytest.mark.parametrize(
    ("baseline", "golden_rates"), [("gpt-3.5-turbo", 2), ("gpt-4", 2), ("llama-13b", 0)]
)
def test_win_rates_against_a_baseline(
    golden: dict[str, Any], gpt4: tuple[JudgeFigures, Path], baseline: str, golden_rates: int
) -> None:
    figures, folder = gpt4
    options = ("--baseline-model", baseline)
    theirs = printed_rates(show_result(folder, GPT4, "pairwise-baseline", *options))
    mine = ours(figures, baseline)
    assert len(mine) == 5
    same(theirs, mine)
    adjusted = golden.get(f"adjusted_win_rate_gpt4_vs_{baseline}", {})
    strict = golden.get(f"strict_win_percent_gpt4_vs_{baseline}", {})
    assert len(adjusted) + len(strict) == golden_rates
    for model, rate in adjusted.items():
        assert mine[model]["win_rate_adjusted"] == pytest.approx(rate, abs=5.1e-5)
    for model, percent in strict.items():
        assert 100 * mine[model]["win_rate"] == pytest.approx(percent, abs=0.0051)


@needs_data
def test_position_inconsistency(golden: dict[str, Any], gpt4: tuple[JudgeFigures, Path]) -> None:
    found = gpt4[0].inconsistent
    count, n, share, _wilson = golden["position_inconsistency"]["overall"]
    assert (found.numerator, found.denominator) == (count, n)
    assert found.value == pytest.approx(share, abs=5.1e-7)
    ends = golden["position_inconsistency"]["cluster_95"]
    assert [found.low, found.high] == pytest.approx(ends, abs=0.003)
    # Their orders are unknown: no share of first or second can be had from them.
    assert gpt4[0].position[0].first.value is None


MODELS = ("alder", "birch", "cedar")


def mixed(body: Body, _number: int) -> Scripted:
    """Every kind of reply, failures and both_bad among them, by what stands in the request."""
    digest = sum(map(ord, str(body["messages"][-1]["content"])))
    words = ["[[A]]", "[[B]]", "[[C]]", "[[D]]", "no verdict"]
    return completion(words[digest % len(words)])


def test_a_live_run_with_failures_gives_the_same_rates(tmp_path: Path) -> None:
    store = make_study(tmp_path, 12, turns=2, models=MODELS)
    with FakeEndpoint(mixed) as endpoint:
        run(store, settings(endpoint.base_url, dimensions=("overall",), name="judge"))
    (written,) = export_run(store, VerdictStore(store).find("judge"), tmp_path / "out").files
    figures = figures_of(store, "judge")
    store.close()
    assert 0 < written.failed < written.rows
    assert {line.both_bad for line in figures.wins[0].rows} != {0}
    text = show_result(tmp_path / "out", "judge", "pairwise-all", bench="bench")
    same(printed_rates(text), ours(figures))
    options = ("--baseline-model", "birch")
    text = show_result(tmp_path / "out", "judge", "pairwise-baseline", *options, bench="bench")
    same(printed_rates(text), ours(figures, "birch"))


def test_mean_grades_with_failures_are_ours(tmp_path: Path) -> None:
    """A failed grade goes out as −1, which FastChat drops, and never enters a mean of ours."""

    def grade(body: Body, _number: int) -> Scripted:
        digest = sum(map(ord, str(body["messages"][-1]["content"])))
        return completion(["[[3]]", "[[8.5]]", "[[10]]", "no grade"][digest % 4])

    store = make_study(tmp_path, 12, turns=2, models=MODELS)
    with FakeEndpoint(grade) as endpoint:
        chosen = settings(endpoint.base_url, mode=Mode.GRADE, dimensions=("overall",), name="judge")
        run(store, chosen)
    (written,) = export_run(store, VerdictStore(store).find("judge"), tmp_path / "out").files
    table = tidy(store)
    store.close()
    assert 0 < written.failed < written.rows == 12 * 2 * 3
    # FastChat prints the second turn and the average for the benchmark named mt_bench only.
    (tmp_path / "out/data/bench").rename(tmp_path / "out/data/mt_bench")
    text = show_result(tmp_path / "out", "judge", "single")
    graded = table[table["status"] == "ok"].assign(value=lambda t: t["value"].astype(float))
    for title, rows in (
        ("First turn", graded[graded["turn"] == 1]),
        ("Second turn", graded[graded["turn"] == 2]),
        ("Average", graded),
    ):
        means = rows.groupby("model_a")["value"].mean().to_dict()
        assert printed_means(text, title) == pytest.approx(means, abs=5.1e-7), title
