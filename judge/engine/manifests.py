"""Run manifests for people: one in full, and what two of them do not share.

Pure: no database, endpoint or command line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

ABSENT = "(absent)"


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where two manifests say different things, in JSON."""

    path: str
    left: str
    right: str


def flat(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    """Every leaf of a manifest as (dotted path, JSON), in order; empty ones are leaves."""
    if isinstance(value, Mapping) and value:
        for name in sorted(value):
            yield from flat(value[name], f"{path}.{name}" if path else str(name))
    elif isinstance(value, list) and value:
        for number, item in enumerate(value):
            yield from flat(item, f"{path}[{number}]")
    else:
        yield path, json.dumps(value, ensure_ascii=False)


def differences(left: Mapping[str, object], right: Mapping[str, object]) -> list[Difference]:
    """What differs, by path."""
    a, b = dict(flat(left)), dict(flat(right))
    return [
        Difference(path, a.get(path, ABSENT), b.get(path, ABSENT))
        for path in sorted({*a, *b})
        if a.get(path) != b.get(path)
    ]
