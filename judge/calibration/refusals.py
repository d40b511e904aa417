"""Why a score is refused, and what to do about it: values, not exceptions, and never a clip."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from judge.calibration.columns import FAILED
from judge.calibration.stratum import Stratum

LEAST_PER_STRATUM = 5
LEAST_IN_ALL = 40
LEAST_FAILED = 30
"""Labels of a stratum of failed verdicts, unless it is labelled in full."""
MOST_UNFILLED = 0.10
"""Share of a stratum's draws that may stay without a label."""


REFUSED = "refused: "
"""How the reason of a figure begins that was refused."""


class Why(StrEnum):
    """What is wrong with labels or verdicts."""

    NO_LABEL = "no_label"
    """A stratum holds items and no label."""
    TOO_FEW = "too_few"
    """A stratum has fewer labels than its minimum."""
    TOO_FEW_IN_ALL = "too_few_in_all"
    """All strata together have fewer labels than the minimum."""
    FAILED_UNLABELLED = "failed_unlabelled"
    """Failed verdicts are neither all labelled nor enough of them."""
    NON_RESPONSE = "non_response"
    """Too many drawn items of a stratum got no label."""
    OTHER_SET = "other_set"
    """The labels are of another set of items."""
    UNKNOWN_ITEM = "unknown_item"
    """Labels name items that are not in the set."""
    DUPLICATE_LABEL = "duplicate_label"
    """An item has more than one label."""
    DUPLICATE_ITEM = "duplicate_item"
    """An item is in the set more than once."""
    MIXED_JUDGES = "mixed_judges"
    """The verdicts come from more than one judge."""
    PURPOSE = "purpose"
    """Labels were not drawn for estimation."""
    UNEQUAL_DRAWS = "unequal_draws"
    """Items of one stratum had unequal chances to be drawn."""
    OFF_SCALE = "off_scale"
    """A label is not on the scale."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """One reason, in the words for a person."""

    why: Why
    found: str
    expected: str
    todo: str
    where: str = ""
    """The stratum; empty where it is about the whole set."""
    model: str | None = None
    """The stratum's model; None where it is about the whole set."""

    def words(self) -> str:
        """One line: where, found, expected, what to do."""
        where = f"{self.where}: " if self.where else ""
        return f"{where}{self.found}; expected {self.expected}; {self.todo}"


def refusal_words(refusals: Iterable[Refusal]) -> str:
    """All reasons in one line."""
    return " · ".join(refusal.words() for refusal in refusals)


def of_strata(strata: Sequence[Stratum]) -> list[Refusal]:
    """What is wrong with the number of labels, stratum by stratum and in all."""
    found = [refusal for stratum in strata for refusal in _of_one(stratum)]
    size = sum(stratum.size for stratum in strata)
    labels = sum(stratum.labelled for stratum in strata)
    if labels < min(size, LEAST_IN_ALL):
        found.append(
            Refusal(
                Why.TOO_FEW_IN_ALL,
                f"{labels} labels in all",
                f"{min(size, LEAST_IN_ALL)} or more",
                "draw and label more items",
            )
        )
    return found


def _of_one(stratum: Stratum) -> Iterable[Refusal]:
    def refusal(why: Why, found: str, expected: str, todo: str) -> Refusal:
        return Refusal(why, found, expected, todo, stratum.name, stratum.model)

    size, labels, unfilled = stratum.size, stratum.labelled, stratum.drawn - stratum.labelled
    least = min(size, LEAST_PER_STRATUM)
    failed = min(size, LEAST_FAILED)
    if labels == 0:
        yield refusal(
            Why.NO_LABEL,
            f"no label for {size} items",
            f"{failed if stratum.verdict == FAILED else least} or more",
            "label what is drawn: it waits for labels"
            if stratum.drawn
            else "draw from this stratum too: evenhand plan … --draw",
        )
    elif stratum.verdict == FAILED and labels < failed:
        yield refusal(
            Why.FAILED_UNLABELLED,
            f"{labels} of {size} failed verdicts labelled",
            f"{failed} or more",
            "failures pile up on harmful items: label them all, or that many",
        )
    elif labels < least:
        yield refusal(
            Why.TOO_FEW, f"{labels} labels for {size} items", f"{least} or more", "label more"
        )
    if unfilled > MOST_UNFILLED * stratum.drawn:
        low, high = stratum.bounds()
        yield refusal(
            Why.NON_RESPONSE,
            f"{unfilled} of {stratum.drawn} drawn items without a label: whatever they are,"
            f" the stratum's mean is between {low:.3f} and {high:.3f}",
            f"{100 * MOST_UNFILLED:g} % or fewer",
            "have them labelled by others; new draws in their place would hide what they are",
        )
