"""The `evenhand judge` commands: run, look into, compare and export runs, read replies again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click_default_group import DefaultGroup

from annotate.errors import ServiceError
from judge.commands.opened import STUDY, Opened
from judge.commands.options import Finite, call_options, plan_options
from judge.commands.published import publish


@click.group("judge", cls=DefaultGroup, default="run", default_if_no_args=False)
def _judge() -> None:
    """Ask an LLM judge about the study's pairs (`evenhand judge STUDY` runs it)."""


judge: click.Group = _judge
"""Named again for its type, which the default group's decorator forgets."""


@judge.command("run")
@STUDY
@click.option("--ray", is_flag=True, help="Let the actors of a Ray cluster make the calls.")
@click.option("--ray-address", help="Address of the cluster; default: one started here, for this.")
@click.option(
    "--ray-actors", type=click.IntRange(min=1), help="Actors on it; default: one per node."
)
@call_options
@plan_options
@click.option("--again", is_flag=True, help="Also what stands in batch files not read back yet.")
def judge_run(study: Path, again: bool, **options: Any) -> None:
    """Judge pairs in both orders, or answers, per turn and dimension. Safe to repeat.

    A second run makes no calls for what was answered. The key comes from the environment
    (OPENAI_API_KEY, or what study.toml names) and is never stored.

    \b
    Example: evenhand judge harm-study --local --limit 4
    """
    from judge.commands.calling import CallOptions
    from judge.commands.judge_command import PlanOptions, RayOptions, run_judge

    cluster = RayOptions.take(options)
    with Opened(study) as opened:
        calls, plan = CallOptions.take(options), PlanOptions.take(options)
        text, useless = run_judge(opened, calls, plan, cluster, again=again)
        click.echo(text, nl=False)
    if useless:
        raise ServiceError(useless)


@judge.command()
@STUDY
@click.option(
    "--attack",
    "attacks",
    multiple=True,
    type=click.Choice(["repeated", "listed", "filled"]),
    help="Only these ways of padding; default: all.",
)
@call_options
@plan_options
def attack(study: Path, attacks: tuple[str, ...], **options: Any) -> None:
    """Find out whether the judge falls for answers that are only longer.

    Sets the study's first N answers (--limit) against themselves with everything said twice,
    listed once more, or wrapped in filler. What was asked is kept in STUDY/attacks.

    \b
    Example: evenhand judge attack harm-study --local --limit 10
    """
    from judge.commands.calling import CallOptions
    from judge.commands.judge_command import PlanOptions, attack_judge

    with Opened(study) as opened:
        calls, plan = CallOptions.take(options), PlanOptions.take(options)
        click.echo(attack_judge(opened, calls, plan, attacks), nl=False)


@judge.command("export-batch")
@STUDY
@click.option("--out", type=click.Path(path_type=Path), help="Folder; default: exports/STUDY.")
@click.option("--again", is_flag=True, help="Also what stands in files not read back yet.")
@call_options
@plan_options
def export_batch(study: Path, out: Path | None, again: bool, **options: Any) -> None:
    """Write what has no reply yet as OpenAI Batch files (hosted, or vllm run-batch).

    Nothing is asked here. Read the answers with `evenhand judge ingest-batch`; exporting
    again then writes only what is missing.

    \b
    Example: evenhand judge export-batch harm-study --base-url http://host/v1 --model m
    """
    from judge.commands.calling import CallOptions
    from judge.commands.judge_command import PlanOptions, export_requests

    with Opened(study) as opened:
        calls, plan = CallOptions.take(options), PlanOptions.take(options)
        folder = out or Path("exports") / study.resolve().name
        click.echo(export_requests(opened, calls, plan, folder, again=again), nl=False)


@judge.command("ingest-batch")
@STUDY
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True, dir_okay=False)
)
def ingest_batch(study: Path, files: tuple[Path, ...]) -> None:
    """Read the output and error files of a batch service, in any order, as often as you like.

    \b
    Example: evenhand judge ingest-batch harm-study output.jsonl errors.jsonl
    """
    from judge.commands.judge_command import ingest_answers

    with Opened(study) as opened:
        click.echo(ingest_answers(opened, files), nl=False)


@judge.command("merge")
@STUDY
@click.argument("others", nargs=-1, required=True, type=click.Path(path_type=Path))
def merge(study: Path, others: tuple[Path, ...]) -> None:
    """Bring in what workers asked on copies of the study (with --shard). Safe to repeat.

    \b
    Example: evenhand judge merge harm-study worker-1/harm-study worker-2/harm-study
    """
    from judge.commands.judge_command import merge_studies

    with Opened(study) as opened:
        click.echo(merge_studies(opened, others), nl=False)


@judge.command()
@STUDY
@click.argument("name")
def show(study: Path, name: str) -> None:
    """Say everything that defines a run, and what it came to. NAME: the run's name or id.

    \b
    Example: evenhand judge show harm-study smollm2-135m-instruct
    """
    from judge.commands.judge_command import show_run

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
    from judge.commands.judge_command import diff_runs

    with Opened(study) as opened:
        click.echo(diff_runs(opened, left, right), nl=False)


@judge.command()
@STUDY
@click.argument("run")
@click.option("--dimension", default="", help="Only this one; default: all that the run has.")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    help="Most verdicts listed, and most queued now.",
)
@click.option("--queue", is_flag=True, help="Put those that lack a second person before raters.")
def errors(study: Path, run: str, dimension: str, limit: int, queue: bool) -> None:
    """List what the judge probably got wrong, worst first; with --queue, ask a second rater.

    Suspect is a verdict that another order or repetition changes, or that people contradict.
    Confirmed is an error that two people see. Labels of the queue enter no score or calibration.

    \b
    Example: evenhand judge errors harm-study judge-7b --queue --limit 30
    """
    import shlex

    from judge.commands.errors_command import judge_errors
    from judge.reporting.text_page import to_text
    from judge.reporting.topics.judge_errors import document

    with Opened(study) as opened:
        found = judge_errors(opened, run, dimension=dimension, limit=limit, queue=queue)
        only = ["--dimension", dimension] if dimension else []
        command = shlex.join(["evenhand", "judge", "errors", str(study), run, *only, "--queue"])
        click.echo(to_text(document(found, command)), nl=False)


@judge.command()
@STUDY
@click.argument("run")
@click.option(
    "--promise",
    type=Finite(0, 1, min_open=True, max_open=True),
    default=0.1,
    show_default=True,
    help="Share of kept verdicts that people may contradict.",
)
@click.option(
    "--delta",
    type=Finite(0, 1, min_open=True, max_open=True),
    default=0.1,
    show_default=True,
    help="Chance that the promise is broken all the same.",
)
@click.option("--dimension", default="", help="Default: the only one that the run has.")
@click.option("--raters", "groups", multiple=True, metavar="GROUP", help="Only their labels.")
@click.option("--with", "others", multiple=True, metavar="RUN", help="Another judge to ask.")
@click.option("--seed", type=click.IntRange(min=0), default=7, show_default=True)
@click.option("--out", type=click.Path(path_type=Path), help="Folder; default: exports/STUDY-…")
def selective(
    study: Path,
    run: str,
    promise: float,
    delta: float,
    dimension: str,
    groups: tuple[str, ...],
    others: tuple[str, ...],
    seed: int,
    out: Path | None,
) -> None:
    """Say from which confidence on a judge may be believed, and which verdicts need people.

    Confidence is how much of what the judge said singly (orders, replicates, other runs) says the
    same. The promise holds for labels like those of the study, with an exact bound.

    \b
    Example: evenhand judge selective harm-study judge-7b --promise 0.2
    """
    import json

    from judge.commands.selective_command import select
    from judge.reporting.plain import plain
    from judge.reporting.topics.selective import document, kept_csv

    with Opened(study) as opened:
        made = select(
            opened,
            run,
            promise,
            dimension=dimension,
            groups=groups,
            others=others,
            delta=delta,
            seed=seed,
        )
    folder = out or Path("exports") / f"{study.resolve().name}-selective"
    body = {name: value for name, value in plain(made).items() if name != "verdicts"}
    files = {
        "selection.json": f"{json.dumps(body, indent=2, ensure_ascii=False)}\n".encode(),
        "verdicts.csv": kept_csv(made).encode(),
    }
    inputs = {"run": made.run, "dimension": made.dimension, "promise": promise, "seed": seed}
    publish(document(made), files, folder, inputs)


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
    from judge.database.fastchat_export import export_run, export_text
    from judge.database.store import VerdictStore

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
    from judge.commands.judge_command import reparse_replies

    with Opened(study) as opened:
        click.echo(reparse_replies(opened), nl=False)
