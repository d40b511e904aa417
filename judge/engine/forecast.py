"""What a run would ask and cost, found without asking anything (`--dry-run`)."""

from __future__ import annotations

from dataclasses import astuple, dataclass

from annotate.store import Store
from judge.database.store import VerdictStore
from judge.engine import plan
from judge.engine.budget import Usage, likely
from judge.engine.output import remembered
from judge.engine.plan import body_of
from judge.engine.runner import checked, planned_units
from judge.engine.settings import JudgeSettings, plan_spec
from judge.engine.units import chunks


@dataclass(frozen=True, slots=True)
class Forecast:
    """The calls of a plan that have no reply yet; retries would come on top.

    Tokens and dollars are ranges (least, most). Dollars are None when the price is unknown.
    """

    model: str
    planned: int
    cached: int
    tokens: tuple[Usage, Usage]
    usd: tuple[float, float] | None
    price_source: str
    warnings: tuple[str, ...]

    @property
    def calls(self) -> int:
        """Calls to make if none fails."""
        return self.planned - self.cached


def forecast(store: Store, settings: JudgeSettings) -> Forecast:
    """Plan a run in full and say what it would take; nothing is asked or registered.

    Raises:
        PreflightError: the plan has errors.
        NothingComputable: there is no pair with text.
    """
    verdicts = VerdictStore(store)
    settings = remembered(verdicts, settings)
    subject = settings.mode.subject
    units = planned_units(store, settings)
    found = checked(store, settings, units)
    seen: set[str] = set()
    cached, low, high = 0, Usage(), Usage()
    pieces = chunks(store, subject, units, settings.references)
    for requests in plan.plan(pieces, plan_spec(settings)):
        fresh = {r.key: r for r in requests if r.key not in seen}
        seen.update(fresh)
        answered = verdicts.answered(list(fresh), retry_failed=settings.retry_failed)
        cached += len(answered)
        for key, request in fresh.items():
            if key not in answered:
                least, most = likely(body_of(request.body))
                low, high = low + least, high + most
    price = settings.price
    return Forecast(
        model=settings.model,
        planned=len(seen),
        cached=cached,
        tokens=(low, high),
        usd=None if price is None else (price.of(*astuple(low)), price.of(*astuple(high))),
        price_source="" if price is None else price.source,
        warnings=found.warnings,
    )
