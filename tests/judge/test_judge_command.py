"""`evenhand judge` as a shell sees it: exit codes, one-line errors, no questions asked."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from annotate.study import init
from judge.cli import main
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
from tests.judge.study import fill

ROOT = Path(__file__).resolve().parents[2]
NOWHERE = "http://127.0.0.1:9/v1"
OPTIONS = ("--model", "fake-model", "--dimension", "overall")


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """Three pairs."""
    made = init(tmp_path / "study")
    fill(made.store, 3)
    made.close()
    return tmp_path / "study"


def judge(study: Path, url: str, *more: str) -> Result:
    return CliRunner().invoke(main, ["judge", str(study), "--base-url", url, *OPTIONS, *more])


def test_nothing_is_asked_of_a_person(study: Path) -> None:
    """FastChat gen_judgment: waits on input(), and one exception aborts all.

    In a process without a terminal, and with nothing to read, a run begins, goes on past an
    item that is refused, and ends.
    """

    def script(body: Body, _number: int) -> Scripted:
        return error(400) if "Question 2" in json.dumps(body) else completion("[[A]]")

    with FakeEndpoint(script) as endpoint:
        command = [sys.executable, "-m", "judge.cli", "judge", str(study)]
        done = subprocess.run(
            [*command, "--base-url", endpoint.base_url, *OPTIONS],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            cwd=ROOT,
            timeout=60,
            check=False,
        )
        assert endpoint.total == 6
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "judge fake-model: done")
    assert "replies: 2 api_error, 4 ok" in done.stdout
    assert all(json.loads(line) for line in done.stderr.splitlines()), "progress for programs"


@pytest.mark.parametrize(
    ("script", "told"),
    [
        (always(error(400)), "all 6 calls failed (requests: api_error 6)"),
        (always(error(401)), "set a valid key in OPENAI_API_KEY"),
        (always(error(404)), "check the URL and the model name"),
        (always(error(429, "insufficient_quota")), "add credit"),
    ],
)
def test_a_run_in_which_every_call_failed_exits_3_in_one_line(
    study: Path, script: Script, told: str
) -> None:
    """proving-ground #19: every call failed, zeros, exit 0."""
    with FakeEndpoint(script) as endpoint:
        result = judge(study, endpoint.base_url)
    assert result.exit_code == 3
    (line,) = [line for line in result.stderr.splitlines() if not line.startswith("{")]
    assert told in line
    assert result.stdout == ""


def test_a_dead_endpoint_exits_3_and_is_named(study: Path) -> None:
    result = judge(study, NOWHERE)
    assert result.exit_code == 3
    assert f"{NOWHERE}: no connection" in result.stderr


def test_a_run_of_only_unusable_replies_says_what_came_and_exits_3(study: Path) -> None:
    """The endpoint has answered, and was paid: what it said is shown; but nothing can be used."""
    with FakeEndpoint(say("hm")) as endpoint:
        result = judge(study, endpoint.base_url)
    assert result.exit_code == 3
    assert "verdicts: 3 incomplete:unparseable" in result.stdout
    assert "failed on overall: 3 of 3 (100.0 %): 3 unparseable" in result.stdout
    assert "no reply of run" in result.stderr


def test_a_missing_turn_exits_3_before_the_first_call(tmp_path: Path) -> None:
    made = init(tmp_path / "study")
    fill(made.store, 2, replies={"birch": [None]})
    made.close()
    with FakeEndpoint(say("[[A]]")) as endpoint:
        result = judge(tmp_path / "study", endpoint.base_url)
        assert endpoint.total == 0
    assert result.exit_code == 3
    assert "preflight: 2 errors, nothing was asked" in result.stderr


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--local",), "--local"),
        (("--output", "xml"), "--output"),
        (("--shard", "5"), "--shard 5: expected K/N"),
        (("--baseline", "nobody"), "baseline 'nobody'"),
        (("--max-usd", "1"), "a known price of fake-model"),
        (("--references", "maybe"), "--references"),
    ],
)
def test_wrong_use_exits_2_and_asks_nothing(
    study: Path, options: tuple[str, ...], told: str
) -> None:
    with FakeEndpoint(say("[[A]]")) as endpoint:
        result = judge(study, endpoint.base_url, *options)
        assert endpoint.total == 0
    assert result.exit_code == 2
    assert told in result.stderr


def test_a_second_run_says_that_it_made_no_call(study: Path) -> None:
    with FakeEndpoint(say("[[A]]")) as endpoint:
        judge(study, endpoint.base_url)
        again = judge(study, endpoint.base_url)
        assert endpoint.total == 6
    assert again.exit_code == 0
    assert "6 planned, 6 answered before, 0 calls made" in again.stdout


def test_a_run_loads_nothing_that_it_does_not_need(study: Path) -> None:
    """Opening a file that is up to date once loaded pandas: a second, and 100 MB."""
    with FakeEndpoint(say("[[A]]")) as endpoint:
        arguments = ["judge", str(study), "--base-url", endpoint.base_url, *OPTIONS]
        assert CliRunner().invoke(main, arguments).exit_code == 0
    code = (
        f"import sys\nfrom judge.cli import main\nmain({arguments!r}, standalone_mode=False)\n"
        "unused = ('pandas', 'numpy', 'sqlite_utils', 'gradio', 'openai', 'pyarrow', 'ray')\n"
        "print([name for name in unused if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert "0 calls made" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"


def test_show_tells_what_failed_and_an_unknown_run_exits_2(study: Path) -> None:
    def script(body: Body, _number: int) -> Scripted:
        if "Question 2" in json.dumps(body):
            return completion(None, finish="content_filter")
        return completion("[[A]]")

    with FakeEndpoint(script) as endpoint:
        judge(study, endpoint.base_url)
    shown = CliRunner().invoke(main, ["judge", "show", str(study), "fake-model"])
    assert shown.exit_code == 0
    assert "failed on overall: 1 of 3 (33.3 %): 1 filtered" in shown.stdout
    assert "by model: alder 1 of 3 (33.3 %), birch 1 of 3 (33.3 %)" in shown.stdout
    assert "alder 0.500 (0.333 to 0.667)" in shown.stdout
    unknown = CliRunner().invoke(main, ["judge", "show", str(study), "nobody"])
    assert unknown.exit_code == 2
    assert "expected one of: fake-model" in unknown.stderr
