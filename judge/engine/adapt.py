"""Parameters that an endpoint rejects: dropped or renamed once per run, and remembered.

Reasoning models take no temperature and another name for the token limit; local servers
know no seed. The plan and its keys keep what was asked for; what was really sent is that
minus what stands in the manifest under `rejected_parameters`.

Pure: no database, endpoint or command line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

RENAMES = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
"""The one parameter with two names; tried under the other one before it is dropped."""
BUDGETS = ("max_completion_tokens", "max_tokens")
DROPPED = "dropped"
KEPT = {"model", "messages"}
REJECTING_STATUSES = {400, 422}
LOOKED_AT = 400
"""Characters of a message in which a parameter's name counts: after them it may quote us."""
_UNSUPPORTED = re.compile(
    r"unsupported|(not|n't)[ _](be )?(support|permit|allow|accept|recogni[sz])|unrecogni[sz]ed"
    r"|unknown|unexpected|extra[ _](inputs|forbidden)",
    re.IGNORECASE,
)


class Parameters:
    """What an endpoint has rejected so far: parameter → "dropped" or "renamed …"."""

    def __init__(self, rejected: Mapping[str, str] | None = None) -> None:
        self.rejected = dict(rejected or {})

    def apply(self, body: Mapping[str, Any], *, doubled: bool = False) -> dict[str, Any]:
        """The body as this endpoint takes it; `doubled` allows twice the reply."""
        sent = dict(body)
        for name, fate in self.rejected.items():
            if name in sent:
                value = sent.pop(name)
                if fate != DROPPED:
                    sent[fate.removeprefix("renamed ")] = value
        # A name that was tried second and rejected as well: applied after the renaming.
        for name, fate in self.rejected.items():
            if fate == DROPPED:
                sent.pop(name, None)
        for name in BUDGETS:
            if doubled and name in sent:
                sent[name] = 2 * sent[name]
        return sent

    def learn(self, sent: Mapping[str, Any], status: int | None, raw: str | None) -> str | None:
        """What a refusal of `sent` says of its parameters, in words if it is news.

        None when it blames none that was sent. "" when the run knew it by now: the call
        had left before.
        """
        name = blamed(sent, status, raw)
        if name is None:
            return None
        if name in self.rejected:
            return ""
        other = RENAMES.get(name)
        renamed = other is not None and other not in self.rejected and other not in sent
        self.rejected[name] = f"renamed {other}" if renamed else DROPPED
        return f"{_fate(name, self.rejected[name])} for this run"

    def words(self) -> list[str]:
        """What is known, a line for each parameter."""
        return [_fate(name, fate) for name, fate in self.rejected.items()]


def _fate(name: str, fate: str) -> str:
    return f"the endpoint rejects parameter {name}: {fate}"


def budget(sent: Mapping[str, Any]) -> int | None:
    """The most tokens that a reply to this body may have, if it says so."""
    return next((int(sent[name]) for name in BUDGETS if name in sent), None)


def blamed(sent: Mapping[str, Any], status: int | None, raw: str | None) -> str | None:
    """The parameter of a body that a 400 or 422 says it does not take, if any."""
    if status not in REJECTING_STATUSES or raw is None:
        return None
    value = json.loads(raw)
    error = value.get("error", value) if isinstance(value, dict) else value
    fields = error if isinstance(error, dict) else {}
    text = error if isinstance(error, str) else json.dumps(fields.get("message") or error)
    text = text[:LOOKED_AT]
    if not _UNSUPPORTED.search(f"{fields.get('code')} {fields.get('type')} {text}"):
        return None
    candidates = sorted(set(sent) - KEPT)
    named = str(fields.get("param") or "").split(".")[0]
    if named:
        return named if named in candidates else None
    found = [(m.start(), n) for n in candidates if (m := re.search(rf"\b{re.escape(n)}\b", text))]
    return min(found)[1] if found else None
