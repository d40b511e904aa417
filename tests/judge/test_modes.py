"""Grades, harm labels, baselines, turns, replicates, references: end to end over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from annotate import library
from annotate.errors import UsageError
from annotate.records import QuestionKey, Reference
from annotate.store import Store
from judge.ask.modes import Mode
from judge.ask.prompt import load, prompt_for
from judge.ask.words import shipped
from judge.database.store import VerdictStore
from judge.database.table import tidy
from judge.engine.preflight import PreflightError
from judge.engine.runner import run
from tests.judge.fake_endpoint import Body, FakeEndpoint, Scripted, completion, say
from tests.judge.study import make_study, settings

HARM_TAG = "[[type=partial severity=2 categories=privacy,hate specificity=3 convincingness=4]]"
HARM = {
    "response_type": "partial",
    "severity": 2,
    "categories": ["hate", "privacy"],
    "specificity": 3,
    "convincingness": 4,
}


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Store]:
    store = make_study(tmp_path, 3, turns=2, models=("alder", "birch", "cedar"))
    yield store
    store.close()


def text_of(body: Body) -> str:
    return str(body["messages"][-1]["content"])


def test_every_answer_is_graded_once_per_turn(study: Store) -> None:
    def grade(body: Body, _number: int) -> Scripted:
        return completion("[[8.5]]" if "alder" in text_of(body) else "[[3]]")

    with FakeEndpoint(grade) as endpoint:
        chosen = settings(endpoint.base_url, mode=Mode.GRADE, dimensions=("helpfulness",))
        first, again = run(study, chosen), run(study, chosen)
    assert (first.calls, again.calls) == (3 * 3 * 2, 0)
    assert first.judgments == {"graded": 18}
    table = tidy(study)
    assert set(table["subject"]) == {"answer"}
    grades = table.groupby("model_a")["value"].agg(["min", "max", "count"]).to_dict("index")
    assert grades["alder"] == {"min": 8.5, "max": 8.5, "count": 6}
    assert grades["birch"] == {"min": 3.0, "max": 3.0, "count": 6}
    assert set(table["turn"]) == {1, 2}


@pytest.mark.parametrize("reply", ["[[0]]", "[[11]]", "[[90]]", "[[A]]", "8", "[[7]] or [[8]]"])
def test_a_grade_out_of_range_is_no_grade(study: Store, reply: str) -> None:
    with FakeEndpoint(say(reply)) as endpoint:
        chosen = settings(endpoint.base_url, mode=Mode.GRADE, limit=1)
        summary = run(study, chosen)
    assert summary.judgments in ({"unparseable": 2}, {"ambiguous": 2})
    assert tidy(study)["value"].tolist() == [None, None]


@pytest.mark.parametrize("output", ["tag", "json"])
def test_harm_labels_are_read_whole(study: Store, output: str) -> None:
    said = HARM_TAG if output == "tag" else json.dumps(HARM)
    with FakeEndpoint(say(said)) as endpoint:
        chosen = settings(
            endpoint.base_url, mode=Mode.HARM, dimensions=("harm",), output=output, limit=2
        )
        summary = run(study, chosen)
        if output == "json":
            schema = endpoint.requests[-1]["response_format"]["json_schema"]["schema"]
            assert set(HARM) == set(schema["required"])
    assert summary.judgments == {"severity 2": 4}
    assert [json.loads(v) for v in tidy(study)["value"]] == [HARM] * 4


def test_a_baseline_keeps_to_pairs_with_that_model(study: Store) -> None:
    with FakeEndpoint(say("[[A]]")) as endpoint:
        summary = run(study, settings(endpoint.base_url, baseline="cedar"))
        assert summary.planned == 3 * 2 * 2 * 2
        rows = tidy(study)
        assert set(zip(rows["model_a"], rows["model_b"], strict=True)) == {
            ("alder", "cedar"),
            ("birch", "cedar"),
        }
        with pytest.raises(UsageError, match=r"baseline 'oak'.*alder, birch, cedar"):
            run(study, settings(endpoint.base_url, baseline="oak"))


@pytest.mark.parametrize(("turns", "found"), [("each", {1, 2}), ("last", {2}), ("dialogue", {0})])
def test_which_turns_are_judged(study: Store, turns: str, found: set[int]) -> None:
    with FakeEndpoint(say("[[A]]")) as endpoint:
        run(study, settings(endpoint.base_url, turns=turns, limit=2))
    assert set(tidy(study)["turn"]) == found


def test_replicates_are_asked_apart_and_kept_apart(study: Store) -> None:
    def moody(body: Body, _number: int) -> Scripted:
        return completion("[[C]]" if body["seed"] == 2 else "[[D]]")

    with FakeEndpoint(moody) as endpoint:
        one = run(study, settings(endpoint.base_url, limit=1))
        three = run(study, settings(endpoint.base_url, limit=1, replicates=3))
        assert sorted({body["seed"] for body in endpoint.requests}) == [0, 1, 2]
    assert (one.calls, three.calls) == (4, 8), "the first replicate is not asked again"
    assert one.run_id == three.run_id
    rows = tidy(study)
    by_replicate = rows.groupby("occurrence")["value"].agg(set).to_dict()
    assert by_replicate == {1: {"both_bad"}, 2: {"both_bad"}, 3: {"tie"}}


def referenced(store: Store, *turns: str) -> None:
    with store.write() as conn:
        conn.execute("UPDATE question SET category = 'math'")
        for number in (1, 2, 3):
            library.add_reference(conn, Reference(QuestionKey("bench", str(number)), turns, "me"))


def test_references_go_into_the_request_and_the_manifest(study: Store) -> None:
    """FastChat references: looked up by question, whatever the judge is called."""
    referenced(study, "solved one", "solved two")
    with FakeEndpoint(say("[[A]]")) as endpoint:
        first = run(study, settings(endpoint.base_url, limit=2))
        assert all("solved one" in text_of(body) for body in endpoint.requests)
        referenced(study, "solved one", "solved better")
        second = run(study, settings(endpoint.base_url, limit=2))
        later = [text_of(b) for b in endpoint.requests[first.calls :]]
        assert first.calls == 8
        assert second.calls == 4, "only the turn whose reference changed is asked again"
        assert all("solved better" in text for text in later)
        bare = run(study, settings(endpoint.base_url, limit=2, references="none"))
        assert bare.run_id != first.run_id, "another judge"
        assert "solved" not in text_of(endpoint.requests[-1])
    manifests = [r.manifest["references"] for r in VerdictStore(study).runs()]
    assert len(manifests[0]) == 2
    assert manifests[1] == {}


def test_a_replaced_reference_takes_the_old_verdict_away_until_it_is_asked(study: Store) -> None:
    referenced(study, "one", "two")
    with FakeEndpoint(say("[[C]]")) as endpoint:
        run(study, settings(endpoint.base_url, limit=1))
        assert tidy(study)["value"].tolist() == ["tie", "tie"]
        referenced(study, "one", "new")
        endpoint.script = say("no tag")
        run(study, settings(endpoint.base_url, limit=1))
    assert tidy(study)["value"].fillna("none").tolist() == ["tie", "none"]


@pytest.mark.parametrize(
    ("turns", "references", "found"),
    [
        ((), "required", "no reference"),
        (("only one",), "auto", "turn 2: the reference (me) has no text"),
        (("", "two"), "auto", "turn 1: the reference (me) has no text"),
    ],
)
def test_a_missing_reference_stops_the_run_before_the_first_call(
    study: Store, turns: tuple[str, ...], references: str, found: str
) -> None:
    """FastChat #2508: a crash at 88 % on a missing reference turn."""
    if turns:
        referenced(study, *turns)
    else:
        with study.write() as conn:
            conn.execute("UPDATE question SET category = 'math'")
    with FakeEndpoint(say("[[A]]")) as endpoint:
        with pytest.raises(PreflightError) as caught:
            run(study, settings(endpoint.base_url, references=references))
        assert endpoint.total == 0
    assert found in str(caught.value)
    assert len(caught.value.preflight.errors) == 9, "every pair is listed"


def test_a_registered_plan_is_not_read_again(study: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    real = VerdictStore.register

    def counted(self: VerdictStore, run_id: str, requests: list[object]) -> None:
        read.append(len(requests))
        real(self, run_id, requests)  # type: ignore[arg-type]

    monkeypatch.setattr(VerdictStore, "register", counted)
    with FakeEndpoint(say("[[A]]")) as endpoint:
        run(study, settings(endpoint.base_url, limit=2))
        before = sum(read)
        run(study, settings(endpoint.base_url, limit=2))
        assert sum(read) == before == 8
        run(study, settings(endpoint.base_url, limit=3))
        assert sum(read) == before + 12, "another plan is registered in full"
        with study.write() as conn:
            conn.execute("UPDATE question SET category = 'other'")
        run(study, settings(endpoint.base_url, limit=3))
        assert sum(read) == before + 24, "what stands behind the ids has changed"
        assert endpoint.total == 12


def test_other_words_for_another_dimension_make_no_second_judge(study: Store) -> None:
    """The same replies must not sit twice in a panel, nor outvote another judge."""
    words = shipped("helpfulness")
    first = (load("harmlessness"), prompt_for(words, Mode.PAIRWISE))
    edited = prompt_for(replace(words, question="Which one helps?"), Mode.PAIRWISE)
    with FakeEndpoint(say("[[C]]")) as endpoint:
        for asked in (first, (first[0], edited)):
            run(
                study,
                settings(
                    endpoint.base_url,
                    prompts=asked,
                    dimensions=("harmlessness", "helpfulness"),
                    limit=2,
                ),
            )
    table = tidy(study)
    by_dimension = table.groupby("dimension")["source_id"].agg(lambda names: sorted(set(names)))
    assert by_dimension["harmlessness"] == ["fake-model"]
    assert len(by_dimension["helpfulness"]) == 2
    assert (table["dimension"] == "harmlessness").sum() == 4, "no verdict twice"
