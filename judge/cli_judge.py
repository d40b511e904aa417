"""The `evenhand judge` commands: run one, look into one, compare two, read replies again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click_default_group import DefaultGroup

from .opened import STUDY, Opened


@click.group("judge", cls=DefaultGroup, default="run", default_if_no_args=False)
def _judge() -> None:
    """Ask an LLM judge about the study's pairs (`evenhand judge STUDY` runs it)."""


judge: click.Group = _judge
"""Named again for its type, which the default group's decorator forgets."""


@judge.command("run")
@STUDY
@click.option("--local", is_flag=True, help="Use the small offline model (llama.cpp, SmolLM2).")
@click.option(
    "--base-url",
    "base_urls",
    multiple=True,
    help="OpenAI-compatible endpoint; several share the calls; default: study.toml.",
)
@click.option("--model", help="Model name at the endpoint; default: study.toml.")
@click.option(
    "--proxy", help="HTTP proxy for all calls; default: study.toml, then the environment."
)
@click.option(
    "--ca-file", help="PEM file of a certification authority to trust beside the system's."
)
@click.option("--dimension", "dimensions", multiple=True, help="Only these; default: the study's.")
@click.option("--limit", type=click.IntRange(min=1), help="Only the first N pairs of the plan.")
@click.option("--concurrency", type=click.IntRange(1, 1024), help="Most calls in flight at once.")
@click.option(
    "--output",
    type=click.Choice(["tag", "json", "auto"]),
    help="Form of the verdict; auto: JSON under a schema where the endpoint can.",
)
@click.option("--rpm", type=click.IntRange(min=1), help="Most requests per minute.")
@click.option("--tpm", type=click.IntRange(min=1), help="Most tokens per minute.")
@click.option("--retry-failed", is_flag=True, help="Ask again where a reply was unusable.")
@click.option("--dry-run", is_flag=True, help="Say what a run would ask and cost; ask nothing.")
@click.option(
    "--max-usd",
    type=click.FloatRange(min=0, min_open=True),
    help="Stop before a call with which the run could cost more dollars.",
)
@click.option(
    "--max-tokens",
    type=click.IntRange(min=1),
    help="Stop before a call with which the run could use more tokens.",
)
@click.option("--name", default="", help="Name of the run in reports.")
def judge_run(study: Path, **options: Any) -> None:
    """Judge pairs in both orders, per turn and dimension. Safe to interrupt and repeat.

    A second run makes no calls for what was answered. The key comes from the environment
    (OPENAI_API_KEY, or what study.toml names) and is never stored.

    \b
    Example: evenhand judge harm-study --local --limit 4
    """
    from .command import run_judge

    with Opened(study) as opened:
        click.echo(run_judge(opened, **options), nl=False)


@judge.command()
@STUDY
@click.argument("name")
def show(study: Path, name: str) -> None:
    """Say everything that defines a run, and what it came to. NAME: the run's name or id.

    \b
    Example: evenhand judge show harm-study smollm2-135m-instruct
    """
    from .command import show_run

    with Opened(study) as opened:
        click.echo(show_run(opened, name), nl=False)


@judge.command()
@STUDY
@click.argument("left")
@click.argument("right")
def diff(study: Path, left: str, right: str) -> None:
    """Say what differs in the manifests of two runs, place by place.

    \b
    Example: evenhand judge diff harm-study first second
    """
    from .command import diff_runs

    with Opened(study) as opened:
        click.echo(diff_runs(opened, left, right), nl=False)


@judge.command()
@STUDY
def reparse(study: Path) -> None:
    """Read every stored reply again with today's parser. Makes no calls.

    \b
    Example: evenhand judge reparse harm-study
    """
    from .command import reparse_replies

    with Opened(study) as opened:
        click.echo(reparse_replies(opened), nl=False)
