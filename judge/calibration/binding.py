"""Labels to their items, and what is wrong with those that must not count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from annotate.records import Purpose
from judge.calibration.columns import SCALES, Items, Kind, Labels
from judge.calibration.refusals import Refusal, Why
from judge.calibration.rows import question_words
from judge.calibration.stratum import Stratum

IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]

SHOWN = 3
"""Ids named in a refusal."""


def bound(items: Items, labels: Labels) -> tuple[IntArray, list[Refusal]]:
    """Each label's item, −1 where it has none or must not count; and why."""
    known = {one: place for place, one in enumerate(items.ids)}
    place = np.array([known.get(one, -1) for one in labels.ids], dtype=np.int64)
    bad: list[tuple[Why, BoolArray, str, str, str]] = []
    twice = pd.Series(list(labels.ids), dtype=object).duplicated().to_numpy()
    purposes = np.broadcast_to(np.asarray(labels.purposes, dtype=object), place.shape)
    low, high = SCALES[items.kind]
    values = labels.array()
    off = ~np.isnan(values) & ~((values >= low) & (values <= high))
    if items.kind is Kind.HARM:
        off |= ~np.isnan(values) & (values != low) & (values != high)
    bad = [
        (
            Why.UNKNOWN_ITEM,
            place < 0,
            "labels for unknown items",
            "items of the set",
            "leave them out, or score the set that they were drawn from",
        ),
        (
            Why.DUPLICATE_LABEL,
            twice,
            "labels for items that have one",
            "one label per item",
            "adjudicate or average the raters' labels of an item first",
        ),
        (
            Why.PURPOSE,
            purposes != Purpose.ESTIMATION,
            "labels not drawn for estimation",
            f"purpose {Purpose.ESTIMATION.value}",
            "leave them out: items chosen because they look wrong bias the score",
        ),
        (
            Why.OFF_SCALE,
            off,
            "labels off the scale",
            "0 or 1" if items.kind is Kind.HARM else f"{low:g} to {high:g}",
            "correct them",
        ),
    ]
    refusals = list(_of_set(items, labels, len(known)))
    for why, where, what, expected, todo in bad:
        if where.any():
            shown = [_named(items, labels.ids[i], known) for i in np.flatnonzero(where)[:SHOWN]]
            more = ", …" if int(where.sum()) > SHOWN else ""
            named = f"{int(where.sum())} {what} ({', '.join(shown)}{more})"
            refusals.append(Refusal(why, named, expected, todo))
            place = np.where(where, -1, place)
    return place, refusals


def _named(items: Items, id: str, known: Mapping[str, int]) -> str:
    """As a person finds it; of what is not in the set nothing but its id is known."""
    if id not in known:
        return id
    place = known[id]
    return f"{items.models[place]} on question {question_words(items.questions[place])}"


def _of_set(items: Items, labels: Labels, distinct: int) -> Sequence[Refusal]:
    found = []
    if labels.name != items.name:
        found.append(
            Refusal(
                Why.OTHER_SET,
                f"labels of the set {labels.name!r}",
                f"labels of the set to be scored, {items.name!r}",
                "draw and label items of this set: a judge errs differently on another",
            )
        )
    if distinct < len(items.ids):
        found.append(
            Refusal(
                Why.DUPLICATE_ITEM,
                f"{len(items.ids) - distinct} items more than once in the set",
                "each item once",
                "take one verdict per item",
            )
        )
    judges = {items.judges} if isinstance(items.judges, str) else set(items.judges)
    if len(judges) > 1:
        found.append(
            Refusal(
                Why.MIXED_JUDGES,
                f"verdicts of {len(judges)} judges",
                "verdicts of one fingerprint",
                "calibrate each judge on its own",
            )
        )
    return found


def unequal(
    rows: Sequence[Stratum], labels: Labels, stratum: IntArray, drawn: BoolArray
) -> list[Refusal]:
    """Strata whose items had unequal chances to be drawn.

    Args:
        rows: the strata.
        labels: with their inclusion probabilities, or without.
        stratum: of each label that was bound, by index.
        drawn: which labels were bound; shape (draws,).
    """
    if labels.probabilities is None:
        return []
    chances = np.asarray(labels.probabilities, dtype=np.float64)[drawn]
    found = []
    for index, row in enumerate(rows):
        here = chances[stratum == index]
        if len(here) and np.ptp(here) > 1e-9:
            found.append(
                Refusal(
                    Why.UNEQUAL_DRAWS,
                    f"inclusion probabilities from {here.min():.3g} to {here.max():.3g}",
                    "the same for all items of a stratum",
                    "draw again: verdicts changed since the draw (an active draw's labels count"
                    " under their own plan only)",
                    row.name,
                    row.model,
                )
            )
    return found
