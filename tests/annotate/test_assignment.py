"""Who gets which pair in which order: balance per pair and per rater, whatever the timing."""

from __future__ import annotations

import contextlib
import random
import threading
from collections import Counter, defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotate import ballots, leases
from annotate.assignment import Balance, Candidate, choose, dimension_order, slot_orders
from annotate.errors import LeaseLost, RatingError
from annotate.leases import Empty, Screen
from annotate.records import Choice, Order
from annotate.seats import Rater
from annotate.store import Store
from annotate.study import Study
from tests.annotate.support import (
    cast,
    count,
    expire_leases,
    join,
    make_study,
    next_for,
    rate_all,
    screen_for,
    votes,
)
from tests.conftest import MakeStudy

# ------------------------------------------------------------------ pure rule


@pytest.mark.parametrize(("overlap", "ab", "ba"), [(1, 1, 1), (2, 1, 1), (3, 2, 2), (4, 2, 2)])
def test_slots_hold_both_orders_equally(overlap: int, ab: int, ba: int) -> None:
    assert Counter(slot_orders(overlap)) == {Order.AB: ab, Order.BA: ba}


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz"), st.booleans())))
def test_cost_is_what_adding_changes(shown: list[tuple[str, str, bool]]) -> None:
    """A naive recount agrees: twice the canonical square plus the models' squares."""

    def naive(balance: Balance) -> int:
        return 2 * balance.canonical**2 + sum(n * n for n in balance.models.values())

    balance = Balance()
    for a, b, flipped in shown:
        order = Order.BA if flipped else Order.AB
        cost, before = balance.cost(a, b, order), naive(balance) - 2 * balance.canonical**2
        balance.add(a, b, order)
        assert cost == naive(balance) - before


def test_a_repeat_of_the_last_question_waits_for_another() -> None:
    pairs = [
        Candidate(f"p{n}", f"q{n // 2}", "alder", "birch", (Order.AB, Order.BA)) for n in range(4)
    ]
    chosen = choose(pairs, Balance(), last_question="q0", seed="s")
    assert chosen is not None
    assert chosen[0].question_id == "q1"
    assert choose([], Balance(), last_question=None, seed="s") is None


@given(st.integers(1, 6))
def test_every_dimension_stands_in_every_place_once(number: int) -> None:
    names = [f"d{n}" for n in range(number)]
    rows = [dimension_order(names, seat) for seat in range(number)]
    assert all(sorted(row) == names for row in rows)
    assert all(sorted(column) == names for column in zip(*rows, strict=True))


# ------------------------------------------------------------------ simulated raters


def interleave(study: Study, raters: list[Rater], chance: random.Random, troubles: bool) -> None:
    """Raters ask, vote, dawdle, skip and undo in any order until nobody gets anything."""
    active = list(raters)
    while active:
        rater = chance.choice(active)
        screen = next_for(study, rater)
        if isinstance(screen, Empty):
            if screen.reason != "all_leased":
                active.remove(rater)
            elif not troubles or chance.random() < 0.2:
                expire_leases(study.store)
            continue
        event = chance.random() if troubles else 1.0
        if event < 0.05:
            expire_leases(study.store)
        elif event < 0.15:
            continue  # looks, and does nothing
        elif event < 0.20 and votes(study.store, f"rater = '{rater.id}'"):
            with contextlib.suppress(RatingError):  # nothing to undo, or lost meanwhile
                ballots.undo(study.store, rater.id, study.settings.assignment)
        else:
            cast(study, rater, screen, client_key=f"key-{chance.getrandbits(64):x}")


def splits(store: Store) -> list[tuple[int, int]]:
    """Per pair, how many raters finished it in either order."""
    per_pair: dict[str, Counter[str]] = defaultdict(Counter)
    for pair, order in store.conn.execute(
        "SELECT pair, order_shown FROM assignment WHERE state = 'done'"
    ):
        per_pair[pair][order] += 1
    return [(c["ab"], c["ba"]) for c in per_pair.values()]


def lopsided(store: Store, rater: Rater) -> tuple[int, int]:
    """A rater's left–right difference on the canonical side, and the worst of any model."""
    balance = Balance.of(
        (a, b, Order(order))
        for a, b, order in store.conn.execute(
            "SELECT p.model_a, p.model_b, m.order_shown FROM assignment m"
            " JOIN pair p ON p.id = m.pair WHERE m.rater = ? AND m.state = 'done'",
            (rater.id,),
        )
    )
    return abs(balance.canonical), max((abs(n) for n in balance.models.values()), default=0)


@settings(max_examples=12)
@given(
    overlap=st.integers(1, 5),
    extra=st.integers(0, 2),
    seed=st.integers(0, 10_000),
    troubles=st.booleans(),
)
def test_pairs_and_raters_stay_balanced_under_any_interleaving(
    tmp_path_factory: pytest.TempPathFactory, overlap: int, extra: int, seed: int, troubles: bool
) -> None:
    folder = tmp_path_factory.mktemp("balance")
    study = make_study(folder / "study", 6, models=("a", "b", "c", "d"), overlap=overlap)
    study.store.conn.execute("PRAGMA synchronous = OFF")
    raters = [join(study, f"rater {n}") for n in range(overlap + extra)]
    interleave(study, raters, random.Random(seed), troubles)
    for ab, ba in splits(study.store):
        assert ab + ba <= overlap
        assert abs(ab - ba) <= overlap % 2 or ab + ba < overlap
    if not troubles and not extra:
        assert len(splits(study.store)) == 36
        assert all(ab + ba == overlap for ab, ba in splits(study.store))
    if not troubles:
        for rater in raters:
            canonical, model = lopsided(study.store, rater)
            assert canonical <= 2, (overlap, extra, seed)
            assert model <= 3, (overlap, extra, seed)
    study.close()


@pytest.mark.parametrize("overlap", [2, 3])
def test_a_whole_study_is_finished_evenly(new_study: MakeStudy, overlap: int) -> None:
    study = new_study(8, models=("a", "b", "c", "d"), overlap=overlap)
    raters = [join(study, f"rater {n}") for n in range(overlap)]
    interleave(study, raters, random.Random(7), troubles=False)
    assert {abs(ab - ba) for ab, ba in splits(study.store)} == {overlap % 2}
    assert len(splits(study.store)) == 48


# ------------------------------------------------------------------ leases


def test_twelve_at_once_get_exactly_three_leases(new_study: MakeStudy) -> None:
    study = new_study(30, overlap=3)
    raters = [join(study, f"rater {n}") for n in range(12)]
    stores = [Store.open(study.store.path) for _ in raters]
    for number in range(1, 31):
        with study.store.write() as conn:  # leave one fresh pair open
            conn.execute("UPDATE pair SET excluded = iif(rowid = ?, NULL, 'not now')", (number,))
            conn.execute("UPDATE assignment SET state = 'released' WHERE state = 'leased'")
        gate, got = threading.Barrier(12), list[Screen | Empty]()

        def ask(store: Store, rater: Rater, gate: threading.Barrier, got: list[object]) -> None:
            gate.wait()
            settings_ = study.settings
            got.append(leases.next_screen(store, rater, settings_.protocol, settings_.assignment))

        threads = [
            threading.Thread(target=ask, args=(store, rater, gate, got))
            for store, rater in zip(stores, raters, strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        screens = [screen for screen in got if isinstance(screen, Screen)]
        assert len(got) == 12
        assert len(screens) == 3
        assert abs(sum(1 if s.order is Order.AB else -1 for s in screens)) == 1
        assert {e.reason for e in got if isinstance(e, Empty)} == {"all_leased"}
    for store in stores:
        store.close()


def test_asking_again_gives_the_same_screen(new_study: MakeStudy) -> None:
    study = new_study(3)
    ada = join(study, "Ada")
    assert screen_for(study, ada) == screen_for(study, ada)
    assert count(study.store, "SELECT count(*) FROM assignment") == 1


def test_an_expired_lease_returns_and_its_holder_comes_back_to_the_same_order(
    new_study: MakeStudy,
) -> None:
    study = new_study(1, overlap=1, turns=2)
    ada, grace = join(study, "Ada"), join(study, "Grace")
    first = screen_for(study, ada)
    empty = next_for(study, grace)
    assert isinstance(empty, Empty)
    assert (empty.reason, empty.leased_by_others) == ("all_leased", 1)
    assert empty.until is not None
    expire_leases(study.store)
    taken = screen_for(study, grace)
    assert taken.pair == first.pair
    expire_leases(study.store)
    back = screen_for(study, ada)
    assert (back.id, back.order, back.assignment) == (first.id, first.order, first.assignment)


def test_votes_cast_before_a_lease_ran_out_stay_with_the_pair(new_study: MakeStudy) -> None:
    study = new_study(1, turns=2)
    ada = join(study, "Ada")
    cast(study, ada, screen_for(study, ada))
    expire_leases(study.store)
    back = screen_for(study, ada)
    assert back.turn == 2
    cast(study, ada, back)
    assert count(study.store, "SELECT count(*) FROM assignment WHERE state = 'done'") == 0
    assert isinstance(next_for(study, ada), Empty)
    assert count(study.store, "SELECT count(*) FROM assignment WHERE state = 'done'") == 1


def test_a_lost_lease_says_so_and_loses_nothing(new_study: MakeStudy) -> None:
    study = new_study(1, overlap=1, turns=2)
    ada, grace = join(study, "Ada"), join(study, "Grace")
    cast(study, ada, screen_for(study, ada))
    late = screen_for(study, ada)
    expire_leases(study.store)
    screen_for(study, grace)
    with pytest.raises(LeaseLost, match="earlier votes are kept"):
        cast(study, ada, late)
    assert votes(study.store) == 1
    rate_all(study, grace)
    assert votes(study.store) == 3


def test_a_late_vote_takes_the_pair_back_while_it_is_free(new_study: MakeStudy) -> None:
    study = new_study(1, overlap=1)
    ada, grace = join(study, "Ada"), join(study, "Grace")
    late = screen_for(study, ada)
    expire_leases(study.store)
    with study.store.write() as conn:
        assert leases.expire(conn) == 1
    cast(study, ada, late)
    assert next_for(study, grace) == Empty("all_leased", 0, 1, until(study))


def until(study: Study) -> str:
    return str(study.store.conn.execute("SELECT max(expires_at) FROM assignment").fetchone()[0])


def test_a_heartbeat_keeps_the_pair(new_study: MakeStudy) -> None:
    study = new_study(1, overlap=1)
    ada, grace = join(study, "Ada"), join(study, "Grace")
    screen_for(study, ada)
    expire_leases(study.store)
    leases.heartbeat(study.store, ada.id, study.settings.assignment)
    assert isinstance(next_for(study, grace), Empty)


def test_two_raters_are_both_served_in_opposite_orders(new_study: MakeStudy) -> None:
    study = new_study(1, overlap=2)
    ada, grace = join(study, "Ada"), join(study, "Grace")
    one = screen_for(study, ada)
    cast(study, ada, one, comment="secret thought")
    other = screen_for(study, grace)
    assert other.pair == one.pair
    assert {one.order, other.order} == {Order.AB, Order.BA}
    cast(study, grace, other, Choice.TIE)
    assert votes(study.store) == 2


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("nothing", "nothing_imported"),
        ("done", "done"),
        ("leased", "all_leased"),
        ("full", "done"),
        ("opted out", "not_eligible"),
        ("excluded", "nothing_imported"),
    ],
)
def test_an_empty_queue_says_why(new_study: MakeStudy, case: str, reason: str) -> None:
    study = new_study(0 if case == "nothing" else 2, overlap=1)
    ada, grace = join(study, "Ada"), join(study, "Grace")
    with study.store.write() as conn:
        if case == "opted out":
            conn.execute("INSERT INTO rater_optout VALUES (?, 'writing', '2026-01-01')", (ada.id,))
        if case == "excluded":
            conn.execute("UPDATE pair SET excluded = 'leaks'")
        if case == "leased":
            conn.execute("UPDATE pair SET excluded = 'leaks' WHERE rowid > 1")
    if case == "leased":
        screen_for(study, grace)
    if case == "full":
        rate_all(study, grace)
    if case == "done":
        assert len(rate_all(study, ada)) == 2
    empty = next_for(study, ada)
    assert isinstance(empty, Empty)
    assert empty.reason == reason
    assert empty.done == (2 if case == "done" else 0)
    assert (empty.until is not None) == (reason == "all_leased")


def test_a_pair_skipped_by_enough_raters_waits_for_the_owner(new_study: MakeStudy) -> None:
    from annotate import overview

    study = new_study(1, overlap=3, skips=2)
    raters = [join(study, f"rater {n}") for n in range(3)]
    for rater in raters[:2]:
        screen = screen_for(study, rater)
        leases.skip(study.store, screen, "I cannot judge this topic", "")
        leases.skip(study.store, screen, "a second click", "")
    assert count(study.store, "SELECT count(*) FROM skip") == 2
    assert isinstance(next_for(study, raters[2]), Empty)
    progress = overview.progress(study.store, study.settings.assignment)
    assert (progress.skips, progress.owner_queue) == (2, 1)


def test_a_skipped_pair_goes_to_the_next_rater_in_its_slot(new_study: MakeStudy) -> None:
    study = new_study(1, overlap=1, skips=2)
    ada, grace = join(study, "Ada"), join(study, "Grace")
    leases.skip(study.store, screen_for(study, ada), "The content is distressing", "")
    empty = next_for(study, ada)
    assert isinstance(empty, Empty)
    assert empty.reason == "done"
    cast(study, grace, screen_for(study, grace))


def test_many_pairs_seen_in_a_taken_order_do_not_hide_the_open_ones(new_study: MakeStudy) -> None:
    """The window of 64 candidates was cut before pairs without a fitting slot were dropped."""
    study = new_study(70, overlap=2)
    ada, grace = join(study, "Ada"), join(study, "Grace")
    with study.store.write() as conn:
        for number, (pair,) in enumerate(
            conn.execute("SELECT id FROM pair ORDER BY draw_order LIMIT 66").fetchall()
        ):
            slot = conn.execute(
                "SELECT id FROM slot WHERE pair = ? AND order_shown = 'ab'", (pair,)
            ).fetchone()[0]
            for rater, state in ((ada, "expired"), (grace, "done")):
                conn.execute(
                    "INSERT INTO assignment VALUES (?, ?, ?, ?, 1, 'ab', '[\"harmlessness\"]', ?,"
                    " '2026-01-01', '2026-01-01', NULL)",
                    (f"{rater.seat}-{number}", slot, rater.id, pair, state),
                )
    assert len(rate_all(study, ada)) == 4
    progress = leases.progress(study.store, ada, study.settings.assignment)
    assert (progress.done, progress.open) == (4, 0)


def test_every_screen_of_a_pair_shares_one_order_and_rotates_dimensions(
    new_study: MakeStudy,
) -> None:
    study = new_study(2, turns=2, dimensions=("harmlessness", "helpfulness", "tone"), overlap=3)
    firsts = []
    for number in range(3):
        screens = rate_all(study, join(study, f"rater {number}"))
        assert len(screens) == 2 * 2 * 3
        for pair in {s.pair for s in screens}:
            mine = [s for s in screens if s.pair == pair]
            assert len({s.order for s in mine}) == 1
            assert [s.turn for s in mine] == [1, 1, 1, 2, 2, 2]
            assert [s.position for s in mine] == list(range(6))
            assert [s.dimension for s in mine[:3]] == [s.dimension for s in mine[3:]]
        firsts.append(screens[0].dimension)
    assert sorted(firsts) == ["harmlessness", "helpfulness", "tone"]
    assert (
        count(
            study.store,
            "SELECT count(*) FROM vote v JOIN screen s ON s.id = v.screen JOIN assignment a"
            " ON a.id = s.assignment WHERE a.order_shown <> v.order_shown",
        )
        == 0
    )
