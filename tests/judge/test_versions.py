"""A rerun under one name is another model: nothing counts its answers as the first's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from annotate import library, tasks
from annotate.export import export_votes
from annotate.study import Study, init
from judge.ask.modes import Mode
from judge.calibration.from_table import harm_set
from judge.database.places import Which, page
from judge.database.store import VerdictStore
from judge.database.table import tidy
from judge.engine.runner import run
from tests.annotate.support import (
    answer_line,
    bench_folder,
    join,
    label_line,
    rate_all,
    read_in,
    write_lines,
)
from tests.judge.fake_endpoint import Body, FakeEndpoint, Scripted, completion
from tests.judge.reporting.test_score_command import COMPLIES, HARMS, evenhand, filled
from tests.judge.study import settings

FIRST, SECOND = "alder", "alder (version 2)"


def reply(body: Body, _number: int) -> Scripted:
    text = str(body["messages"][-1]["content"])
    if "alder again 4" in text:
        return completion("I would rather not say")
    if "severity" not in text:
        return completion("[[A]]")
    return completion(HARMS if "alder again" in text else COMPLIES)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    """Alder answered twice; the second time it harms. Labelled by a judge, pairs by all."""
    folder = tmp_path_factory.mktemp("versions")
    made = filled(folder)
    rerun = [answer_line(n, [f"alder again {n}", "ok"]) for n in range(1, 5)]
    file = write_lines(folder / "more" / "model_answer" / "alder.jsonl", rerun)
    assert not read_in(made.store, file).refused
    tasks.prepare(made.store, made.settings)
    rate_all(made, join(made, "Ada"))
    with FakeEndpoint(reply) as endpoint:
        run(made.store, settings(endpoint.base_url, mode=Mode.HARM, dimensions=("harm",)))
        run(made.store, settings(endpoint.base_url))
    yield made
    made.close()


def test_every_judgment_names_the_version(study: Study) -> None:
    table = tidy(study.store)
    labelled = table[table["subject"] == "answer"]
    assert set(labelled["model_a"]) == {FIRST, SECOND, "birch"}
    assert labelled["model_b"].isna().all()
    stored = dict(
        study.store.conn.execute(
            "SELECT a.id, m.version FROM answer a JOIN model m ON m.id = a.model"
            " WHERE m.name = 'alder'"
        ).fetchall()
    )
    for row in labelled.to_dict("records"):
        expected = {1: FIRST, 2: SECOND}.get(stored.get(row["unit_id"], 0), "birch")
        assert row["model_a"] == expected
    pairs = table[table["subject"] == "pair"]
    assert {"rater", "judge"} <= set(pairs["source_kind"])
    bare = {
        row[0]: row[1:] for row in study.store.conn.execute("SELECT id, model_a, model_b FROM pair")
    }
    for row in pairs.to_dict("records"):
        names = row["model_a"], row["model_b"]
        assert tuple(name.partition(" (")[0] for name in names) == bare[row["unit_id"]]
    for _kind, rows in pairs.groupby("source_kind"):
        named = {frozenset((row["model_a"], row["model_b"])) for row in rows.to_dict("records")}
        assert frozenset((FIRST, "birch")) in named
        assert frozenset((SECOND, "birch")) in named


def test_a_calibrations_strata_are_of_one_version(study: Study) -> None:
    judge = next(one for one in VerdictStore(study.store).runs() if one.mode == Mode.HARM)
    items = harm_set(tidy(study.store), judge.name, judge.fingerprint).items
    found = set(zip(items.models, items.verdicts, strict=True))
    assert {(FIRST, "safe"), (SECOND, "harmful")} <= found
    assert (FIRST, "harmful") not in found
    assert (SECOND, "safe") not in found


def test_the_report_ranks_versions_apart(study: Study, tmp_path: Path) -> None:
    done = evenhand("report", study.folder, "--out", tmp_path, "--no-figures")
    assert done.exit_code == 0, done.output
    text = (tmp_path / "report.json").read_text("utf-8")
    assert FIRST in text
    assert SECOND in text
    assert json.loads(text)


def test_one_version_keeps_its_bare_name(tmp_path: Path) -> None:
    made = filled(tmp_path)
    tasks.prepare(made.store, made.settings)
    rate_all(made, join(made, "Ada"))
    assert set(tidy(made.store)["model_a"]) | set(tidy(made.store)["model_b"]) == {"alder", "birch"}
    made.close()


def test_what_is_exported_names_the_version_and_reads_back(study: Study, tmp_path: Path) -> None:
    export_votes(study.store, tmp_path)
    rows = [json.loads(one) for one in (tmp_path / "votes.jsonl").read_text("utf-8").splitlines()]
    names = {name for row in rows for name in (row["model_a"], row["model_b"])}
    assert names == {"alder (version 1)", SECOND, "birch"}
    labels = [
        {"question_id": "1", "model": name, "turn": 1, "rater": "expert_1", "severity": 0,
         "response_type": "full_refusal"}
        for name in ("alder (version 1)", SECOND)
    ]  # fmt: skip
    account = read_in(study.store, write_lines(tmp_path / "harm.jsonl", labels))
    assert (account.refused, account.imported["harm labels"]) == ([], 2)
    assert {row["model_a"] for row in tidy(study.store).to_dict("records")
            if row["source_id"] == "expert_1"} == {FIRST, SECOND}  # fmt: skip


def test_the_report_counts_versions_as_models(study: Study, tmp_path: Path) -> None:
    said = evenhand("report", study.folder, "--out", tmp_path, "--no-figures").stdout
    assert "of 3 models" in " ".join(said.split())


def test_what_a_judge_could_not_judge_is_of_one_version(study: Study) -> None:
    store = VerdictStore(study.store)
    for run_ in store.runs():
        (failures,) = store.failures(run_)
        models = {row.name for row in failures.models}
        assert models == {FIRST, SECOND, "birch"}
        failed = {row.name: row.failed for row in failures.models}
        assert failed[SECOND] > 0
        assert run_.mode != Mode.HARM or failed[FIRST] == failed["birch"] == 0
        found = page(study.store, run_, Which.ALL, 0, 100)
        assert {name for place in found.places for name in place.models} == models


def test_votes_without_texts_are_of_no_version_they_do_not_name(tmp_path: Path) -> None:
    made = init(tmp_path / "study")
    labels = [label_line(1)]
    read_in(made.store, write_lines(tmp_path / "votes.jsonl", labels))
    folder = bench_folder(tmp_path / "bench", 1, ("alder",))
    read_in(made.store, folder)
    rerun = write_lines(
        tmp_path / "more" / "model_answer" / "alder.jsonl", [answer_line(1, ["rerun"])]
    )
    read_in(made.store, rerun)
    read_in(made.store, bench_folder(tmp_path / "bench2", 1, ("birch",)) / "model_answer")
    (row,) = tidy(made.store).to_dict("records")
    assert (row["model_a"], row["model_b"]) == ("alder (version unknown)", "birch")
    made.close()


def test_a_judge_may_keep_to_pairs_with_one_version(study: Study) -> None:
    both = library.pair_ids(study.store)
    one, other = (library.pair_ids(study.store, model=name) for name in (FIRST, SECOND))
    assert library.model_names(study.store) == [FIRST, SECOND, "birch"]
    between = set(one) & set(other)
    assert len(one) == len(other) == 8
    assert len(between) == 4
    assert set(both) == set(one) | set(other)


def test_an_option_may_name_the_first_version_as_files_do(study: Study, tmp_path: Path) -> None:
    named = "alder (version 1)"
    done = evenhand("score", study.folder, "--reference", named, "--versions", f"{named},birch",
                    "--out", tmp_path / "s", "--no-figures", "--resamples", 100)  # fmt: skip
    assert done.exit_code == 0, done.output
    assert json.loads((tmp_path / "s" / "report.json").read_text("utf-8"))["reference"] == FIRST
    wrong = evenhand("score", study.folder, "--reference", "alder (version 3)")
    assert (wrong.exit_code, "expected one of alder, alder (version 2)" in wrong.output) == (
        2,
        True,
    )
