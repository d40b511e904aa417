"""The console's run without a page: watched, stopped, started twice, broken off, gone on with."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from annotate.errors import UsageError
from annotate.store import Store
from annotate.study import Study, init
from judge.console.form import ENDPOINT, LOCAL, Form, dimensions, key_words, opener, prefilled
from judge.console.panel import forecast_panel, problem_panel, run_panel, runs_table
from judge.console.run import BUG, ELSEWHERE, GAVE_UP, Judging, Phase, Snapshot
from judge.database.places import judged_runs
from judge.database.store import VerdictStore
from judge.engine.forecast import forecast
from judge.engine.prices import Price
from judge.engine.settings import JudgeSettings
from judge.engine.tally import RunSummary
from tests.judge.fake_endpoint import (
    Body,
    FakeEndpoint,
    Script,
    Scripted,
    always,
    completion,
    error,
    say,
)
from tests.judge.study import make_study, settings

QUESTIONS, REQUESTS = 6, 12
SECONDS = 20.0
ATTACK = "<img src=x onerror=alert(1)>${1}"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = make_study(tmp_path, QUESTIONS)
    yield made
    made.close()


class Gate:
    """A script that answers `free` calls and then holds the others until opened."""

    def __init__(self, free: int) -> None:
        self._free, self._lock = free, threading.Lock()
        self.reached, self.open = threading.Event(), threading.Event()

    def __call__(self, _body: Body, _number: int) -> Scripted:
        with self._lock:
            self._free -= 1
            held = self._free < 0
        if held:
            self.reached.set()
            assert self.open.wait(SECONDS)
        return completion("[[A]]")


def fixed(chosen: JudgeSettings) -> Callable[[], AbstractContextManager[JudgeSettings]]:
    return lambda: nullcontext(chosen)


def attempts(store: Store) -> int:
    return int(store.conn.execute("SELECT count(*) FROM judge_attempt").fetchone()[0])


def test_a_run_is_watched_from_its_plan_to_its_end(store: Store) -> None:
    gate = Gate(free=5)
    judging = Judging(store)
    assert judging.snapshot() == Snapshot()
    with FakeEndpoint(gate) as endpoint:
        judging.start("the title", fixed(settings(endpoint.base_url, concurrency=1)))
        assert gate.reached.wait(SECONDS)
        now = judging.snapshot()
        assert (now.phase, now.title, now.active) == (Phase.RUNNING, "the title", True)
        assert (now.total, now.cached, now.done) == (REQUESTS, 0, 5)
        assert now.seconds > 0
        assert now.per_second > 0
        gate.open.set()
        done = judging.wait(SECONDS)
    assert (done.phase, done.done, done.active, done.error) == (Phase.DONE, REQUESTS, False, "")
    assert done.summary is not None
    assert done.summary.judgments == {"tie:inconsistent": QUESTIONS}
    assert judging.snapshot() == done


def test_rate_and_rest_leave_out_what_was_answered_before() -> None:
    now = Snapshot(Phase.RUNNING, total=20, cached=8, done=12, seconds=2.0)
    assert (now.per_second, now.eta_seconds) == (2.0, 4.0)
    assert Snapshot(total=20, cached=8, done=8, seconds=2.0).eta_seconds is None
    assert Snapshot().per_second == 0


def test_failures_and_spending_are_told_while_it_runs(store: Store) -> None:
    price = Price(1_000_000.0, 0.0, "test")
    judging = Judging(store)
    with FakeEndpoint(say("hm")) as endpoint:
        chosen = settings(endpoint.base_url, price=price, cap_usd=1e9)
        judging.start("t", fixed(chosen))
        end = judging.wait(SECONDS)
    assert end.failed == {"unparseable": REQUESTS}
    assert (end.usd, end.cap_usd) == (100.0 * REQUESTS, 1e9)


def test_a_second_run_is_refused_while_one_goes_on(store: Store) -> None:
    gate = Gate(free=1)
    judging = Judging(store)
    with FakeEndpoint(gate) as endpoint:
        wanted = fixed(settings(endpoint.base_url, concurrency=1))
        judging.start("the first", wanted)
        assert gate.reached.wait(SECONDS)
        with pytest.raises(UsageError, match=r"a run is going on \(the first\)"):
            judging.start("the second", wanted)
        assert judging.snapshot().title == "the first"
        gate.open.set()
        judging.wait(SECONDS)
        assert endpoint.total == REQUESTS


def test_stop_saves_the_calls_in_flight_and_the_next_start_goes_on(store: Store) -> None:
    gate = Gate(free=3)
    judging = Judging(store)
    with FakeEndpoint(gate) as endpoint:
        wanted = fixed(settings(endpoint.base_url, concurrency=2))
        judging.start("t", wanted)
        assert gate.reached.wait(SECONDS)
        judging.stop()
        judging.stop()
        assert judging.snapshot().phase is Phase.STOPPING
        gate.open.set()
        end = judging.wait(SECONDS)
        assert end.phase is Phase.STOPPED
        asked = endpoint.total
        assert 4 <= asked <= 5
        assert attempts(store) == asked == end.done
        judging.start("t", wanted)
        again = judging.wait(SECONDS)
        assert endpoint.total == REQUESTS
    assert max(endpoint.hits.values()) == 1
    assert (again.phase, again.cached, again.done) == (Phase.DONE, asked, REQUESTS)
    assert [run.state for run in VerdictStore(store).runs()] == ["done"]


def test_stop_is_heard_before_anything_is_asked(store: Store) -> None:
    entered, go = threading.Event(), threading.Event()
    judging = Judging(store)
    with FakeEndpoint(say("[[A]]")) as endpoint:

        @contextmanager
        def slow() -> Iterator[JudgeSettings]:
            entered.set()
            assert go.wait(SECONDS)
            yield settings(endpoint.base_url)

        judging.start("t", slow)
        assert entered.wait(SECONDS)
        assert judging.snapshot().phase is Phase.PREPARING
        judging.stop()
        go.set()
        end = judging.wait(SECONDS)
        assert (end.phase, endpoint.total) == (Phase.STOPPED, 0)


def test_a_server_that_ends_gives_up_what_never_answers(store: Store) -> None:
    gate = Gate(free=3)
    judging = Judging(store)
    with FakeEndpoint(gate) as endpoint:
        judging.start("t", fixed(settings(endpoint.base_url, concurrency=1)))
        assert gate.reached.wait(SECONDS)
        judging.close(0.05)
        end = judging.snapshot()
        assert (end.phase, end.error) == (Phase.STOPPED, GAVE_UP)
        with pytest.raises(UsageError, match="stopping"):
            judging.start("t", fixed(settings(endpoint.base_url)))
        gate.open.set()
    assert attempts(store) == 3
    assert [run.state for run in VerdictStore(store).runs()] == ["stopped"]


def test_a_server_without_a_run_ends_at_once(store: Store) -> None:
    Judging(store).close()


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (always(error(401)), "set a valid key in EVENHAND_TEST_KEY"),
        (always(error(500)), "calls failed (requests: api_error 12)"),
    ],
)
def test_an_error_is_the_one_line_of_the_command(store: Store, script: Script, said: str) -> None:
    judging = Judging(store)
    with FakeEndpoint(script) as endpoint:
        judging.start("t", fixed(settings(endpoint.base_url, attempts=1)))
        end = judging.wait(SECONDS)
    assert end.phase is Phase.FAILED
    assert said in end.error
    assert "\n" not in end.error
    assert said in run_panel(end)


def test_a_bug_is_told_without_its_details(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    def broken() -> AbstractContextManager[JudgeSettings]:
        raise ZeroDivisionError("secret detail")

    judging = Judging(store)
    judging.start("t", broken)
    end = judging.wait(SECONDS)
    assert (end.phase, end.error) == (Phase.FAILED, BUG)
    assert "secret detail" in caplog.text
    judging.start("t", broken)
    judging.wait(SECONDS)


def test_a_run_marked_as_running_elsewhere_is_noted(store: Store) -> None:
    judging = Judging(store)
    with FakeEndpoint(say("[[A]]")) as endpoint:
        wanted = fixed(settings(endpoint.base_url))
        judging.start("t", wanted)
        assert judging.wait(SECONDS).notes == ()
        with store.write() as conn:
            conn.execute("UPDATE judge_run SET state = 'running'")
        judging.start("t", wanted)
        assert judging.wait(SECONDS).notes == (f"warning: {ELSEWHERE}",)


# The form


def values(**changes: Any) -> tuple[Any, ...]:
    sent = {
        "kind": ENDPOINT, "base_url": "http://127.0.0.1:1/v1", "model": "m", "mode": "pairwise",
        "dimensions": ["harmlessness"], "limit": None, "baseline": "", "replicates": 1,
        "max_usd": None, "max_tokens": None, "turns": "each", "references": "auto",
        "retry_failed": False, "name": "",
    }  # fmt: skip
    return tuple({**sent, **changes}.values())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"kind": "mine"}, "kind: 'mine'; expected one of endpoint, local"),
        ({"mode": "answer"}, "mode: 'answer'"),
        ({"turns": ["each"]}, "turns: "),
        ({"limit": 0}, "limit: 0; expected a number above 0"),
        ({"limit": 2.5}, "limit: 2.5; expected a whole number"),
        ({"limit": "many"}, "limit: many"),
        ({"limit": True}, "limit: True"),
        ({"replicates": 101}, "from 1 to 100"),
        ({"max_usd": -1}, "max_usd: -1"),
        ({"max_usd": float("nan")}, "max_usd: nan"),
        ({"model": 5}, "model: not a text"),
        ({"base_url": "h" * 501}, "base_url: not a text of at most 500"),
        ({"dimensions": [None, {}]}, "dimensions: not a text"),
    ],
)
def test_what_a_browser_sends_is_checked(change: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as refused:
        Form.of(values(**change))
    assert said in str(refused.value)


def test_a_form_says_what_it_asks_for() -> None:
    form = Form.of(values(limit=40.0, baseline="alder", replicates=3, name=" half \ud83d "))
    assert form.limit == 40
    assert form.name == "half \ufffd"
    assert form.title() == (
        "m: compare pairs, in both orders · harmlessness · only with alder · the first 40 · 3 times"
    )
    harm = Form.of(values(kind=LOCAL, mode="harm", baseline="alder"))
    assert harm.title() == "smollm2-135m-instruct (offline): label answers for harm"


@pytest.fixture
def study(tmp_path: Path, store: Store) -> Study:
    """A study.toml beside the made-up study's questions."""
    made = init(tmp_path / "study")
    made.store.close()
    return replace(made, store=store)


def test_the_form_is_filled_in_from_study_toml(study: Study) -> None:
    form = prefilled(study.settings)
    assert (form.kind, form.dimensions) == (LOCAL, ("harmlessness", "helpfulness"))
    judge = study.settings.judge.model_copy(update={"base_url": "http://x/v1", "model": "m"})
    filled = study.settings.model_copy(update={"judge": judge})
    assert (prefilled(filled).kind, prefilled(filled).base_url) == (ENDPOINT, "http://x/v1")
    assert dimensions(study.settings) == ["harmlessness", "helpfulness", "overall"]
    with pytest.raises(UsageError, match="dimensions: none is chosen"):
        opener(study, study.settings, Form.of(values(dimensions=[])))


@pytest.mark.parametrize("named", [True, False])
def test_the_key_goes_only_where_study_toml_says(
    study: Study, monkeypatch: pytest.MonkeyPatch, named: bool
) -> None:
    """Who holds the owner's link can type any address; the key must not go there."""
    monkeypatch.setenv("OPENAI_API_KEY", "the-key")
    judging = Judging(study.store)
    with FakeEndpoint(say("[[A]]")) as endpoint:
        other = "http://127.0.0.1:9/v1"
        base_url = endpoint.base_url.replace("/v1", "/v1/") if named else other
        judge = study.settings.judge.model_copy(update={"base_url": base_url, "model": "m"})
        live = study.settings.model_copy(update={"judge": judge})
        form = Form.of(values(base_url=endpoint.base_url))
        judging.start("t", opener(study, live, form))
        end = judging.wait(SECONDS)
        assert end.phase is Phase.DONE, end.error
        assert endpoint.keys == {"Bearer the-key" if named else "Bearer none"}
    assert "the-key" not in key_words(judge) + run_panel(end)


def test_the_key_is_said_to_be_there_or_not(study: Study) -> None:
    judge = study.settings.judge
    assert "is not set" in key_words(judge, {})
    there = key_words(judge, {"OPENAI_API_KEY": "the-key"})
    assert "OPENAI_API_KEY is set" in there
    assert "the-key" not in there


# What the tab says


def test_the_end_is_told_in_words(store: Store) -> None:
    judging = Judging(store)
    with FakeEndpoint(say("[[A]]")) as endpoint:
        judging.start("t", fixed(settings(endpoint.base_url)))
        html = run_panel(judging.wait(SECONDS))
        assert "12 of 12 requests answered: 12 calls made" in html
        assert "<b>6</b><span>changed with the order</span>" in html
        assert "1,200 tokens in, 60 out." in html
        told = forecast_panel(forecast(store, settings(endpoint.base_url)), "t")
    assert "<b>0</b><span>calls; 12 of 12 answered before</span>" in told
    assert "fake-model</td><td>pairwise</td>" in runs_table(judged_runs(store))


def test_outcomes_of_many_pairs_are_grouped() -> None:
    """Who is A differs from pair to pair: that one answer is better can be counted, a cannot."""
    judgments = {
        "a": 3, "b": 4, "tie": 1, "tie:soft": 1, "tie:inconsistent": 5, "both_bad": 6,
        "incomplete:truncated": 2, "graded": 8, "severity 2": 9,
    }  # fmt: skip
    summary = RunSummary(
        "id", "run", "done", 30, 2, 28, {"ok": 27, "truncated": 2, "pending": 1}, judgments,
        100, 20, 3, 1.5, 61.0, (),
    )  # fmt: skip
    html = run_panel(Snapshot(Phase.DONE, "t", summary=summary))
    shown = re.findall("<b>([0-9]+)</b><span>([^<]*)<", html)
    assert shown == [
        ("7", "one answer better, in both orders"),
        ("2", "ties"),
        ("6", "both bad"),
        ("5", "changed with the order"),
        ("8", "answers graded"),
        ("9", "labelled severity 2"),
        ("2", "without a verdict"),
    ]
    assert "29 of 30 requests answered: 28 calls made in 1 min 1 s, 2 answered before." in html
    assert "100 tokens in, 20 out, unknown for 3 calls. $1.50 for this run so far." in html
    assert "Without a usable reply: 2 truncated." in html


def test_nothing_in_the_tab_is_markup() -> None:
    going = Snapshot(
        Phase.RUNNING, ATTACK, total=2, done=1, seconds=1, failed={ATTACK: 1}, notes=(ATTACK,)
    )
    shown = run_panel(going) + run_panel(replace(going, phase=Phase.FAILED, error=ATTACK))
    assert "<img" not in shown + problem_panel(ATTACK)
    assert shown.count("&lt;img") == 7
    assert run_panel(Snapshot()) == ""
