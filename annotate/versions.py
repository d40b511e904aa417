"""Reruns: several answer sets under one model's name, and what each is called.

In tables and options the first has the bare name, a rerun `NAME (version 2)`: what was planned
or calibrated before a rerun came still means the first. In files of judgments each has its version
where there are several, since a bare name from elsewhere could mean any of them.

Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_NAMED = re.compile(r"(.+) \(version ([1-9]\d{0,5})\)", re.DOTALL | re.ASCII)


def version_in(name: str) -> tuple[str, int | None]:
    """`alder (version 2)` → alder, 2; any other name as it is, with None."""
    found = _NAMED.fullmatch(name)
    return (found[1], int(found[2])) if found else (name, None)


def identity(name: str) -> str:
    """One name for one answer set: the first's is the bare one, however it is written."""
    bare, version = version_in(name)
    return bare if version == 1 else name


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


PAIR_MODELS = (
    "LEFT JOIN answer xa ON xa.id = p.answer_a LEFT JOIN model ma ON ma.id = xa.model"
    " LEFT JOIN answer xb ON xb.id = p.answer_b LEFT JOIN model mb ON mb.id = xb.model"
)
"""SQL: the models `ma` and `mb` of a pair `p`; none of a pair that only labels know."""


def pair_names(name: Callable[[str], str]) -> str:
    """SQL: both names of a pair `p`, joined with :data:`PAIR_MODELS`."""
    return f"coalesce({name('ma')}, p.model_a), coalesce({name('mb')}, p.model_b)"


def _with_version(model: str) -> str:
    return f"{model}.name || ' (version ' || {model}.version || ')'"
