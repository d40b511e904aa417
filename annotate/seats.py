"""Raters: invitations, sessions, consent, opt-outs. A name is personal data, kept apart."""

from __future__ import annotations

import base64
import hashlib
import hmac
import sqlite3
import uuid
from collections.abc import Collection
from dataclasses import dataclass

from itsdangerous import BadSignature, URLSafeTimedSerializer

from .errors import NotInvited, UsageError
from .store import Store, now

SESSION_SECONDS = 30 * 24 * 3600
ADJUDICATOR = "adjudicator"
"""The group of raters who settle disagreements about answers, and rate nothing else."""


@dataclass(frozen=True, slots=True)
class Rater:
    """A person taking part; `seat` counts from 0 and decides counterbalancing."""

    id: str
    group: str
    seat: int
    kind: str
    status: str


def invite(store: Store, name: str, group: str | None = None, kind: str = "invited") -> Rater:
    """Add a rater, or return the one of that name (inviting twice gives the same link).

    `group` is "rater" unless said otherwise; a rater's group cannot change, since reports
    are by group and votes may have been cast.

    Raises:
        UsageError: the name is empty or too long, or belongs to a rater of another group.
    """
    name = name.strip()
    if not 1 <= len(name) <= 200:
        raise UsageError(f"rater name: found {len(name)} characters, expected 1 to 200")
    if group is not None and not 1 <= len(group.strip()) <= 40:
        raise UsageError(f"rater group: found {len(group)} characters, expected 1 to 40")
    found = store.conn.execute("SELECT rater FROM rater_person WHERE name = ?", (name,)).fetchone()
    if found:
        known = rater(store, found[0])
        if group not in (None, known.group):
            raise UsageError(
                f"{name} is in group {known.group} already, found {group}; leave --group out, or"
                " invite under another name"
            )
        return known
    with store.write() as conn:
        rater_id = add_rater(store, conn, group=group or "rater", kind=kind, label=None)
        conn.execute("INSERT INTO rater_person (rater, name) VALUES (?, ?)", (rater_id, name))
    return rater(store, rater_id)


def add_rater(
    store: Store, conn: sqlite3.Connection, *, group: str, kind: str, label: str | None
) -> str:
    """Insert a rater row inside the caller's transaction; returns its id."""
    rater_id = str(uuid.uuid4())
    # Seats are counted per kind, so that imported raters do not unbalance invited ones.
    seat = conn.execute("SELECT count(*) FROM rater WHERE kind = ?", (kind,)).fetchone()[0]
    conn.execute(
        "INSERT INTO rater (id, created_at, rater_group, kind, label, seat)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        (rater_id, now(), group, kind, label, seat),
    )
    store.log(conn, "rater", rater_id, {"group": group, "kind": kind, "label": label})
    return rater_id


def rater(store: Store, rater_id: str) -> Rater:
    """The rater with an id.

    Raises:
        NotInvited: there is none.
    """
    row = store.conn.execute(
        "SELECT id, rater_group, seat, kind, status FROM rater WHERE id = ?", (rater_id,)
    ).fetchone()
    if row is None:
        raise NotInvited("this invitation is not known here; ask for a new link")
    return Rater(*row)


def names(store: Store) -> dict[str, str]:
    """Rater id → name or pseudonym, for the owner's eyes."""
    rows = store.conn.execute(
        "SELECT r.id, coalesce(p.name, r.label, substr(r.id, 1, 8)) FROM rater r"
        " LEFT JOIN rater_person p ON p.rater = r.id"
    )
    return dict(rows.fetchall())


def invitation_token(store: Store, rater_id: str) -> str:
    """The secret part of a rater's link; the same each time, so links need not be stored."""
    mac = _mac(store, f"invite|{rater_id}")
    return _b64(uuid.UUID(rater_id).bytes + mac)


def accept_invitation(store: Store, token: str) -> Rater:
    """The rater whose link this is.

    Raises:
        NotInvited: the token is not one of this study's.
    """
    raw = _unb64(token)
    if raw is None or len(raw) != 32:
        raise NotInvited("this link is incomplete; copy the whole link from your invitation")
    rater_id = str(uuid.UUID(bytes=raw[:16]))
    if not hmac.compare_digest(raw[16:], _mac(store, f"invite|{rater_id}")):
        raise NotInvited("this link does not belong to this study; ask for a new one")
    return rater(store, rater_id)


def owner_token(store: Store) -> str:
    """The secret part of the owner's link."""
    return _b64(_mac(store, "owner"))


def is_owner(store: Store, token: str) -> bool:
    """Is this the owner's token?"""
    return hmac.compare_digest(token.encode(), owner_token(store).encode())


def session(store: Store, who: str) -> str:
    """A signed cookie value for a rater id, or for "owner"."""
    return str(_serializer(store).dumps(who))


def session_holder(store: Store, cookie: str | None) -> str | None:
    """Whose session a cookie is; None when missing, forged or older than 30 days."""
    if not cookie:
        return None
    try:
        return str(_serializer(store).loads(cookie, max_age=SESSION_SECONDS))
    except BadSignature:
        return None


def _serializer(store: Store) -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(store.secret, salt="evenhand.session")


def consented(store: Store, rater_id: str, protocol: str) -> bool:
    """Did the rater agree to the protocol's consent text, and not withdraw since?

    Consent is to the text as shown: a protocol that changes other parts only does not ask
    again, one that changes the consent or the content notice does.
    """
    row = store.conn.execute(
        "SELECT c.agreed FROM consent c JOIN protocol p ON p.id = c.protocol"
        " JOIN protocol q ON q.id = ?"
        " WHERE c.rater = ?"
        " AND json_extract(p.body, '$.consent') = json_extract(q.body, '$.consent')"
        " AND json_extract(p.body, '$.content_notice') = json_extract(q.body, '$.content_notice')"
        " ORDER BY c.rowid DESC LIMIT 1",
        (protocol, rater_id),
    ).fetchone()
    return bool(row and row[0])


def give_consent(store: Store, rater_id: str, protocol: str, agreed: bool) -> None:
    """Record that the rater agreed (or withdrew), with the version they saw."""
    with store.write() as conn:
        consent_id = str(uuid.uuid4())
        conn.execute(
            "INSERT INTO consent (id, rater, protocol, agreed, created_at) VALUES (?, ?, ?, ?, ?)",
            (consent_id, rater_id, protocol, int(agreed), now()),
        )
        body = {"rater": rater_id, "protocol": protocol, "agreed": agreed}
        store.log(conn, "consent", consent_id, body)


def declined(store: Store, rater_id: str) -> set[str]:
    """The question categories that a rater opted out of."""
    rows = store.conn.execute("SELECT category FROM rater_optout WHERE rater = ?", (rater_id,))
    return {row[0] for row in rows}


def decline(
    store: Store, conn: sqlite3.Connection, rater_id: str, categories: Collection[str]
) -> None:
    """Make these the categories that a rater opted out of, inside the caller's transaction."""
    before, after = declined(store, rater_id), set(categories)
    for category in sorted(before ^ after):
        out = category in after
        if out:
            conn.execute(
                "INSERT INTO rater_optout (rater, category, created_at) VALUES (?, ?, ?)",
                (rater_id, category, now()),
            )
        else:
            conn.execute(
                "DELETE FROM rater_optout WHERE rater = ? AND category = ?", (rater_id, category)
            )
        body = {"rater": rater_id, "category": category, "out": out}
        store.log(conn, "opt_out", f"{rater_id}|{category}", body)


def _mac(store: Store, text: str) -> bytes:
    return hmac.new(store.secret.encode(), text.encode(), hashlib.sha256).digest()[:16]


def _b64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _unb64(text: str) -> bytes | None:
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (ValueError, UnicodeEncodeError):
        return None
