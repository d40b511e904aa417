"""Small tables of judgments for the statistics of `judge.stats`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from judge.stats.agreement import Votes, pair_judgments, select_verdicts, select_votes
from judge.stats.rows import Rows, judged_rows, question_index

OUTCOMES = ("a", "tie", "b")
MIRROR = {"a": "b", "b": "a", "tie": "tie", "both_bad": "both_bad"}
WHO = "votes"


def row(unit: str, source: str, value: str | None, /, **other: Any) -> dict[str, Any]:
    """One judgment; the source `judge` is a judge. `unit` is question:models, models x-y."""
    judge = source == "judge"
    question, _, models = unit.partition(":")
    first, _, second = (models or "alder-birch").partition("-")
    return {
        "unit_id": unit,
        "subject": "pair",
        "question_id": question,
        "model_a": first,
        "model_b": second,
        "turn": 1,
        "dimension": "overall",
        "source_kind": "judge" if judge else "rater",
        "source_id": source,
        "rater_group": None if judge else "crowd",
        "layer": None if judge else "vote",
        "occurrence": 1,
        "purpose": "estimation",
        "value": value,
        "status": "ok",
        **other,
    }


@dataclass(frozen=True)
class Made:
    """What the statistics take, from one table."""

    judgments: pd.DataFrame
    votes: Votes
    verdicts: pd.DataFrame
    questions: pd.Index[str]

    def rows(self, setup: str = "S1") -> Rows:
        return judged_rows(self.votes, self.verdicts, setup, self.questions)


def made(rows: list[dict[str, Any]] | pd.DataFrame) -> Made:
    """The votes of people and the verdicts of `judge` on `overall`."""
    judgments = pair_judgments(pd.DataFrame(rows))
    return Made(
        judgments,
        select_votes(judgments, "overall", groups=None, simulated=False),
        select_verdicts(judgments, "overall", "judge"),
        question_index(judgments["cluster"]),
    )


def units(*votes_and_verdicts: str) -> list[dict[str, Any]]:
    """One question per text such as "aat/b": votes of r0, r1, …, then the verdict, if any."""
    words = {"a": "a", "b": "b", "t": "tie", "x": "both_bad"}
    rows = []
    for number, text in enumerate(votes_and_verdicts):
        votes, _, verdict = text.partition("/")
        rows += [row(f"q{number}", f"r{i}", words[v]) for i, v in enumerate(votes)]
        rows += [row(f"q{number}", "judge", words[verdict])] if verdict else []
    return rows


def study(seed: int, questions: int = 12, raters: int = 5) -> list[dict[str, Any]]:
    """Uneven votes on three model pairs and two turns; people and judge follow the models."""
    rng = np.random.default_rng(seed)
    rows = []
    for question in range(questions):
        for number, models in enumerate(("alder-birch", "alder-cedar", "birch-cedar")):
            for turn in (1, 2):
                if rng.random() < 0.3:
                    continue
                unit = f"{question}:{models}"
                chances = [(0.6, 0.2, 0.2), (0.2, 0.3, 0.5), (0.35, 0.3, 0.35)][number]
                said = [OUTCOMES[rng.choice(3, p=chances)] for _ in range(raters + 1)]
                if rng.random() < 0.9:
                    rows.append(row(unit, "judge", said[raters], turn=turn))
                chosen = rng.permutation(raters)[: rng.integers(0, raters + 1)]
                rows += [row(unit, f"r{i}", said[i], turn=turn) for i in chosen]
    return rows
