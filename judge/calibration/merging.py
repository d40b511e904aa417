"""Small strata merged with a neighbour before labelling: verdicts decide, labels never."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from judge.calibration.columns import FAILED, JOINED, VERDICTS, Items, Kind

SMALL = 10
"""A stratum with fewer items than this is merged."""


def merge_small(items: Items, small: int = SMALL) -> Items:
    """The same items, their verdict classes merged until no stratum is smaller than `small`.

    Within each model and prompt set, the smallest class (of several, the first in the kind's
    order) joins its smaller neighbour in that order, win – tie – inconsistent – lose for pairs,
    until all are large enough or one class is left. `failed` stays alone, and harm verdicts
    stay as they are: harmful and safe joined would no longer say anything.

    Never across prompt sets: what people say of one tells nothing of another. A set with few
    items is a stratum by itself, and its least (five labels, or all it has) costs little.

    The rule sees no labels: merging by them would bias the score.
    """
    if items.kind is Kind.HARM:
        return items
    strata = items.strata()
    sizes: dict[tuple[str, str], Counter[str]] = {}
    for model, verdict, prompt_set in strata:
        sizes.setdefault((model, prompt_set), Counter())[verdict] += 1
    names = {key: _merged(counts, VERDICTS[items.kind], small) for key, counts in sizes.items()}
    verdicts = [names[model, prompt_set][verdict] for model, verdict, prompt_set in strata]
    return replace(items, verdicts=verdicts)


def _merged(counts: Counter[str], order: Sequence[str], small: int) -> dict[str, str]:
    """Each verdict class → the name of the class that it is counted in."""
    groups = [[verdict] for verdict in order if counts[verdict]]

    def size(group: Sequence[str]) -> int:
        return sum(counts[verdict] for verdict in group)

    while len(groups) > 1 and min(map(size, groups)) < small:
        at = min(range(len(groups)), key=lambda i: size(groups[i]))
        beside = [i for i in (at - 1, at + 1) if 0 <= i < len(groups)]
        other = min(beside, key=lambda i: size(groups[i]))
        first, second = sorted((at, other))
        groups[first : second + 1] = [groups[first] + groups[second]]
    named = {verdict: JOINED.join(group) for group in groups for verdict in group}
    return {FAILED: FAILED, **{v: v for v in counts}, **named}
