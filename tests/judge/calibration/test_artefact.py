"""An artefact that anybody touched is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from annotate.errors import DataError
from judge.calibration.artefact import opened, sealed, to_text

CONTENT: dict[str, Any] = {"status": "ok", "score": {"value": 0.1, "words": "zehn %"}, "n": 3}


def test_what_was_sealed_is_read_back() -> None:
    made = sealed(CONTENT)
    assert opened(to_text(made), "a.json") == made
    assert to_text(sealed(CONTENT)) == to_text(made)


@pytest.mark.parametrize(
    "edit",
    [
        {"n": 4},
        {"status": "refused"},
        {"score": {"value": 0.05, "words": "zehn %"}},
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


@pytest.mark.parametrize("text", ["", "[]", "3", '{"schema": "other/1"}', '{"schema": NaN}'])
def test_what_is_no_artefact_is_said(text: str) -> None:
    with pytest.raises(DataError, match="a: "):
        opened(text, "a")
