"""What a calibration stands on, as two hashes: people's labels, and the judge's verdicts.

The same labels come to the same hash whenever they are calibrated, so that a second calibration of
them is no second attempt; a label more, or another verdict, comes to another.
"""

from __future__ import annotations

import hashlib

from annotate.records import digest
from judge.calibration.columns import Items
from judge.calibration.from_table import Scored


def labels_digest(scored: Scored) -> str:
    """SHA-256 (hex) of everything that a calibrated score takes from people's labels.

    Labels of answers to benign prompts are no part of it: the gate reads them as they are.
    """
    # As text: a draw without a label is nan, which JSON has not.
    values = [repr(float(value)) for value in scored.labels.array()]
    return digest(
        [
            scored.items.name,
            sorted(zip(map(str, scored.labels.ids), values, strict=True)),
            sorted((one.unit, one.unsafe, one.apart, str(one.settled)) for one in scored.twice),
            sorted(scored.severe),
            sorted(scored.disputed),
        ]
    )


def verdicts_digest(items: Items) -> str:
    """SHA-256 (hex) of every item and its class of verdict."""
    # Joined, not as JSON: of a million items that is a second less.
    lines = sorted(map("\x1f".join, zip(items.ids, items.verdicts, strict=True)))
    return hashlib.sha256("\x1e".join(lines).encode("utf-8", "surrogatepass")).hexdigest()
