"""The `evenhand judge` commands: run, look into, compare and export runs, read replies again."""

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
@click.option("--base-url", help="OpenAI-compatible endpoint; default: study.toml.")
@click.option("--model", help="Model name at the endpoint; default: study.toml.")
@click.option(
    "--mode",
    type=click.Choice(["pairwise", "grade", "harm"]),
    default="pairwise",
    show_default=True,
    help="Compare pairs, grade answers from 1 to 10, or label answers for harm.",
)
@click.option("--dimension", "dimensions", multiple=True, help="Only these; default: the study's.")
@click.option(
    "--prompt",
    "prompts",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Prompts of your own: our TOML, or FastChat's judge_prompts.jsonl.",
)
@click.option("--limit", type=click.IntRange(min=1), help="Only the first N pairs of the plan.")
@click.option("--baseline", default="", help="Only pairs with this model.")
@click.option(
    "--turns",
    type=click.Choice(["each", "last", "dialogue"]),
    default="each",
    show_default=True,
    help="Judge each turn, only the last, or the dialogue as a whole.",
)
@click.option(
    "--references",
    type=click.Choice(["auto", "required", "none"]),
    default="auto",
    show_default=True,
    help="Show reference solutions (math, reasoning, coding) where there are any.",
)
@click.option(
    "--replicates",
    type=click.IntRange(1, 100),
    default=1,
    show_default=True,
    help="Ask everything so many times, to see how far the judge agrees with itself.",
)
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
    """Judge pairs in both orders, or answers, per turn and dimension. Safe to repeat.

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
@click.argument("run")
@click.option("--out", type=click.Path(path_type=Path), help="Folder; default: exports/STUDY.")
def export(study: Path, run: str, out: Path | None) -> None:
    """Write a run's verdicts and grades as FastChat's judgment files. RUN: its name or id.

    They land in OUT/data/BENCHMARK/model_judgment, where FastChat's show_result finds them
    when it is started in OUT. Failures go out as error (grades: -1), never as a tie.

    \b
    Example: evenhand judge export harm-study gpt4_pair --out exports/fastchat
    """
    from .fastchat_export import export_run, export_text
    from .store import VerdictStore

    with Opened(study) as opened:
        found = VerdictStore(opened.store).find(run)
        folder = out or Path("exports") / study.resolve().name
        click.echo(export_text(export_run(opened.store, found, folder)), nl=False)


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
