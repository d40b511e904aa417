"""The calibration as a file that shows when somebody touched it.

One JSON object: what was scored, by which judge, from which draw, with what came of it. `hash`
is over everything else in it; `previous` is the hash of the study's artefact before it, so that
one taken out of the middle is missed; with a key, `hmac` can be made by nobody else.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Any

from annotate.errors import DataError
from annotate.records import digest

SCHEMA = "evenhand.calibration/1"
SIGNED = ("hash", "hmac")
"""What is not in the hash."""


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


def opened(text: str, where: str, key: bytes | None = None) -> dict[str, Any]:
    """An artefact from a file's text, untouched since it was sealed.

    Args:
        text: of the file.
        where: what to call it in errors.
        key: with one, an artefact without a matching HMAC is refused.

    Raises:
        DataError: no artefact of ours, of another version, edited, or not signed with this key.
    """
    try:
        found = json.loads(text, parse_constant=_no_number)
    except ValueError as error:
        raise DataError(f"{where}: no JSON ({error}); expected a calibration artefact") from error
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        schema = found.get("schema") if isinstance(found, dict) else None
        raise DataError(f"{where}: schema {schema!r}; expected {SCHEMA}; calibrate again")
    body = {name: value for name, value in found.items() if name not in SIGNED}
    if found.get("hash") != digest(body):
        raise DataError(
            f"{where}: tampered with: its content does not come to its hash; calibrate again"
        )
    if key and not hmac.compare_digest(str(found.get("hmac", "")), _mac(found["hash"], key)):
        raise DataError(
            f"{where}: not signed with this key; expected the key it was made with"
            " (EVENHAND_ARTEFACT_KEY), or calibrate again"
        )
    return found


def _mac(found: str, key: bytes) -> str:
    return hmac.new(key, found.encode(), hashlib.sha256).hexdigest()


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is no number")
