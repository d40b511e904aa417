"""MT-Bench-101's scores: 13 tasks under 3 abilities, a dialogue as good as its worst turn. Pure.

Every turn is graded 1–10 in the context of given replies; a dialogue's score is the minimum
over its scored turns, a task's the mean over its dialogues, the benchmark's the unweighted
mean over the tasks. Source: Bai et al. 2024, MT-Bench-101, arXiv:2402.14762.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean
from typing import TypeAlias

from annotate.readers.mtbench101 import FIRST_TURN_NOT_SCORED, REFERENCE_TASKS
from judge.stats.estimate import Estimate

__all__ = [
    "FIRST_TURN_NOT_SCORED",
    "REFERENCE_TASKS",
    "TASKS",
    "TAXONOMY",
    "Dialogue",
    "DialogueScore",
    "Grade",
    "How",
    "ability_scores",
    "areas",
    "dialogue_score",
    "overall",
    "scored_turns",
    "task_scores",
]

TASKS: Mapping[str, str] = {
    "CM": "Context memory",
    "SI": "Separate input",
    "AR": "Anaphora resolution",
    "TS": "Topic shift",
    "CC": "Content confusion",
    "CR": "Content rephrasing",
    "FR": "Format rephrasing",
    "SC": "Self-correction",
    "SA": "Self-affirmation",
    "MR": "Mathematical reasoning",
    "GR": "General reasoning",
    "IC": "Instruction clarification",
    "PI": "Proactive interaction",
}
"""Code → name, in the order of :data:`TAXONOMY`."""

TAXONOMY: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "perceptivity": {
        "context memory": ("CM",),
        "context understanding": ("SI", "AR"),
        "context interference": ("TS", "CC"),
    },
    "adaptability": {
        "rephrasing": ("CR", "FR"),
        "reflection": ("SC", "SA"),
        "reasoning": ("MR", "GR"),
    },
    "interactivity": {"questioning": ("IC", "PI")},
}
"""Ability → sub-ability → tasks: 3, 7 and 13."""

LOWEST, HIGHEST = 1, 10
MISSING = "missing"
NO_INTERVAL = "no interval: the score is of this set of dialogues"

Grade: TypeAlias = float | str
"""A turn's grade, 1–10, or the reason why it has none (a status such as `unparseable`)."""


class How(StrEnum):
    """How a dialogue's grades become its score."""

    MIN = "min"
    """The worst turn decides, as in the paper."""
    MEAN = "mean"
    """Mean over the scored turns: a variant, never to be compared with published scores."""


@dataclass(frozen=True, slots=True)
class Dialogue:
    """One dialogue of one model with its grades by turn (1…`turns`).

    A scored turn without an entry is missing; grades of turns that are not scored are ignored.
    """

    question_id: str
    task: str
    turns: int
    grades: Mapping[int, Grade]

    def scored(self) -> list[Grade]:
        """The grades of the scored turns, in order; "missing" where there is none.

        Raises:
            ValueError: the task is unknown (see :func:`scored_turns`).
        """
        return [self.grades.get(turn, MISSING) for turn in scored_turns(self.task, self.turns)]


@dataclass(frozen=True, slots=True)
class DialogueScore:
    """A dialogue's score; `value` is None as soon as one scored turn has no grade."""

    value: float | None
    how: How
    n: int
    """Scored turns that have a grade."""
    missing: int
    """Scored turns without one."""
    reasons: Mapping[str, int]
    """Why they have none: reason → turns."""

    @property
    def reason(self) -> str:
        """The reasons in one word group, "" when there is a score."""
        return " and ".join(sorted(self.reasons))


def scored_turns(task: str, turns: int) -> list[int]:
    """Which turns (1…n) of a dialogue count: in six tasks the first one only sets the scene.

    Raises:
        ValueError: the task is none of the 13.
    """
    if task not in TASKS:
        raise ValueError(f"task {task!r}: expected one of {', '.join(TASKS)}")
    return list(range(2 if task in FIRST_TURN_NOT_SCORED else 1, turns + 1))


def dialogue_score(grades: Sequence[Grade], how: How | str = How.MIN) -> DialogueScore:
    """A dialogue's score: min g_t, or Σ g_t / n as the variant, over its scored turns.

    10 and 4 score 4. One turn without a grade leaves the dialogue without a score: it would
    otherwise look better (or, counted as 0, worse) than it can be known to be.

    Raises:
        ValueError: a grade is outside 1–10 (nan too), or `how` is neither "min" nor "mean".
    """
    how = How(how)
    given = [grade for grade in grades if not isinstance(grade, str)]
    for grade in given:
        if not LOWEST <= grade <= HIGHEST:
            raise ValueError(f"grade {grade}: expected {LOWEST}–{HIGHEST}, or a reason in words")
    reasons = Counter(grade for grade in grades if isinstance(grade, str))
    if not grades:
        reasons[MISSING] += 1
    value = None
    if not reasons:
        value = float(min(given)) if how is How.MIN else fmean(given)
    return DialogueScore(value, how, len(given), reasons.total(), dict(sorted(reasons.items())))


def task_scores(dialogues: Iterable[Dialogue], how: How | str = How.MIN) -> dict[str, Estimate]:
    """Task → mean score of its dialogues (1–10), for all 13 tasks in their order.

    `n` counts dialogues that have a score, `excluded` those that have none by reason; without
    any the value is None. One dialogue stands once: pass one model's dialogues.

    Raises:
        ValueError: two dialogues share an id, a task is unknown, or a grade is no grade.
    """
    how = How(how)
    scores: dict[str, list[float]] = {task: [] for task in TASKS}
    lost: dict[str, Counter[str]] = {task: Counter() for task in TASKS}
    seen: set[str] = set()
    for dialogue in dialogues:
        if dialogue.question_id in seen:
            raise ValueError(f"dialogue {dialogue.question_id} stands twice; expected one model's")
        seen.add(dialogue.question_id)
        score = dialogue_score(dialogue.scored(), how)
        if score.value is None:
            lost[dialogue.task][score.reason] += 1
        else:
            scores[dialogue.task].append(score.value)
    return {task: _task(task, scores[task], lost[task], how) for task in TASKS}


def _task(task: str, scores: Sequence[float], lost: Counter[str], how: How) -> Estimate:
    total = len(scores) + lost.total()
    reason = f"none of {total} {task} dialogues has a score" if total else f"no {task} dialogue"
    return Estimate(
        # The variant must not pass for the benchmark's own score.
        name="mtbench101" if how is How.MIN else "mtbench101 (variant: mean over turns)",
        value=fmean(scores) if scores else None,
        population=f"{task} dialogues",
        n=len(scores),
        clusters=len(scores),
        reason=NO_INTERVAL if scores else reason,
        excluded=dict(lost),
    )


def overall(tasks: Mapping[str, Estimate]) -> Estimate:
    """Unweighted mean of :func:`task_scores` over the 13 tasks, however many dialogues each has.

    None as soon as a task has no score: a mean over fewer tasks is another benchmark's.
    `n` and `excluded` are summed over the tasks.

    Raises:
        ValueError: scores of the minimum and of the variant are mixed.
    """
    return _mean("all 13 tasks", tuple(TASKS), tasks)


def ability_scores(tasks: Mapping[str, Estimate]) -> dict[str, Estimate]:
    """Each of the 3 abilities, followed by its sub-abilities → unweighted mean over its tasks."""
    return {name: _mean(name, codes, tasks) for name, codes in areas().items()}


def areas() -> dict[str, tuple[str, ...]]:
    """The 3 abilities, each followed by its sub-abilities → their tasks."""
    found: dict[str, tuple[str, ...]] = {}
    for ability, inner in TAXONOMY.items():
        found[ability] = tuple(code for codes in inner.values() for code in codes)
        found |= inner
    return found


def _mean(population: str, codes: Sequence[str], tasks: Mapping[str, Estimate]) -> Estimate:
    known = [tasks[code] for code in codes]
    unscored = [code for code in codes if tasks[code].value is None]
    excluded: Counter[str] = Counter()
    for estimate in known:
        excluded.update(estimate.excluded)
    names = sorted({estimate.name for estimate in known})
    if len(names) > 1:
        raise ValueError(f"scores of {' and '.join(names)}: expected one kind, they never mix")
    return Estimate(
        name=names[0],
        value=None if unscored else fmean(e.value for e in known if e.value is not None),
        population=population,
        n=sum(estimate.n for estimate in known),
        clusters=sum(estimate.clusters for estimate in known),
        reason=f"no score for {', '.join(unscored)}" if unscored else NO_INTERVAL,
        excluded=dict(excluded),
    )
