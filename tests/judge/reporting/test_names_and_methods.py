"""Names that make one id, and a methods paragraph of which every sentence holds."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from judge.commands import report_command
from judge.commands.opened import Opened
from judge.database.material import material as read_material
from judge.reporting.document import Document, Section, Table, told_apart
from tests.judge.reporting.test_report_command import (
    PAIRS,
    evenhand,
    label,
    made,
    reported,
    verdicts,
    votes,
)

Lines = list[dict[str, Any]]


def with_(lines: Any, **other: Any) -> Lines:
    return [{**one, **other} for one in lines]


def judged_by(name: str) -> Lines:
    return with_(verdicts(judge=name, questions=8), source_kind="judge")


PEOPLE = list(votes(questions=8))
OTHERS = with_(PEOPLE, judge="expert_9")
SIMULATED = with_(PEOPLE, layer="simulated")
DIALOGUES = {"turn": 0}
ONE_ID: dict[str, tuple[Lines, ...]] = {
    "a group called all": (with_(PEOPLE, rater_group="all"), OTHERS, judged_by("one")),
    "groups that differ in a blank": (
        with_(PEOPLE, rater_group="A B"),
        with_(OTHERS, rater_group="a-b"),
        judged_by("one"),
    ),
    "judges that differ in a hyphen": (PEOPLE, judged_by("GPT 4"), judged_by("gpt-4")),
    "a judge called people": (PEOPLE, judged_by("people")),
    "a judge called like another's dialogues": (
        PEOPLE,
        with_(PEOPLE, **DIALOGUES),
        with_(judged_by("x"), **DIALOGUES),
        judged_by("x-dialogues"),
    ),
}


@pytest.mark.parametrize("case", ONE_ID)
def test_names_that_make_one_id_are_told_apart(case: str, tmp_path: Path) -> None:
    study = made(tmp_path, *ONE_ID[case])
    text, value = reported(study, tmp_path / "out", "--no-figures")
    tables = re.findall(r"^Table (\d+)\. ", text, re.MULTILINE)
    assert len(list((tmp_path / "out" / "tables").glob("*.csv"))) == len(tables)
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    ids = re.findall(r'<[^>]* id="([^"]+)"', page)
    assert len(set(ids)) == len(ids)
    assert value["findings"]


def test_the_first_of_one_id_keeps_it_and_no_new_one_is_taken() -> None:
    def part(*ids: str) -> Section:
        return Section("s", "", tuple(Table(one, "", (), ()) for one in ids))

    told = told_apart((part("t", "t-2"), part("t")))
    assert [one.id for one in told] == ["s", "s-2"]
    found = Document("", (), "", told)
    assert [one.id for one in found.tables()] == ["t", "t-2", "t-3"]


def methods(folder: Path, *lines: Lines, options: tuple[str, ...] = ()) -> str:
    reported(made(folder, *lines), folder / "out", "--no-figures", *options)
    return (folder / "out" / "methods.md").read_text("utf-8").partition("```")[0]


def test_methods_give_dialogues_their_own_figures(tmp_path: Path) -> None:
    said = methods(
        tmp_path,
        with_(PEOPLE, winner="model_a"),
        with_(PEOPLE, winner="model_b", **DIALOGUES),
        judged_by("one"),
        with_(judged_by("one"), **DIALOGUES),
    )
    turns, dialogues = re.findall(r"^On overall \(.*$", said, re.MULTILINE)
    assert "on 100.0 % of 72 votes (S1;" in turns
    assert "group expert, whole dialogues), judge one agrees" in dialogues
    assert "on 0.0 % of 72 votes (S1;" in dialogues
    assert "on 0.0 % of 72 votes (S2," in dialogues


def test_a_program_is_nobody_in_the_methods(tmp_path: Path) -> None:
    said = methods(tmp_path, SIMULATED, judged_by("one"))
    assert said.count("with simulated raters on") >= 2
    assert "a second simulated rater on" in said
    assert "No person compared" in said
    assert "72 votes were made by a program, and are no person's." in said
    assert not re.search(r"\b(with people|a person|0 raters)\b", said)


def test_methods_leave_no_sentence_without_its_figure(tmp_path: Path) -> None:
    said = methods(tmp_path, with_(PEOPLE, **DIALOGUES), judged_by("one"))
    assert "how far judge one agrees with people is undefined: no vote has" in said
    assert "human reference is matched" not in said


def test_methods_without_a_judge_tell_of_no_judge(tmp_path: Path) -> None:
    said = methods(tmp_path, PEOPLE)
    assert "Krippendorff's alpha" in said
    assert "judge" not in said


def test_methods_say_whose_votes_count(tmp_path: Path) -> None:
    choice = ("--raters", "expert")
    said = methods(tmp_path, PEOPLE, with_(OTHERS, rater_group="crowd"), judged_by("one"),
                   options=choice)  # fmt: skip
    assert "Counted here: only raters of group expert." in said


def test_the_first_paragraph_names_whose_votes_and_what_was_judged(tmp_path: Path) -> None:
    study = made(
        tmp_path, PEOPLE, with_(PEOPLE, **DIALOGUES), judged_by("one"),
        with_(judged_by("one"), **DIALOGUES),
    )  # fmt: skip
    text = " ".join(reported(study, tmp_path / "out", "--no-figures")[0].split())
    assert "On overall (votes of 3 people, group expert): judge one agrees" in text
    assert "On overall (votes of 3 people, group expert, whole dialogues): judge one" in text


def test_the_gallery_calls_no_program_people(tmp_path: Path) -> None:
    study = made(tmp_path, SIMULATED, judged_by("one"))
    reported(study, tmp_path / "out", "--no-figures")
    page = (tmp_path / "out" / "report.md").read_text("utf-8")
    assert "Where judge and simulated raters part" in page
    assert "plurality of simulated raters differ" in page
    assert not re.search(r"^- people:", page, re.MULTILINE)


def test_nobody_agrees_on_no_unit(tmp_path: Path) -> None:
    study = made(tmp_path, with_(PEOPLE, **DIALOGUES), judged_by("one"))
    text = " ".join(reported(study, tmp_path / "out", "--no-figures")[0].split())
    assert "No unit has both a vote of people and a usable verdict of judge one." in text
    assert "never differ" not in text


def test_votes_that_are_not_used_are_counted_with_the_reason(tmp_path: Path) -> None:
    study = made(tmp_path, with_(PEOPLE, layer="gold"), judged_by("one"))
    text, _value = reported(study, tmp_path / "out", "--no-figures")
    assert "so no agreement (72 layer gold)" in text


def test_halves_are_not_printed_as_a_numerator(tmp_path: Path) -> None:
    """A guess between equally long answers counts half: then only the rows are whole."""
    pairs = [
        {
            "question_id": str(number),
            "turns": ["Say something."],
            "answer_a": {"model": "alder", "turns": ["same"]},
            "answer_b": {"model": "birch", "turns": ["same" if number < 4 else "longer"]},
        }
        for number in range(1, 9)
    ]
    lines = [
        label(who, number, PAIRS[0], "model_a")
        for number in range(1, 9)
        for who in ("expert_1", "one_pair")
    ]
    study = made(tmp_path, pairs)
    labels = tmp_path / "votes.jsonl"
    labels.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    assert evenhand("import", study, labels, "--benchmark", "bench").exit_code == 0
    text, _value = reported(study, tmp_path / "out", "--no-figures")
    assert re.search(r"longest answer +of 8 ", text)


def test_pseudonyms_tell_nothing_of_names(tmp_path: Path) -> None:
    """Whoever has a list of the raters must learn nothing from the order of R1, R2 …."""
    files = set()
    for number in range(4):
        folder = tmp_path / str(number)
        folder.mkdir()
        renamed = [{**x, "judge": f"expert_{number}{x['judge'][-1]}"} for x in PEOPLE]
        reported(made(folder, renamed, judged_by("one")), folder / "out", "--no-figures")
        files.add((folder / "out" / "votes.csv").read_bytes())
    assert len(files) == 1


def test_a_report_of_a_study_in_use_is_of_one_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = made(tmp_path, PEOPLE, judged_by("one"))
    late = tmp_path / "late.jsonl"
    late.write_text(json.dumps({**PEOPLE[0], "judge": "expert_99"}), "utf-8")

    def and_a_vote_comes_in(store: Any) -> Any:
        found = read_material(store)
        assert evenhand("import", study, late, "--benchmark", "bench").exit_code == 0
        return found

    monkeypatch.setattr(report_command, "material", and_a_vote_comes_in)
    with Opened(study) as opened:
        found = report_command.compute(opened, report_command.Asked(resamples=100)).report
    assert found.study is not None
    assert found.study.votes == {"imported": found.dimensions[0].blocks[0].counts.votes}
