"""`evenhand answer`: let a model answer the study's questions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from judge.commands.opened import STUDY, Opened
from judge.commands.options import Finite, call_options


@click.command("answer")
@STUDY
@call_options
@click.option("--as", "label", default="", help="The model's name in the study; default: --model.")
@click.option("--limit", type=click.IntRange(min=1), help="Only the first N questions.")
@click.option("--benchmark", default="", help="Only this benchmark's questions.")
@click.option(
    "--temperature",
    type=Finite(0, 2),
    help="One for all; default: MT-Bench's, by category.",
)
@click.option(
    "--reply-tokens",
    type=click.IntRange(min=1),
    help="The most tokens of one reply; default: 1024.",
)
@click.option("--system", default="", help="A system message before each dialogue.")
@click.option("--seed", type=int, help="Sent with each request; default: none.")
def answer(study: Path, **options: Any) -> None:
    """Let a model answer the study's questions, turn by turn. Safe to interrupt and repeat.

    Whole dialogues become answers in the study, paired with every other model's.

    \b
    Example: evenhand answer harm-study --base-url http://localhost:8000/v1 --model my-model
    """
    from judge.commands.answer_command import run_answer
    from judge.commands.calling import CallOptions

    with Opened(study) as opened:
        click.echo(run_answer(opened, CallOptions.take(options), **options), nl=False)
