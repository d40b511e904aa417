"""Verdicts and labels as strata: model × verdict class (× prompt set).

The judge is wrong in its own way on every model, so strata never pool models; its failures
pile up on harmful items, so they are a stratum of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from judge.calibration.binding import BoolArray, IntArray, bound, unequal
from judge.calibration.columns import SCALES, Chances, Items, Kind, Labels
from judge.calibration.refusals import Refusal, of_strata
from judge.calibration.stratum import Stratum
from judge.stats.coefficients import FloatArray


@dataclass(frozen=True)
class Strata:
    """All strata of a set, the labels in them, and what is wrong with them.

    `item_*` have one entry per item, `label_*` one per label in drawn order; strata and
    questions are indices.
    """

    kind: Kind
    name: str
    rows: tuple[Stratum, ...]
    item_stratum: IntArray
    item_question: IntArray
    label_stratum: IntArray
    label_question: IntArray
    label_value: FloatArray
    draw_stratum: IntArray
    """Of every draw, labelled or not, in drawn order; as is `draw_value`."""
    draw_value: FloatArray
    """The label; nan where the draw got none."""
    draw_item: IntArray
    """Each draw's item, as a place in the `item_*`."""
    refusals: tuple[Refusal, ...]
    active: Chances | None = None
    """None: the items of a stratum were drawn alike."""
    draw_chance: FloatArray | None = None
    """Of an active draw: each draw's own probability."""
    item_predicted: FloatArray | None = None
    """What the judge says of each item on the labels' scale; nan failed; None: by class."""
    label_predicted: FloatArray | None = None

    def alike(self) -> Strata:
        """The same strata: what an estimator by stratum means can be given.

        Raises:
            ValueError: the draw was active, so that a stratum's mean is not its items'.
        """
        if self.active is not None:
            raise ValueError(
                f"{self.name}: labels of an active draw, each item with its own probability;"
                " expected items drawn alike within each stratum; use active_calibrated"
            )
        return self

    @cached_property
    def models(self) -> tuple[str, ...]:
        """The models summed, in order of name."""
        return tuple(sorted({row.model for row in self.rows}))

    @property
    def scale(self) -> tuple[float, float]:
        """The least and the greatest label."""
        return SCALES[self.kind]

    @cached_property
    def sizes(self) -> FloatArray:
        """N_h; shape (strata,)."""
        return np.array([row.size for row in self.rows], dtype=np.float64)

    @cached_property
    def counts(self) -> FloatArray:
        """n_h; shape (strata,)."""
        return np.array([row.labelled for row in self.rows], dtype=np.float64)

    @cached_property
    def means(self) -> FloatArray:
        """ȳ_h; nan without labels; shape (strata,)."""
        return np.array([np.nan if row.mean is None else row.mean for row in self.rows])

    @cached_property
    def shares(self) -> FloatArray:
        """W_h = N_h / N; shape (strata,)."""
        shares: FloatArray = self.sizes / self.sizes.sum()
        return shares

    def of(self, *models: str) -> Strata:
        """The strata of some models only.

        Refusals stay that are about the whole set or about these models. The minimum of labels
        in all is the set's: a model's own score is not refused for it.

        Raises:
            ValueError: a model is not in the set.
        """
        unknown = sorted(set(models) - set(self.models))
        if unknown or not models:
            raise ValueError(f"models {unknown}: expected some of {', '.join(self.models)}")
        kept = np.array([row.model in models for row in self.rows])
        index = np.cumsum(kept) - 1
        items, labels = kept[self.item_stratum], kept[self.label_stratum]
        draws = kept[self.draw_stratum]
        return Strata(
            self.kind,
            self.name,
            tuple(row for row in self.rows if row.model in models),
            index[self.item_stratum[items]],
            self.item_question[items],
            index[self.label_stratum[labels]],
            self.label_question[labels],
            self.label_value[labels],
            index[self.draw_stratum[draws]],
            self.draw_value[draws],
            (np.cumsum(items) - 1)[self.draw_item[draws]],
            tuple(r for r in self.refusals if r.model is None or r.model in models),
            self.active,
            None if self.draw_chance is None else self.draw_chance[draws],
            None if self.item_predicted is None else self.item_predicted[items],
            None if self.label_predicted is None else self.label_predicted[labels],
        )

    def worst_case(self) -> tuple[float, float]:
        """Σ W_h bounds_h: the score if every draw without a label were the least / greatest.

        Of an active draw by the strata's weighted means: what its labels would say without
        cross-fitting, which makes next to no difference.
        """
        low, high = np.array([row.bounds() for row in self.rows]).T @ self.shares
        return float(low), float(high)


def stratify(items: Items, labels: Labels) -> Strata:
    """Put items and labels into strata, and say everything that is wrong with them.

    Labels that cannot be bound to an item (unknown, duplicate, of another purpose or off the
    scale) are left out of the strata and refused.

    Raises:
        ValueError: there are no items.
    """
    if not len(items.ids):
        raise ValueError("no items: expected at least one verdict to calibrate")
    stratum, keys = _strata_of(items)
    question = pd.factorize(np.asarray(items.questions, dtype=object))[0].astype(np.int64)
    place, refusals = bound(items, labels)
    drawn = place >= 0
    place, values = place[drawn], labels.array()[drawn]
    chances = None
    if labels.active is None:
        rows = _rows(items, keys, stratum, place, values)
        refusals += unequal(rows, labels, stratum[place], drawn)
    else:
        chances = np.asarray(labels.probabilities, dtype=np.float64)[drawn]
        rows = _rows(items, keys, stratum, place, values, 1 / chances)
        rows = tuple(
            replace(
                row,
                least_chance=labels.active.least.get((row.model, row.verdict, row.prompt_set)),
            )
            for row in rows
        )
    labelled = ~np.isnan(values)
    return Strata(
        items.kind,
        items.name,
        rows,
        stratum,
        question,
        stratum[place[labelled]],
        question[place[labelled]],
        values[labelled],
        stratum[place],
        values,
        place,
        (*refusals, *of_strata(rows)),
        labels.active,
        chances,
        items.predicted,
        None if items.predicted is None else items.predicted[place[labelled]],
    )


def _strata_of(items: Items) -> tuple[IntArray, list[tuple[str, str, str]]]:
    """Each item's stratum, and the strata in order of (model, verdict, prompt set)."""
    codes, names = [], []
    for column in (items.models, items.verdicts, items.prompt_sets):
        whole = [column] if isinstance(column, str) else column
        code, uniques = pd.factorize(np.asarray(whole, dtype=object), sort=True)
        codes.append(np.zeros(len(items.ids), np.int64) if isinstance(column, str) else code)
        names.append([str(name) for name in uniques])
    mixed = (codes[0] * len(names[1]) + codes[1]) * len(names[2]) + codes[2]
    found, stratum = np.unique(mixed, return_inverse=True)
    keys = [
        (
            names[0][key // (len(names[1]) * len(names[2]))],
            names[1][key // len(names[2]) % len(names[1])],
            names[2][key % len(names[2])],
        )
        for key in found.tolist()
    ]
    return stratum.astype(np.int64), keys


def _rows(
    items: Items,
    keys: Sequence[tuple[str, str, str]],
    stratum: IntArray,
    place: IntArray,
    values: FloatArray,
    weights: FloatArray | None = None,
) -> tuple[Stratum, ...]:
    """The strata of draws at these places; with weights, scaled to mean 1 in each stratum."""
    of = stratum[place]

    def counted(where: BoolArray, each: FloatArray | None = None) -> FloatArray:
        chosen = None if each is None else each[where]
        return np.bincount(of[where], chosen, minlength=len(keys)).astype(np.float64)

    every, labelled = np.full(len(of), True), ~np.isnan(values)
    drawn, n = counted(every), counted(labelled)
    scaled, weight = np.ones(len(of)), n
    if weights is not None:
        scaled = weights * (drawn / np.maximum(counted(every, weights), 1e-300))[of]
        weight = counted(labelled, scaled)
    totals = counted(labelled, scaled * values)
    means = totals / np.where(n > 0, weight, 1)
    squares = counted(labelled, scaled * (values - means[of]) ** 2)
    sizes = np.bincount(stratum, minlength=len(keys))
    return tuple(
        Stratum(
            *key,
            int(sizes[h]),
            int(drawn[h]),
            int(n[h]),
            float(totals[h]),
            float(squares[h]),
            SCALES[items.kind],
            None if weights is None else float(weight[h]),
        )
        for h, key in enumerate(keys)
    )
