"""A frozen analysis plan: the report's settings, hashed into the study before the first vote.

A plan is an event of the study's chain, so that `evenhand verify` notices a later edit. The
report says whether it kept to the newest plan that was frozen before any vote was cast.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from annotate.records import digest
from annotate.store import Store
from annotate.study import Study
from judge.engine.manifests import differences

KIND = "analysis_plan"


@dataclass(frozen=True, slots=True)
class FrozenPlan:
    """One freezing: when, its hash, what it fixes, and how many votes there were by then."""

    frozen_at: str
    hash: str
    settings: Mapping[str, Any]
    votes_before: int


def report_settings(study: Study, resamples: int | None = None) -> dict[str, Any]:
    """What a report of this study is made with: its settings, and what raters were asked."""
    section = study.settings.report.model_dump(mode="json")
    if resamples is not None:
        section["resamples"] = resamples
    asked = {d.name: d.question for d in study.settings.protocol.dimensions}
    return {"report": section, "dimensions": asked, "overlap": study.settings.assignment.overlap}


def freeze(store: Store, settings: Mapping[str, Any]) -> FrozenPlan:
    """Write the report's settings into the study; the same plan again changes nothing."""
    known = plans(store)
    if known and known[-1].settings == dict(settings):
        return known[-1]
    body = {
        "settings": dict(settings),
        "votes_before": _votes(store),
        "program": f"evenhand {version('evenhand')}",
    }
    with store.write() as conn:
        store.log(conn, KIND, digest(dict(settings)), body)
    return plans(store)[-1]


def plans(store: Store) -> list[FrozenPlan]:
    """Every freezing, oldest first."""
    rows = store.conn.execute(
        "SELECT e.created_at, e.subject, b.body FROM event e JOIN event_body b ON b.hash = e.hash"
        " WHERE e.kind = ? ORDER BY e.created_at, e.writer, e.seq",
        (KIND,),
    ).fetchall()
    found = []
    for at, subject, text in rows:
        body = json.loads(text)
        found.append(FrozenPlan(at, subject, body["settings"], body["votes_before"]))
    return found


def kept(store: Store, settings: Mapping[str, Any], *, narrowed: bool = False) -> str:
    """Whether a report with these settings keeps to the frozen plan, in one sentence.

    Args:
        store: of the study.
        settings: from :func:`report_settings`.
        narrowed: the report leaves out raters or judges; a plan has all of them.
    """
    known = plans(store)
    if not known:
        return "No analysis plan was frozen (evenhand plan-analysis): read this as exploratory."
    before = [plan for plan in known if plan.votes_before == 0]
    plan = before[-1] if before else known[0]
    when = f"frozen {plan.frozen_at[:16].replace('T', ' ')} UTC (hash {plan.hash[:12]})"
    if not before:
        when += f", after {plan.votes_before:,} votes: not before the first one"
    changed = differences(plan.settings, dict(settings))
    if narrowed:
        when += " (which has all raters and judges; this report was asked for some of them)"
    if not changed and narrowed:
        return f"This report keeps to the settings alone of the analysis plan {when}."
    if not changed:
        return f"This report keeps to the analysis plan {when}."
    places = "; ".join(f"{d.path}: {d.left} → {d.right}" for d in changed)
    return f"This report departs from the analysis plan {when}: {places}."


def _votes(store: Store) -> int:
    """People's and imported votes, the latter known before any plan could be made."""
    return int(
        store.conn.execute("SELECT count(*) FROM vote WHERE layer <> 'simulated'").fetchone()[0]
    )
