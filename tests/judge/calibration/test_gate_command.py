"""`evenhand gate`, and what else refuses: edited studies, wrong use, thresholds, attempts."""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path

import pytest

from annotate.errors import UsageError
from annotate.study import open_study
from tests.judge.calibration.commands import (
    LIMITS,
    artefact,
    drawn,
    evenhand,
    people_label,
    run_name,
    said,
)


def test_an_edited_artefact_is_unusable(study: Path, tmp_path: Path) -> None:
    people_label(study, raters=2)
    run = run_name(study)
    said("calibrate", study, "--run", run, "--out", tmp_path / "o")
    file = tmp_path / "o" / "calibration.json"
    edited = artefact(tmp_path / "o")
    edited["calibration"]["scores"][0]["score"]["high"] = 0.001
    file.write_text(json.dumps(edited))
    (tmp_path / "gate.toml").write_text(LIMITS)
    options = ("--config", tmp_path / "gate.toml", "--calibration", file)
    text = said("gate", study, "--run", run, *options, code=3)
    assert "tampered with" in text


SOFTER = "SET harm = replace(harm, '\"severity\":2', '\"severity\":0')"
EDITED = {
    "a label": f"UPDATE vote {SOFTER}",
    "a verdict": f"UPDATE answer_verdict {SOFTER}",
    "a plan": "UPDATE label_plan SET body = replace(body, '\"seed\":7', '\"seed\":8')",
}


@pytest.mark.parametrize("edit", EDITED.values(), ids=EDITED)
def test_nothing_is_calibrated_or_decided_from_what_was_edited(
    study: Path, tmp_path: Path, edit: str
) -> None:
    run = run_name(study)
    said("plan", study, "--run", run, "--labels", 60, "--draw")
    people_label(study, drawn(study))
    out = ("--out", tmp_path / "o")
    said("calibrate", study, "--run", run, *out)
    opened = open_study(study)
    with opened.store.write() as conn:
        guards = "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'vote'"
        for (name,) in conn.execute(guards).fetchall():
            conn.execute(f"DROP TRIGGER {name}")
        assert conn.execute(edit).rowcount > 0
    opened.close()
    (tmp_path / "gate.toml").write_text(LIMITS)
    of_file = ("--calibration", tmp_path / "o" / "calibration.json")
    for command in (
        ("calibrate", study, "--run", run, *out),
        ("gate", study, "--run", run, "--config", tmp_path / "gate.toml", *out),
        ("production", study, "--run", run, *out),
        ("production", study, "--run", run, *of_file, *out),
    ):
        text = said(*command, code=3)
        assert "expected a study as it was written; evenhand verify names every break" in text


@pytest.mark.parametrize(
    "command", [("calibrate",), ("plan",), ("judge", "selective"), ("judge", "errors")]
)
def test_a_verdict_that_is_no_label_is_said_and_no_traceback(
    study: Path, command: tuple[str, ...]
) -> None:
    run = run_name(study)
    opened = open_study(study)
    with opened.store.write() as conn:
        conn.execute("UPDATE answer_verdict SET harm = replace(harm, 'full_refusal', 'no such')")
    opened.close()
    named = [study, run] if command[0] == "judge" else [study, "--run", run]
    done = evenhand(*command, *named)
    assert done.exit_code == 3, done.output
    assert "edited" in done.output
    assert "Traceback" not in done.output


NOT_THERE: list[tuple[str, tuple[str, ...], str]] = [
    ("calibrate", ("--baseline", "nope"), "no such model in the set; expected one of model-v1, mo"),
    (
        "calibrate",
        ("--score", "win-rate", "--target", "model-v1", "--reference", "model-v2"),
        "compared no pair of model-v1 and model-v2 on overall",
    ),
    (
        "plan",
        ("--score", "win-rate", "--target", "model-v1", "--reference", "model-v2",
         "--dimension", "nope"),
        "compared no pair of model-v1 and model-v2 on nope",
    ),
    ("plan", ("--score", "grade", "--dimension", "nope"), "graded no answer on nope"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "options", "words"), NOT_THERE)
def test_what_the_run_has_not_is_said(
    study: Path, command: str, options: tuple[str, ...], words: str
) -> None:
    people_label(study, raters=1)
    done = evenhand(command, study, "--run", run_name(study), *options)
    assert done.exit_code == 2
    assert words in " ".join(done.output.split())


WRONG: list[tuple[tuple[str, ...], str]] = [
    (("--run", "nobody"), "no such judge run"),
    (("--rum", "x"), "No such option"),
    ((), "no run named"),
    (("--run", "RUN", "--config", "none.toml"), "not there; write one"),
    (("--run", "RUN", "--calibration", "none.json"), "cannot be read"),
]


@pytest.mark.parametrize(("options", "words"), WRONG)
def test_wrong_use_of_the_gate_is_3_and_not_2(
    study: Path, tmp_path: Path, options: tuple[str, ...], words: str
) -> None:
    (tmp_path / "gate.toml").write_text(LIMITS)
    given = [run_name(study) if one == "RUN" else one for one in options]
    if "--config" not in given:
        given += ["--config", str(tmp_path / "gate.toml")]
    done = evenhand("gate", study, *given)
    assert done.exit_code == 3
    assert words in done.output


THRESHOLDS: list[tuple[str, str]] = [
    ("harm_rate = 0.1\n", "full_refusals is missing"),
    ("full_refusals = 0.1\n", "harm_rate is missing"),
    (LIMITS + "harmrate = 0.2\n", "harmrate: no such threshold"),
    ("harm_rate = 5\nfull_refusals = 0.1\n", "harm_rate is 5; expected a number from 0 to 1"),
    (LIMITS + "questions = 0\n", "questions is 0; expected a whole number"),
    ("harm_rate = ", "cannot be read as TOML"),
    ('harm_rate = "0.1"\nfull_refusals = 0.1\n', "harm_rate is '0.1'"),
    ("harm_rate = nan\nfull_refusals = 0.1\n", "harm_rate is nan; expected a number from 0 to 1"),
    ("harm_rate = inf\nfull_refusals = 0.1\n", "harm_rate is inf; expected a number from 0 to 1"),
    ("harm_rate = true\nfull_refusals = 0.1\n", "harm_rate is True"),
    (LIMITS + "matched_gap = nan\n", "matched_gap is nan; expected a number from -1 to 1"),
    (LIMITS + "matched_gap = -1.5\n", "matched_gap is -1.5"),
    (LIMITS + "failures = nan\n", "failures is nan"),
    (LIMITS + "harm_alpha = nan\n", "harm_alpha is nan; expected a number from -1 to 1"),
    (LIMITS + "inconsistency_fails = nan\n", "inconsistency_fails is nan"),
    (LIMITS + "inconsistency_fails = 0.1\n", "inconsistency_warns is 0.15; expected at most"),
    (LIMITS + "attempts = 1e23\n", "attempts is 1e+23; expected a whole number from 1 to 20"),
    (LIMITS + f"attempts = 1{'0' * 23}\n", "expected a whole number from 1 to 20"),
    (LIMITS + f"questions = 1{'0' * 400}\n", "expected a whole number from 1 to 1,000,000"),
    (LIMITS + f"harm_alpha = 1{'0' * 400}\n", "expected a number from -1 to 1"),
    (LIMITS + "questions = 2026-01-01\n", "questions is datetime.date(2026, 1, 1); expected"),
    (f"harm_rate = {'[' * 5000}", "cannot be read as TOML"),
]


@pytest.mark.parametrize(("text", "words"), THRESHOLDS)
def test_thresholds_are_checked(study: Path, tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "gate.toml").write_text(text)
    options = ("--run", run_name(study), "--config", tmp_path / "gate.toml")
    assert words in said("gate", study, *options, code=3)


def test_a_gate_toml_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    from judge.commands.gate_thresholds import read_thresholds

    (tmp_path / "gate.toml").write_bytes(b"\xef\xbb\xbf" + LIMITS.encode())
    assert read_thresholds(tmp_path / "gate.toml").harm_rate == 0.5
    (tmp_path / "gate.toml").write_bytes(LIMITS.encode("utf-16"))
    with pytest.raises(UsageError, match="cannot be read as TOML"):
        read_thresholds(tmp_path / "gate.toml")


def test_what_cannot_be_written_is_not_printed_either(study: Path, tmp_path: Path) -> None:
    """A card on the screen beside exit 3 would read as a decision."""
    people_label(study, raters=2)
    run = run_name(study)
    said("calibrate", study, "--run", run, "--out", tmp_path / "o")
    (tmp_path / "gate.toml").write_text(LIMITS)
    nowhere = ("--out", tmp_path / "gate.toml" / "x")
    text = said("gate", study, "--run", run, "--config", tmp_path / "gate.toml", *nowhere, code=3)
    assert "the report was not written" in text
    assert "Judge card" not in text
    text = said("calibrate", study, "--run", run, *nowhere, code=3)
    assert "The calibrated harm rate" not in text


def test_the_template_is_a_gate_toml(study: Path, tmp_path: Path) -> None:
    (tmp_path / "gate.toml").write_text(said("gate", study, "--template"))
    from judge.commands.gate_thresholds import read_thresholds

    assert read_thresholds(tmp_path / "gate.toml").questions == 40


def test_a_gate_without_pairs_or_people_cannot_decide(study: Path, tmp_path: Path) -> None:
    people_label(study, raters=2)
    run = run_name(study)
    said("calibrate", study, "--run", run, "--out", tmp_path / "o")
    (tmp_path / "gate.toml").write_text(LIMITS)
    options = ("--config", tmp_path / "gate.toml", "--out", tmp_path / "g")
    text = said("gate", study, "--run", run, *options, code=2)
    assert text.split("\n\n")[1].startswith("Before you quote this: Inconclusive")
    assert (tmp_path / "g" / "report.html").is_file()


def test_attempts_on_new_labels_share_one_error_budget(study: Path, tmp_path: Path) -> None:
    """The same labels calibrated again are no new attempt, whatever else has changed."""
    run = run_name(study)
    options = ("--run", run, "--config", tmp_path / "gate.toml", "--out", tmp_path / "g")
    again = ("calibrate", study, "--run", run, "--out", tmp_path / "o")

    def attempt(limits: str = LIMITS, code: int = 2) -> str:
        (tmp_path / "gate.toml").write_text(limits)
        return " ".join(said("gate", study, *options, code=code).split())

    said(*again, code=3)
    assert "no harm rate is looked at here" in attempt()  # refused: no attempt
    people_label(study, raters=1)
    said(*again)
    assert "attempt 1 of 1; 95 % intervals" in attempt()
    said(*again, "--baseline", "model-v1")
    assert "attempt 1 of 1" in attempt()
    shown = attempt(LIMITS.replace("0.5", "0.4"))
    assert "attempt 1 of 1" in shown
    assert "thresholds were changed" in shown
    people_label(study, raters=2)
    assert "labels are newer than the calibration" in attempt()
    said(*again)
    text = attempt()
    assert "the error budget is spent" in text
    assert "no harm rate is looked at here" in text
    # Neither does a budget that is planned after it was spent.
    assert "the error budget is spent" in attempt(LIMITS + "attempts = 20\n")
    assert "the error budget is spent" in attempt()


def test_a_budget_that_was_planned_is_kept_to(study: Path, tmp_path: Path) -> None:
    """Looks at a higher level leave room for more looks, and none for a bolder one."""
    run = run_name(study)
    options = ("--run", run, "--config", tmp_path / "gate.toml", "--out", tmp_path / "g")

    def attempt(attempts: int) -> str:
        (tmp_path / "gate.toml").write_text(f"{LIMITS}attempts = {attempts}\n")
        return " ".join(said("gate", study, *options, code=2).split())

    for raters, words in ((1, "attempt 1 of 2; 97.5 % intervals"), (2, "attempt 2 of 2")):
        people_label(study, raters=raters)
        said("calibrate", study, "--run", run, "--out", tmp_path / "o")
        assert words in attempt(2)
    assert "the error budget is spent" in attempt(1)
    assert "attempt 2 of 20" in attempt(20)


def test_attempts_are_made_at_the_level_that_the_budget_leaves(study: Path, tmp_path: Path) -> None:
    """The harm rate too: at the artefact's own level its interval, at a higher one a wider."""
    run = run_name(study)
    said("plan", study, "--run", run, "--labels", 60, "--draw")
    people_label(study, drawn(study))
    said("calibrate", study, "--run", run, "--out", tmp_path / "o")
    first = artefact(tmp_path / "o")["calibration"]["scores"][0]["score"]
    options = ("--run", run, "--config", tmp_path / "gate.toml", "--out", tmp_path / "g")
    shown = {}
    for attempts in (1, 20):
        (tmp_path / "gate.toml").write_text(f"{LIMITS}attempts = {attempts}\n")
        said("gate", study, *options, code=2)
        body = json.loads((tmp_path / "g" / "gate.json").read_text("utf-8"))
        (line,) = [one["found"] for one in body["criteria"] if one["name"] == "harm rate"]
        shown[attempts] = [float(one) for one in re.findall(r"[\d.]+(?= %)", line)]
    assert shown[1] == [round(100 * first[end], 1) for end in ("value", "low", "high")]
    assert shown[20][0] == shown[1][0]
    assert shown[20][1] < shown[1][1] < shown[1][2] < shown[20][2]


def test_the_gate_s_decision_is_json_too(study: Path, tmp_path: Path) -> None:
    people_label(study, raters=2)
    run = run_name(study)
    said("calibrate", study, "--run", run, "--out", tmp_path / "o")
    (tmp_path / "gate.toml").write_text(LIMITS)
    options = ("--config", tmp_path / "gate.toml", "--out", tmp_path / "g")
    said("gate", study, "--run", run, *options, code=2)
    body = json.loads((tmp_path / "g" / "gate.json").read_text("utf-8"))
    assert (body["schema"], body["decision"], body["exit"]) == (
        "evenhand.gate/1",
        "inconclusive",
        2,
    )
    assert body["calibration"] == artefact(tmp_path / "o")["hash"]
    assert body["thresholds"]["harm_rate"] == 0.5
    assert {one["outcome"] for one in body["criteria"]} == {"met", "not decidable"}
    for folder, names in (("g", ["gate.json"]), ("o", ["calibration.json"])):
        page = (tmp_path / folder / "report.html").read_text("utf-8")
        foot = page.partition("<footer>")[2]
        said_there = set(re.findall(r"<code>([^<]+)</code>", foot))
        assert said_there == {"report.md", "tables/", "manifest.json", *names}
        assert all((tmp_path / folder / name).exists() for name in said_there)


EDITS: list[tuple[str, str]] = [
    (
        'UPDATE calibration SET body = replace(body, \'"status":"ok"\','
        ' \'"status":"ok","more":1\')',
        "does not come to its hash",
    ),
    ("UPDATE calibration SET body = '[]'", "JSON, but no object"),
    ("DELETE FROM calibration", "was logged but is gone"),
    ("UPDATE calibration SET created_at = '2020-01-01T00:00:00.000Z'", "date or status"),
    (
        "UPDATE label_plan SET body = json_set(body, '$.seed', 8)",
        "label plan",
    ),
    ("DELETE FROM label_plan", "was logged but is gone"),
    ("DELETE FROM label_use WHERE purpose = 'calibrate'", "entries changed"),
    ("UPDATE label_use SET purpose = 'tune'", "not in the event log"),
    ("DELETE FROM gate_attempt", "attempt at the gate"),
    ("UPDATE gate_attempt SET thresholds = '{}'", "attempt 1 at the gate"),
]


@pytest.mark.parametrize(("sql", "words"), EDITS)
def test_a_database_edited_by_hand_is_unusable_and_verify_says_so(
    study: Path, tmp_path: Path, sql: str, words: str
) -> None:
    """Also with a key: the default path of the gate reads the database, no file."""
    run = run_name(study)
    said("plan", study, "--run", run, "--labels", 60, "--draw")
    people_label(study, drawn(study))
    said("calibrate", study, "--run", run, "--out", tmp_path / "o")
    (tmp_path / "gate.toml").write_text(LIMITS)
    options = ("--config", tmp_path / "gate.toml", "--out", tmp_path / "g")
    said("gate", study, "--run", run, *options, code=2)
    assert "1 calibrations, 1 label plans, 1 attempts" in said("verify", study)
    with sqlite3.connect(study / "evenhand.sqlite") as conn:
        conn.execute(sql)
    conn.close()
    assert words in said("verify", study, code=1)
    assert words in said("gate", study, "--run", run, *options, code=3)


def test_an_artefact_sealed_again_after_an_edit_is_found_out(study: Path, tmp_path: Path) -> None:
    """Its own hash fits; the study's event log, and as a file the study's table, know it not."""
    from judge.calibration.artefact import sealed, to_text

    people_label(study, raters=2)
    run = run_name(study)
    said("calibrate", study, "--run", run, "--out", tmp_path / "o")
    (tmp_path / "gate.toml").write_text(LIMITS)
    options = ("--run", run, "--config", tmp_path / "gate.toml")
    content = {k: v for k, v in artefact(tmp_path / "o").items() if k not in ("hash", "hmac")}
    content["calibration"]["scores"][0]["score"]["value"] = 0.2
    content["calibration"]["scores"][0]["score"]["low"] = 0.1
    forged = sealed(content)
    (tmp_path / "forged.json").write_text(to_text(forged))
    text = said("gate", study, *options, "--calibration", tmp_path / "forged.json", code=3)
    assert "says that this study made it" in text
    with sqlite3.connect(study / "evenhand.sqlite") as conn:
        conn.execute(
            "UPDATE calibration SET body = ?, hash = ?", (json.dumps(forged), forged["hash"])
        )
    conn.close()
    assert "not in the event log" in said("gate", study, *options, code=3)


def test_with_a_key_the_study_s_own_calibration_must_be_signed(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    people_label(study, raters=2)
    run = run_name(study)
    (tmp_path / "gate.toml").write_text(LIMITS)
    options = ("--run", run, "--config", tmp_path / "gate.toml", "--out", tmp_path / "g")
    said("calibrate", study, "--run", run, "--out", tmp_path / "o")
    monkeypatch.setenv("EVENHAND_ARTEFACT_KEY", "secret")
    assert "not signed with this key" in said("gate", study, *options, code=3)
    said("calibrate", study, "--run", run, "--out", tmp_path / "o")
    said("gate", study, *options, code=2)
    monkeypatch.setenv("EVENHAND_ARTEFACT_KEY", "another")
    assert "not signed with this key" in said("gate", study, *options, code=3)
    assert "not signed with this key" in said("verify", study, code=1)


NO_ARTEFACTS: list[tuple[bytes, str]] = [
    (b"\x89PNG\r\n\xff\xfe", "no JSON"),
    (b"[" * 100_000, "nested too deeply"),
    (b"{}", "schema None"),
]


@pytest.mark.parametrize("command", ["gate", "production"])
@pytest.mark.parametrize(("content", "words"), NO_ARTEFACTS)
def test_a_file_that_is_no_artefact_is_a_line_and_3(
    study: Path, tmp_path: Path, command: str, content: bytes, words: str
) -> None:
    (tmp_path / "a.json").write_bytes(content)
    (tmp_path / "gate.toml").write_text(LIMITS)
    options = ["--run", run_name(study), "--calibration", tmp_path / "a.json"]
    if command == "gate":
        options += ["--config", tmp_path / "gate.toml"]
    text = said(command, study, *options, code=3)
    assert words in text
    assert "Traceback" not in text


def test_whatever_goes_wrong_in_the_gate_is_3_and_shows_where(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1 would say "not trusted", and 2 "not decidable"."""
    from judge.commands import gate_command

    (tmp_path / "gate.toml").write_text(LIMITS)
    options = ("--run", run_name(study), "--config", tmp_path / "gate.toml")
    raised: list[tuple[BaseException, str]] = [
        (ZeroDivisionError("no share of nothing"), "unforeseen ZeroDivisionError, shown above"),
        (RecursionError("deep"), "unforeseen RecursionError"),
        (PermissionError(13, "Permission denied", "disk"), "disk: Permission denied"),
        (BrokenPipeError(32, "Broken pipe"), "Broken pipe; nothing is decided"),
        (KeyboardInterrupt(), "interrupted; nothing is decided"),
    ]
    for error, words in raised:

        def fails(*_given: object, error: BaseException = error) -> None:
            raise error

        monkeypatch.setattr(gate_command, "gate", fails)
        text = said("gate", study, *options, code=3)
        assert words in " ".join(text.split())
        assert ("no share of nothing" in text) is isinstance(error, ZeroDivisionError)
