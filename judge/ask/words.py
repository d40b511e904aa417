"""The words in which a dimension is asked about: the raters' own, for the judge as well.

Pure: no database, endpoint or command line.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from annotate.errors import UsageError
from annotate.records import OVERALL


@dataclass(frozen=True, slots=True)
class Words:
    """One dimension as the protocol puts it: question, rubric, and the four choices."""

    dimension: str
    question: str
    rubric: str
    a: str
    b: str
    tie: str
    both_bad: str

    @property
    def labels(self) -> tuple[tuple[str, str], ...]:
        """Verdict tag → what it means."""
        return (("A", self.a), ("B", self.b), ("C", self.tie), ("D", self.both_bad))


def words_of(dimension: Any) -> Words:
    """The words of one of `study.toml`'s dimensions (or of its fields in a mapping)."""
    fields = dimension if isinstance(dimension, Mapping) else vars(dimension)
    return Words(
        dimension=fields["name"],
        question=fields["question"].strip(),
        rubric=fields.get("rubric", "").strip(),
        **{name: fields[name] for name in ("a", "b", "tie", "both_bad")},
    )


def shipped(dimension: str) -> Words:
    """The words that a new study begins with; of `overall`, those for MT-Bench's votes.

    Raises:
        UsageError: no dimension of this name has words that ship with the program.
    """
    known = _shipped()
    if dimension not in known:
        raise UsageError(
            f"dimension {dimension!r}: neither the study nor the program has words for it;"
            f" expected one of {', '.join(sorted(known))}, or add it to study.toml"
            " [[protocol.dimensions]]"
        )
    return known[dimension]


def shipped_names() -> list[str]:
    """The dimensions that have words with the program, sorted."""
    return sorted(_shipped())


def _shipped() -> dict[str, Words]:
    template = resources.files("annotate") / "study.toml.template"
    study = tomllib.loads(template.read_text("utf-8"))
    found = {d["name"]: words_of(d) for d in study["protocol"]["dimensions"]}
    overall = resources.files("judge.ask") / "prompts" / "overall.toml"
    return {**found, OVERALL: words_of(tomllib.loads(overall.read_text("utf-8")))}
