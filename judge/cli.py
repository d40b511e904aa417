"""The `evenhand` command. A command parses, calls one function, prints.

Imports of anything slow stand inside the commands: `--help` must answer at once.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from annotate.errors import EvenhandError, UsageError
from annotate.versions import identity
from judge.commands.answer_group import answer
from judge.commands.calibration_group import calibrate, gate, production
from judge.commands.judge_group import judge
from judge.commands.opened import STUDY, Opened
from judge.commands.options import model_option
from judge.commands.plan_group import plan
from judge.commands.published import exports

if TYPE_CHECKING:
    from annotate.importer import Account
    from annotate.study import Study

PROBLEMS_SHOWN = 40
DEFAULT_PORT = 7860
PORT = click.IntRange(0, 65_535)


class OneLineErrors(click.Group):
    """Errors meant for a person are one line; anything else keeps its traceback."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run, turning our own errors into a line and an exit code."""
        try:
            return super().main(*args, **kwargs)
        except EvenhandError as error:
            click.secho(f"evenhand: {error}", err=True, fg="red" if sys.stderr.isatty() else None)
            sys.exit(error.exit_code)
        except OSError as error:
            # The machine's own trouble (disk, permissions), not ours: where, and what it said.
            place = f"{error.filename}: " if error.filename else ""
            click.echo(f"evenhand: {place}{error.strerror or error}", err=True)
            sys.exit(UsageError.exit_code)


@click.group(
    cls=OneLineErrors,
    context_settings={"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "EVENHAND"},
)
@click.version_option(package_name="evenhand", message="%(prog)s %(version)s")
def main() -> None:
    """Blind pairwise rating by people and by an LLM judge, and how far they agree.

    A study is a folder with study.toml and one SQLite file:

    \b
      evenhand init STUDY
      evenhand import STUDY data/sample
      evenhand invite STUDY Ada Grace
      evenhand serve STUDY
      evenhand report STUDY
    """


@main.command()
@STUDY
@click.option("--title", help="Title that raters see; default: the preset's, or the folder's name.")
@click.option("--preset", metavar="NAME", help="Start from a preset's instructions and questions.")
def init(study: Path, title: str | None, preset: str | None) -> None:
    """Make a new study: a commented study.toml and an empty database.

    Presets, without prompts: help-mtbench, harm-direct, contrast, borderline, escalation. The head
    of study.toml then says which prompts to bring, and how they are marked.

    \b
    Example: evenhand init harm-study --preset harm-direct --title "Harmlessness, spring"
    """
    from annotate.study import init as init_study

    init_study(study, title, preset).close()
    click.echo(f"Made {study} (settings: {study / 'study.toml'}).")
    click.echo(f"Next: evenhand import {study} PATH…")


@main.command("import")
@STUDY
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--benchmark", help="Name of the question set; default: the folder's name.")
def import_(study: Path, paths: tuple[Path, ...], benchmark: str | None) -> None:
    """Import questions, answers, references, votes and verdicts.

    Takes FastChat benchmark folders with judgments, MT-Bench-101 dialogues and grades, label
    JSONL (MT-Bench human votes and GPT-4 verdicts, with or without conversations) and
    Evenhand's pair format (docs/formats.md). Importing twice adds nothing; every record is
    imported, merged, or listed with its line.

    \b
    Example: evenhand import harm-study ../mt_bench
    """
    from annotate.importer import import_paths
    from judge.commands.counting import counting
    from judge.database.verdict_import import verdict_sink

    with Opened(study) as opened, counting() as progress:
        account = import_paths(
            opened.store,
            paths,
            verdict_sink(opened.store),
            benchmark=benchmark,
            dimensions=[d.name for d in opened.settings.protocol.dimensions],
            progress=progress,
        )
        _print_account(account)
        _prepare(opened)
    if not account.added and not account.merged:
        raise UsageError(
            "nothing in there could be imported; see the list above and docs/formats.md"
        )


@main.command()
@STUDY
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=PORT, default=DEFAULT_PORT, show_default=True, help="0: a free one.")
@click.option("--root-path", default="", help="Path prefix of a proxy in front, e.g. /study1.")
@click.option("--open/--no-open", "open_browser", default=False, help="Open the owner's console.")
def serve(study: Path, host: str, port: int, root_path: str, open_browser: bool) -> None:
    """Serve the rating pages and the owner's console until interrupted.

    \b
    Example: evenhand serve harm-study --port 7860
    """
    _serve(study, host, port, root_path, open_browser, named=None)


@main.command()
@STUDY
@click.argument("names", nargs=-1, required=True)
@click.option("--group", help='Rater group in reports; default: "rater".')
@click.option("--url", help="Address that raters reach; default: the running server's.")
def invite(study: Path, names: tuple[str, ...], group: str | None, url: str | None) -> None:
    """Invite raters by name and print their links (the same link each time).

    Raters of the group "adjudicator" settle harm labels that disagree, and rate nothing else.

    \b
    Example: evenhand invite harm-study Ada Grace --group expert
    """
    from annotate import seats

    with Opened(study) as opened:
        base = url or _running_url(opened) or f"http://127.0.0.1:{DEFAULT_PORT}"
        for name in names:
            rater = seats.invite(opened.store, name, group)
            token = seats.invitation_token(opened.store, rater.id)
            click.echo(f"{name}: {base.rstrip('/')}/invite/{token}")


@main.command()
@STUDY
def status(study: Path) -> None:
    """Say what the study holds, how far the rating is, and what the judge has done.

    \b
    Example: evenhand status harm-study
    """
    from judge.commands.status import status_text

    with Opened(study) as opened:
        click.echo(status_text(opened, _running_url(opened)), nl=False)


for command in (answer, judge, plan, calibrate, production, gate):
    main.add_command(command)


@main.command()
@STUDY
@click.option("--against", multiple=True, metavar="RUN", help="Only this judge; repeatable.")
@click.option("--raters", multiple=True, metavar="GROUP", help="Only this group; repeatable.")
@click.option("--by", default="turn,category,pair", help="Breakdowns: turn, category, pair, rater.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder; default: exports/STUDY.")
@click.option("--resamples", type=click.IntRange(100, 1_000_000), help="Default: study.toml.")
@click.option("--no-figures", is_flag=True, help="Draw no pictures: numbers alone.")
def report(
    study: Path,
    against: tuple[str, ...],
    raters: tuple[str, ...],
    by: str,
    out: Path | None,
    resamples: int | None,
    no_figures: bool,
) -> None:
    """Print how far raters, and the judge, agree; write the report for a paper into a folder.

    One page (report.html), Markdown, JSON, LaTeX and CSV tables, pictures, the methods paragraph
    with its BibTeX, and the votes under pseudonyms.

    \b
    Example: evenhand report harm-study --raters expert --by turn,category --out exports/spring
    """
    from judge.commands.report_command import Asked, compute, publish
    from judge.reporting.folder import must_be_folder
    from judge.reporting.text_page import to_text

    levels = tuple(dict.fromkeys(word.strip() for word in by.split(",") if word.strip()))
    asked = Asked(raters, against, levels, resamples)
    with Opened(study) as opened:
        folder = out or exports(study)
        must_be_folder(folder)
        found = compute(opened, asked)
        click.echo(to_text(found.document, str(folder)), nl=False)
        pictures = 0 if no_figures else len(list(found.document.pictures()))
        quiet = not (pictures and sys.stderr.isatty())
        with click.progressbar(
            length=pictures, label="Drawing", file=sys.stderr, hidden=quiet
        ) as bar:
            written = publish(found, asked, folder, draw=not no_figures, drawn=bar.update)
        click.echo(f"Wrote {len(written)} files into {folder}", err=True)


@main.command()
@STUDY
@model_option("--reference", "Compare the others with this one.")
@click.option(
    "--versions", multiple=True, metavar="A,B,…", help="Versions of one model; repeatable."
)
@click.option(
    "--unsafe-from", type=click.IntRange(1, 3), default=2, show_default=True, help="Severity."
)
@click.option(
    "--out", type=click.Path(path_type=Path), help="Folder; default: exports/STUDY/score."
)
@click.option("--resamples", type=click.IntRange(100, 1_000_000), help="Default: study.toml.")
@click.option("--no-figures", is_flag=True, help="Draw no pictures: numbers alone.")
def score(
    study: Path,
    reference: str,
    versions: tuple[str, ...],
    unsafe_from: int,
    out: Path | None,
    resamples: int | None,
    no_figures: bool,
) -> None:
    """Print harm scores of every model by every source, with over-refusal and helpfulness.

    A judge's own rates are raw, uncalibrated. Also: contrast sets, escalation, pairwise wins
    against a reference, harmlessness against helpfulness, and signs of collapse. Exit 3 where no
    answer has a harm label or a grade.

    \b
    Example: evenhand score harm-study --reference base --versions base,tuned
    """
    from annotate.harm import Severity
    from judge.commands.score_command import Asked, compute, publish
    from judge.reporting.folder import must_be_folder
    from judge.reporting.text_page import to_text

    chains = tuple(tuple(identity(word.strip()) for word in one.split(",")) for one in versions)
    asked = Asked(reference, Severity(unsafe_from), chains, resamples)
    with Opened(study) as opened:
        folder = out or exports(study) / "score"
        must_be_folder(folder)
        found = compute(opened, asked)
        click.echo(to_text(found.document, str(folder)), nl=False)
        written = publish(found, asked, folder, draw=not no_figures)
        click.echo(f"Wrote {len(written)} files into {folder}", err=True)


@main.command()
@click.argument("before")
@click.argument("after")
@click.option(
    "--suppose-n",
    type=click.IntRange(1, 10_000_000),
    metavar="N",
    help="Suppose so many items each; the intervals are then called hypothetical.",
)
def change(before: str, after: str, suppose_n: int | None) -> None:
    """Say what a published change comes to: relative, in points, and between which values.

    BEFORE and AFTER are shares (71%), counts (71/100) or grades (6.05). Without counts there is
    no interval.

    \b
    Example: evenhand change 71% 42% --suppose-n 100
    """
    from judge.commands.change_command import change_text

    click.echo(change_text(before, after, suppose_n), nl=False)


@main.command("plan-analysis")
@STUDY
def plan_analysis(study: Path) -> None:
    """Freeze how the report will be made, before the first vote; the report says if it kept to it.

    \b
    Example: evenhand plan-analysis harm-study
    """
    from judge.database.analysis_plan import freeze, report_settings

    with Opened(study) as opened:
        plan = freeze(opened.store, report_settings(opened))
        click.echo(f"Analysis plan frozen {plan.frozen_at}, hash {plan.hash}")
        if plan.votes_before:
            click.echo(f"  warning: {plan.votes_before:,} votes were cast or imported before")


@main.command()
@STUDY
@click.option("--out", type=click.Path(path_type=Path), help="Folder; default: exports/STUDY.")
def export(study: Path, out: Path | None) -> None:
    """Write every standing vote as JSONL and CSV, raters under pseudonyms.

    \b
    Example: evenhand export harm-study
    """
    from annotate.export import export_votes

    with Opened(study) as opened:
        for path, rows in export_votes(opened.store, out or exports(study)):
            what = {"harm_labels": "labels", "grades": "grades"}.get(path.stem, "votes")
            click.echo(f"Wrote {path}: {rows:,} {what}")


@main.command()
@STUDY
def verify(study: Path) -> None:
    """Recompute every hash, chain, id and verdict of the study; exit 1 on any break.

    \b
    Example: evenhand verify harm-study
    """
    from annotate.verify import verify as verify_store
    from judge.commands.calibrate_command import artefact_key
    from judge.database import calibration_chain, derivation

    with Opened(study) as opened:
        found = verify_store(opened.store)
        with opened.store.snapshot() as conn:
            broken = [*found.breaks, *calibration_chain.breaks(conn, artefact_key())]
            checked = found.checked | calibration_chain.counted(conn)
        broken += derivation.breaks(opened.store)
    click.echo("Checked " + ", ".join(f"{n:,} {name}" for name, n in checked.items()))
    for writer, head in sorted(found.heads.items()):
        click.echo(f"  chain {writer[:8]} ends at {head}")
    for line in broken[:PROBLEMS_SHOWN]:
        click.echo(f"BROKEN {line}", err=True)
    if broken:
        click.echo(f"{len(broken)} breaks: restore a backup, or find out who edited", err=True)
        sys.exit(1)
    click.echo("Everything holds.")


@main.command()
@STUDY
@click.argument("target", required=False, type=click.Path(path_type=Path))
def backup(study: Path, target: Path | None) -> None:
    """Copy the study's database while it is in use.

    \b
    Example: evenhand backup harm-study harm-study-2026-11-29.sqlite
    """
    from annotate.store import now

    with Opened(study) as opened:
        stamp = now().replace(":", "").replace("-", "")[:15]
        chosen = target or Path(f"{study.resolve().name}-{stamp}Z.sqlite")
        opened.store.backup(chosen)
    click.echo(f"Wrote {chosen}")


@main.command("blind-check")
@STUDY
@click.option("--self-test", is_flag=True, help="Plant each kind of leak and show it is found.")
def blind_check(study: Path, self_test: bool) -> None:
    """Prove on a live server that raters cannot learn models, orders or verdicts.

    Serves a copy of the study on a free local port, with canaries in place of every model
    name and verdict, rates a few pairs, and searches everything that came back. Names that
    stand inside questions and answers are listed apart. Exit 1 on a leak.

    \b
    Example: evenhand blind-check harm-study
    """
    from judge.checks.blind import check, self_test_lines

    with Opened(study) as opened:
        result = check(opened)
        click.echo(result.text(), nl=False)
        missed = False
        if self_test:
            for line, found in self_test_lines(opened):
                click.echo(line)
                missed |= not found
    if result.leaks or missed:
        sys.exit(1)


@main.command()
@click.option("--folder", default="demo", type=click.Path(path_type=Path), show_default=True)
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", type=PORT, default=DEFAULT_PORT, show_default=True)
@click.option("--open/--no-open", "open_browser", default=True, help="Open a browser if any.")
def demo(folder: Path, host: str, port: int, open_browser: bool) -> None:
    """Make (or go on with) the sample study, serve it, and print its links.

    \b
    Example: evenhand demo --port 7861
    """
    from judge.commands.demo import ensure_demo

    created = ensure_demo(folder)
    click.echo(f"{'Made' if created else 'Using'} the sample study in {folder}.")
    _serve(folder, host, port, "", open_browser, named="you")


def _serve(
    folder: Path, host: str, port: int, root_path: str, open_browser: bool, named: str | None
) -> None:
    """Open, check the lock, import gradio, serve; print links once it listens."""
    root_path = f"/{root_path.strip('/')}" if root_path.strip("/") else ""
    click.echo("Starting…", err=True)
    with Opened(folder) as opened:
        from annotate import app
        from judge.commands.links import announce
        from judge.console import app as console

        app.serve(
            opened,
            host,
            port,
            console.mount,
            ready=lambda url: announce(opened, url + root_path, named, open_browser),
            root_path=root_path,
        )
    click.echo("Stopped; every vote is saved.", err=True)


def _prepare(opened: Study) -> None:
    from annotate import leaks, tasks

    leaks.apply_policy(opened.store, opened.settings.assignment)
    tasks.prepare(opened.store, opened.settings)


def _running_url(opened: Study) -> str | None:
    from annotate.lock import served_at

    return served_at(opened.store.path)


def _print_account(account: Account) -> None:
    for source, kind in account.files:
        if source.reader is not None:
            click.echo(f"  read {source.name} as {kind}")
    for kind in sorted({*account.read}):
        click.echo(
            f"  {kind}: {account.read[kind]:,} read, {account.imported[kind]:,} imported,"
            f" {account.merged[kind]:,} merged"
        )
    click.echo(f"  pairs: {account.pairs_added:,} made")
    for word, problems in (("note", account.warnings), ("NOT IMPORTED", account.refused)):
        for problem in problems[:PROBLEMS_SHOWN]:
            click.echo(f"  {word} {problem}")
        if len(problems) > PROBLEMS_SHOWN:
            click.echo(f"  … and {len(problems) - PROBLEMS_SHOWN:,} more of these")
    click.echo(f"Added {account.added:,}; {len(account.refused):,} records not imported.")


if __name__ == "__main__":
    main()
