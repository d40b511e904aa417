"""An artefact that anybody touched is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from annotate.errors import DataError
from judge.calibration.artefact import MOST_BYTES, opened, sealed, to_text
from judge.stats.estimate import Estimate

RATE = Estimate("rate", 0.1, "p", 40, 40, "", 0.05, 0.2).to_json()
CONTENT: dict[str, Any] = {
    "status": "ok",
    "created_at": "2026-01-01T00:00:00.000Z",
    "expires_at": "2026-03-01T00:00:00.000Z",
    "study": "s",
    "judge": {"name": "m", "fingerprint": "f", "requested_model": "m"},
    "score": {"name": "harm", "kind": "harm", "target": "set", "level": 0.95, "seed": 7},
    "set": {
        "name": "x",
        "verdicts": "v",
        "items": 40,
        "questions": 40,
        "models": ["v1"],
        "categories": {"": 40},
    },
    "draw": {"plan": None, "how": "zehn % aller"},
    "labels": {
        "digest": "d",
        "drawn": 40,
        "labelled": 40,
        "disputed": 0,
        "severe": 0,
        "alpha": RATE,
        "unanimous": False,
    },
    "calibration": {
        "strata": [
            {
                "model": "v1",
                "verdict": "safe",
                "prompt_set": "",
                "size": 40,
                "drawn": 40,
                "labelled": 40,
                "total": 4.0,
                "squares": 3.6,
            }
        ],
        "refusals": [],
        "scores": [{"model": "v1", "score": RATE, "raw": RATE}],
    },
    "n": 3,
}


def test_what_was_sealed_is_read_back() -> None:
    made = sealed(CONTENT)
    assert opened(to_text(made), "a.json") == made
    assert to_text(sealed(CONTENT)) == to_text(made)


@pytest.mark.parametrize(
    "edit",
    [
        {"n": 4},
        {"status": "refused"},
        {"score": {**CONTENT["score"], "level": 0.5}},
        {"added": 1},
        {"hash": "0" * 64},
    ],
)
def test_an_edit_by_hand_is_noticed(edit: dict[str, Any]) -> None:
    with pytest.raises(DataError, match=r"a\.json: tampered with"):
        opened(json.dumps(sealed(CONTENT) | edit), "a.json")


def test_a_removed_field_is_noticed() -> None:
    made = sealed(CONTENT)
    del made["n"]
    with pytest.raises(DataError, match="tampered"):
        opened(json.dumps(made), "a.json")


def test_a_key_is_asked_for_its_own_seal() -> None:
    signed = to_text(sealed(CONTENT, b"secret"))
    assert opened(signed, "a", b"secret")["n"] == 3
    for text, key in ((signed, b"other"), (to_text(sealed(CONTENT)), b"secret")):
        with pytest.raises(DataError, match="not signed with this key"):
            opened(text, "a", key)
    forged = sealed(CONTENT | {"n": 9}) | {"hmac": json.loads(signed)["hmac"]}
    with pytest.raises(DataError, match="not signed"):
        opened(to_text(forged), "a", b"secret")


def changed(path: str, value: Any) -> dict[str, Any]:
    """The content with one field changed, or taken out where the value is GONE."""
    content: dict[str, Any] = json.loads(json.dumps(CONTENT))
    *folders, last = path.split(".")
    place: Any = content
    for one in folders:
        place = place[int(one) if one.isdigit() else one]
    if value is GONE:
        del place[last]
    else:
        place[last] = value
    return content


GONE = object()
SHAPES: list[tuple[str, Any, str]] = [
    ("set", GONE, "set"),
    ("set.models", [], "set.models"),
    ("calibration.strata", GONE, "calibration.strata"),
    ("calibration.strata", [], "calibration.strata"),
    ("calibration.strata", [3], "calibration.strata.0"),
    ("calibration.scores", [], "calibration.scores"),
    ("calibration.scores.0.score.high", 0.01, "in the wrong order"),
    ("calibration.scores.0.score.value", "0.1", "score.value"),
    ("calibration.scores.0.score.value", None, "undefined value needs a reason"),
    ("calibration.scores.0.score.level", 1.0, "score.level"),
    ("expires_at", 20260301, "expires_at"),
    ("expires_at", "soon", "expires_at"),
    ("expires_at", "2099-01-01T00:00:00.000Z", "at most 90 days"),
    ("status", "refused", "status refused beside"),
    ("status", "fine", "status"),
    ("score.kind", "love", "score.kind is 'love'"),
    ("labels.severe", -1, "labels.severe"),
    ("labels.unanimous", 1, "labels.unanimous"),
    ("judge", "m", "judge"),
]


@pytest.mark.parametrize(("path", "value", "words"), SHAPES)
def test_what_anybody_sealed_is_still_checked(path: str, value: Any, words: str) -> None:
    with pytest.raises(DataError, match="calibrate again") as caught:
        opened(to_text(sealed(changed(path, value))), "a")
    assert str(caught.value).startswith("a: ")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_artefact_of_the_future_is_questioned() -> None:
    text = to_text(sealed(CONTENT))
    assert opened(text, "a", latest="2026-01-01T00:00:00.000Z")
    with pytest.raises(DataError, match="made in the future"):
        opened(text, "a", latest="2025-12-31T23:59:59.000Z")


BYTES: list[tuple[bytes, str]] = [
    (b"\x89PNG\xff\x00", "no JSON"),
    (b"[" * 100_000, "nested too deeply"),
    (b'{"a":' * 100_000, "nested too deeply"),
    (b'{"schema": 1e999}', "1e999 is no number"),
    (b'{"schema": ' + b"9" * 5000 + b"}", "no JSON"),
    (b" " * (MOST_BYTES + 1), "more than 32 MB"),
]


@pytest.mark.parametrize(("content", "words"), BYTES)
def test_bytes_that_are_no_artefact_are_said_in_a_line(content: bytes, words: str) -> None:
    with pytest.raises(DataError, match=words) as caught:
        opened(content, "a")
    assert len(str(caught.value)) < 300


def test_a_byte_order_mark_changes_nothing() -> None:
    made = sealed(CONTENT)
    assert opened(b"\xef\xbb\xbf" + to_text(made).encode(), "a") == made


@pytest.mark.parametrize("text", ["", "[]", "3", '{"schema": "other/1"}', '{"schema": NaN}'])
def test_what_is_no_artefact_is_said(text: str) -> None:
    with pytest.raises(DataError, match="a: "):
        opened(text, "a")
