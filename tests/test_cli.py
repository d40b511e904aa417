"""The `evenhand` command: help, exit codes, one-line errors, nothing slow imported early."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from annotate.library import counts
from annotate.study import init, open_study
from judge.cli import main
from judge.commands.demo import TITLE, ensure_demo
from tests.annotate.support import bench_folder, label_line, tamper, write_lines


def commands(group: click.Group, prefix: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, command in group.commands.items():
        yield (*prefix, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*prefix, name))


COMMANDS = list(commands(main))
GROUPS = [("judge",)]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments])


def evenhand(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The real command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "judge.cli", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        check=False,
        env={"PYTHONPATH": str(Path(__file__).parents[1]), "PATH": "/usr/bin:/bin"},
    )


@pytest.fixture
def study(tmp_path: Path) -> Path:
    folder = tmp_path / "study"
    assert run("init", folder).exit_code == 0
    bench = bench_folder(tmp_path / "bench", 2)
    write_lines(bench / "votes.jsonl", [label_line(1), label_line(2, judge="gpt4_pair")])
    assert run("import", folder, bench).exit_code == 0
    return folder


def test_every_command_is_helpful() -> None:
    assert len(COMMANDS) >= 10
    for path in COMMANDS:
        shown = run(*path, "--help")
        assert shown.exit_code == 0, path
        assert run(*path, "-h").output == shown.output
        if path not in GROUPS:
            assert "Example:" in shown.output, path
            example = shown.output.split("Example:")[1].strip().splitlines()[0]
            assert example.split()[:2] == ["evenhand", path[0]], example


def test_every_example_is_a_command_line_that_parses() -> None:
    for path in COMMANDS:
        if path in GROUPS:
            continue
        words = run(*path, "--help").output.split("Example:")[1].strip().splitlines()[0].split()
        command: click.Command = main
        for name in path:
            assert isinstance(command, click.Group)
            command = command.commands[name]
        given = words[2:] if len(path) == 1 or words[2] != path[-1] else words[3:]
        command.make_parser(click.Context(command)).parse_args(
            [w.strip('"') for w in given if not w.startswith(('spring"', "2026"))]
        )


def test_version_is_the_installed_one() -> None:
    from importlib.metadata import version

    assert run("--version").output.split()[1] == version("evenhand")


SLOW = ("pandas", "numpy", "gradio", "openai", "sqlite_utils", "fastapi", "uvicorn", "sqlite3")


@pytest.mark.parametrize("command", ["", "report", "serve", "judge"])
def test_help_imports_nothing_slow(command: str) -> None:
    code = (
        "import sys\nfrom judge.cli import main\n"
        f"sys.argv[1:] = {[*command.split(), '--help']!r}\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code\n"
        f"print('slow:', [m for m in {SLOW!r} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "slow: []"


def test_a_study_from_nothing_to_its_export(study: Path, tmp_path: Path) -> None:
    assert "1 pairs" not in run("status", study).output
    status = run("status", study)
    assert status.exit_code == 0
    assert "2 pairs" in status.output
    assert "1 imported" in status.output
    invited = run("invite", study, "Ada", "Grace", "--url", "https://x.example/study1/")
    links = dict(line.split(": ", 1) for line in invited.output.splitlines())
    assert set(links) == {"Ada", "Grace"}
    assert links["Ada"].startswith("https://x.example/study1/invite/")
    again = run("invite", study, "Ada", "--url", "https://x.example/study1")
    assert again.output == f"Ada: {links['Ada']}\n"
    done = run("export", study, "--out", tmp_path / "out")
    assert "1 votes" in done.output
    with (tmp_path / "out" / "votes.csv").open(encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == 1
    assert run("backup", study, tmp_path / "copy.sqlite").exit_code == 0
    verified = run("verify", study)
    assert (verified.exit_code, verified.output.splitlines()[-1]) == (0, "Everything holds.")


def test_import_accounts_for_every_record(study: Path, tmp_path: Path) -> None:
    bench = tmp_path / "bench"
    shown = run("import", study, bench).output
    assert "questions: 2 read, 0 imported, 2 merged" in shown
    assert "verdicts: 1 read, 0 imported, 1 merged" in shown
    assert shown.rstrip().endswith("Added 0; 0 records not imported.")
    write_lines(bench / "votes.jsonl", ["{broken", label_line(2)])
    shown = run("import", study, bench).output
    assert "NOT IMPORTED bench/votes.jsonl:1: not JSON" in shown
    assert shown.rstrip().endswith("Added 1; 1 records not imported.")


def test_verify_exits_1_and_names_the_break(study: Path) -> None:
    tamper(study / "evenhand.sqlite", "UPDATE vote SET outcome = 'tie'")
    done = run("verify", study)
    assert done.exit_code == 1
    assert "BROKEN vote" in done.output
    assert "outcome changed since it was cast" in done.output


WRONG: list[tuple[list[str], int, str]] = [
    ([], 2, "Usage"),
    (["nonsense"], 2, "No such command"),
    (["init"], 2, "Missing argument"),
    (["init", "{study}"], 2, "holds a study already"),
    (["init", "{file}/deeper"], 2, "cannot make a study here"),
    (["status", "{tmp}/nowhere"], 2, "no study here"),
    (["import", "{study}"], 2, "Missing argument"),
    (["import", "{study}", "{tmp}/nowhere"], 2, "nowhere: not found"),
    (["import", "{study}", "{file}"], 2, "nothing in there could be imported"),
    (["import", "{tmp}", "{file}"], 2, "no study here"),
    (["export", "{study}", "--out", "{file}"], 3, "file"),
    (["invite", "{study}", " "], 2, "rater name"),
    (["verify", "{tmp}"], 2, "no study here"),
    (["verify", "{garbage}"], 3, "not a readable Evenhand database"),
    (["backup", "{study}", "{file}"], 3, "exists already"),
    (["backup", "{study}", "{tmp}/nowhere/x.sqlite"], 3, "was not made"),
    (["judge", "{study}"], 2, "no endpoint"),
    (["judge", "{study}", "--limit", "0"], 2, "--limit"),
    (["report", "{study}", "--resamples", "1"], 2, "--resamples"),
    (["serve", "{tmp}"], 2, "no study here"),
    (["status", "{badtoml}"], 2, "study.toml"),
]


@pytest.mark.parametrize(("arguments", "code", "told"), WRONG)
def test_wrong_use_is_one_line_and_its_exit_code(
    study: Path, tmp_path: Path, arguments: list[str], code: int, told: str
) -> None:
    (tmp_path / "file").write_text("words")
    for name in ("garbage", "badtoml"):
        (tmp_path / name).mkdir()
    (tmp_path / "garbage" / "study.toml").write_bytes((study / "study.toml").read_bytes())
    (tmp_path / "garbage" / "evenhand.sqlite").write_bytes(b"garbage" * 1_000)
    (tmp_path / "badtoml" / "study.toml").write_text("[study\n")
    places = {
        "study": study,
        "tmp": tmp_path,
        "file": tmp_path / "file",
        "garbage": tmp_path / "garbage",
        "badtoml": tmp_path / "badtoml",
    }
    done = evenhand(*[a.format(**places) for a in arguments], cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    said = (done.stderr or done.stdout).strip().splitlines()
    assert any(told in line for line in said), said
    if said[-1].startswith("evenhand:"):
        assert sum(line.startswith("evenhand:") for line in said) == 1


HOLD = """
import sys, time
from pathlib import Path
from annotate.app import served_once
print("ready", flush=True)
sys.stdin.readline()
with served_once(Path(sys.argv[1])) as lock:
    lock.write("http://127.0.0.1:1, process 1"); lock.flush()
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_a_second_server_on_one_study_is_refused_until_the_first_ends(study: Path) -> None:
    database = study / "evenhand.sqlite"
    command = [sys.executable, "-W", "ignore", "-c", HOLD, str(database)]

    first, second, third = (
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    )
    assert first.stdin is not None
    assert first.stdout is not None
    first.stdin.write("go\n")
    first.stdin.flush()
    assert [first.stdout.readline(), first.stdout.readline()] == ["ready\n", "held\n"]
    _out, refused = second.communicate("go\n", timeout=60)
    assert second.returncode != 0
    assert "already served (http://127.0.0.1:1, process 1)" in refused
    first.kill()  # however it ends
    first.communicate()
    assert third.communicate("go\n\n", timeout=60)[0] == "ready\nheld\n"
    assert third.returncode == 0


def test_the_sample_study_is_made_once_and_whole(tmp_path: Path) -> None:
    from judge.commands.demo import ensure_demo

    assert ensure_demo(tmp_path / "demo") is True
    assert ensure_demo(tmp_path / "demo") is False
    shown = run("status", tmp_path / "demo").output
    assert "48 pairs" in shown
    assert "576 simulated" in shown
    assert run("verify", tmp_path / "demo").exit_code == 0


def test_the_report_of_an_empty_study_says_what_is_missing(tmp_path: Path) -> None:
    assert run("init", tmp_path / "s").exit_code == 0
    done = run("report", tmp_path / "s", "--out", tmp_path / "out", "--resamples", 100)
    assert done.exit_code in (0, 3)
    assert "Traceback" not in done.output
    assert "nan" not in done.output.lower().split()


def test_the_printed_account_is_not_a_flood(tmp_path: Path) -> None:
    run("init", tmp_path / "s")
    bench = bench_folder(tmp_path / "bench", 1)
    write_lines(bench / "votes.jsonl", [json.dumps(label_line(1)), *["{broken"] * 100])
    shown = run("import", tmp_path / "s", bench).output
    assert shown.count("NOT IMPORTED") == 40
    assert "… and 60 more of these" in shown
    assert "100 records not imported" in shown


def test_blind_check_of_nothing_is_no_pass(tmp_path: Path) -> None:
    assert run("init", tmp_path / "empty").exit_code == 0
    done = evenhand("blind-check", tmp_path / "empty", cwd=tmp_path)
    assert done.returncode == 3
    assert "nothing was checked" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_interrupted_first_demo_is_completed(tmp_path: Path) -> None:
    init(tmp_path / "demo", TITLE).close()
    assert ensure_demo(tmp_path / "demo") is True
    assert ensure_demo(tmp_path / "demo") is False
    study = open_study(tmp_path / "demo")
    assert counts(study.store)["pairs"] == 48
    study.close()


def test_the_machines_own_trouble_is_one_line(study: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file", "utf-8")
    done = evenhand("report", study, "--out", tmp_path / "taken", cwd=tmp_path)
    assert done.returncode == 2
    assert "taken: a file, expected a folder for the report" in done.stderr
    below = evenhand("init", tmp_path / "taken" / "study", cwd=tmp_path)
    assert below.returncode == 2
    assert len(below.stderr.strip().splitlines()) == 1
    assert "Traceback" not in done.stderr + below.stderr


@pytest.mark.parametrize("port", ["-1", "70000"])
def test_a_port_that_cannot_be_is_wrong_use(study: Path, port: str) -> None:
    assert run("serve", study, "--port", port).exit_code == 2


def test_a_rater_keeps_their_group(study: Path) -> None:
    assert run("invite", study, "Ada", "--group", "expert").exit_code == 0
    assert run("invite", study, "Ada").exit_code == 0
    other = run("invite", study, "Ada", "--group", "rater")
    assert other.exit_code == 2
    assert "is in group expert already" in other.output
