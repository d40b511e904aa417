"""`evenhand calibrate`, `production`, `gate`: options in, a function called, words out."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from annotate.errors import EvenhandError, UsageError
from judge.commands.opened import STUDY, Opened
from judge.commands.options import call_options, model_option
from judge.commands.published import exports_of, publish

if TYPE_CHECKING:
    from judge.commands.calibration_basis import Asked

F = TypeVar("F", bound=Callable[..., Any])
UNUSABLE = 3
SCORES = click.Choice(["harm", "win-rate", "grade"])
RUN = click.option("--run", required=True, metavar="RUN", help="The judge's run, by name or id.")
SCORE = click.option("--score", type=SCORES, default="harm", show_default=True)
DIMENSION = click.option(
    "--dimension", default="overall", help="Of a win rate or grade. Default: overall."
)
TARGET = model_option("--target", "Whose win rate.")
REFERENCE = model_option("--reference", "Against which model.")


def out_option(what: str) -> Callable[[F], F]:
    """Where to write; by default a folder of the study's for this judge and score."""
    words = f"Folder; default: one for this judge in exports/STUDY/{what}."
    return click.option("--out", type=click.Path(path_type=Path), help=words)


class Gate(click.Command):
    """A command whose wrong use is 3: 2 says that a gate could not decide."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Parse; a mistyped option must not look like an open question."""
        try:
            return super().make_context(*args, **kwargs)
        except click.UsageError as error:
            error.show()
            sys.exit(UNUSABLE)

    def invoke(self, ctx: click.Context) -> Any:
        """Run; no error whatever is a verdict: 1 would say that the judge is not trusted."""
        try:
            return super().invoke(ctx)
        except click.exceptions.Exit:
            raise
        except EvenhandError as error:
            _unusable(str(error))
        except click.ClickException as error:
            _unusable(error.format_message())
        except (KeyboardInterrupt, click.Abort):
            _unusable(f"{ctx.command_path}: interrupted; nothing is decided")
        except OSError as error:
            # The machine's own trouble (disk, permissions), or a pipe that nobody reads.
            place = f"{error.filename}: " if error.filename else ""
            _unusable(f"{place}{error.strerror or error}; nothing is decided")
        except Exception as error:  # noqa: BLE001
            # A bug of ours: where it is must be seen, and its exit code must say nothing else.
            traceback.print_exc()
            _unusable(
                f"{ctx.command_path}: unforeseen {type(error).__name__}, shown above; nothing is"
                " decided; please report it"
            )


def _unusable(words: str) -> NoReturn:
    with suppress(OSError):
        click.secho(f"evenhand: {words}", err=True, fg="red" if sys.stderr.isatty() else None)
    sys.exit(UNUSABLE)


@click.command()
@STUDY
@RUN
@SCORE
@DIMENSION
@TARGET
@REFERENCE
@click.option("--plan", "plan_id", default="", metavar="ID", help="Default: this run's newest.")
@click.option(
    "--labels-are-random",
    is_flag=True,
    help="Labels without a plan are a random sample: you say so, and the artefact will.",
)
@click.option(
    "--population",
    type=click.Choice(["set", "prompts", "items"]),
    default="set",
    show_default=True,
    help="What the score is of: these answers, or prompts (or items) like these.",
)
@model_option("--baseline", "Show each model's change from this one.", None)
@out_option("calibration")
def calibrate(
    study: Path,
    run: str,
    score: str,
    dimension: str,
    target: str,
    reference: str,
    plan_id: str,
    labels_are_random: bool,
    population: str,
    baseline: str | None,
    out: Path | None,
) -> None:
    """Turn a judge's raw rate into a score that people's labels stand behind.

    Refuses (exit 3, and says why) rather than clip or guess; a refusal is kept too.

    \b
    Example: evenhand calibrate harm-study --run judge-7b --baseline model-v1
    """
    from dataclasses import replace

    from judge.calibration.artefact import to_text as artefact_text
    from judge.calibration.poststratified import Target
    from judge.commands.calibrate_command import calibrate as make

    with Opened(study) as opened:
        asked = replace(
            score_asked(run, score, dimension, target, reference),
            plan=plan_id,
            random_labels=labels_are_random,
            population=Target(population),
            baseline=baseline,
        )
        made = make(opened, asked)
        judged, scored = made.artefact["judge"]["name"], made.artefact["score"]["name"]
        folder = out or exports_of(study, "calibration", judged, scored)
        files = {"calibration.json": artefact_text(made.artefact).encode()}
        publish(made.document, files, folder, {"calibration": made.artefact["hash"]})
        if made.refused:
            sys.exit(UNUSABLE)


@click.command(cls=Gate)
@STUDY
@RUN
@SCORE
@DIMENSION
@TARGET
@REFERENCE
@click.option(
    "--calibration",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Default: the study's newest of this judge.",
)
@out_option("production")
@call_options
def production(
    study: Path,
    run: str,
    score: str,
    dimension: str,
    target: str,
    reference: str,
    calibration: Path | None,
    out: Path | None,
    **options: Any,
) -> None:
    """Score a new set with a calibrated judge; without labels of its own, "transported".

    A transported score is no calibrated one: it has no interval, and no gate passes on it. With
    an endpoint, 50 stored verdicts are asked again to see whether the judge has drifted.

    \b
    Example: evenhand production harm-study --run judge-7b --base-url http://host/v1
    """
    from judge.calibration.artefact import to_text as artefact_text
    from judge.commands.calling import CallOptions
    from judge.commands.production_command import produce

    calls = CallOptions.take(options)
    with Opened(study) as opened:
        asked = score_asked(run, score, dimension, target, reference)
        made = produce(opened, asked, calls, calibration)
        judged, scored = made.body["judge"]["name"], made.body["score"]
        folder = out or exports_of(study, "production", judged, scored)
        files = {"production.json": artefact_text(made.body).encode()}
        if made.artefact is not None:
            files["calibration.json"] = artefact_text(made.artefact).encode()
        publish(made.document, files, folder, {"production": made.body["hash"]})


@click.command(cls=Gate)
@STUDY
@click.option("--run", metavar="RUN", help="The judge's run on pairs, by name or id.")
@click.option(
    "--calibration",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Default: the study's newest of this judge.",
)
@click.option(
    "--config", type=click.Path(path_type=Path), default=Path("gate.toml"), show_default=True
)
@out_option("gate")
@click.option("--template", is_flag=True, help="Print a gate.toml to fill in, and end.")
def gate(
    study: Path,
    run: str | None,
    calibration: Path | None,
    config: Path,
    out: Path | None,
    template: bool,
) -> None:
    """May production trust this judge? Exit 0 yes, 1 no, 2 not decidable, 3 unusable.

    \b
    Example: evenhand gate harm-study --run judge-7b --config gate.toml
    """
    from judge.calibration.artefact import to_text as artefact_text
    from judge.commands.gate_command import gate as judge_it
    from judge.commands.gate_thresholds import TEMPLATE, read_thresholds
    from judge.reporting.topics.gate_card import document

    if template:
        click.echo(TEMPLATE, nl=False)
        return
    if not run:
        raise UsageError("gate: no run named; expected --run RUN, a judge's run on pairs")
    with Opened(study) as opened:
        gated = judge_it(opened, run, read_thresholds(config), calibration)
        folder = out or exports_of(study, "gate", gated.card.judge)
        inputs = {"calibration": gated.card.calibration, "thresholds": dict(gated.card.thresholds)}
        files = {"gate.json": artefact_text(gated.body).encode()}
        publish(document(gated.card), files, folder, inputs)
        sys.exit(int(gated.verdict.exit))


def score_asked(run: str, score: str, dimension: str, target: str, reference: str) -> Asked:
    """The score that the options name.

    Raises:
        UsageError: a win rate without its two models.
    """
    from judge.commands.calibration_basis import WIN_RATE, Asked

    if score == WIN_RATE and not (target and reference):
        raise UsageError("--score win-rate: expected --target MODEL and --reference MODEL")
    return Asked(run, score, dimension, target, reference)
