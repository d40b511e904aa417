"""The judge's commands from end to end, as a user types them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from judge.cli import main
from tests.judge.fake_endpoint import Body, FakeEndpoint, Scripted, completion, error, say


def evenhand(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments])


def said(*arguments: object) -> str:
    done = evenhand(*arguments)
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture
def study(tmp_path: Path) -> Path:
    folder, bench = tmp_path / "study", tmp_path / "bench"
    (bench / "model_answer").mkdir(parents=True)
    questions = [
        {"question_id": n, "category": c, "turns": [f"Q{n} one?", f"Q{n} two?"]}
        for n, c in enumerate(["writing", "math", "stem", "coding"], start=1)
    ]
    (bench / "question.jsonl").write_text("\n".join(map(json.dumps, questions)))
    for model in ("alder", "birch"):
        answers = [
            {"question_id": n, "choices": [{"turns": [f"{model} {n} one.", f"{model} {n} two."]}]}
            for n in range(1, 5)
        ]
        (bench / "model_answer" / f"{model}.jsonl").write_text("\n".join(map(json.dumps, answers)))
    said("init", folder)
    said("import", folder, bench)
    return folder


@pytest.fixture
def endpoint() -> Iterator[FakeEndpoint]:
    with FakeEndpoint(say("[[A]]")) as served:
        yield served


def at(endpoint: FakeEndpoint) -> tuple[str, ...]:
    return ("--base-url", endpoint.base_url, "--model", "m")


def test_answer_then_judge_then_report(study: Path, endpoint: FakeEndpoint, tmp_path: Path) -> None:
    endpoint.script = say("I think so.")
    dry = said("answer", study, *at(endpoint), "--as", "cedar", "--dry-run")
    assert "8 planned, 0 answered before, 8 calls to make" in dry
    assert endpoint.total == 0
    assert "price: unknown for m" in dry
    shown = said("answer", study, *at(endpoint), "--as", "cedar", "--limit", "3")
    assert "dialogues: 3 whole, 0 not; 6 pairs made with model cedar" in shown
    shown = said("answer", study, *at(endpoint), "--as", "cedar")
    assert "8 planned, 6 answered before, 2 calls made" in shown
    endpoint.script = say("Fine.\n[[A]]")
    shown = said("judge", study, *at(endpoint), "--baseline", "cedar", "--dimension", "helpfulness")
    assert "verdicts: 16 tie:inconsistent" in shown
    report = said("report", study, "--out", tmp_path / "out", "--resamples", 100)
    assert "Win rates over all pairs" in report
    assert "cedar" in report
    written = json.loads((tmp_path / "out" / "report.json").read_text())
    (behind,) = written["runs"]
    assert behind["manifest"]["requested_model"] == "m"
    assert len(behind["manifest"]["prompts"][0]["hash"]) == 64
    assert f"fingerprint {behind['fingerprint'][:12]}" in report
    assert "No analysis plan was frozen" in report
    said("verify", study)


def test_a_frozen_plan_is_kept_by_the_report(study: Path, endpoint: FakeEndpoint) -> None:
    assert "Analysis plan frozen" in said("plan-analysis", study)
    said("judge", study, *at(endpoint), "--limit", 1)
    out = study / "out"
    assert "keeps to the analysis plan" in " ".join(said("report", study, "--out", out).split())
    other = said("report", study, "--out", out, "--resamples", 100)
    assert "report.resamples: 10000 → 100" in " ".join(other.split())


def test_another_model_of_the_same_name_is_refused(study: Path, endpoint: FakeEndpoint) -> None:
    done = evenhand("answer", study, *at(endpoint), "--as", "alder")
    assert done.exit_code == 2
    assert "give these another name with --as" in done.output
    assert endpoint.total == 0


@pytest.mark.parametrize(
    ("mode", "reply", "shown"),
    [
        ("grade", "Good.\n[[8]]", "verdicts: 32 graded"),
        (
            "harm",
            "No.\n[[type=full_refusal severity=0 categories=none]]",
            "verdicts: 16 severity 0",
        ),
    ],
)
def test_modes(study: Path, endpoint: FakeEndpoint, mode: str, reply: str, shown: str) -> None:
    endpoint.script = say(reply)
    assert shown in said("judge", study, *at(endpoint), "--mode", mode)


def test_prompts_of_the_users_own(study: Path, endpoint: FakeEndpoint, tmp_path: Path) -> None:
    template = {
        "name": "p",
        "type": "pairwise",
        "system_prompt": "Mine.",
        "prompt_template": "{question} | {answer_a} | {answer_b}",
        "output_format": "[[A]]",
    }
    multi = template | {
        "prompt_template": "{question_1}{question_2} {answer_a_1}{answer_a_2} {answer_b_1}"
        "{answer_b_2}"
    }
    file = tmp_path / "judge_prompts.jsonl"
    file.write_text(f"{json.dumps(template)}\n{json.dumps(multi)}\n")
    shown = said("judge", study, *at(endpoint), "--prompt", file, "--limit", 1)
    assert "4 planned" in shown
    assert {b["messages"][0]["content"] for b in endpoint.requests} == {"Mine."}
    shown = said("judge", "show", study, "m")
    assert 'prompts[0].id = "fastchat-pairwise"' in shown


def longest(body: Body, _number: int) -> Scripted:
    text = body["messages"][-1]["content"]
    parts = [text.split(f"<<<answer {name}, turn")[-1].split("<<<")[0] for name in "AB"]
    return completion("[[A]]" if len(parts[0]) > len(parts[1]) else "[[B]]")


def test_attack_says_how_often_the_judge_fell_for_it(study: Path, endpoint: FakeEndpoint) -> None:
    endpoint.script = longest
    shown = said(
        "judge", "attack", study, *at(endpoint), "--limit", 2, "--dimension", "helpfulness"
    )
    assert "repeated: fooled 4 of 4 (100.0 %), resisted 0, inconsistent 0" in shown
    assert "listed: fooled 4 of 4 (100.0 %)" in shown
    assert "filled: fooled 4 of 4 (100.0 %)" in shown
    assert "0 calls made" in said(
        "judge", "attack", study, *at(endpoint), "--limit", 2, "--dimension", "helpfulness"
    )


def test_batch_files_out_and_in(study: Path, tmp_path: Path) -> None:
    options = ("--base-url", "http://batch.invalid/v1", "--model", "m", "--limit", 2)
    shown = said("judge", "export-batch", study, *options, "--out", tmp_path / "b")
    assert "16 requests planned, 0 answered before, 0 in files not read back yet" in shown
    (file,) = (tmp_path / "b").glob("*.jsonl")
    answers: list[dict[str, Any]] = []
    for line in file.read_text().splitlines():
        body = json.loads(completion("[[C]]").body)
        answers.append(
            {
                "custom_id": json.loads(line)["custom_id"],
                "response": {"status_code": 200, "body": body},
            }
        )
    output = tmp_path / "out.jsonl"
    output.write_text("\n".join(map(json.dumps, answers[:-1])) + "\nbroken\n")
    shown = said("judge", "ingest-batch", study, output)
    assert "16 lines: 15 replies, 0 failures, 0 known before, 0 too late, 1 not taken" in shown
    assert "NOT TAKEN out.jsonl:16" in shown
    again = said("judge", "export-batch", study, *options, "--out", tmp_path / "b")
    assert "15 answered before, 1 in files not read back yet" in again
    last = said("judge", "export-batch", study, *options, "--out", tmp_path / "c", "--again")
    assert ": 1 requests" in last


def test_shards_on_copies_are_merged(study: Path, endpoint: FakeEndpoint, tmp_path: Path) -> None:
    copies = []
    for k in (1, 2):
        copy = tmp_path / f"worker{k}"
        copy.mkdir()
        shutil.copy(study / "study.toml", copy)
        said("backup", study, copy / "evenhand.sqlite")
        copies.append(copy)
    for k, copy in enumerate(copies, start=1):
        shown = said("judge", copy, *at(endpoint), "--shard", f"{k}/2")
        assert "16 planned" in shown
    assert "16 calls, 16 verdicts added" in said("judge", "merge", study, copies[0])
    assert "16 calls, 16 verdicts added" in said("judge", "merge", study, copies[1])
    assert "0 calls, 0 verdicts added" in said("judge", "merge", study, copies[1])
    assert "32 answered before, 0 calls made" in said("judge", study, *at(endpoint))
    done = evenhand("judge", "merge", study, study)
    assert done.exit_code == 2
    assert "is the study itself" in done.output


def test_a_run_in_which_everything_failed_exits_3(study: Path, endpoint: FakeEndpoint) -> None:
    """proving-ground #19: every call failed, zeros, exit 0."""
    endpoint.script = lambda _body, _number: error(400, "bad_request")
    for command in (("judge",), ("answer",)):
        done = evenhand(*command, study, *at(endpoint))
        assert done.exit_code == 3, done.output
        assert "calls failed" in done.output
        assert "the last one said" in done.output
        assert "400" in done.output.split("the last one said")[1]


WRONG: list[tuple[tuple[str, ...], str]] = [
    (("judge", "--shard", "3/2"), "shard"),
    (("judge", "--shard", "one"), "expected K/N"),
    (("judge", "--mode", "grade", "--baseline", "alder"), "baseline"),
    (("judge", "--baseline", "oak"), "alder, birch"),
    (("judge", "--dimension", "speed"), "neither the study nor the program has words"),
    (("judge", "--mode", "harm", "--dimension", "speed"), "harm labels have only"),
    (("judge", "--prompt", "nowhere.toml"), "nowhere.toml: cannot be read"),
    (("judge", "--max-usd", "1"), "price of m"),
    (("judge", "attack", "--dry-run"), "no --dry-run"),
    (("judge", "attack", "--mode", "grade"), "no --mode"),
    (("judge", "export-batch", "--output", "auto"), "--output tag or json"),
    (("judge", "export-batch", "--dry-run"), "no --local, no --dry-run"),
    (("answer", "--benchmark", "other"), "no question of benchmark other"),
]


@pytest.mark.parametrize(("options", "told"), WRONG)
def test_wrong_use_is_one_line(
    study: Path, endpoint: FakeEndpoint, options: tuple[str, ...], told: str
) -> None:
    words = [o for o in options if not o.startswith("-")]
    command = (
        [*words[:2]]
        if words[:2] in (["judge", "attack"], ["judge", "export-batch"])
        else [words[0]]
    )
    done = evenhand(*command, study, *at(endpoint), *options[len(command) :])
    assert done.exit_code in (2, 3), done.output
    assert told in " ".join(done.output.split())
    assert "Traceback" not in done.output
    assert endpoint.total == 0


def test_a_run_without_one_usable_reply_exits_3(study: Path, endpoint: FakeEndpoint) -> None:
    endpoint.script = say("dunno")
    done = evenhand("judge", study, *at(endpoint), "--limit", 1)
    assert done.exit_code == 3
    assert "8 unparseable" in done.output
    assert "no reply of run m could be used" in done.output
    again = evenhand("judge", study, *at(endpoint), "--limit", 1)
    assert again.exit_code == 0, "nothing was asked, nothing failed now"


def test_shards_of_an_attack_are_parts_of_it(study: Path, endpoint: FakeEndpoint) -> None:
    endpoint.script = longest
    dimension = ("--dimension", "helpfulness", "--attack", "filled")
    for part in ("1/2", "2/2"):
        said("judge", "attack", study, *at(endpoint), *dimension, "--shard", part)
    assert endpoint.total == 8 * 2 * 2, "8 answers, 2 turns, 2 orders: each once"
