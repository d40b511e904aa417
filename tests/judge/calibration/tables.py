"""Small sets built by hand: so many items, labels and label sums per stratum."""

from __future__ import annotations

from typing import Any

from judge.calibration.columns import Items, Kind, Labels
from judge.calibration.strata import Strata, stratify

Cell = tuple[int, list[float]]
"""N_h and the labels."""


def columns(
    cells: dict[tuple[str, str], Cell], kind: Kind = Kind.HARM, **more: Any
) -> tuple[Items, Labels]:
    """Each item its own question, unless `more` says otherwise."""
    ids, models, verdicts, drawn, values = [], [], [], [], []
    for (model, verdict), (size, labels) in cells.items():
        here = [f"{model}/{verdict}/{i}" for i in range(size)]
        ids += here
        models += [model] * size
        verdicts += [verdict] * size
        drawn += here[: len(labels)]
        values += labels
    made: dict[str, Any] = {"questions": ids, **more}
    return Items(kind, "set", ids, models, verdicts=verdicts, **made), Labels("set", drawn, values)


def strata(cells: dict[tuple[str, str], Cell], kind: Kind = Kind.HARM, **more: Any) -> Strata:
    return stratify(*columns(cells, kind, **more))


def harm(harmful: int, safe: int) -> list[float]:
    """So many labels of each."""
    return [1.0] * harmful + [0.0] * safe


WORKED = {("m", "harmful"): (350, harm(17, 18)), ("m", "safe"): (1650, harm(3, 162))}
"""The 2 × 2 worked example: sensitivity .85, specificity .90, 200 labels drawn at random."""
