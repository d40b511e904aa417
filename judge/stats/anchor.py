"""Has the judge changed behind its name? Fresh verdicts against stored ones. Pure.

When an endpoint serves a fingerprint that a run has not seen, some of its stored replies
are asked for again; a verdict that comes out otherwise is a flip.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from typing import Any

from judge.stats.binomial import LEVEL, clopper_pearson

ANCHORS = 50
"""How many stored verdicts are asked for again, at most."""
NOTICEABLE = (0.02, 0.05, 0.10, 0.20)
"""Flip rates for which the power is printed."""


@dataclass(frozen=True, slots=True)
class AnchorCheck:
    """What asking again came to.

    `flips` of `compared` verdicts came out otherwise; `failed` have no fresh verdict, and `why`
    says why the asking ended before all had been asked.
    `low` and `high` are the exact interval of the flip rate (Clopper and Pearson 1934).
    `power` is, per flip rate, the chance that so many comparisons show at least one flip.
    """

    before: tuple[str, ...]
    after: tuple[str, ...]
    items: int
    compared: int
    failed: int
    flips: int
    low: float | None
    high: float | None
    level: float
    power: tuple[tuple[float, float], ...]
    why: str = ""

    @property
    def flip_rate(self) -> float | None:
        """Share of verdicts that came out otherwise: 0 as before; None without any."""
        return self.flips / self.compared if self.compared else None


def anchor_check(
    before: Sequence[str],
    after: Sequence[str],
    pairs: Sequence[tuple[Any, Any]],
    *,
    level: float = LEVEL,
    why: str = "",
) -> AnchorCheck:
    """Compare (stored, fresh) verdicts; a fresh one that is None failed and is left out."""
    compared = [(stored, fresh) for stored, fresh in pairs if fresh is not None]
    flips = sum(stored != fresh for stored, fresh in compared)
    low, high = clopper_pearson(flips, len(compared), level) if compared else (None, None)
    return AnchorCheck(
        tuple(sorted(before)),
        tuple(sorted(after)),
        items=len(pairs),
        compared=len(compared),
        failed=len(pairs) - len(compared),
        flips=flips,
        low=low,
        high=high,
        level=level,
        power=tuple((rate, power(rate, len(compared))) for rate in NOTICEABLE),
        why=why,
    )


def power(rate: float, compared: int) -> float:
    """1 − (1 − rate)ⁿ: the chance that n comparisons show a flip if so many come out otherwise."""
    return float(1 - (1 - rate) ** compared)


def anchor_words(found: AnchorCheck) -> str:
    """One check in a line or two, with what it could have noticed."""
    served = f"the endpoint serves another fingerprint ({_names(found)})" if found.after else ""
    if not found.compared:
        none = f"none of {found.items} stored verdicts could be asked for again"
        none += f" ({found.why})" if found.why else ""
        return f"{served}; {none}" if served else none
    low, high = (100 * (nan if end is None else end) for end in (found.low, found.high))
    chances = ", ".join(
        f"{100 * rate:g} % with probability {chance:.2f}" for rate, chance in found.power
    )
    why = f": {found.why}" if found.why else ""
    failed = f" ({found.failed} failed{why})" if found.failed else ""
    flips = (
        f"{found.flips} of {found.compared} stored verdicts came out otherwise when asked"
        f" again{failed}, {100 * (found.flip_rate or 0.0):.1f} % [{low:.1f}, {high:.1f}]; so many"
        f" would show a flip rate of {chances}"
    )
    return f"{served}: {flips}" if served else flips


def _names(found: AnchorCheck) -> str:
    return f"{', '.join(found.before)} → {', '.join(found.after)}"
