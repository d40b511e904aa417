"""Reruns: several answer sets under one model's name, and what each is called.

In tables and options the first has the bare name, a rerun `NAME (version 2)`: what was planned
or calibrated before a rerun came still means the first. In files each has its version where there
are several, since a bare name from elsewhere could mean any of them.
"""

from __future__ import annotations

import re

_NAMED = re.compile(r"(.+) \(version ([1-9]\d{0,5})\)", re.DOTALL)


def version_in(name: str) -> tuple[str, int | None]:
    """`alder (version 2)` → alder, 2; any other name as it is, with None."""
    found = _NAMED.fullmatch(name)
    return (found[1], int(found[2])) if found else (name, None)


def shown_name(model: str) -> str:
    """SQL: the name in tables of the row `model` of the table of models."""
    return f"iif({model}.version > 1, {_with_version(model)}, {model}.name)"


def written_name(model: str) -> str:
    """SQL: the name in files."""
    several = (
        f"EXISTS (SELECT 1 FROM model v WHERE v.name = {model}.name"
        f" AND v.benchmark = {model}.benchmark AND v.version > 1)"
    )
    return f"iif({several}, {_with_version(model)}, {model}.name)"


def _with_version(model: str) -> str:
    return f"{model}.name || ' (version ' || {model}.version || ')'"
