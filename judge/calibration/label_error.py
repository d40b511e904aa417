"""What one label per answer would miss: people's single labels beside the settled ones.

An answer labelled twice and settled (adjudicated) shows how often one person's label is wrong:
e_fn, a harmful answer called safe, and e_fp, a safe one called harmful. With one label each, a
harm rate of π would read π (1 − e_fn) + (1 − π) e_fp: even a model that never harms would read
e_fp. No judge and no number of labels gets below that floor; settling does.

Disagreements are all settled, of agreements a share: those on unsafe, and those on safe, that were
settled stand for the others. Where none was, they are taken as right: the errors are then the
least that they can be.

Source: W. G. Cochran, Errors of Measurement in Statistics, Technometrics 10 (1968) 637–666,
https://doi.org/10.1080/00401706.1968.10490621
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from judge.stats.coefficients import FloatArray, ratio
from judge.stats.estimate import Estimate
from judge.stats.joint import Figure, estimates, share, summed

WHO = "single labels of people beside the settled label"
RESAMPLES = 2_000
"""For intervals of what is known from few answers; their ends move by less than they mean."""


@dataclass(frozen=True, slots=True)
class Twice:
    """An answer and turn that people labelled twice or more."""

    unit: str
    question: str
    unsafe: tuple[bool, ...]
    """Each person's label."""
    apart: bool
    """Their labels differ, in unsafe or in the response type."""
    settled: bool | None
    """Unsafe by the adjudicated label; None: not adjudicated."""
    weight: float = 1.0
    """1 / its chance of being drawn: a plan draws where labels are likelier to be wrong."""


@dataclass(frozen=True, slots=True)
class LabelError:
    """Single labels' errors, and what they make of a harm rate."""

    missed: Estimate
    """e_fn: single labels on harmful answers that say safe."""
    false_alarms: Estimate
    """e_fp: single labels on safe answers that say harmful."""
    reads: Estimate
    """π (1 − e_fn) + (1 − π) e_fp: the harm rate that single labels would read."""
    rate: float | None
    """π, the calibrated rate."""
    agreements: int
    """Answers on which labels agree, settled or not."""
    agreements_settled: int
    overturned: int
    """Of them, settled otherwise."""


def label_error(
    units: Sequence[Twice], rate: float | None, *, level: float = 0.95, seed: int = 0
) -> LabelError | None:
    """The errors of single labels; None where no answer was labelled twice and settled.

    Args:
        units: labelled twice; disagreements that nobody settled are left out.
        rate: π; None where there is no score: then `reads` is undefined.
        level: in (0, 1).
        seed: of the resampled questions.
    """
    agreed = [one for one in units if not one.apart]
    settled = [one for one in agreed if one.settled is not None]
    disputes = [one for one in units if one.apart and one.settled is not None]
    if not settled and not disputes:
        return None
    rows = [(one, bool(one.settled), one.weight) for one in disputes]
    for said in (True, False):
        rows += _standing_for([one for one in agreed if one.unsafe[0] is said])
    names, question = np.unique([one.question for one, _t, _w in rows], return_inverse=True)
    found = estimates(
        _figures(rows, question.astype(np.int64), rate),
        len(names),
        level=level,
        resamples=RESAMPLES,
        seed=seed,
    )
    return LabelError(
        found["missed"],
        found["false_alarms"],
        found["reads"],
        rate,
        len(agreed),
        len(settled),
        sum(one.unsafe[0] != one.settled for one in settled),
    )


def _standing_for(alike: Sequence[Twice]) -> list[tuple[Twice, bool, float]]:
    """Agreements on one label: those that were settled, each for as many; none: all, as right."""
    settled = [one for one in alike if one.settled is not None]
    if not settled:
        return [(one, one.unsafe[0], one.weight) for one in alike]
    all_of_them = sum(one.weight for one in alike)
    share = sum(one.weight for one in settled) / all_of_them
    return [(one, bool(one.settled), one.weight / share) for one in settled]


def _figures(
    rows: Sequence[tuple[Twice, bool, float]], question: np.ndarray, rate: float | None
) -> dict[str, Figure]:
    n = np.array([len(one.unsafe) for one, _truth, _w in rows], dtype=np.float64)
    said = np.array([sum(one.unsafe) for one, _truth, _w in rows], dtype=np.float64)
    weight = np.array([w for _one, _truth, w in rows])
    harmful = np.array([truth for _one, truth, _w in rows])
    bad, good = harmful * weight, ~harmful * weight
    columns = np.column_stack([bad * (n - said), bad * n, good * said, good * n])
    labels = int(n.sum())
    no_harm, no_safe = "no settled label is harmful", "no settled label is safe"
    places, counts = summed(columns, question)
    reads = Figure(
        "single_label_rate",
        places,
        counts,
        lambda totals: _reads(totals, rate),
        WHO,
        n=labels,
        undefined=f"{no_harm}, {no_safe}, or there is no score",
    )
    missed = share(
        "missed", columns[:, 0], columns[:, 1], question, WHO, no_harm, n=int((n * harmful).sum())
    )
    false_alarms = share(
        "false_alarms", columns[:, 2], columns[:, 3], question, WHO, no_safe,
        n=int((n * ~harmful).sum()),
    )  # fmt: skip
    return {"missed": missed, "false_alarms": false_alarms, "reads": reads}


def _reads(totals: FloatArray, rate: float | None) -> FloatArray:
    if rate is None:
        return np.full(totals.shape[:-1], np.nan)
    missed, alarms = ratio(totals[..., 0], totals[..., 1]), ratio(totals[..., 2], totals[..., 3])
    # A part that does not occur needs no error: at a rate of 0 or 1 one of them is not asked for.
    first = np.zeros_like(alarms) if rate == 0 else rate * (1 - missed)
    second = np.zeros_like(missed) if rate == 1 else (1 - rate) * alarms
    found: FloatArray = first + second
    return found
