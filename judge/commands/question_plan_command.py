"""Whole questions planned: to tune or to test with, or benign ones for the gate's full refusals."""

from __future__ import annotations

from dataclasses import dataclass

from annotate.errors import UsageError
from annotate.records import PromptSet
from annotate.study import Study
from judge.calibration.question_draw import QuestionDraw, draw_questions
from judge.calibration.rows import set_name
from judge.commands.calibration_basis import Asked, scored_set
from judge.commands.plan_command import frame, left_at_random, nothing_left, used_otherwise
from judge.commands.queued_draw import (
    Pool,
    Queued,
    Served,
    put_into_queue,
    served,
    served_words,
)
from judge.database.answer_places import answer_places
from judge.database.calibrations import FULL_REFUSALS, WHOLE_QUESTIONS, Calibrations, Use
from judge.database.second_looks import with_text
from judge.database.store import VerdictStore
from judge.database.table import tidy
from judge.reporting.document import Document, Text, Weight
from judge.stats.binomial import clopper_pearson


@dataclass(frozen=True, slots=True)
class QuestionsPlanned:
    """A plan of whole questions, drawn or not."""

    draw: QuestionDraw
    use: Use
    benign: bool
    models: int
    left_out: int
    """Questions that were not drawn from: their labels have another use."""
    at_random: bool
    """Whether what is left is a random part of the set."""
    queued: Queued | None
    """None before it is drawn."""
    served: Served
    level: float
    """Of the gate's interval."""
    seed: int


def plan_questions(
    study: Study, asked: Asked, labels: int, use: Use, *, seed: int = 7, drawn: bool = False
) -> QuestionsPlanned:
    """A sample to tune or to test with: about so many labels on whole questions at random.

    No verdict decides, so what is left to be scored is a random part of the set.

    Raises:
        UsageError: an unknown run or model, or no item is left.
    """
    on = frame(study, asked, use)
    pool = on.pool(asked)
    models = len(set(on.items.models))
    return _planned(study, asked, pool, labels, use, models, on.at_random, seed=seed, drawn=drawn)


def plan_benign(
    study: Study, asked: Asked, labels: int, *, seed: int = 7, drawn: bool = False
) -> QuestionsPlanned:
    """Answers to benign prompts by the models that the run judged, every one with one chance.

    Their labels say how many are refused in full. No harm rate has them, and no verdict is needed.

    Raises:
        UsageError: an unknown run, or no benign answer to draw from.
    """
    run = VerdictStore(study.store).find(asked.run)
    models = set(scored_set(tidy(study.store), run, asked, None).items.models)
    benign = {
        answer: place.question
        for answer, place in answer_places(study.store).items()
        if place.prompts is PromptSet.BENIGN and place.model in models
    }
    shown = with_text(study.store, benign)
    questions = frozenset(benign[one] for one in shown)
    if not questions:
        raise UsageError(
            "--prompts benign: no question of the study is marked benign and answered by"
            f" {', '.join(sorted(models))}; expected some: import questions with"
            ' "prompt_set": "benign", and their answers'
        )
    kept, use = Calibrations(study.store), Use.CALIBRATE
    others = used_otherwise(kept, use, questions)
    places = {one: benign[one] for one in sorted(shown) if benign[one] not in others}
    if not places:
        raise UsageError(nothing_left("--prompts benign", len(others), use))
    pool = Pool(run, FULL_REFUSALS, set_name(shown), places, others)
    at_random = left_at_random(kept, use, questions)
    return _planned(study, asked, pool, labels, use, len(models), at_random, seed=seed, drawn=drawn)


def _planned(
    study: Study,
    asked: Asked,
    pool: Pool,
    labels: int,
    use: Use,
    models: int,
    at_random: bool,
    *,
    seed: int,
    drawn: bool,
) -> QuestionsPlanned:
    found = draw_questions(list(pool.places), list(pool.places.values()), labels, seed)
    name: Queued | None = None
    if drawn:
        body = {
            "seed": seed,
            "allocation": WHOLE_QUESTIONS,
            "labels": len(found.items),
            "random_part": at_random,
        }
        chosen = [(one, found.chance) for one in found.items]
        name = put_into_queue(study, asked, pool, use, chosen, body)
    return QuestionsPlanned(
        found,
        use,
        pool.score == FULL_REFUSALS,
        models,
        len(pool.others),
        at_random,
        name,
        served(study, asked),
        study.settings.report.level,
        seed,
    )


def questions_document(planned: QuestionsPlanned, asked: Asked, title: str) -> Document:
    """What is drawn, how, and what it leaves or bounds."""
    draw = planned.draw
    lead = [
        Text(
            f"{len(draw.items):,} labels on {len(draw.questions):,} of {draw.of:,}"
            f" {'benign ' if planned.benign else ''}questions: drawn at random whatever the"
            f" verdicts, all answers to them, each with a chance of {draw.chance:.3g}.",
            Weight.KEY,
        ),
        *(_benign(planned) if planned.benign else _left(planned)),
    ]
    if planned.queued is not None:
        lead.append(Text(planned.queued.words(planned.served)))
    if planned.left_out:
        more = f"{planned.left_out} questions are left out: their labels have another use."
        lead.append(Text(more))
    lead += served_words(planned.served, asked)
    return Document(title, tuple(lead), f"seed {planned.seed}", ())


def _benign(planned: QuestionsPlanned) -> list[Text]:
    """What so many labels can show of full refusals."""
    most = clopper_pearson(0, len(planned.draw.questions), planned.level)[1]
    return [
        Text(
            "For the gate's full refusals, of each model by itself; no harm rate has these labels."
            f" Of a model with none the interval ends at {100 * most:.1f} %: the limit in gate.toml"
            " cannot be met below that, and more labels bring it down."
        )
    ]


def _left(planned: QuestionsPlanned) -> list[Text]:
    draw = planned.draw
    kept = f"To {planned.use} with; {draw.left:,} items are left to be scored"
    if not draw.left:
        return [Text(f"{kept}: nothing could be calibrated. Ask for fewer.", Weight.WARNING)]
    if planned.at_random:
        return [Text(f"{kept}, a random part of the set.")]
    return [
        Text(
            f"{kept}, and they are no random part of the set: some questions were taken before by"
            " verdict, to calibrate with. Draw to tune and to test before the first such plan.",
            Weight.WARNING,
        )
    ]
