"""Caps that hold, prices that are known or said to be unknown, dry runs that ask nothing."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from annotate.errors import ServiceError, UsageError
from annotate.store import Store
from judge.bulk.batch_export import export_batch
from judge.bulk.batch_ingest import ingest_batch
from judge.cli import main
from judge.commands.run_words import forecast_text, summary_text
from judge.database.store import VerdictStore
from judge.engine.budget import Caps, Purse, Usage, bound, likely
from judge.engine.forecast import forecast
from judge.engine.plan import body_of
from judge.engine.prices import Price, examples, price_of
from judge.engine.runner import run
from tests.judge.fake_endpoint import (
    FakeEndpoint,
    Script,
    Scripted,
    always,
    completion,
    error,
    say,
)
from tests.judge.study import make_study, settings

NOWHERE = "http://127.0.0.1:9/v1"
OK = completion("[[A]]", delay=0.01)
"""100 tokens in and 5 out."""
PRICE = Price(input=1000.0, output=1000.0)
"""A tenth of a cent per token."""


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Store]:
    store = make_study(tmp_path, 20)
    yield store
    store.close()


def most_per_call(store: Store) -> int:
    """The bound of the largest request of the study, in tokens."""
    with FakeEndpoint(always(OK)) as endpoint:
        run(store, settings(endpoint.base_url, model="other"))
    rows = store.conn.execute("SELECT body FROM judge_request").fetchall()
    return max(bound(body_of(row[0])).total for row in rows)


@pytest.mark.parametrize("concurrency", [1, 8])
def test_the_run_stops_before_a_call_that_could_exceed(study: Store, concurrency: int) -> None:
    """inspect_ai #1135; promptfoo #1864: no cap."""
    cap = 10 * 105 + most_per_call(study)
    with FakeEndpoint(always(OK)) as endpoint:
        capped = settings(endpoint.base_url, cap_tokens=cap, concurrency=concurrency)
        summary = run(study, capped)
        assert endpoint.total == summary.calls
        assert summary.calls in (11, 12), "not one too many, and not long before"
        assert summary.state == "stopped"
        rest = 40 - summary.calls
        assert summary.statuses == {"ok": summary.calls, "skipped_budget": rest}
        assert any("skipped_budget" in warning for warning in summary.warnings)
        again = run(study, capped)
        assert again.calls == 0, "the cap holds over all starts of the run"
        done = run(study, settings(endpoint.base_url, concurrency=concurrency))
    assert (done.statuses, done.state, done.calls) == ({"ok": 40}, "done", rest)


def test_skipped_pairs_are_counted_and_have_no_value(study: Store) -> None:
    with FakeEndpoint(always(OK)) as endpoint:
        summary = run(study, settings(endpoint.base_url, cap_tokens=10))
        assert endpoint.total == 0
    assert summary.statuses == {"skipped_budget": 40}
    assert summary.judgments == {"incomplete:skipped_budget": 20}
    assert [row["value"] for row in VerdictStore(study).judgments()] == [None] * 20


def test_dollars_are_capped_too(study: Store) -> None:
    most = PRICE.of(most_per_call(study), 0)
    with FakeEndpoint(always(OK)) as endpoint:
        cap = 5 * 0.105 + most
        summary = run(study, settings(endpoint.base_url, cap_usd=cap, price=PRICE))
    assert 5 <= summary.calls <= 7
    assert summary.usd == pytest.approx(summary.calls * 0.105)
    assert "price: $0." in summary_text(summary)


def test_a_cap_in_dollars_needs_a_price() -> None:
    with pytest.raises(UsageError, match=r"cap_usd .*known price of fake-model.*judge.prices"):
        settings(NOWHERE, cap_usd=1.0)


def test_untold_tokens_count_with_their_bound(study: Store) -> None:
    """Openai 3.x: a timed-out call can be billed, so it counts with the most it can have used."""
    most = most_per_call(study)
    with FakeEndpoint(always(completion("[[A]]", usage=False))) as endpoint:
        summary = run(study, settings(endpoint.base_url, cap_tokens=4 * most))
        assert 4 <= summary.calls <= 5
        again = run(study, settings(endpoint.base_url, cap_tokens=4 * most))
    assert again.calls == 0


def test_refused_calls_cost_nothing(study: Store) -> None:
    cap = 2 * most_per_call(study)
    with FakeEndpoint(always(error(503))) as endpoint:
        with pytest.raises(ServiceError, match="calls failed"):
            run(study, settings(endpoint.base_url, cap_tokens=cap, attempts=2))
        assert endpoint.total == 80
        endpoint.script = say("[[A]]")
        assert run(study, settings(endpoint.base_url, cap_tokens=cap)).calls > 5


SLOW = always(Scripted(body=b"{}", delay=2.0))


@pytest.mark.parametrize(
    ("script", "counts"),
    [
        (always(Scripted(body=b'{"error": {"message": "upstream died"}}')), True),
        (always(Scripted(body=b"<html>")), True),
        (always(Scripted(body=b'{"error": {"code": "content_filter"}}')), True),
        (always(error(400)), False),
        (always(error(400, "content_filter")), False),
        (always(error(503)), False),
        (always(Scripted(body=b"{}", cut=True)), True),
        (SLOW, True),
        (None, False),
    ],
)
def test_what_counts_within_a_start_counts_over_starts(
    study: Store, script: Script | None, counts: bool
) -> None:
    """Errors in an HTTP 200 were forgotten by the next start, which spent the cap again."""
    most = most_per_call(study)
    with FakeEndpoint(script or say("")) as endpoint:
        url = endpoint.base_url if script else NOWHERE
        capped = settings(url, cap_tokens=2 * most, concurrency=1, attempts=1, limit=3)
        # Short only where the endpoint is slow: a busy machine needs longer to be refused.
        quick = replace(capped, timeout_seconds=0.2 if script is SLOW else 20.0)
        with contextlib.suppress(ServiceError):
            run(study, quick)
        (run_id,) = [r.id for r in VerdictStore(study).runs() if r.requested_model != "other"]
        calls = study.conn.execute(
            "SELECT count(*) FROM judge_attempt WHERE run = ?", (run_id,)
        ).fetchone()[0]
        used = sum(VerdictStore(study).used(run_id))
        assert (used > 0) == counts
        assert not counts or used >= calls * most / 2
        if counts and script:
            before = endpoint.total
            with contextlib.suppress(ServiceError):
                run(study, quick)
            assert endpoint.total - before <= 1
    assert calls > 0


def test_what_a_batch_service_did_not_run_costs_nothing(study: Store, tmp_path: Path) -> None:
    found = export_batch(study, settings(NOWHERE), tmp_path / "batch")
    requests = [json.loads(line) for line in found.files[0][0].read_text("utf-8").splitlines()]
    told = {"error": {"code": "batch_expired", "message": "too late"}, "response": None}
    answers = tmp_path / "answers.jsonl"
    answers.write_text(json.dumps({"custom_id": requests[0]["custom_id"], **told}), "utf-8")
    assert ingest_batch(study, [answers]).failures == 1
    assert VerdictStore(study).used(VerdictStore(study).runs()[0].id) == (0, 0)


@pytest.mark.parametrize("cap", [float("inf"), float("nan"), 0.0, -1.0])
def test_a_cap_that_is_none_is_refused(cap: float) -> None:
    with pytest.raises(UsageError, match=r"cap_usd is .*leave it out for no cap"):
        settings(NOWHERE, cap_usd=cap, price=PRICE)


@pytest.mark.parametrize("name", ["timeout_seconds", "backoff_seconds", "temperature"])
@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_endless_and_no_number_are_no_setting(name: str, value: float) -> None:
    with pytest.raises(UsageError, match=f"judge setting {name} is {value}; expected"):
        settings(NOWHERE, **{name: value})


def test_a_dry_run_asks_nothing_and_its_range_holds_the_truth(study: Store) -> None:
    with FakeEndpoint(say("[[A]]")) as endpoint:
        found = forecast(study, settings(endpoint.base_url, price=PRICE))
        assert endpoint.total == 0
        tables = study.conn.execute("SELECT count(*) FROM judge_run").fetchone()
        assert tables == (0,), "nothing is registered either"
        run(study, settings(endpoint.base_url, limit=5))
        later = forecast(study, settings(endpoint.base_url))
    assert (found.planned, found.cached, found.calls) == (40, 0, 40)
    assert (later.planned, later.cached, later.calls) == (40, 10, 30)
    assert later.tokens[1].reply == 30 * 32
    low, high = found.tokens
    assert 0 < low.prompt < high.prompt
    assert (low.reply, high.reply) == (40, 40 * 32)
    assert found.usd is not None
    assert found.usd[0] == pytest.approx(low.total / 1000)
    assert "price: unknown for fake-model" in forecast_text(later)


def test_a_dry_run_from_the_command_line(tmp_path: Path) -> None:
    study = tmp_path / "study"
    cli = CliRunner()
    assert cli.invoke(main, ["init", str(study)]).exit_code == 0
    assert cli.invoke(main, ["import", str(study), "data/sample"]).exit_code == 0
    with (study / "study.toml").open("a") as file:
        file.write('[judge.prices."mine-*"]\ninput = 3\noutput = 4\n')
    command = ["judge", str(study), "--dry-run", "--base-url", NOWHERE, "--model"]
    known = cli.invoke(main, [*command, "mine-1", "--max-usd", "1"])
    assert (known.exit_code, "nothing was asked" in known.output) == (0, True), known.output
    assert "(study.toml: mine-*)" in known.output
    unknown = cli.invoke(main, [*command, "theirs"])
    assert "price: unknown for theirs" in unknown.output
    refused = cli.invoke(main, [*command, "theirs", "--max-usd", "1"])
    assert refused.exit_code == 2


def test_the_longest_pattern_counts_and_the_users_go_first() -> None:
    own = {"gpt-*": Price(9, 9), "gpt-4o-*": Price(8, 8)}
    assert price_of("gpt-4o-mini", own) == Price(8, 8)
    assert price_of("gpt-4o-mini", {}) == examples()["gpt-4o-mini*"]
    assert price_of("nobody", own) is None


@pytest.mark.parametrize("text", ["plain words here", "数据安全很重要", "🙂" * 30, ""])
def test_no_tokeniser_exceeds_the_bound(text: str) -> None:
    body = {"messages": [{"role": "user", "content": text}], "max_tokens": 7}
    low, high = likely(body)
    assert low.prompt <= high.prompt <= max(bound(body).prompt, high.prompt)
    assert bound(body).prompt >= len(text.encode())
    assert bound(body).reply == 7


def test_a_purse_gives_back_what_was_not_used() -> None:
    purse = Purse(Caps(tokens=100), Usage(10, 0))
    assert purse.reserve(Usage(50, 0))
    assert not purse.reserve(Usage(50, 0))
    purse.settle(Usage(50, 0), Usage(5, 5))
    assert purse.reserve(Usage(80, 0))
    assert not Purse(Caps(usd=1.0, price=PRICE), Usage()).reserve(Usage(900, 101))
