"""Options of every command that calls an endpoint."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

_ENDPOINT = (
    click.option("--local", is_flag=True, help="Use the small offline model (llama.cpp, SmolLM2)."),
    click.option("--base-url", help="OpenAI-compatible endpoint; default: study.toml."),
    click.option("--model", help="Model name at the endpoint; default: study.toml."),
    click.option("--concurrency", type=click.IntRange(1, 1024), help="Most calls in flight."),
    click.option("--rpm", type=click.IntRange(min=1), help="Most requests per minute."),
    click.option("--tpm", type=click.IntRange(min=1), help="Most tokens per minute."),
    click.option("--retry-failed", is_flag=True, help="Ask again where a reply was unusable."),
    click.option("--dry-run", is_flag=True, help="Say what it would ask and cost; ask nothing."),
    click.option(
        "--max-usd",
        type=click.FloatRange(min=0, min_open=True),
        help="Stop before a call with which the run could cost more dollars.",
    ),
    click.option(
        "--max-tokens",
        type=click.IntRange(min=1),
        help="Stop before a call with which the run could use more tokens.",
    ),
)


def endpoint_options(command: F) -> F:
    """Add the options that say which endpoint is called, and how hard."""
    for option in reversed(_ENDPOINT):
        command = option(command)
    return command
