"""Transcripts in the console: both orders, people's votes beside them, and nothing that acts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from annotate import ballots, binding, library
from annotate.errors import UsageError
from annotate.importer import BoundLabel
from annotate.library import Added
from annotate.readers import Where
from annotate.records import (
    Answer,
    Label,
    Layer,
    Outcome,
    QuestionKey,
    SourceKind,
    assistant_turns,
)
from annotate.store import Store
from annotate.study import Dimension, ProtocolSection
from judge.console.transcripts import PAGE_SIZE, Shown, browse
from judge.database.places import Which, judged_runs
from judge.database.verdict_import import verdict_sink
from judge.engine.runner import run
from tests.judge.fake_endpoint import (
    Body,
    FakeEndpoint,
    Script,
    Scripted,
    completion,
    error,
    per_body,
    say,
)
from tests.judge.study import make_study, settings

PROTOCOL = ProtocolSection(
    instructions="i",
    consent="c",
    dimensions=(
        Dimension(name="harmlessness", question="?", tie="Both fine", both_bad="Both harmful"),
    ),
)
ATTACK = (
    '<img src=x onerror="window.hit=1"><script>window.hit=1</script></pre></details>'
    "${window.hit=1}{{constructor}}[x](javascript:alert(1))<style>*{display:none}</style>\x00"
)
HARM = "[[type=partial severity=2 categories=privacy,hate specificity=3 convincingness=4]]"
TAGS = {
    "article", "b", "code", "details", "div", "em", "h4", "i", "li", "ol", "p", "pre", "q",
    "small", "span", "strong", "summary", "ul",
}  # fmt: skip
ATTRIBUTES = {"aria-label", "class", "dir", "open", "role", "tabindex"}


class Reader(HTMLParser):
    """The tags, attributes and text of a page, as a browser would see them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _value in attrs}
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Store]]:
    made: list[Store] = []

    def build(questions: int = 1, **more: object) -> Store:
        made.append(make_study(tmp_path, questions, **more))  # type: ignore[arg-type]
        return made[-1]

    yield build
    for store in made:
        store.close()


def judged(store: Store, script: Script, **changes: object) -> None:
    with FakeEndpoint(script) as endpoint:
        run(store, settings(endpoint.base_url, **changes))


def shown(
    store: Store, which: Which = Which.ALL, number: int = 1, question: str = ""
) -> tuple[Shown, Reader]:
    """A page of the newest run."""
    newest = judged_runs(store)[-1][0].id
    found = browse(store, PROTOCOL, newest, which, number, question)
    return found, Reader(found.html)


def prefers_alder(body: Body, _number: int) -> Scripted:
    words = json.dumps(body["messages"])
    first = words.index("alder on") < words.index("birch on")
    return completion("Well. [[A]]" if first else "Well. [[B]]")


def vote(
    store: Store,
    question: int,
    outcome: Outcome,
    rater: str = "r1",
    *,
    turn: int = 1,
    comment: str = "",
    layer: Layer = Layer.VOTE,
) -> None:
    key = QuestionKey("bench", str(question))
    label = Label(
        key, "alder", "birch", turn, "harmlessness", SourceKind.RATER, rater, outcome,
        rater_group="expert", layer=layer, comment=comment,
    )  # fmt: skip
    with store.write() as conn:
        pair = binding.bind(conn, "fixed", key, "alder", "birch")
        added = ballots.import_vote(store, conn, label, pair, Where("votes", 1))
    assert added is Added.NEW


def test_both_orders_stand_beside_the_votes(make: Callable[..., Store]) -> None:
    store = make(1)
    judged(store, prefers_alder)
    vote(store, 1, Outcome.B, "r1", comment="too long")
    vote(store, 1, Outcome.TIE, "r2")
    vote(store, 1, Outcome.B, "r3")
    found, page = shown(store)
    assert found.position == "1–1 of 1 judgment"
    order = [
        "Question 1, turn 1?", "alder on 1.1", "birch on 1.1",
        "Judge: alder better , in both orders.",
        "alder first A is alder, B is birch A alder better Well. [[A]]",
        "fake-served-1", "100 tokens in, 5 out", "Prompt as sent", "Whole reply as received",
        "birch first A is birch, B is alder B alder better Well. [[B]]",
        "People birch better r1 · expert too long Both fine r2 · expert birch better r3 · expert",
    ]  # fmt: skip
    places = [page.text.rindex(part) for part in order if part not in order[:3]]
    assert places[0] == page.text.index(order[3])
    assert all(part in page.text for part in order)
    assert page.text.index(order[4]) < page.text.index(order[9]) < page.text.index(order[10])
    assert "judge alder better people 2 of 3: birch better" in page.text
    assert '"content": "Well. [[A]]"' in page.text
    assert "<<<answer A, turn 1>>> alder on 1.1" in page.text


@pytest.mark.parametrize(
    ("outcome", "said"),
    [(Outcome.A, "alder better"), (Outcome.BOTH_BAD, "Both harmful"), (Outcome.TIE, "Both fine")],
)
def test_outcomes_are_in_words(make: Callable[..., Store], outcome: Outcome, said: str) -> None:
    store = make(1)
    judged(store, prefers_alder)
    vote(store, 1, outcome)
    assert f"1 of 1: {said}" in shown(store)[1].text


@pytest.mark.parametrize("position", ["question", "answer", "reply", "comment", "rater", "error"])
def test_no_text_can_act(make: Callable[..., Store], position: str) -> None:
    store = make(1, replies={"alder": [f"alder on {ATTACK}"]} if position == "answer" else None)
    if position == "question":
        asked = json.dumps([[{"role": "user", "content": ATTACK}]])
        with store.write() as conn:
            conn.execute("UPDATE question SET turns = ?", (asked,))
    script = {
        "reply": say(f"{ATTACK} [[A]]"),
        "error": lambda _body, _number: error(400, message=ATTACK),
    }.get(position, say("[[A]]"))
    if position == "error":
        script = per_body(completion("[[A]]"))
        judged(store, script, limit=1)
        with store.write() as conn:
            conn.execute("DROP TRIGGER judge_attempt_never_updated")
            conn.execute(
                "UPDATE judge_attempt SET status = 'api_error', error_class = ?, error_text = ?,"
                " served_model = ?, raw = ?",
                (ATTACK, ATTACK, ATTACK, json.dumps(ATTACK)),
            )
    else:
        judged(store, script)
    vote(
        store,
        1,
        Outcome.A,
        ATTACK if position == "rater" else "r1",
        comment=ATTACK if position == "comment" else "",
    )
    _found, page = shown(store)
    assert page.tags <= TAGS
    assert page.attributes <= ATTRIBUTES
    assert page.open == []
    assert '<img src=x onerror="window.hit=1"><script>window.hit=1</script>' in page.text
    assert "\0" not in page.text


def test_half_of_an_emoji_can_be_sent(make: Callable[..., Store]) -> None:
    store = make(1)
    judged(store, say("half \ud83d [[A]]"))
    html = shown(store)[0].html
    assert "half \ufffd [[A]]" in html
    html.encode()


@pytest.fixture
def mixed(make: Callable[..., Store]) -> Store:
    """Questions 1–4 judged consistently, 5 inconsistent, 6 without a verdict, 7 not asked."""

    def script(body: Body, number: int) -> Scripted:
        words = json.dumps(body["messages"])
        if "Question 5" in words:
            return completion("[[A]]")
        if "Question 6" in words:
            return completion("hm")
        return prefers_alder(body, number)

    store = make(6)
    judged(store, script)
    for number, outcomes in {
        1: (Outcome.A, Outcome.A, Outcome.B),
        2: (Outcome.B, Outcome.B, Outcome.A),
        3: (Outcome.A, Outcome.B),
        4: (Outcome.TIE, Outcome.BOTH_BAD, Outcome.A),
        5: (Outcome.A,),
        6: (Outcome.A,),
    }.items():
        for index, outcome in enumerate(outcomes):
            vote(store, number, outcome, f"r{index}")
    return store


@pytest.mark.parametrize(
    ("which", "questions"),
    [
        (Which.ALL, {"1", "2", "3", "4", "5", "6"}),
        (Which.AGAINST, {"2", "4"}),
        (Which.INCONSISTENT, {"5"}),
        (Which.FAILED, {"6"}),
    ],
)
def test_filters(mixed: Store, which: Which, questions: set[str]) -> None:
    found, page = shown(mixed, which)
    shown_questions = {n for n in "1234567" if f"Question {n}, turn 1? {n} · alder" in page.text}
    assert shown_questions == questions
    assert found.position.startswith(f"1–{len(questions)} of {len(questions)} judgment")


def test_even_votes_are_called_divided(mixed: Store) -> None:
    assert "people 2 votes, divided" in shown(mixed, question="3")[1].text


def test_a_person_outweighs_simulated_votes(mixed: Store) -> None:
    for rater in ("s1", "s2"):
        vote(mixed, 1, Outcome.B, rater, layer=Layer.SIMULATED)
    assert "Question 1," not in shown(mixed, Which.AGAINST)[1].text
    text = shown(mixed, question="1")[1].text
    assert "people 2 of 3: alder better" in text
    assert "simulated, no person" in text


def test_simulated_votes_alone_are_held_against_and_named(make: Callable[..., Store]) -> None:
    store = make(1)
    judged(store, prefers_alder)
    vote(store, 1, Outcome.B, "s1", layer=Layer.SIMULATED)
    _found, page = shown(store, Which.AGAINST)
    assert "simulated votes 1 of 1: birch better" in page.text
    assert "Simulated votes birch better" in page.text
    assert "People" not in page.text


def test_pages_follow_each_other_and_none_is_missing(make: Callable[..., Store]) -> None:
    questions = 2 * PAGE_SIZE + 3
    store = make(questions)
    judged(store, say("[[C]]"))
    seen = []
    for number in (1, 2, 3):
        found, page = shown(store, number=number)
        assert (found.number, found.pages) == (number, 3)
        seen.append([n for n in range(1, questions + 1) if f"? {n} · alder" in page.text])
    assert [len(numbers) for numbers in seen] == [10, 10, 3]
    assert sorted(n for numbers in seen for n in numbers) == list(range(1, questions + 1))
    assert shown(store, number=99)[0] == shown(store, number=3)[0]
    assert shown(store, number=-1)[0] == shown(store, number=1)[0]
    assert found.position == "21–23 of 23 judgments, page 3 of 3"


def test_a_page_costs_what_a_page_costs(make: Callable[..., Store]) -> None:
    """A study of 10,000 units must not be read to show ten of them."""
    store = make(4 * PAGE_SIZE)
    judged(store, say("[[C]]"))
    asked: list[str] = []
    store.conn.set_trace_callback(asked.append)
    shown(store, number=2)
    store.conn.set_trace_callback(None)
    assert len(asked) < 10 * PAGE_SIZE


def test_every_attempt_is_there(make: Callable[..., Store]) -> None:
    store = make(1)
    judged(store, per_body(error(500, message="try again"), completion("[[A]]")))
    page = shown(store)[1]
    assert page.text.count("1 other attempt api error") == 2
    assert page.text.count("HTTP 500") == 2
    assert "try again" in page.text


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (say("hm"), "unparseable (no verdict tag)"),
        (say("cut", finish="length"), "truncated (finish_reason length)"),
        (say(None, refusal="I would rather not."), "refusal I would rather not."),
        (say("[[A]] [[B]]"), "ambiguous (tags on one line: A, B)"),
    ],
)
def test_what_brought_no_verdict_says_why(
    make: Callable[..., Store], script: Script, said: str
) -> None:
    store = make(1)
    judged(store, script)
    page = shown(store)[1]
    assert "judge no verdict: " in page.text
    assert page.text.count(said) == 2


@pytest.mark.parametrize(
    ("mode", "dimension", "reply", "said"),
    [
        ("grade", "harmlessness", "[[7]]", "grade 7"),
        ("harm", "harm", HARM, "partial, severity 2, hate, privacy, specificity 3, conv"),
    ],
)
def test_answers_have_one_call(
    make: Callable[..., Store], mode: str, dimension: str, reply: str, said: str
) -> None:
    from judge.ask.modes import Mode

    store = make(1)
    judged(store, say(reply), mode=Mode(mode), dimensions=(dimension,))
    found, page = shown(store)
    assert found.position == "1–2 of 2 judgments"
    assert page.text.count("The judge") == 2
    assert page.text.count(f"Judge: {said}") == 2
    assert page.text.count("birch on 1.1") > page.text.count("<<<answer, turn 1>>> birch on 1.1")
    assert "Only pairs can be held" in shown(store, Which.AGAINST)[0].html


def test_imported_verdicts_have_no_transcript_but_texts_and_votes(
    make: Callable[..., Store],
) -> None:
    store = make(1)
    with store.write() as conn:
        key = QuestionKey("bench", "1")
        pair = binding.bind(conn, "fixed", key, "alder", "birch")
        unknown = binding.bind(conn, "fixed", QuestionKey("bench", "9"), "alder", "birch")
    label = Label(
        key, "birch", "alder", 1, "harmlessness", SourceKind.JUDGE, "gpt-4", Outcome.A
    )  # fmt: skip
    other = replace(label, key=QuestionKey("bench", "9"))
    imported(store, (label, pair), (other, unknown))
    vote(store, 1, Outcome.A)
    page = shown(store)[1]
    assert page.text.count("birch better Imported from a file: no transcript") == 2
    assert "alder on 1.1" in page.text
    assert "The texts of this pair were never imported" in page.text
    assert "Question 1, turn 1? 1 · alder" in shown(store, Which.AGAINST)[1].text


def imported(store: Store, *labels: tuple[Label, str]) -> None:
    bound = [BoundLabel(Where("f.jsonl", 1), one.canonical(), pair) for one, pair in labels]
    assert verdict_sink(store)(bound) == [Added.NEW] * len(bound)


def test_a_verdict_on_labels_finds_the_texts_and_votes_that_came_later(
    make: Callable[..., Store],
) -> None:
    store = make(0)
    key = QuestionKey("bench", "1")
    with store.write() as conn:
        old = binding.bind(conn, "fixed", key, "alder", "birch")
    label = Label(key, "alder", "birch", 1, "harmlessness", SourceKind.JUDGE, "gpt-4", Outcome.A)
    imported(store, (label, old))
    vote(store, 1, Outcome.A, "early")
    from annotate.records import Question, user_turns

    with store.write() as conn:
        library.add_question(conn, Question(key, "writing", user_turns(["Late?"])))
        for name in ("alder", "birch"):
            library.add_answers(conn, "bench", name, [Answer(key, name, assistant_turns([name]))])
        library.build_pairs(conn, "fixed")
    vote(store, 1, Outcome.B, "late")
    vote(store, 1, Outcome.B, "latest")
    page = shown(store, Which.AGAINST)[1]
    assert "Late?" in page.text
    assert "people 2 of 3: birch better" in page.text
    assert "early · expert" in page.text
    assert "late · expert" in page.text


def test_turns_before_the_judged_one_are_folded(make: Callable[..., Store]) -> None:
    store = make(1, turns=2)
    judged(store, say("[[C]]"))
    html = shown(store)[0].html
    first, second = html.split('<details class="t-item">')[1:]
    assert "t-turn" not in first
    assert '<details class="t-turn"><summary>Turn 1' in second
    assert '<details class="t-turn" open><summary>Turn 2' in second


def test_two_versions_of_a_model_are_told_apart(make: Callable[..., Store]) -> None:
    store = make(1)
    with store.write() as conn:
        answer = Answer(QuestionKey("bench", "1"), "alder", assistant_turns(["another alder on"]))
        library.add_answers(conn, "bench", "alder", [answer])
        library.build_pairs(conn, "fixed")
    judged(store, say("[[A]]"))
    said = shown(store)[0].html
    assert "alder and alder (version 2)" in said or "alder (version 2) and alder" in said
    assert "alder and birch" in said


def test_what_cannot_be_shown_is_said(make: Callable[..., Store]) -> None:
    store = make(1)
    assert "not run yet" in browse(store, PROTOCOL, None, Which.ALL, 1).html
    judged(store, say("[[A]]"))
    assert "No question “8” among these" in shown(store, question="8")[0].html
    assert "Every call brought a verdict" in shown(store, Which.FAILED)[0].html
    for unknown in (None, 5, "no-such-run"):
        with pytest.raises(UsageError, match="not one of this study's"):
            browse(store, PROTOCOL, unknown, Which.ALL, 1)


def test_what_is_planned_and_not_asked_yet_says_so(make: Callable[..., Store]) -> None:
    store = make(2)
    judged(store, say("[[A]]"), limit=1)
    with store.write() as conn:
        conn.execute("DELETE FROM pair_verdict")
        conn.execute("DELETE FROM verdict")
    page = shown(store)[1]
    assert "judge not asked yet" in page.text
    assert shown(store, Which.FAILED)[0].position == ""
