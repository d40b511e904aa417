"""Options of every command that calls an endpoint, and of every one that plans a judge's run."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from annotate.versions import identity


class Finite(click.FloatRange):
    """A number within a range; `nan` is within every range, and none."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Like the range, but nan is refused."""
        found = float(super().convert(value, param, ctx))
        if math.isnan(found):
            self.fail(f"{value} is no number.", param, ctx)
        return found


Option = Callable[[Any], Any]


def _model(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    """The name in tables, also where files name the first answer set: `NAME (version 1)`."""
    return None if value is None else identity(value)


def model_option(name: str, words: str, default: str | None = "") -> Option:
    """An option that takes a model's name."""
    return click.option(name, default=default, metavar="MODEL", callback=_model, help=words)


F = TypeVar("F", bound=Callable[..., Any])

_CALLS: Sequence[Option] = (
    click.option("--local", is_flag=True, help="Use the small offline model (llama.cpp, SmolLM2)."),
    click.option(
        "--local-model",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="Use this GGUF file offline instead.",
    ),
    click.option(
        "--base-url",
        "base_urls",
        multiple=True,
        help="OpenAI-compatible endpoint; several share the calls; default: study.toml.",
    ),
    click.option("--model", help="Model name at the endpoint; default: study.toml."),
    click.option(
        "--proxy", help="HTTP proxy for all calls; default: study.toml, then the environment."
    ),
    click.option(
        "--ca-file", help="PEM file of a certification authority to trust beside the system's."
    ),
    click.option("--concurrency", type=click.IntRange(1, 1024), help="Most calls in flight."),
    click.option("--rpm", type=click.IntRange(min=1), help="Most requests per minute."),
    click.option("--tpm", type=click.IntRange(min=1), help="Most tokens per minute."),
    click.option("--retry-failed", is_flag=True, help="Ask again where a reply was unusable."),
    click.option("--dry-run", is_flag=True, help="Say what it would ask and cost; ask nothing."),
    click.option(
        "--max-usd",
        type=Finite(min=0, min_open=True),
        help="Stop before a call with which the run could cost more dollars.",
    ),
    click.option(
        "--max-tokens",
        type=click.IntRange(min=1),
        help="Stop before a call with which the run could use more tokens.",
    ),
)

_PLAN: Sequence[Option] = (
    click.option(
        "--mode",
        type=click.Choice(["pairwise", "grade", "harm"]),
        default="pairwise",
        show_default=True,
        help="Compare pairs, grade answers from 1 to 10, or label answers for harm.",
    ),
    click.option(
        "--dimension", "dimensions", multiple=True, help="Only these; default: the study's."
    ),
    click.option(
        "--prompt",
        "prompts",
        multiple=True,
        type=click.Path(path_type=Path),
        help="Prompts of your own: our TOML, or FastChat's judge_prompts.jsonl.",
    ),
    click.option("--limit", type=click.IntRange(min=1), help="Only the first N of the plan."),
    model_option("--baseline", "Only pairs with this model."),
    click.option("--shard", metavar="K/N", help="Only the K-th of N parts of the plan."),
    click.option(
        "--turns",
        type=click.Choice(["each", "last", "dialogue"]),
        default="each",
        show_default=True,
        help="Judge each turn, only the last, or the dialogue as a whole.",
    ),
    click.option(
        "--references",
        type=click.Choice(["auto", "required", "none"]),
        default="auto",
        show_default=True,
        help="Show reference solutions (math, reasoning, coding) where there are any.",
    ),
    click.option(
        "--replicates",
        type=click.IntRange(1, 100),
        default=1,
        show_default=True,
        help="Ask everything so many times, to see how far the judge agrees with itself.",
    ),
    click.option(
        "--output",
        type=click.Choice(["tag", "json", "auto"]),
        help="Form of the verdict; auto: JSON under a schema where the endpoint can.",
    ),
    click.option("--name", default="", help="Name of the run in reports."),
)


def call_options(command: F) -> F:
    """Add the options that say which endpoint is called, and how hard."""
    return _with(command, _CALLS)


def plan_options(command: F) -> F:
    """Add the options that say what a judge is asked."""
    return _with(command, _PLAN)


def _with(command: F, options: Sequence[Option]) -> F:
    for option in reversed(options):
        command = option(command)
    return command
