"""Words that several topics share: who voted, why there is no figure, how much to trust one."""

from __future__ import annotations

from collections.abc import Iterable

from judge.stats.bands import INDICATIVE_BELOW
from judge.stats.estimate import Estimate


def people(simulated: bool) -> str:
    """Who cast the votes; a program's are never called people's."""
    return "simulated raters" if simulated else "people"


def human(simulated: bool) -> str:
    """Their half of a comparison's name, e.g. `judge–human`."""
    return "simulated" if simulated else "human"


def defined(estimates: Iterable[Estimate]) -> bool:
    """Whether any of the figures has a value: else a table would hold dashes only."""
    return any(one.value is not None for one in estimates)


def reasons(estimates: Iterable[Estimate]) -> str:
    """Why figures have no value, each reason once, in order."""
    return "; ".join(dict.fromkeys(one.reason for one in estimates if one.value is None))


def indicative(questions: int) -> tuple[str, ...]:
    """A remark for tables on few questions; none for enough of them."""
    if questions >= INDICATIVE_BELOW:
        return ()
    few = f"{questions:,} question{'' if questions == 1 else 's'}"
    return (f"Indicative only: {few}, fewer than {INDICATIVE_BELOW}.",)


def capital(words: str) -> str:
    """With the first letter as at the start of a sentence."""
    return words[:1].upper() + words[1:]
