"""`evenhand report` from a study to its folder: what a reader of the paper would check."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from click.testing import CliRunner, Result

from judge.cli import main
from scripts.report_schema import FILE, schema
from tests.judge.reporting.test_latex_tables import _compiled as compiled
from tests.judge.reporting.test_latex_tables import pdflatex as pdflatex  # a fixture

CODES = ("model_a", "tie", "model_b")


def evenhand(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments])


def label(
    judge: str, number: int, pair: tuple[str, str], winner: str, turn: int = 1
) -> dict[str, Any]:
    return {
        "question_id": number,
        "model_a": pair[0],
        "model_b": pair[1],
        "winner": winner,
        "judge": judge,
        "turn": turn,
        "category": ("writing", "math", "stem")[number % 3],
    }


PAIRS = (("alder", "birch"), ("alder", "cedar"), ("birch", "cedar"))


def votes(questions: int = 40, raters: int = 3, seed: int = 1) -> Iterator[dict[str, Any]]:
    """Alder is better than birch, birch than cedar, and people differ."""
    rng = np.random.default_rng(seed)
    for number in range(1, questions + 1):
        for pair in PAIRS:
            for rater in range(raters):
                winner = CODES[rng.choice(3, p=(0.6, 0.15, 0.25))]
                yield label(f"expert_{rater}", number, pair, winner)


def verdicts(
    winner: str = "model_a", judge: str = "names_pair", questions: int = 40
) -> Iterator[dict[str, Any]]:
    """A judge that answers by the models' names alone: the first is the better one."""
    for number in range(1, questions + 1):
        for pair in PAIRS:
            yield label(judge, number, pair, winner)


def made(folder: Path, *lines: Iterator[dict[str, Any]] | list[dict[str, Any]]) -> Path:
    study = folder / "study"
    assert evenhand("init", study).exit_code == 0
    file = folder / "labels.jsonl"
    file.write_text("\n".join(json.dumps(one) for some in lines for one in some), "utf-8")
    if file.stat().st_size:
        done = evenhand("import", study, file, "--benchmark", "bench")
        assert done.exit_code == 0, done.output
    return study


def reported(study: Path, out: Path, *options: object) -> tuple[str, dict[str, Any]]:
    done = evenhand("report", study, "--out", out, "--resamples", 200, *options)
    assert done.exit_code == 0, done.output
    return done.stdout, json.loads((out / "report.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One study with people and the judge that knows only names, reported with pictures."""
    root = tmp_path_factory.mktemp("report")
    study = made(root, votes(), verdicts())
    reported(study, root / "out")
    return root


def test_the_folder_holds_everything_that_a_paper_needs(folder: Path) -> None:
    out = folder / "out"
    names = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    assert {"report.html", "report.md", "report.json", "methods.md", "votes.csv"} <= names
    listed = json.loads((out / "manifest.json").read_text("utf-8"))
    assert set(listed["files"]) == names - {"manifest.json"}
    for kind in ("svg", "pdf", "png"):
        assert any(name.startswith("figures/") and name.endswith(kind) for name in names)
    pages = {name.rpartition(".")[0] for name in names if name.endswith(".csv") and "/" in name}
    assert pages == {name.rpartition(".")[0] for name in names if name.endswith(".tex")} - {
        "tables/all"
    }
    page = (out / "report.html").read_text("utf-8")
    assert not re.search(r"""(src|href)=["'](?!#|data:)""", page)


def test_two_runs_give_the_same_bytes(folder: Path) -> None:
    reported(folder / "study", folder / "again")
    files = [path for path in sorted((folder / "out").rglob("*")) if path.is_file()]
    assert len(files) > 40
    for path in files:
        other = folder / "again" / path.relative_to(folder / "out")
        if path.suffix not in (".pdf", ".png") and path.name != "manifest.json":
            assert path.read_bytes() == other.read_bytes(), path.name
    one, two = (
        json.loads((folder / name / "manifest.json").read_text("utf-8"))
        for name in ("out", "again")
    )
    assert one["inputs"] == two["inputs"]


def test_a_change_of_one_vote_changes_the_inputs_digest(tmp_path: Path) -> None:
    digests = set()
    for name, winner in (("one", "model_a"), ("two", "model_b")):
        (tmp_path / name).mkdir()
        extra = [label("expert_9", 1, PAIRS[0], winner)]
        study = made(tmp_path / name, votes(), verdicts(), extra)
        reported(study, tmp_path / name / "out", "--no-figures")
        manifest = json.loads((tmp_path / name / "out" / "manifest.json").read_text("utf-8"))
        digests.add(manifest["inputs"]["judgments"])
    assert len(digests) == 2


def test_a_judge_that_knows_only_names_is_told_so_in_the_first_paragraph(folder: Path) -> None:
    text, value = reported(folder / "study", folder / "text", "--no-figures")
    (found,) = value["findings"]
    s1 = found["excess"]["setups"][0]
    (blind,) = (one for one in s1["baselines"] if one["baseline"] == "content-blind")
    assert s1["agreement"]["value"] > 0.5
    assert (blind["excess"]["value"], blind["excess"]["low"], blind["excess"]["high"]) == (0, 0, 0)
    assert s1["within_pair_kappa"]["value"] == pytest.approx(0, abs=1e-12)
    first = " ".join(text.split("\n\n")[1].split())
    assert "its interval does not lie above 0" in first
    assert "no evidence that the judge reads the answers" in first
    page = (folder / "text" / "report.html").read_text("utf-8")
    assert "no evidence that the judge reads the answers" in page.partition("<h2")[0]


def test_a_noisy_judge_of_names_has_no_excess_either(tmp_path: Path) -> None:
    """High agreement, nothing read: the excess interval must not lie above 0."""
    rng = np.random.default_rng(5)
    judged = [
        label("noisy_pair", number, pair, CODES[rng.choice(3, p=(0.9, 0.05, 0.05))])
        for number in range(1, 41)
        for pair in PAIRS
    ]
    text, value = reported(made(tmp_path, votes(), judged), tmp_path / "out", "--no-figures")
    excess = value["findings"][0]["excess"]["setups"][0]["baselines"][0]["excess"]
    assert excess["low"] <= 0
    assert "no evidence" in " ".join(text.split("\n\n")[1].split())


def test_a_judge_that_reads_is_told_so(tmp_path: Path) -> None:
    people = list(votes(raters=1))
    reading = [{**one, "judge": "reader_pair"} for one in people]
    text, _value = reported(made(tmp_path, people, reading), tmp_path / "out", "--no-figures")
    assert "its interval lies above 0" in " ".join(text.split("\n\n")[1].split())


def test_report_json_is_what_the_schema_says(folder: Path) -> None:
    checker = jsonschema.Draft202012Validator(schema())
    value = json.loads((folder / "out" / "report.json").read_text("utf-8"))
    assert [error.message for error in checker.iter_errors(value)] == []
    del value["level"]
    assert not checker.is_valid(value)


def test_the_schema_that_readers_get_is_the_one_of_the_code() -> None:
    assert json.loads(FILE.read_text("utf-8")) == schema(), "run python -m scripts.report_schema"


def test_the_tables_of_a_real_report_compile(folder: Path, pdflatex: str, tmp_path: Path) -> None:
    shutil.copytree(folder / "out" / "tables", tmp_path / "tables")
    files = {path.name: path.read_text("utf-8") for path in (tmp_path / "tables").glob("*.tex")}
    compiled(pdflatex, files, tmp_path)


BAD: dict[str, list[dict[str, Any]]] = {
    "one rater": [*votes(raters=1), *verdicts()],
    "one category": [
        *({**one, "winner": "model_a"} for one in votes()),
        *verdicts(),
    ],
    "unanimous": [
        label(f"expert_{rater}", number, PAIRS[0], CODES[number % 3])
        for rater in range(3)
        for number in range(1, 31)
    ]
    + [label("all_pair", number, PAIRS[0], CODES[number % 3]) for number in range(1, 31)],
    "no overlap": [
        *(label(f"expert_{n % 3}", n, PAIRS[0], "model_a") for n in range(1, 31)),
        *(label("late_pair", n, PAIRS[0], "model_a") for n in range(31, 61)),
    ],
    "a model that never wins": [
        *({**one, "winner": "model_a"} for one in votes() if one["model_b"] == "cedar"),
        *(one for one in votes() if one["model_b"] != "cedar"),
        *verdicts(),
    ],
    "disconnected": [
        label(who, number, pair, CODES[number % 3])
        for who in ("expert_1", "expert_2", "apart_pair")
        for number in range(1, 31)
        for pair in (("alder", "birch"), ("cedar", "dogwood"))
    ],
    "ten questions": [*votes(questions=10), *verdicts(questions=10)],
    "one question": [*votes(questions=1), *verdicts(questions=1)],
    "people alone": list(votes()),
    "a judge alone": list(verdicts()),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_reported_in_words(name: str, tmp_path: Path) -> None:
    text, value = reported(made(tmp_path, BAD[name]), tmp_path / "out")
    checker = jsonschema.Draft202012Validator(schema())
    assert [error.message for error in checker.iter_errors(value)] == []
    assert " nan" not in text
    assert "inf " not in text
    for found in _estimates(value):
        assert (found["value"] is None) <= bool(found["reason"])


WORDS = {
    "one rater": "no unit has two votes",
    "one category": "only one category occurs",
    "no overlap": "no vote has a usable verdict of this judge",
    "a model that never wins": "never wins",
    "disconnected": "not compared with the ranked models",
    "ten questions": "fewer than 30",
    "people alone": "No judgment of people stands beside a judge's",
    "a judge alone": "no usable votes on this dimension",
}


@pytest.mark.parametrize("name", WORDS)
def test_what_is_wrong_is_named(name: str, tmp_path: Path) -> None:
    text, _value = reported(made(tmp_path, BAD[name]), tmp_path / "out", "--no-figures")
    assert WORDS[name] in " ".join(text.split())


def test_an_empty_study_has_no_report(tmp_path: Path) -> None:
    done = evenhand("report", made(tmp_path), "--out", tmp_path / "out")
    assert done.exit_code == 3
    assert "no usable vote about a pair" in done.output
    assert not (tmp_path / "out").exists()


def _estimates(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if {"value", "reason", "population", "clusters"} <= set(value):
            yield value
        for one in value.values():
            yield from _estimates(one)
    elif isinstance(value, list):
        for one in value:
            yield from _estimates(one)


def test_groups_and_judges_can_be_chosen(tmp_path: Path) -> None:
    more = [{**one, "judge": one["judge"].replace("expert", "author")} for one in votes(seed=2)]
    study = made(tmp_path, votes(), more, verdicts(), verdicts(judge="other_pair"))
    text, value = reported(
        study, tmp_path / "out", "--no-figures", "--raters", "expert", "--against", "names"
    )
    assert {one["judge"] for one in value["findings"]} == {"names_pair"}
    assert {b["group"] for d in value["dimensions"] for b in d["blocks"]} == {"expert"}
    assert "only raters of group expert; only judge names_pair" in text
    released = (tmp_path / "out" / "votes.csv").read_text("utf-8")
    assert "author" not in released
    assert "other_pair" not in released


@pytest.mark.parametrize(
    ("option", "given", "words"),
    [
        ("--raters", "nobody", "no such group; expected one of expert"),
        ("--against", "nobody", "no such judge; expected one of names_pair"),
        ("--by", "colour", "no such breakdown; known: turn, category, pair, rater"),
        ("--out", None, "a file"),
    ],
)
def test_wrong_options_are_one_line(
    folder: Path, tmp_path: Path, option: str, given: str | None, words: str
) -> None:
    if given is None:
        (tmp_path / "file").write_text("")
        given = str(tmp_path / "file")
    done = evenhand("report", folder / "study", "--resamples", 100, "--no-figures", option, given)
    assert done.exit_code == 2, done.output
    assert words in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_the_release_names_nobody_and_holds_every_vote(folder: Path) -> None:
    rows = (folder / "out" / "votes.csv").read_text("utf-8").splitlines()
    assert len(rows) == 1 + 40 * 3 * 3
    assert rows[0].endswith(",outcome,judge:names_pair")
    assert not re.search(r"expert_\d", "\n".join(rows))
    assert {row.split(",")[7] for row in rows[1:]} == {"R1", "R2", "R3"}


def test_methods_cite_what_they_use(folder: Path) -> None:
    text = (folder / "out" / "methods.md").read_text("utf-8")
    cited = set(re.findall(r"@([a-z]+\d{4}[a-z]+)", text.partition("```bibtex")[0]))
    given = set(re.findall(r"^@\w+\{(\w+),", text, flags=re.M))
    assert cited == given
    assert "gwet2008computing" in given
    assert "3 raters (3 in group expert) compared answers of 3 models to 40 questions" in text
    assert "360 votes were imported; how these were shown to their raters is not known" in text


def test_pairs_without_votes_are_counted_and_the_widest_apart_come_first(tmp_path: Path) -> None:
    people = [label(f"expert_{r}", 1, PAIRS[0], "model_b") for r in range(3)]
    people += [
        label(f"expert_{r}", 2, PAIRS[0], ("tie", "model_a", "model_a")[r]) for r in range(3)
    ]
    study = made(tmp_path, people, verdicts(questions=4))
    _text, value = reported(study, tmp_path / "out", "--no-figures")
    (coverage,) = value["study"]["coverage"]
    assert coverage["pairs"] == {"0": 10, "3": 2}
    worst = value["findings"][0]["gallery"]["worst"]
    assert [one["question"] for one in worst] == ["1", "2"]
    assert [one["distance"] for one in worst] == pytest.approx([1, 1 / 6])
