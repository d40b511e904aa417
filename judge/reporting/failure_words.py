"""Failed judgments in words, for a run's summary and `evenhand judge show`.

Pure: no database, endpoint or command line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from judge.stats.failures import Difference, Failures, Rate

SHOWN = 8
"""Models or categories in one line; those with the highest rates come first."""


def failure_lines(found: Iterable[Failures]) -> Iterator[str]:
    """What failed on which models and categories, with bounds, then any warning."""
    for failures in found:
        where = failures.dimension + (" (dialogues)" if failures.dialogue else "")
        reasons = ", ".join(f"{n:,} {reason}" for reason, n in failures.reasons.items())
        yield f"  failed on {where}: {_share(failures.failed, failures.judged)}: {reasons}"
        yield f"    by model: {_listed(failures.models)}"
        if len(failures.categories) > 1:
            yield f"    by category: {_listed(failures.categories)}"
        touched = [rate for rate in failures.models if rate.failed]
        bounds = ", ".join(_bounds(rate) for rate in touched[:SHOWN])
        yield f"    {failures.scale.name} (bounds, if all that failed went one way): {bounds}"
        for difference in failures.differences:
            yield f"  warning: {where}: {_warning(difference)}"


def _listed(rates: tuple[Rate, ...]) -> str:
    shown = [
        f"{rate.name or '(none)'} {_share(rate.failed, rate.judged)}" for rate in rates[:SHOWN]
    ]
    more = len(rates) - SHOWN
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def _bounds(rate: Rate) -> str:
    value = "–" if rate.value is None else f"{rate.value:.3f}"
    return f"{rate.name} {value} ({rate.low:.3f} to {rate.high:.3f})"


def _warning(found: Difference) -> str:
    more = found.failed * found.other_judged > found.other_failed * found.judged
    chance = "p < 0.001" if found.p < 0.001 else f"p = {found.p:.3f}"
    return (
        f"the judge fails {'more' if more else 'less'} on {found.kind} {found.name or '(none)'}"
        f" ({_share(found.failed, found.judged)}) than on others"
        f" ({_share(found.other_failed, found.other_judged)}; {chance}): figures without the"
        " failed verdicts may be wrong by as much as the bounds say"
    )


def _share(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,}" + (f" ({100 * part / whole:.1f} %)" if whole else "")
