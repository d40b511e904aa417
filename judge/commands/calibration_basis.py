"""What a calibration stands on: which verdicts, which labels, and what is wrong with them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import unquote

from annotate.errors import UsageError
from annotate.study import Study
from judge.calibration.columns import Chances, Items, StratumKey
from judge.calibration.from_table import Scored, harm_set, pair_set
from judge.calibration.grade_set import grade_set
from judge.calibration.poststratified import Target
from judge.calibration.refusals import Refusal, Why
from judge.calibration.rows import question_words
from judge.calibration.strata import Strata, stratify
from judge.database.calibrations import FULL_REFUSALS, Calibrations, LabelPlan, Use
from judge.database.runs import Run
from judge.database.store import VerdictStore
from judge.database.table import tidy

if TYPE_CHECKING:
    import pandas as pd

HARM_SCORE, WIN_RATE, GRADE = "harm", "win-rate", "grade"


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be calibrated, as the command was given it."""

    run: str
    score: str = HARM_SCORE
    dimension: str = "overall"
    target_model: str = ""
    reference: str = ""
    plan: str = ""
    random_labels: bool = False
    """The owner says that labels without a plan are a random sample."""
    population: Target = Target.SET
    baseline: str | None = None


@dataclass(frozen=True, slots=True)
class Basis:
    """What there is to calibrate with: verdicts, labels, and what is wrong with them."""

    run: Run
    plan: LabelPlan | None
    scored: Scored
    strata: Strata
    left_out: int
    """Items that the plan did not draw from: the labels on their questions have another use."""


def basis(study: Study, asked: Asked) -> Basis:
    """The set and its labels as they stand now; nothing is computed or kept.

    Raises:
        UsageError: an unknown run, plan or model, or nothing of the kind to calibrate.
    """
    kept = Calibrations(study.store)
    run = VerdictStore(study.store).find(asked.run)
    plan = _plan(kept, run, asked)
    scored = scored_set(tidy(study.store), run, asked, plan)
    whole = len(scored.items.ids)
    if plan is not None:
        scored = _as_drawn(scored, plan)
    strata = stratify(scored.items, scored.labels)
    extra = tuple(_hygiene(kept, scored, plan, asked))
    told = tuple(_with_disputes(one, len(scored.disputed)) for one in strata.refusals)
    strata = replace(strata, refusals=(*extra, *told))
    return Basis(run, plan, scored, strata, whole - len(scored.items.ids))


def _with_disputes(refusal: Refusal, disputed: int) -> Refusal:
    """A label that two people gave differently is none before somebody settles it."""
    if not disputed or refusal.why not in (Why.NO_LABEL, Why.TOO_FEW, Why.NON_RESPONSE):
        return refusal
    settle = (
        f"people's labels differ on {disputed} answers of the set: let the adjudicator settle them"
        " (evenhand invite STUDY NAME --group adjudicator), then"
    )
    return replace(refusal, todo=f"{settle} {refusal.todo}")


def _as_drawn(scored: Scored, plan: LabelPlan) -> Scored:
    """The set that the plan drew from: questions with labels for another use are not in it."""
    items = scored.items.without(set(plan.body.get("left_out", ())))
    labels = scored.labels
    if plan.active:
        labels = replace(labels, active=_chances(plan, items))
    return replace(scored, items=items, labels=labels, questions=len(set(items.questions)))


def scored_set(
    table: pd.DataFrame, run: Run, asked: Asked, plan: LabelPlan | None, *, merged: bool = True
) -> Scored:
    """The set and its labels: of a plan its draws, else all labels there are.

    With `merged`, small verdict classes of pairs and grades join a neighbour.
    """
    drawn = plan.items if plan else None
    if asked.score == HARM_SCORE:
        return harm_set(table, run.name, run.fingerprint, drawn=drawn)
    if asked.score == GRADE:
        return grade_set(
            table, run.name, run.fingerprint, asked.dimension, drawn=drawn, merged=merged
        )
    return pair_set(
        table,
        run.name,
        run.fingerprint,
        asked.dimension,
        asked.target_model,
        asked.reference,
        drawn=drawn,
        merged=merged,
    )


def _plan(kept: Calibrations, run: Run, asked: Asked) -> LabelPlan | None:
    """The plan named, else the newest one for calibrating this score."""
    if asked.plan:
        plan = kept.plan(asked.plan)
        if plan.use is not Use.CALIBRATE:
            raise UsageError(f"--plan {plan.id[:8]}: drawn to {plan.use}; it cannot calibrate")
        if plan.run != run.id:
            raise UsageError(
                f"--plan {plan.id[:8]}: drawn from the verdicts of another run;"
                " a different judge needs its own draw: evenhand plan"
            )
        if plan.body["score"] != score_name(asked):
            raise UsageError(
                f"--plan {plan.id[:8]}: drawn for another score, {score_words(plan)}; expected a"
                f" plan for the score asked for, {words_of(asked)}: name that score, or draw for"
                " this one"
            )
        return plan
    mine = _drawn_for(kept, run, asked)
    return None if asked.random_labels or not mine else mine[-1]


def not_random(study: Study, on: Basis, asked: Asked) -> Basis:
    """The same, refused where labels are said to be random and a plan drew some for this score.

    Without its plan a draw has no missing labels, however many harmful ones were left out.
    """
    turned = replace(asked, target_model=asked.reference, reference=asked.target_model)
    kept = Calibrations(study.store)
    drawn = [one for side in (asked, turned) for one in _drawn_for(kept, on.run, side)]
    if not asked.random_labels or not drawn:
        return on
    refusal = Refusal(
        Why.NON_RESPONSE,
        f"--labels-are-random, but plan {drawn[-1].id[:8]} drew labels for this score",
        "the plan's own draw: what was drawn and not labelled is part of the estimate",
        "leave the option out",
    )
    strata = replace(on.strata, refusals=(refusal, *on.strata.refusals))
    return replace(on, strata=strata)


def _drawn_for(kept: Calibrations, run: Run, asked: Asked) -> list[LabelPlan]:
    """The plans drawn to calibrate this score, the newest last."""
    return [
        plan
        for plan in kept.plans(run.id)
        if plan.use is Use.CALIBRATE and plan.body["score"] == score_name(asked)
    ]


def score_name(asked: Asked) -> str:
    """What is calibrated, in one word: plans and artefacts are found by it.

    A colon within a name is written %3A: colons stand between the parts.
    """
    if asked.score == HARM_SCORE:
        return HARM_SCORE
    parts = [asked.score, asked.dimension]
    if asked.score != GRADE:
        parts += [asked.target_model, asked.reference]
    return ":".join(part.replace("%", "%25").replace(":", "%3A") for part in parts)


def words_of(asked: Asked) -> str:
    """The score that is asked for, as its options say it."""
    if asked.score == HARM_SCORE:
        return "--score harm"
    words = f"--score {asked.score} --dimension {asked.dimension}"
    if asked.score == GRADE:
        return words
    return f"{words} --target {asked.target_model} --reference {asked.reference}"


def score_words(plan: LabelPlan) -> str:
    """What a plan's labels are for."""
    if plan.body["score"] == FULL_REFUSALS:
        return "full refusals of benign prompts, which no calibration takes"
    return words_of(asked_for(plan))


def asked_for(plan: LabelPlan) -> Asked:
    """What a plan was drawn for, back from its score's name."""
    score, *parts = map(unquote, str(plan.body["score"]).split(":"))
    dimension, target, reference = (*parts, "", "", "")[:3]
    if score == HARM_SCORE:
        return Asked(plan.run, plan=plan.id)
    return Asked(plan.run, score, dimension, target, reference, plan=plan.id)


def _chances(plan: LabelPlan, items: Items) -> Chances:
    """How an active plan drew. If verdicts have changed since, any item may have had the least."""
    least: dict[StratumKey, float] = {}
    sizes = Counter[StratumKey]()
    for one in plan.body["cells"]:
        key = one["model"], one["verdict"], one["prompt_set"]
        least[key] = min(least.get(key, 1.0), one["probability"])
        sizes[key] += one["items"]
    now = Counter(items.strata())
    if now != sizes:
        least = dict.fromkeys(now, min(least.values()))
    return Chances(plan.body["expected"], plan.body["floor"], least)


def _hygiene(
    kept: Calibrations, scored: Scored, plan: LabelPlan | None, asked: Asked
) -> list[Refusal]:
    """What is wrong with where the labels come from."""
    found = []
    places = dict(zip(scored.items.ids, scored.items.questions, strict=True))
    for use, did in ((Use.TUNE, "tuned a prompt"), (Use.TEST, "are kept for a test")):
        others = kept.questions_used(use)
        reused = {question_words(places[one]) for one in scored.labels.ids
                  if places.get(one) in others}  # fmt: skip
        if reused:
            some = ", ".join(sorted(reused)[:3])
            found.append(
                Refusal(
                    Why.PURPOSE,
                    f"labels on {len(reused)} questions whose labels {did}"
                    f" ({some}{', …' if len(reused) > 3 else ''})",
                    "labels on questions that serve calibration alone",
                    "draw a new sample: evenhand plan leaves those questions out",
                )
            )
    whole = len(set(scored.labels.ids)) >= len(scored.items.ids)
    if plan is None and not asked.random_labels and not whole:
        found.append(
            Refusal(
                Why.UNEQUAL_DRAWS,
                f"{len(scored.labels.ids)} labels that no plan drew",
                "labels drawn at random within model and verdict, or of the whole set",
                "evenhand plan … --draw; if these were drawn at random elsewhere, say"
                " --labels-are-random, which the artefact will say too",
            )
        )
    found += _active_as_random(kept, scored, plan, asked)
    if plan is not None and plan.body["set"] != scored.items.name:
        found.append(
            Refusal(
                Why.OTHER_SET,
                f"plan {plan.id[:8]} drew from another set of items ({plan.body['set']})",
                f"a draw from the set to be scored ({scored.items.name})",
                "draw again: the set has changed since",
            )
        )
    return found


def _active_as_random(
    kept: Calibrations, scored: Scored, plan: LabelPlan | None, asked: Asked
) -> list[Refusal]:
    """Labels of an active draw taken as a random sample: the unsure ones would count double."""
    if plan is not None or len(set(scored.labels.ids)) >= len(scored.items.ids):
        return []
    given = set(scored.labels.ids)
    for one in kept.plans():
        drawn = given & {item for item, _p in one.items} if one.active else set()
        if drawn:
            return [
                Refusal(
                    Why.UNEQUAL_DRAWS,
                    f"{len(drawn)} of {len(given)} labels were drawn by the active plan"
                    f" {one.id[:8]}, each with its own probability",
                    "labels drawn alike",
                    _instead(one, asked),
                )
            ]
    return []


def _instead(plan: LabelPlan, asked: Asked) -> str:
    """What to do with labels that this active plan drew."""
    if plan.body["score"] != score_name(asked):
        return f"calibrate what it was drawn for ({score_words(plan)}), or draw for this score"
    without = ", without --labels-are-random" if asked.random_labels else ""
    return f"calibrate with --plan {plan.id[:8]}{without}"
