"""The calibration as a file that shows when somebody touched it.

One JSON object: what was scored, by which judge, from which draw, with what came of it. `hash`
is over everything else in it; `previous` is the hash of the study's artefact before it, so that
one taken out of the middle is missed; with a key, `hmac` can be made by nobody else.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import math
from collections.abc import Mapping
from typing import Any

from annotate.errors import DataError
from annotate.records import digest
from judge.calibration.artefact_shape import check_shape

SCHEMA = "evenhand.calibration/2"
SIGNED = ("hash", "hmac")
"""What is not in the hash."""
MOST_BYTES = 32 * 2**20
"""An artefact holds strata and scores, no items: it never comes near this."""


def sealed(content: Mapping[str, Any], key: bytes | None = None) -> dict[str, Any]:
    """The content with its schema and hash, and with an HMAC if there is a key."""
    body = {"schema": SCHEMA, **content}
    found = digest(body)
    result = {**body, "hash": found}
    if key:
        result["hmac"] = _mac(found, key)
    return result


def to_text(artefact: Mapping[str, Any]) -> str:
    """As it is written: sorted keys, one field a line."""
    return (
        json.dumps(artefact, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"
    )


def opened(
    content: bytes | str, where: str, key: bytes | None = None, *, latest: str = ""
) -> dict[str, Any]:
    """An artefact from a file's bytes or a database's text, untouched since it was sealed.

    Args:
        content: all of it.
        where: what to call it in errors.
        key: with one, an artefact without a matching HMAC is refused.
        latest: a moment as UTC text; what says it was made after it is refused. "" asks nothing.

    Raises:
        DataError: too large, no text, no artefact of ours, of another version, edited, not
            signed with this key, made in the future, or without a field that is needed.
    """
    found = parsed(content, where)
    if found.get("schema") != SCHEMA:
        schema = found.get("schema")
        raise DataError(f"{where}: schema {schema!r:.60}; expected {SCHEMA}; calibrate again")
    if not is_whole(found):
        raise DataError(
            f"{where}: tampered with: its content does not come to its hash; calibrate again"
        )
    if key and not is_signed(found, key):
        raise DataError(
            f"{where}: not signed with this key; expected the key it was made with"
            " (EVENHAND_ARTEFACT_KEY), or calibrate again"
        )
    check_shape(found, where)
    if latest and found["created_at"] > latest:
        raise DataError(
            f"{where}: made in the future ({found['created_at']}); expected a moment that has"
            " been; set the clock right, or calibrate again"
        )
    return found


def parsed(content: bytes | str, where: str) -> dict[str, Any]:
    """One JSON object.

    Raises:
        DataError: too large, no UTF-8, no JSON, or no object.
    """
    expected = "expected a calibration artefact, as evenhand calibrate writes it"
    if len(content) > MOST_BYTES:
        raise DataError(f"{where}: more than {MOST_BYTES // 2**20} MB; {expected}")
    try:
        text = content.decode("utf-8-sig") if isinstance(content, bytes) else content
        found = json.loads(text, parse_constant=_no_number, parse_float=_finite)
    except RecursionError as error:
        raise DataError(f"{where}: no JSON (nested too deeply); {expected}") from error
    except ValueError as error:
        raise DataError(f"{where}: no JSON ({error}); {expected}") from error
    if not isinstance(found, dict):
        raise DataError(f"{where}: JSON, but no object; {expected}")
    return found


def is_whole(artefact: Mapping[str, Any]) -> bool:
    """Whether the content comes to the hash in it."""
    body = {name: value for name, value in artefact.items() if name not in SIGNED}
    return bool(artefact.get("hash") == digest(body))


def is_signed(artefact: Mapping[str, Any], key: bytes) -> bool:
    """Whether its HMAC was made with this key."""
    said = str(artefact.get("hmac", "")).encode("utf-8", "replace")
    return hmac.compare_digest(said, _mac(str(artefact["hash"]), key).encode())


def _mac(found: str, key: bytes) -> str:
    return hmac.new(key, found.encode("utf-8", "replace"), hashlib.sha256).hexdigest()


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is no number")


def _finite(word: str) -> float:
    if not math.isfinite(found := float(word)):
        raise ValueError(f"{word} is no number")
    return found
