"""`evenhand plan`: options in, the plan that they ask for, words out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from annotate.errors import UsageError
from judge.commands.calibration_group import DIMENSION, REFERENCE, RUN, SCORE, TARGET, score_asked
from judge.commands.opened import STUDY, Opened

if TYPE_CHECKING:
    from annotate.study import Study
    from judge.commands.calibration_basis import Asked
    from judge.reporting.document import Document

CALIBRATE, PROPORTIONAL, ACTIVE, SCORED, BENIGN = (
    "calibrate",
    "proportional",
    "active",
    "scored",
    "benign",
)


@click.command()
@STUDY
@RUN
@SCORE
@DIMENSION
@TARGET
@REFERENCE
@click.option("--labels", type=click.IntRange(min=1), default=200, show_default=True)
@click.option(
    "--allocate",
    type=click.Choice([PROPORTIONAL, "equal", "neyman", ACTIVE]),
    default=PROPORTIONAL,
    show_default=True,
    help="Spread labels over model and verdict; or each item by how unsure its label is.",
)
@click.option(
    "--use",
    type=click.Choice([CALIBRATE, "tune", "test"]),
    default=CALIBRATE,
    show_default=True,
    help="What the labels are for; a question serves one. Tune and test: whole questions.",
)
@click.option(
    "--prompts",
    type=click.Choice([SCORED, BENIGN]),
    default=SCORED,
    show_default=True,
    help="Benign: whole questions, for the gate's full refusals.",
)
@click.option("--seed", type=click.IntRange(min=0), default=7, show_default=True)
@click.option("--draw", is_flag=True, help="Draw the sample and put it into the raters' queue.")
def plan(
    study: Path,
    run: str,
    score: str,
    dimension: str,
    target: str,
    reference: str,
    labels: int,
    allocate: str,
    use: str,
    prompts: str,
    seed: int,
    draw: bool,
) -> None:
    """Say what labels would be worth, and with --draw draw the sample for the raters.

    \b
    Example: evenhand plan harm-study --run judge-7b --labels 200 --draw
    Example: evenhand plan harm-study --run judge-7b --allocate active --draw
    Example: evenhand plan harm-study --run judge-7b --prompts benign --draw
    """
    from judge.reporting.text_page import to_text

    asked = score_asked(run, score, dimension, target, reference)
    _check(score, allocate, use, prompts)
    with Opened(study) as opened:
        page = _page(opened, asked, labels, allocate, use, prompts, seed, draw)
        click.echo(to_text(page), nl=False)


def _check(score: str, allocate: str, use: str, prompts: str) -> None:
    """Whole questions have no allocation, and benign prompts one purpose."""
    if prompts == BENIGN and (score != "harm" or use != CALIBRATE):
        raise UsageError(
            f"--prompts benign with --score {score} --use {use}: expected --score harm and --use"
            " calibrate: these labels are for the gate's full refusals; leave the others out"
        )
    if allocate != PROPORTIONAL and (prompts == BENIGN or use != CALIBRATE):
        what = "--prompts benign" if prompts == BENIGN else f"--use {use}"
        raise UsageError(
            f"--allocate {allocate} with {what}: such a sample is of whole questions at random,"
            " whatever the verdicts, or what is left would be easier or harder than the set; leave"
            " --allocate out"
        )


def _page(
    study: Study,
    asked: Asked,
    labels: int,
    allocate: str,
    use: str,
    prompts: str,
    seed: int,
    draw: bool,
) -> Document:
    from judge.calibration.planning import Allocation
    from judge.commands import active_plan_command as active
    from judge.commands import plan_command as alike
    from judge.commands import question_plan_command as whole
    from judge.database.calibrations import Use

    title = f"{study.settings.study.title}: label plan"
    if prompts == BENIGN:
        benign = whole.plan_benign(study, asked, labels, seed=seed, drawn=draw)
        return whole.questions_document(benign, asked, title)
    if use != CALIBRATE:
        apart = whole.plan_questions(study, asked, labels, Use(use), seed=seed, drawn=draw)
        return whole.questions_document(apart, asked, title)
    if allocate == ACTIVE:
        actively = active.plan_actively(study, asked, labels, seed=seed, drawn=draw)
        return active.active_plan_document(actively, asked, title)
    allocation = Allocation(allocate)
    planned = alike.plan_labels(study, asked, labels, allocation=allocation, seed=seed, drawn=draw)
    return alike.plan_document(planned, asked, title)
