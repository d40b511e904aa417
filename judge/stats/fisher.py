"""Whether failures fall on some units more than on others: exact, and stratified.

Pure: no database, endpoint or command line.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import comb


@dataclass(frozen=True, slots=True)
class Stratum:
    """`units` alike but for belonging to a group; `failed` of them, and `group` of them.

    `hit` is how many of the group failed.
    """

    units: int
    failed: int
    group: int
    hit: int

    @property
    def informative(self) -> bool:
        """Whether the group could have had more or fewer of the failures."""
        return 0 < self.failed < self.units and 0 < self.group < self.units


def exact_p(strata: Iterable[Stratum]) -> float | None:
    """P(as unlikely or more) when failures fall on the units of each stratum at random.

    The number of the group's failures, given every stratum's margins, is a sum of
    hypergeometric counts; its distribution is computed in full. Two-sided: all outcomes no
    more likely than the observed one. With one stratum this is Fisher's exact test. None
    when no stratum could tell.

    References: R. A. Fisher, The Design of Experiments (1935), ch. 2; N. Mantel & W. Haenszel,
    JNCI 22 (1959) 719, for the stratified margins.
    """
    # Here and not above: a run without failures never needs it.
    import numpy as np

    telling = [stratum for stratum in strata if stratum.informative]
    if not telling:
        return None
    chances, start = np.ones(1), 0
    for stratum in telling:
        least = max(0, stratum.group + stratum.failed - stratum.units)
        chances = np.convolve(chances, _hypergeometric(stratum, least))
        start += least
    observed = chances[sum(stratum.hit for stratum in telling) - start]
    # Outcomes as likely as the observed one differ from it in the last digits.
    return min(1.0, float(chances[chances <= observed * (1 + 1e-9)].sum()))


def holm(values: Sequence[float]) -> list[float]:
    """p-values of a family, adjusted: below level, the chance of any false one is below it.

    References: S. Holm, Scand. J. Statist. 6 (1979) 65.
    """
    adjusted = [0.0] * len(values)
    highest = 0.0
    for rank, index in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        highest = max(highest, min(1.0, (len(values) - rank) * values[index]))
        adjusted[index] = highest
    return adjusted


def _hypergeometric(stratum: Stratum, least: int) -> list[float]:
    """C(g, k) C(N − g, K − k) / C(N, K) for every possible k."""
    most = min(stratum.group, stratum.failed)
    rest = stratum.units - stratum.group
    every = comb(stratum.units, stratum.failed)
    return [
        comb(stratum.group, hit) * comb(rest, stratum.failed - hit) / every
        for hit in range(least, most + 1)
    ]
