"""Labels of a set in production: which there are, whence, and what changed since a calibration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from judge.calibration.label_digest import labels_digest, verdicts_digest
from judge.commands.calibrate_command import by_word_only
from judge.commands.calibration_basis import Basis
from judge.reporting.topics.production import Labels


def changed(artefact: Mapping[str, Any], on: Basis) -> str:
    """What is no longer as it was when the calibration was made; "" if nothing."""
    if artefact["set"]["verdicts"] != verdicts_digest(on.scored.items):
        return "verdicts have changed since the calibration"
    if artefact["labels"]["digest"] == labels_digest(on.scored):
        return ""
    if not labelled(on)[1]:
        return "the labels that it rests on are not in this study"
    return "labels are newer than the calibration, or another sample was drawn since"


def labelled(on: Basis) -> tuple[int, int]:
    """Draws of the set, and how many of them have a label."""
    values = on.scored.labels.array()
    return len(values), int(np.isfinite(values).sum())


def drawn_here(on: Basis) -> bool:
    """Whether the plan drew from this very set."""
    return on.plan is not None and on.plan.body["set"] == on.scored.items.name


def label_words(on: Basis) -> str:
    """Which labels of this very set there are, and why they do not do."""
    draws, with_label = labelled(on)
    why = on.strata.refusals[0].words() if on.strata.refusals else ""
    if drawn_here(on) and on.plan is not None:
        found = f"plan {on.plan.id[:8]} drew {draws} items of this set, {with_label} are labelled"
        return f"{found}; not enough yet: {why}" if why else found
    if on.plan is None and with_label:
        return f"{with_label} items of this set have labels; they cannot be used: {why}"
    return "no labels were drawn from this set"


def whence(artefact: Mapping[str, Any]) -> Labels:
    """Whether a plan drew a calibration's labels, or all are there, or somebody says so."""
    if by_word_only(artefact):
        return Labels.BY_WORD
    return Labels.DRAWN if artefact["draw"]["plan"] else Labels.ALL
