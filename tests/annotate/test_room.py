"""What leaves the room: blind, in the stored order, and of the version that the vote carries."""

from __future__ import annotations

import json
import re

import pytest

from annotate import leases, library
from annotate.errors import RatingError
from annotate.live import LiveSettings
from annotate.pages import Have
from annotate.records import Choice, Order, outcome
from annotate.room import MAX_COMMENT
from annotate.study import ProtocolSection
from tests.annotate.support import count, join, marker, room_of, votes, write_settings
from tests.conftest import MakeStudy

MODELS = ("zephyr-alpha", "yonder-beta", "xenon-gamma", "walnut-delta", "violet-eps")


def test_the_stored_order_is_what_the_page_shows_for_1000_votes(new_study: MakeStudy) -> None:
    """1,000 (rater, pair, dimension): who stood left is told from the texts, not from our code."""
    study = new_study(13, models=MODELS, dimensions=("harmlessness", "helpfulness"), overlap=4)
    study.store.conn.execute("PRAGMA synchronous = OFF")
    room = room_of(study)
    said = {
        marker(model, number, 1): (model, str(number))
        for model in MODELS
        for number in range(1, 14)
    }
    seen = 0
    for seat in range(4):
        rater = join(study, f"rater {seat}")
        state = room.state(rater)
        shown: dict[str, tuple[str, str]] = {}
        while state["state"] == "rate":
            for row in state["rows"]:
                (left,) = re.findall(r"said[0-9a-f]{16}", row["left"])
                (right,) = re.findall(r"said[0-9a-f]{16}", row["right"])
                shown[state["page"]] = (left, right)
            left, right = (said[text][0] for text in shown[state["page"]])
            choice = (Choice.LEFT, Choice.RIGHT)[seen % 2]
            screen = state["screen"]
            state = room.vote(
                rater,
                screen,
                choice,
                client_key=f"key-{screen}",
                comment="",
                active_ms=None,
                have=Have(state["page"], state["visible"]),
            )
            picked, order, model_a = study.store.conn.execute(
                "SELECT v.outcome, v.order_shown, p.model_a FROM vote v JOIN pair p"
                " ON p.id = v.pair WHERE v.screen = ?",
                (screen,),
            ).fetchone()
            assert (left == model_a) == (order == "ab")
            winner = left if choice is Choice.LEFT else right
            assert (picked == "a") == (winner == model_a)
            assert picked == outcome(choice, Order(order))
            seen += 1
    assert seen == 4 * 130 * 2 >= 1_000


def test_the_marker_on_the_right_is_checked_too(new_study: MakeStudy) -> None:
    """Per-side work once looked at the left side twice elsewhere."""
    study = new_study(1)
    (row,) = room_of(study).state(join(study, "Ada"))["rows"]
    sides = {row["left"], row["right"]}
    assert len(sides) == 2
    assert {re.findall("said[0-9a-f]+", side)[0] for side in sides} == {
        marker("alder", 1, 1),
        marker("birch", 1, 1),
    }


def test_nothing_hidden_leaves_the_room(new_study: MakeStudy) -> None:
    study = new_study(3, models=MODELS[:3], turns=2, dimensions=("harmlessness", "helpfulness"))
    room, rater = room_of(study), join(study, "Ada")
    conn = study.store.conn
    hidden = {*MODELS, rater.id, "Ada"}
    for table in ("pair", "answer", "model", "question", "slot"):
        hidden |= {row[0] for row in conn.execute(f"SELECT id FROM {table}")}
    hidden |= {row[0] for row in conn.execute("SELECT hash FROM answer")}
    hidden |= {study.store.secret, study.store.study_id, study.settings.protocol.id}
    said = [room.state(rater)]
    while said[-1]["state"] == "rate":
        now_on = said[-1]["screen"]
        said += [{"raw": room.raw(rater, now_on)}]
        said += [
            room.vote(
                rater,
                now_on,
                Choice.LEFT,
                client_key=f"key-{now_on}",
                comment="",
                active_ms=5,
                have=Have(),
            )
        ]
    text = json.dumps(said)
    assert len(said) > 20
    assert [word for word in hidden if word in text] == []
    assert not re.search(r'"(ab|ba|order|order_shown|model\w*|pair|answer\w*|gold|purpose)"', text)


def test_only_what_the_page_lacks_is_sent_again(new_study: MakeStudy) -> None:
    study = new_study(1, turns=3)
    room, rater = room_of(study), join(study, "Ada")
    first = room.state(rater)
    assert (first["from"], first["visible"], len(first["rows"])) == (1, 1, 1)
    second = room.vote(
        rater,
        first["screen"],
        Choice.TIE,
        client_key="key number 1",
        comment="",
        active_ms=None,
        have=Have(first["page"], 1),
    )
    assert [row["turn"] for row in second["rows"]] == [2]
    assert [row["turn"] for row in room.state(rater)["rows"]] == [1, 2]
    assert [row["turn"] for row in room.state(rater, Have("another page", 2))["rows"]] == [1, 2]
    assert room.state(rater, Have(first["page"], 2))["rows"] == []


@pytest.mark.parametrize(("reveal", "visible"), [("after_vote", 1), ("all", 3)])
def test_later_turns_stay_hidden_until_their_time(
    new_study: MakeStudy, reveal: str, visible: int
) -> None:
    study = new_study(1, turns=3, reveal=reveal)
    room, rater = room_of(study), join(study, "Ada")
    state = room.state(rater)
    assert len(state["rows"]) == visible
    assert len(room.raw(rater, state["screen"])) == visible


def test_raw_is_the_exact_text(new_study: MakeStudy) -> None:
    study = new_study(1)
    room, rater = room_of(study), join(study, "Ada")
    (row,) = room.raw(rater, room.state(rater)["screen"])
    assert {row["left"], row["right"]} == {marker("alder", 1, 1), marker("birch", 1, 1)}


def test_a_comment_that_is_too_long_is_refused_with_both_numbers(new_study: MakeStudy) -> None:
    study = new_study(1)
    room, rater = room_of(study), join(study, "Ada")
    with pytest.raises(RatingError, match=r"5,001 characters; at most 5,000"):
        room.vote(
            rater,
            room.state(rater)["screen"],
            Choice.LEFT,
            client_key="key number 1",
            comment="x" * (MAX_COMMENT + 1),
            active_ms=None,
            have=Have(),
        )
    assert votes(study.store) == 0


# ------------------------------------------------------------------ a running study is edited


def test_an_edit_counts_from_the_next_screen_on(new_study: MakeStudy) -> None:
    study = new_study(2, turns=1)
    room, rater = room_of(study), join(study, "Ada")
    before = room.state(rater)
    old = study.settings.protocol.id
    write_settings(study.folder, instructions="Read both twice.")
    # The screen that is open was made under the old words: a reload shows them again.
    again = room.state(rater)
    assert (again["screen"], again["instructions"]) == (before["screen"], before["instructions"])
    after = room.vote(
        rater,
        again["screen"],
        Choice.LEFT,
        client_key="key number 1",
        comment="",
        active_ms=None,
        have=Have(),
    )
    assert "twice" in after["instructions"]
    room.vote(
        rater,
        after["screen"],
        Choice.LEFT,
        client_key="key number 2",
        comment="",
        active_ms=None,
        have=Have(),
    )
    carried = [r[0] for r in study.store.conn.execute("SELECT protocol FROM vote ORDER BY rowid")]
    assert carried[0] == old
    assert carried[1] != old
    bodies = [
        ProtocolSection.model_validate_json(
            study.store.conn.execute(
                "SELECT body FROM protocol WHERE id = ?", (version,)
            ).fetchone()[0]
        ).instructions
        for version in carried
    ]
    assert bodies == ["Read both.", "Read both twice."]


def test_a_broken_edit_keeps_the_old_settings_and_says_so(new_study: MakeStudy) -> None:
    study = new_study(1)
    live = LiveSettings(study)
    path = study.folder / "study.toml"
    good = path.read_text("utf-8")
    path.write_text(good.replace("overlap = 2", 'overlap = "two"'), "utf-8")
    assert live.get().assignment.overlap == 2
    assert "assignment.overlap" in live.error
    path.write_text(good.replace("overlap = 2", "overlap = 3 "), "utf-8")
    assert live.get().assignment.overlap == 3
    assert live.error == ""
    path.unlink()
    assert live.get().assignment.overlap == 3
    assert "study.toml" in live.error


def test_an_overlap_raised_while_serving_opens_finished_pairs_again(new_study: MakeStudy) -> None:
    """Slots were made at the start only, so new raters were told they were not eligible."""
    study = new_study(2, overlap=1)
    room = room_of(study)
    raters = [join(study, f"rater {n}") for n in range(4)]

    def finish(rater_number: int) -> int:
        rater, done = raters[rater_number], 0
        state = room.state(rater)
        while state["state"] == "rate":
            state = room.vote(
                rater,
                state["screen"],
                Choice.LEFT,
                client_key=f"key-{state['screen']}",
                comment="",
                active_ms=None,
                have=Have(),
            )
            done += 1
        return done

    assert finish(0) == 2
    assert room.state(raters[1])["reason"] == "done"
    write_settings(study.folder, overlap=4)
    assert [finish(n) for n in (1, 2, 3)] == [2, 2, 2]
    per_pair = study.store.conn.execute(
        "SELECT sum(order_shown = 'ab'), sum(order_shown = 'ba') FROM vote GROUP BY pair"
    ).fetchall()
    assert per_pair == [(2, 2), (2, 2)]
    settings = study.store.conn.execute("SELECT body FROM setting ORDER BY rowid").fetchall()
    assert [json.loads(body)["overlap"] for (body,) in settings[-2:]] == [1, 4]
    assert count(study.store, "SELECT count(*) FROM event WHERE kind = 'setting'") == len(settings)


def test_a_dimension_dropped_mid_pair_keeps_its_words_until_the_pair_is_done(
    new_study: MakeStudy,
) -> None:
    study = new_study(1, dimensions=("harmlessness", "helpfulness"))
    room, rater = room_of(study), join(study, "Ada")
    first = room.state(rater)
    write_settings(study.folder, dimensions=("harmlessness",))
    second = room.vote(
        rater,
        first["screen"],
        Choice.LEFT,
        client_key="key number 1",
        comment="",
        active_ms=None,
        have=Have(),
    )
    names = {first["dimension"]["name"], second["dimension"]["name"]}
    assert names == {"harmlessness", "helpfulness"}
    assert second["dimension"]["question"]


def test_a_pair_is_shown_from_its_own_texts(new_study: MakeStudy) -> None:
    study = new_study(2)
    pairs = {p.question.key.question_id: p for p in library.pairs(study.store)}
    room, rater = room_of(study), join(study, "Ada")
    (row,) = room.state(rater)["rows"]
    number = "1" if "Question 1" in row["prompt"] else "2"
    texts = {m.content for a in (pairs[number].a, pairs[number].b) for m in (a.turns or ((),))[0]}
    assert {t for t in texts if t in row["left"] + row["right"]} == texts


def test_pairs_of_an_import_in_progress_wait_for_their_slots(new_study: MakeStudy) -> None:
    """They were candidates without a slot: the vote that led to one was lost with a 500."""
    study = new_study(2)
    room, ada = room_of(study), join(study, "Ada")
    state = room.state(ada)
    study.store.conn.execute(
        "DELETE FROM slot WHERE id NOT IN (SELECT slot FROM assignment)"
        " AND pair NOT IN (SELECT pair FROM assignment)"
    )
    answer = room.vote(
        ada, state["screen"], Choice.TIE, client_key="k" * 16, comment="", active_ms=1, have=Have()
    )
    assert answer["saved"] is True
    assert answer["state"] == "empty"
    assert votes(study.store) == 1


def test_a_raised_overlap_makes_the_slots_it_needs(new_study: MakeStudy) -> None:
    study = new_study(1, overlap=2)
    higher = study.settings.assignment.model_copy(update={"overlap": 4})
    shown = [
        leases.next_screen(study.store, join(study, f"r{n}"), study.settings.protocol, higher)
        for n in range(4)
    ]
    orders = sorted(screen.order for screen in shown if isinstance(screen, leases.Screen))
    assert orders == [Order.AB, Order.AB, Order.BA, Order.BA]


def test_texts_that_name_a_model_can_be_kept_out_while_serving(new_study: MakeStudy) -> None:
    study = new_study(2, turns=1)
    name = study.store.conn.execute("SELECT name FROM model LIMIT 1").fetchone()[0]
    turns = json.dumps([[{"role": "assistant", "content": f"I am {name}"}]])
    study.store.conn.execute("UPDATE answer SET turns = ? WHERE rowid = 1", (turns,))
    room, ada = room_of(study), join(study, "Ada")
    before = room.state(ada)["progress"]["open"]
    text = (study.folder / "study.toml").read_text("utf-8")
    edited = text.replace("[assignment]", '[assignment]\nidentity_leaks = "exclude"', 1)
    (study.folder / "study.toml").write_text(edited, "utf-8")
    assert room_of(study).state(join(study, "Grace"))["progress"]["open"] == before
    live = LiveSettings(study)
    (study.folder / "study.toml").write_text(edited + "\n", "utf-8")
    live.get()
    excluded = "SELECT count(*) FROM pair WHERE excluded = 'identity'"
    assert count(study.store, excluded) == 1
