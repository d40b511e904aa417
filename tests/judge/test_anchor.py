"""An endpoint that changes behind its name is noticed, and asked about what it said before."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotate.store import Store
from judge.ask.modes import Mode
from judge.database.store import VerdictStore
from judge.database.table import tidy
from judge.engine.prices import Price
from judge.engine.runner import run
from judge.stats.anchor import anchor_check, power
from judge.stats.binomial import clopper_pearson
from tests.judge.fake_endpoint import Body, FakeEndpoint, Scripted, completion
from tests.judge.study import make_study, settings


class Served:
    """An endpoint whose fingerprint and opinion can be changed."""

    def __init__(self) -> None:
        self.fingerprint = "fp_old"
        self.reply = "[[C]]"

    def __call__(self, _body: Body, _number: int) -> Scripted:
        made = completion(self.reply)
        fields = json.loads(made.body) | {"system_fingerprint": self.fingerprint}
        return Scripted(body=json.dumps(fields).encode())


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Store]:
    store = make_study(tmp_path, 40)
    yield store
    store.close()


@pytest.mark.parametrize(("reply", "flips"), [("[[C]]", 0), ("[[D]]", 50)])
def test_a_new_fingerprint_is_checked_against_stored_verdicts(
    study: Store, reply: str, flips: int
) -> None:
    served = Served()
    with FakeEndpoint(served) as endpoint:
        run(study, settings(endpoint.base_url, limit=30))
        served.fingerprint, served.reply = "fp_new", reply
        before = endpoint.total
        summary = run(study, settings(endpoint.base_url, limit=31))
        assert endpoint.total - before == 2 + 50
        again = run(study, settings(endpoint.base_url, limit=31))
        assert again.calls == 0
        assert endpoint.total - before == 2 + 50, "known by now: no second check"
    (warning,) = summary.warnings
    assert "fp_old → fp_new" in warning
    assert f"{flips} of 50 stored verdicts came out otherwise" in warning
    assert "10 % with probability 0.99" in warning
    values = tidy(study)["value"].tolist()
    assert values.count("tie") == 30 + (reply == "[[C]]"), "stored judgments stay as they are"
    (stored,) = study.conn.execute("SELECT result FROM judge_anchor").fetchall()
    assert json.loads(stored[0])["flips"] == flips


def test_no_check_without_a_change_or_with_none_wanted(study: Store) -> None:
    served = Served()
    with FakeEndpoint(served) as endpoint:
        run(study, settings(endpoint.base_url, limit=2))
        run(study, settings(endpoint.base_url, limit=3))
        assert endpoint.total == 6
        served.fingerprint = "fp_new"
        run(study, settings(endpoint.base_url, limit=4, anchors=0))
        assert endpoint.total == 8


def test_a_change_within_the_first_start_is_noticed(study: Store) -> None:
    served = Served()

    def rolling(body: Body, number: int) -> Scripted:
        served.fingerprint = "fp_old" if endpoint.total <= 6 else "fp_new"
        return served(body, number)

    with FakeEndpoint(rolling) as endpoint:
        summary = run(study, settings(endpoint.base_url, limit=6, concurrency=1))
    assert "fp_old → fp_new" in summary.warnings[0]


def test_a_change_met_by_a_start_that_was_stopped_is_checked_by_the_next(study: Store) -> None:
    served = Served()
    with FakeEndpoint(served) as endpoint:
        run(study, settings(endpoint.base_url, limit=4))
        served.fingerprint = "fp_new"
        used = sum(VerdictStore(study).used(VerdictStore(study).runs()[0].id))
        capped = settings(
            endpoint.base_url, limit=8, cap_tokens=used + 1500, price=Price(1, 1), concurrency=1
        )
        stopped = run(study, capped)
        assert stopped.state == "stopped"
        assert not study.conn.execute("SELECT 1 FROM judge_anchor").fetchone()
        summary = run(study, settings(endpoint.base_url, limit=8))
    assert any("fp_old → fp_new" in warning for warning in summary.warnings)


def test_grades_that_move_are_flips_and_failures_are_counted(study: Store) -> None:
    served = Served()
    served.reply = "[[7]]"
    with FakeEndpoint(served) as endpoint:
        chosen = {"mode": Mode.GRADE, "dimensions": ("overall",)}
        run(study, settings(endpoint.base_url, limit=3, **chosen))
        served.fingerprint, served.reply = "fp_new", "no grade"
        summary = run(study, settings(endpoint.base_url, limit=4, **chosen))
    assert "none of 3 stored verdicts could be asked for again" in summary.warnings[-1]


def test_a_cap_holds_for_the_check_as_well(study: Store) -> None:
    served = Served()
    with FakeEndpoint(served) as endpoint:
        run(study, settings(endpoint.base_url, limit=10))
        served.fingerprint = "fp_new"
        used = sum(VerdictStore(study).used(VerdictStore(study).runs()[0].id))
        capped = settings(
            endpoint.base_url, limit=11, cap_tokens=used + 2 * 900, price=Price(1, 1), concurrency=1
        )
        before = endpoint.total
        run(study, capped)
        assert 2 <= endpoint.total - before < 2 + 20


def test_power_and_interval() -> None:
    assert power(0.1, 50) == pytest.approx(1 - 0.9**50)
    # golden.json, selective_CP: 12 errors of 200, one-sided 90 % is the two-sided 80 %.
    assert clopper_pearson(12, 200, 0.8)[1] == pytest.approx(0.08761788029993338)
    assert clopper_pearson(0, 50)[0] == 0.0
    assert clopper_pearson(0, 50)[1] == pytest.approx(1 - 0.025 ** (1 / 50))
    for count, n in ((3, 2), (-1, 2), (0, 0)):
        with pytest.raises(ValueError, match="expected a count"):
            clopper_pearson(count, n)


@given(st.lists(st.tuples(st.sampled_from("AB"), st.sampled_from("AB") | st.none()), max_size=60))
def test_every_item_is_compared_or_counted_as_failed(pairs: list[tuple[str, str | None]]) -> None:
    found = anchor_check(["a"], ["b"], pairs)
    assert found.compared + found.failed == found.items == len(pairs)
    assert 0 <= found.flips <= found.compared
    if found.compared:
        assert found.low is not None
        assert found.high is not None
        assert found.low <= (found.flip_rate or 0.0) <= found.high
