"""The routes: who may do what, what refusals say, and that they say nothing else."""

from __future__ import annotations

import contextlib
import json
import socket
import sqlite3
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
import uvicorn
from fastapi.testclient import TestClient

from annotate import seats
from annotate.api import HEADERS
from annotate.verify import verify
from tests.annotate.support import Site, count, join, vote_body, votes, write_settings
from tests.conftest import MakeStudy

POSTS: dict[str, dict[str, Any]] = {
    "/api/consent": {"agreed": True},
    "/api/vote": {"screen": "x", "choice": "left", "key": "k" * 20},
    "/api/undo": {},
    "/api/skip": {"screen": "x", "reason": "I cannot judge this topic"},
    "/api/draft": {"screen": "x", "comment": "y"},
    "/api/heartbeat": {},
    "/api/label": {
        "screen": "x",
        "label": {"response_type": "full_refusal", "severity": 0},
        "key": "k" * 20,
    },
    "/api/decline": {"categories": []},
    "/api/stop": {},
}
GETS = ["/api/screen", "/api/raw/x"]


@pytest.fixture
def site(new_study: MakeStudy) -> Site:
    return Site.of(new_study(3, turns=2))


def cookie_of(browser: TestClient, site: Site) -> str:
    return str(browser.cookies[site.sessions.cookie])


@pytest.mark.parametrize("path", [*POSTS, *GETS])
@pytest.mark.parametrize(
    "cookie", ["none", "forged", "another study's", "owner's", "unknown rater"]
)
def test_without_a_session_of_ones_own_nothing_works(
    site: Site, new_study: MakeStudy, path: str, cookie: str
) -> None:
    browser = site.browser()
    rater = join(site.study, "Ada")
    good = seats.session(site.study.store, rater.id)
    if cookie != "none":
        browser.cookies[site.sessions.cookie] = {
            "forged": good[:-2] + ("AA" if not good.endswith("AA") else "BB"),
            "another study's": seats.session(new_study(1).store, rater.id),
            "owner's": seats.session(site.study.store, "owner"),
            "unknown rater": seats.session(
                site.study.store, "00000000-0000-4000-8000-000000000000"
            ),
        }[cookie]
    answer = browser.post(path, json=POSTS[path]) if path in POSTS else browser.get(path)
    assert answer.status_code == 401
    assert answer.json()["error"] == "not_invited"
    assert count(site.study.store, "SELECT count(*) FROM consent") == 1


def test_an_old_session_ends(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = site.sign_in(join(site.study, "Ada"))
    assert browser.get("/api/screen").status_code == 200
    monkeypatch.setattr(seats, "SESSION_SECONDS", -1)
    assert browser.get("/api/screen").status_code == 401


@pytest.mark.parametrize(
    "token", ["x", "A" * 43, "", "%00", "é", "A" * 5_000, "../../etc/passwd", "A" * 42 + "="]
)
def test_a_wrong_invitation_is_told_in_words(site: Site, token: str) -> None:
    answer = site.browser().get(f"/invite/{token}")
    assert answer.status_code == 404
    assert "set-cookie" not in answer.headers


def test_an_invitation_of_another_study_is_not_one_of_this(
    site: Site, new_study: MakeStudy
) -> None:
    other = new_study(1)
    token = seats.invitation_token(other.store, join(other, "Ada").id)
    answer = site.browser().get(f"/invite/{token}")
    assert answer.status_code == 404
    assert "does not belong to this study" in answer.text


def test_the_owners_link_opens_the_owners_door_only(site: Site) -> None:
    browser = site.browser()
    assert browser.get("/console/").status_code == 401
    assert browser.get("/owner/wrong").status_code == 404
    assert "set-cookie" not in browser.get("/owner/wrong").headers
    assert browser.get(f"/owner/{seats.owner_token(site.study.store)}").status_code == 303
    assert browser.get("/console/").status_code == 404  # let in; this bare app has no console
    assert browser.get("/api/screen").status_code == 401
    rater = site.sign_in(join(site.study, "Ada"))
    assert rater.get("/console/").status_code == 401
    assert browser.get("/rate/").status_code == 401


def test_one_browser_can_be_owner_and_rater(site: Site) -> None:
    browser = site.sign_in(join(site.study, "Ada"))
    browser.get(f"/owner/{seats.owner_token(site.study.store)}")
    assert browser.get("/api/screen").status_code == 200
    assert browser.get("/console/").status_code == 404


def test_a_session_cookie_is_closed_to_scripts_and_other_sites(site: Site) -> None:
    rater = join(site.study, "Ada")
    link = f"/invite/{seats.invitation_token(site.study.store, rater.id)}"
    plain = site.browser().get(link).headers["set-cookie"].lower()
    assert "httponly" in plain
    assert "samesite=lax" in plain
    secure = TestClient(site.app, base_url="https://study.example", follow_redirects=False)
    assert "secure" in secure.get(link).headers["set-cookie"].lower()
    assert rater.id not in plain


def test_two_studies_of_one_host_do_not_share_a_cookie(site: Site, new_study: MakeStudy) -> None:
    other = Site.of(new_study(1))
    assert site.sessions.cookie != other.sessions.cookie


@pytest.mark.parametrize("path", ["/api/vote", "/api/draft", "/api/skip", "/api/raw/{screen}"])
def test_another_raters_screen_is_unknown(site: Site, path: str) -> None:
    ada = site.sign_in(join(site.study, "Ada"))
    grace = site.sign_in(join(site.study, "Grace"))
    screen = ada.get("/api/screen").json()["screen"]
    body = POSTS.get(path, {}) | {"screen": screen}
    answer = grace.get(path.format(screen=screen)) if "{" in path else grace.post(path, json=body)
    assert answer.status_code == 404
    assert answer.json()["error"] == "unknown_screen"
    assert votes(site.study.store) == count(site.study.store, "SELECT count(*) FROM skip") == 0


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize(
    "how",
    [
        {"data": {"agreed": "true"}},
        {"content": "{}", "headers": {"content-type": "text/plain"}},
        {"content": "{}"},
        {"json": {}, "headers": {"sec-fetch-site": "cross-site"}},
        {"json": {}, "headers": {"sec-fetch-site": "same-site"}},
    ],
)
def test_other_sites_cannot_act_for_a_rater(site: Site, path: str, how: dict[str, Any]) -> None:
    browser = site.sign_in(join(site.study, "Ada"))
    answer = browser.post(path, **how)
    assert answer.status_code == 403
    assert answer.json()["error"] == "origin"


INVALID: list[tuple[str, str | dict[str, Any]]] = [
    ("/api/vote", "{broken"),
    ("/api/vote", "[]"),
    ("/api/vote", {}),
    ("/api/vote", {"choice": "a"}),
    ("/api/vote", {"choice": None}),
    ("/api/vote", {"key": "short"}),
    ("/api/vote", {"key": "k" * 101}),
    ("/api/vote", {"active_ms": -1}),
    ("/api/vote", {"active_ms": 2**70}),
    ("/api/vote", {"turns": -1}),
    ("/api/vote", {"order": "ab"}),
    ("/api/vote", {"screen": ["x"]}),
    ("/api/vote", {"screen": "\ud83d"}),
    ("/api/vote", {"key": "\ud83d" * 10}),
    ("/api/vote", {"\ud83d": 1}),
    ("/api/consent", {"agreed": "perhaps"}),
    ("/api/skip", {"reason": ""}),
    ("/api/skip", {"reason": "x" * 201}),
    ("/api/draft", {"comment": None}),
]


@pytest.mark.parametrize(("path", "body"), INVALID)
def test_what_is_no_request_is_named_and_echoes_nothing(
    site: Site, path: str, body: str | dict[str, Any]
) -> None:
    browser = site.sign_in(join(site.study, "Ada"))
    screen = browser.get("/api/screen").json()["screen"]
    full = POSTS[path] | ({"screen": screen} if "screen" in POSTS[path] else {})
    sent = body if isinstance(body, str) else json.dumps(full | body if body else {})
    answer = browser.post(path, content=sent, headers={"content-type": "application/json"})
    assert answer.status_code == 422, answer.text
    told = answer.json()
    assert set(told) == {"error", "message"}
    assert told["error"] == "invalid"
    assert len(told["message"]) < 300
    assert "pydantic" not in answer.text
    assert screen not in answer.text
    assert votes(site.study.store) == 0


@pytest.mark.parametrize("path", ["/api/vote", "/api/draft", "/api/skip"])
def test_half_an_emoji_in_a_comment_is_not_a_lost_vote(site: Site, path: str) -> None:
    """A text box cut at its limit leaves half a surrogate pair; the vote failed for ever."""
    browser = site.sign_in(join(site.study, "Ada"))
    screen = browser.get("/api/screen").json()["screen"]
    field = "note" if path == "/api/skip" else "comment"
    sent = json.dumps(POSTS[path] | {"screen": screen, field: "Good \ud83d"})
    answer = browser.post(path, content=sent, headers={"content-type": "application/json"})
    assert answer.status_code == 200, answer.text
    kept = {
        "/api/vote": "SELECT comment FROM vote_comment",
        "/api/draft": "SELECT comment FROM draft",
        "/api/skip": "SELECT note FROM skip",
    }[path]
    assert site.study.store.conn.execute(kept).fetchone()[0] == "Good \ufffd"


def test_a_full_or_locked_disk_says_not_saved_and_a_retry_saves_once(site: Site) -> None:
    browser = site.sign_in(join(site.study, "Ada"))
    state = browser.get("/api/screen").json()
    other = sqlite3.connect(site.study.store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with quick_to_give_up():
        refused = browser.post("/api/vote", json=vote_body(state))
    other.execute("ROLLBACK")
    other.close()
    assert refused.status_code == 503
    assert refused.json()["error"] == "not_saved"
    assert str(site.study.folder) not in refused.text
    assert "sqlite" not in refused.text
    assert votes(site.study.store) == 0
    assert browser.post("/api/vote", json=vote_body(state)).json()["saved"] is True
    assert browser.post("/api/vote", json=vote_body(state)).json()["repeated"] is True
    assert votes(site.study.store) == 1


def test_a_session_that_ends_mid_screen_loses_nothing(site: Site) -> None:
    rater = join(site.study, "Ada")
    browser = site.sign_in(rater)
    state = browser.get("/api/screen").json()
    assert browser.post("/api/draft", json={"screen": state["screen"], "comment": "so far"}).json()
    browser.cookies.clear()
    assert browser.post("/api/vote", json=vote_body(state, comment="all")).status_code == 401
    again = site.sign_in(rater)
    back = again.get("/api/screen").json()
    assert (back["screen"], back["draft"]) == (state["screen"], "so far")
    assert again.post("/api/vote", json=vote_body(state, comment="all")).status_code == 200
    assert again.post("/api/vote", json=vote_body(state, comment="all")).status_code == 200
    assert votes(site.study.store) == 1


def test_consent_is_stored_with_its_version_and_asked_again_when_its_text_changes(
    site: Site,
) -> None:
    store = site.study.store
    browser = site.sign_in(join(site.study, "Ada", agreed=False))
    asked = browser.get("/api/screen").json()
    assert (asked["state"], "stop at any time" in asked["consent"]) == ("consent", True)
    assert browser.post("/api/consent", json={"agreed": False}).json() == {"state": "declined"}
    assert browser.get("/api/screen").json()["state"] == "consent"
    assert browser.post("/api/consent", json={"agreed": True}).json()["state"] == "rate"
    rows = store.conn.execute("SELECT protocol, agreed FROM consent ORDER BY rowid").fetchall()
    assert rows == [(site.study.settings.protocol.id, 0), (site.study.settings.protocol.id, 1)]
    write_settings(site.study.folder, instructions="Other words, same consent.")
    assert browser.get("/api/screen").json()["state"] == "rate"
    write_settings(site.study.folder, consent="You may now be filmed.")
    assert browser.get("/api/screen").json()["state"] == "consent"
    assert browser.post("/api/consent", json={"agreed": True}).json()["state"] == "rate"
    assert count(store, "SELECT count(DISTINCT protocol) FROM consent") == 2
    assert count(store, "SELECT count(*) FROM event WHERE kind = 'consent'") == 3


def test_consent_withdrawn_is_asked_for_again_before_the_next_screen(site: Site) -> None:
    browser = site.sign_in(join(site.study, "Ada"))
    state = browser.get("/api/screen").json()
    browser.post("/api/consent", json={"agreed": False})
    screen = state["screen"]
    for path, body in (
        ("vote", vote_body(state)),
        ("skip", {"screen": screen, "reason": "r"}),
        ("draft", {"screen": screen, "comment": "c"}),
        ("undo", {}),
        ("heartbeat", {}),
    ):
        refused = browser.post(f"/api/{path}", json=body)
        assert (refused.status_code, refused.json()["error"]) == (403, "no_consent"), path
    assert browser.get(f"/api/raw/{screen}").status_code == 403
    assert votes(site.study.store) == 0
    assert browser.get("/api/screen").json()["state"] == "consent"


def test_undo_shows_the_screen_again(site: Site) -> None:
    browser = site.sign_in(join(site.study, "Ada"))
    first = browser.get("/api/screen").json()
    second = browser.post("/api/vote", json=vote_body(first)).json()
    assert second["saved"] is True
    assert second["turn"] == 2
    back = browser.post("/api/undo", json={}).json()
    assert back["screen"] == first["screen"]
    nothing = browser.post("/api/undo", json={})
    assert (nothing.status_code, nothing.json()["error"]) == (409, "not_accepted")


def test_a_second_tab_is_told_that_the_first_answer_stands(site: Site) -> None:
    browser = site.sign_in(join(site.study, "Ada"))
    state = browser.get("/api/screen").json()
    browser.post("/api/vote", json=vote_body(state, "left"))
    answer = browser.post("/api/vote", json=vote_body(state, "tie", key="from another tab"))
    assert (answer.status_code, answer.json()["error"]) == (409, "already_voted")
    assert votes(site.study.store) == 1


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 200),
        ("GET", "/healthz", 200),
        ("GET", "/static/rate.js", 200),
        ("GET", "/static/nothing.js", 404),
        ("GET", "/static/..%2fapi.py", 404),
        ("GET", "/rate/", 401),
        ("GET", "/rate/gradio_api/upload", 404),
        ("POST", "/rate/gradio_api/upload", 404),
        ("GET", "/rate/gradio_api/file=/etc/passwd", 404),
        ("GET", "/api/screen", 401),
        ("POST", "/api/vote", 403),
        ("DELETE", "/api/vote", 405),
        ("GET", "/nowhere", 404),
        ("GET", "/openapi.json", 404),
        ("GET", "/docs", 404),
    ],
)
def test_every_answer_carries_the_security_headers(
    site: Site, method: str, path: str, status: int
) -> None:
    answer = site.browser().request(method, path)
    assert answer.status_code == status
    assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS
    if path.startswith("/api/"):
        assert answer.headers["cache-control"] == "no-store"


def test_a_bug_answers_with_headers_and_without_its_traceback(site: Site) -> None:
    """A database edited by hand, say: the answer is one sentence, with the headers."""
    browser = site.sign_in(join(site.study, "Ada"))
    browser.get("/api/screen")
    conn = sqlite3.connect(site.study.store.path)
    conn.execute("ALTER TABLE draft RENAME TO elsewhere")
    conn.commit()
    conn.close()
    answer = browser.get("/api/screen")
    assert answer.status_code in (500, 503)
    assert "draft" not in answer.text
    assert "Traceback" not in answer.text
    assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS


def test_refusals_name_no_model_id_or_path(site: Site) -> None:
    ada, grace = site.sign_in(join(site.study, "Ada")), site.sign_in(join(site.study, "Grace"))
    state = ada.get("/api/screen").json()
    ada.post("/api/vote", json=vote_body(state))
    said = [
        ada.post("/api/vote", json=vote_body(state, "tie", key="another tab")),
        ada.post("/api/vote", json=vote_body(state) | {"comment": "x" * 5_001, "key": "k" * 9}),
        grace.post("/api/vote", json=vote_body(state)),
        grace.post("/api/undo", json={}),
        ada.get("/api/raw/nothing"),
        ada.get("/api/nothing"),
        site.browser().get("/api/screen"),
    ]
    store = site.study.store
    hidden = {
        "alder",
        "birch",
        str(site.study.folder),
        store.study_id,
        "sqlite",
        "Ada",
        "Traceback",
    }
    for table in ("pair", "answer", "rater", "assignment"):
        hidden |= {row[0] for row in store.conn.execute(f"SELECT id FROM {table}")}
    for answer in said:
        assert answer.status_code >= 400
        assert [word for word in hidden if word in answer.text] == []


# ------------------------------------------------------------------ a real server


@contextlib.contextmanager
def quick_to_give_up() -> Iterator[None]:
    """Connections opened inside (each request's thread has its own) do not wait for a lock."""
    from annotate import store

    before = store.BUSY_SECONDS
    store.BUSY_SECONDS = 0
    try:
        yield
    finally:
        store.BUSY_SECONDS = before


@contextlib.contextmanager
def served(site: Site) -> Iterator[str]:
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(site.app, log_level="error"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


def test_15_sessions_of_20_votes_are_300_rows(new_study: MakeStudy) -> None:
    """Submitting died at 15 simultaneous users elsewhere."""
    study = new_study(20, overlap=15)
    links = [
        f"/invite/{seats.invitation_token(study.store, join(study, f'rater {n}').id)}"
        for n in range(15)
    ]

    def session(url: str) -> list[int]:
        with httpx.Client(base_url=base, timeout=60, trust_env=False) as browser:
            assert browser.get(url).status_code == 303
            codes = []
            state = browser.get("/api/screen").json()
            while state["state"] == "rate":
                answer = browser.post("/api/vote", json=vote_body(state))
                codes.append(answer.status_code)
                state = answer.json()
            return codes

    with served(Site.of(study)) as base, ThreadPoolExecutor(15) as pool:
        codes = list(pool.map(session, links))
    assert codes == [[200] * 20] * 15
    assert votes(study.store) == 300
    assert verify(study.store).breaks == []
