"""Agreement against how far apart two models are: the judge is tested where models are close.

One point per pair of models, as in Zheng et al. (2023), Figure 2: across, the difference of the
two models' head-to-head win rates by people; up, how often judge and people agree. A judge that
knows nothing but which model is better reaches (1 + difference) / 2 of the decisive votes: only
what lies above that line says something about single answers.

Source: https://arxiv.org/abs/2306.05685, section 4.2. The paper counts the non-tie votes
between the two models.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judge.stats.coefficients import FloatArray
from judge.stats.estimate import Estimate
from judge.stats.ratios import Ratio, estimated
from judge.stats.wins import codes, scores

NO_VERDICT = "no vote, or no verdict of the judge"
EITHER_TIE = "a tie on either side"
TIE_VOTE = "a tie vote"
COLUMNS = ("win_rate_difference", "win_rate_difference_decisive", "agreement_s1", "agreement_s2")
NO_ROWS = "no vote has a verdict of the judge"
NO_DECISIVE = "every vote is a tie, or met by one"


@dataclass(frozen=True, slots=True)
class GapPoint:
    """One pair of models, model_a < model_b by name."""

    model_a: str
    model_b: str
    difference: Estimate
    """(wins of a − wins of b) / votes. 1: a always preferred; 0: even; −1: b always."""
    decisive: Estimate
    """The same of the votes that are no tie: the paper's axis."""
    s1: Estimate
    """Share of votes with the judge's verdict; tie is a category. 1 always, 0 never."""
    s2: Estimate
    """The same of the rows without a tie on either side."""

    @property
    def gap(self) -> float | None:
        """|decisive difference|, in [0, 1]; None without a decisive vote."""
        return None if self.decisive.value is None else abs(self.decisive.value)

    @property
    def blind(self) -> float | None:
        """(1 + gap) / 2: agreement on decisive votes of always naming the model that wins more.

        The judge's S2 leaves out its own ties too, so this is a guide line for S2, not its
        baseline on the very same rows.
        """
        return None if self.gap is None else (1 + self.gap) / 2


def gap_points(
    question: Sequence[str],
    model_a: Sequence[str],
    model_b: Sequence[str],
    vote: Sequence[float] | FloatArray,
    verdict: Sequence[float] | FloatArray,
    population: str,
    *,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> tuple[GapPoint, ...]:
    """A point per pair of models, closest pair first, pairs without a gap last.

    A row is one vote with the judge's verdict on the same unit, or one unit with the people's
    majority: the same function serves both. Win rates and agreement are of the same rows; rows
    without a verdict are in neither, and counted.

    Args:
        question: what is resampled; shape (rows,).
        model_a: shape (rows,).
        model_b: shape (rows,).
        vote: of people: 1 for a, ½ tie, 0 for b; shape (rows,).
        verdict: of the judge, likewise; nan where there is none.
        population: whose judgments about what, in words.
        level: confidence level, in (0, 1).
        resamples: how many, ≥ 1.
        seed: same seed and rows, same intervals; all points share their resamples.
    """
    by_people, by_judge = scores(vote), scores(verdict)
    swap = np.array([b < a for a, b in zip(model_a, model_b, strict=True)], dtype=np.bool_)
    by_people = np.where(swap, 1 - by_people, by_people)
    by_judge = np.where(swap, 1 - by_judge, by_judge)
    rows: dict[tuple[str, str], list[int]] = {}
    for index, (a, b) in enumerate(zip(model_a, model_b, strict=True)):
        if a != b:
            rows.setdefault((min(a, b), max(a, b)), []).append(index)
    clusters = sorted(set(question))
    place = codes(question, clusters)
    ratios: dict[tuple[str, str, str], Ratio] = {}
    for pair, found_at in rows.items():
        at = np.array(found_at)
        for made in _ratios(clusters, place[at], by_people[at], by_judge[at]):
            ratios[(*pair, made.name)] = made
    if not ratios:
        return ()
    found = estimated(ratios, clusters, population, level=level, resamples=resamples, seed=seed)
    points = [GapPoint(*pair, *(found[*pair, name] for name in COLUMNS)) for pair in rows]
    return tuple(sorted(points, key=_closest_first))


def _ratios(
    clusters: list[str], place: NDArray[np.int64], vote: FloatArray, verdict: FloatArray
) -> Iterator[Ratio]:
    """The four figures of one pair of models, as sums per question."""
    judged = ~np.isnan(vote) & ~np.isnan(verdict)
    decisive = judged & (vote != 0.5)
    both = decisive & (verdict != 0.5)
    lead, same = 2 * vote - 1, (vote == verdict).astype(np.float64)
    nobody = {NO_VERDICT: int((~judged).sum())}
    for name, value, kept, why in zip(
        COLUMNS,
        (lead, lead, same, same),
        (judged, decisive, judged, both),
        (NO_ROWS, NO_DECISIVE, NO_ROWS, NO_DECISIVE),
        strict=True,
    ):
        tied = {EITHER_TIE if kept is both else TIE_VOTE: int((judged & ~kept).sum())}
        excluded = {reason: n for reason, n in {**nobody, **tied}.items() if n}
        top = _sums(clusters, place[kept], value[kept])
        bottom = _sums(clusters, place[kept], np.ones(int(kept.sum())))
        yield Ratio(name, top, bottom, why, excluded, whole=value is same)


def _sums(clusters: list[str], place: NDArray[np.int64], values: FloatArray) -> dict[str, float]:
    totals = np.bincount(place, values, minlength=len(clusters))
    return dict(zip(clusters, totals.tolist(), strict=True))


def _closest_first(point: GapPoint) -> tuple[bool, float, str, str]:
    return point.gap is None, point.gap or 0.0, point.model_a, point.model_b
