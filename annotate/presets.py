"""Presets: what raters of a kind of study read, which prompts it needs, how they are marked.

A preset is a file of `data/presets`: a `[preset]` table that describes it, then `[protocol]` as it
goes into study.toml, word for word. It brings no prompts; users bring theirs.
"""

from __future__ import annotations

import re
import textwrap
import tomllib
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from .errors import DataError, UsageError
from .records import PromptSet

Labels = Literal["pairs", "harm", "grades"]
LABEL_WORDS: dict[Labels, str] = {
    "pairs": "people and judge compare pairs (evenhand judge STUDY)",
    "harm": "answers get harm labels (evenhand judge STUDY --mode harm)",
    "grades": "answers get grades from 1 to 10 (evenhand judge STUDY --mode grade)",
}


class PromptRole(BaseModel):
    """`[[preset.prompt_sets]]`: one kind of prompt and what it is for."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    name: PromptSet
    needed: bool
    what: str = Field(min_length=1)


class Facts(BaseModel):
    """`[preset]`: what the preset is for and what it needs."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    title: str = Field(min_length=1, max_length=200)
    about: str = Field(min_length=1)
    labels: tuple[Labels, ...] = Field(min_length=1)
    prompt_sets: tuple[PromptRole, ...] = Field(min_length=1)
    turns: int = Field(default=1, ge=1)
    """Turns of a question, at least."""
    matched: bool = False
    """Whether prompts belong to groups of one `matched` name."""
    overlap: int = Field(default=2, ge=1)
    """Raters per pair."""


@dataclass(frozen=True, slots=True)
class Preset:
    """A preset as it is on disk."""

    name: str
    facts: Facts
    protocol: str
    """The TOML of `[protocol]`, comments included."""


def preset_names() -> list[str]:
    """Every preset that is installed, in alphabetical order."""
    return sorted(path.stem for path in _folder().glob("*.toml"))


def preset(name: str) -> Preset:
    """One preset by its name.

    Raises:
        UsageError: there is none of this name.
        DataError: its file is damaged.
    """
    if name not in preset_names():
        raise UsageError(f"preset {name!r}: not known; expected one of {', '.join(preset_names())}")
    path = _folder() / f"{name}.toml"
    text = path.read_text("utf-8")
    try:
        facts = Facts.model_validate(tomllib.loads(text)["preset"])
    except (tomllib.TOMLDecodeError, KeyError, ValidationError) as error:
        raise DataError(f"{path.name}: damaged preset ({error}); reinstall evenhand") from error
    return Preset(name, facts, text[text.index("\n[protocol]\n") + 1 :].rstrip() + "\n")


def study_text(template: str, chosen: Preset) -> str:
    """study.toml's template with the preset's protocol in place of its own.

    Args:
        template: `study.toml.template`.
        chosen: the preset; what it needs stands in comments at the head.
    """
    start = template.index("[protocol]\n")
    rule = template.index("# ----", start)
    text = template[:start] + chosen.protocol + "\n" + template[rule:]
    text = re.sub(r"(?m)^overlap = \d+", f"overlap = {chosen.facts.overlap}", text, count=1)
    head, _, rest = text.partition("\n\n")
    return "\n".join([head, "#", *needs(chosen), "", rest])


def needs(chosen: Preset) -> list[str]:
    """What to bring and what to run, as comment lines."""
    facts = chosen.facts
    lines = [f"Preset {chosen.name}: {facts.title}."]
    lines += facts.about.strip().splitlines()
    lines += ["", "Prompts to bring, one JSON object a line (docs/formats.md):"]
    for role in facts.prompt_sets:
        mark = f'"prompt_set": "{role.name}"' if role.name else "no prompt_set"
        lines.append(f"  {mark}{'' if role.needed else ' (optional)'}: {role.what}")
    if facts.matched:
        lines.append('  "matched": one name for the prompts that belong together')
    if facts.turns > 1:
        lines.append(f"  {facts.turns} turns each, or more; all of one length where rates compare")
    lines += ["", "Then:", *(f"  {LABEL_WORDS[label]}" for label in facts.labels)]
    lines.append("  evenhand score STUDY")
    return [f"# {part}".rstrip() for line in lines for part in _wrapped(line)]


def _wrapped(line: str) -> list[str]:
    indent = len(line) - len(line.lstrip())
    return textwrap.wrap(
        line, 98, subsequent_indent=" " * (indent + 2), break_on_hyphens=False
    ) or [""]


def _folder() -> Path:
    """In the package when installed, in data/ in a checkout."""
    packaged = Path(str(resources.files("annotate").joinpath("preset_files")))
    if packaged.is_dir():
        return packaged
    checkout = Path(__file__).resolve().parents[1] / "data" / "presets"
    if checkout.is_dir():
        return checkout
    raise DataError("the presets are not installed; reinstall evenhand")
