"""The plan is complete, in order, and the same for the same inputs."""

from __future__ import annotations

import json
from pathlib import Path

from annotate.records import (
    Answer,
    Question,
    QuestionKey,
    Subject,
    assistant_turns,
    user_turns,
)
from annotate.store import Store
from judge.ask.modes import Mode
from judge.ask.prompt import load, prompt_from_toml
from judge.engine import plan
from judge.engine.plan import PlanSpec, request_key
from judge.engine.preflight import preflight
from judge.engine.units import Unit, chunks, unit_ids
from tests.judge.study import make_study

KEY = QuestionKey("bench", "q1")
GOLDEN_PROMPT = prompt_from_toml(
    'id="golden"\nversion=1\ndimension="harmlessness"\nsystem="Judge."\n'
    'user="{conversation}\\nTurn {turn}. {closing}"\nclosing="Tag:"\nclosing_explain="Why?"\n'
    '[labels]\nA="a"\nB="b"\n',
    "golden",
)


def pair(turns: int = 2, *, a: list[str | None] | None = None) -> Unit:
    asked = [f"Ask {n}" for n in range(1, turns + 1)]
    return Unit(
        id="00000000-0000-8000-8000-000000000001",
        question=Question(KEY, "", user_turns(asked)),
        first=Answer(KEY, "alder", assistant_turns(a or [f"α{n}" for n in range(1, turns + 1)])),
        second=Answer(KEY, "birch", assistant_turns([f"b{n}" for n in range(1, turns + 1)])),
    )


def spec(**changes: object) -> PlanSpec:
    values: dict[str, object] = {
        "endpoint": "http://127.0.0.1:8080/v1",
        "model": "m",
        "prompts": (GOLDEN_PROMPT,),
        "sampling": {"temperature": 0.0, "max_tokens": 8},
        **changes,
    }
    return PlanSpec(**values)  # type: ignore[arg-type]


def planned(store: Store, ids: list[str]) -> list[plan.Request]:
    pieces = chunks(store, Subject.PAIR, ids)
    return [request for piece in plan.plan(pieces, spec()) for request in piece]


def test_golden_request() -> None:
    """inspect_ai #1478: a cache that silently stopped hitting; one request's key is pinned."""
    """A changed key means that every stored reply is asked, and paid, again."""
    request = next(plan.requests(pair(1), spec()))
    assert request.body == (
        '{"max_tokens":8,"messages":[{"content":"Judge.","role":"system"},{"content":'
        '"<<<user, turn 1>>>\\nAsk 1\\n<<<answer A, turn 1>>>\\nα1\\n<<<answer B, turn 1>>>\\nb1'
        '\\n<<<end>>>\\nTurn 1. Tag:","role":"user"}],"model":"m","temperature":0.0}'
    )
    assert request.key == "b716f46d3d5c6303f0244db8171ee57ea579f22dacf8847e8d611d18c969951c"


def test_shipped_prompts_have_not_changed_under_their_version() -> None:
    """Another wording needs another version; the hash is in every fingerprint."""
    asked = [
        ("overall", Mode.PAIRWISE),
        ("overall", Mode.GRADE),
        ("mtbench101", Mode.GRADE),
        ("harm", Mode.HARM),
    ]
    assert {d + "/" + mode: load(d, mode).hash[:16] for d, mode in asked} == {
        "overall/pairwise": "c5b09a1fd64d43be",
        "overall/grade": "3d1796063ba00808",
        "mtbench101/grade": "544fcfe60f7a9aaa",
        "harm/harm": "daf097debc2edec6",
    }


def test_key_depends_on_body_endpoint_and_replicate() -> None:
    keys = {request_key("{}", "e", 1), request_key("{}", "e", 2), request_key("{}", "f", 1)}
    assert len(keys | {request_key("{} ", "e", 1)}) == 4


def test_the_two_orders_differ_only_in_who_is_first() -> None:
    ab, ba = list(plan.requests(pair(1), spec()))
    assert (ab.order, ba.order) == ("ab", "ba")
    first, second = (json.loads(r.body)["messages"][1]["content"] for r in (ab, ba))
    assert first.index("α1") < first.index("b1")
    assert second.index("b1") < second.index("α1")
    assert sorted(first) == sorted(second)


def test_same_inputs_give_the_same_bytes(tmp_path: Path) -> None:
    """RewardBench #272: random placement that nobody can repeat."""
    bodies = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        store = make_study(tmp_path / name, 60, models=("alder", "birch", "cedar"))
        ids = unit_ids(store, Subject.PAIR)
        # The draw order is the study's own; the bytes of each pair's requests are not.
        bodies.append(sorted(r.body for r in planned(store, ids)))
        again = planned(store, ids)
        assert again == planned(store, ids)
        assert len(again) == 60 * 3 * 2
        assert list(dict.fromkeys(r.unit for r in again)) == ids
        store.close()
    assert bodies[0] == bodies[1]


def test_limit_is_the_beginning_of_the_plan(tmp_path: Path) -> None:
    store = make_study(tmp_path, 20)
    assert unit_ids(store, Subject.PAIR, 7) == unit_ids(store, Subject.PAIR)[:7]
    store.close()


def test_preflight_lists_everything_at_once() -> None:
    gone = Unit("id", Question(KEY), pair().first, pair().second)
    found = preflight([pair(a=["x", None]), pair(a=["", "  "]), gone, pair()], spec())
    assert found.units == 4
    assert found.errors == (
        "bench question q1 (alder / birch), turn 2: alder has no answer; import the complete"
        " answer file or exclude the pair",
        "bench question q1 (alder / birch): the question has no text; import its question file",
    )
    assert found.warnings[:2] == (
        "bench question q1 (alder / birch), turn 1: alder answered with nothing",
        "bench question q1 (alder / birch), turn 2: alder answered with nothing",
    )


def test_surplus_turns_are_warned_of() -> None:
    found = preflight([pair(1, a=["x", "y"])], spec())
    assert found.errors == ()
    assert "has 2 turns, the question 1" in found.warnings[0]
