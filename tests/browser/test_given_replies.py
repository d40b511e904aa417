"""Dialogues that carry their own replies: what a rater sees of them, and where nothing is asked."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from annotate.importer import import_paths
from annotate.study import open_study
from judge.database.verdict_import import verdict_sink
from tests.annotate.support import answer_line, write_lines
from tests.browser.conftest import Join
from tests.browser.server import Server
from tests.browser.study import make_study

pytestmark = pytest.mark.browser

ROWS = """() => [...document.querySelectorAll('.eh-row')].map(row => ({
  prompt: row.querySelector('.eh-prompt').innerText.split('\\n').filter(line => line.trim()),
  frames: [...row.querySelectorAll('.eh-given')].map(frame => frame.innerText.split('\\n')[0]),
  sides: [...row.querySelectorAll('.eh-answer')].map(answer => answer.dataset.side) }))"""


@pytest.fixture(scope="module")
def dialogues(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = tmp_path_factory.mktemp("given")
    folder = make_study(home / "s", [], dimensions=("help",))
    history = [{"user": f"Ask {n}?", "bot": f"Golden {n}."} for n in (1, 2, 3)]
    write_lines(home / "b" / "d.jsonl", [{"task": "CM", "id": 1, "history": history}])
    for model in ("alder", "birch"):
        path = home / "b" / "model_answer" / f"{model}.jsonl"
        write_lines(path, [answer_line(1, [None, f"{model} on 2", f"{model} on 3"])])
    study = open_study(folder)
    assert import_paths(study.store, [home / "b"], verdict_sink(study.store)).problems == []
    study.close()
    running = Server(folder).start()
    yield running
    running.close()


def test_a_given_reply_is_named_and_is_no_answer_to_rate(dialogues: Server, join: Join) -> None:
    rater = join(on=dialogues).begin()
    given = "Given reply"
    instead = "Given reply: the conversation goes on from it, not from A or B"
    first = [
        {
            "prompt": [
                "Turn 1 of 3: for context, not rated".upper(),
                "Ask 1?",
                given.upper(),
                "Golden 1.",
            ],
            "frames": [given.upper()],
            "sides": [],
        },
        {"prompt": ["TURN 2 OF 3", "Ask 2?"], "frames": [], "sides": ["left", "right"]},
    ]
    assert rater.page.evaluate(ROWS) == first
    rater.vote("1")
    assert rater.page.evaluate(ROWS) == [
        *first,
        {
            "prompt": ["TURN 3 OF 3", instead.upper(), "Golden 2.", "Ask 3?"],
            "frames": [instead.upper()],
            "sides": ["left", "right"],
        },
    ]
    with rater.page.expect_response("**/api/raw/*"):
        rater.key("r")
    rater.page.wait_for_selector(".eh-raw:visible")
    exact = rater.page.locator(".eh-raw:visible").all_inner_texts()
    assert sorted(exact) == ["alder on 2", "alder on 3", "birch on 2", "birch on 3"]
    rater.vote("4").until_state("empty")
