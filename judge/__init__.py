"""The model: verdicts and reports out; may use `annotate`, never the other way.

For notebooks: the functions that the commands call, loaded when first used.

>>> import judge
>>> report = judge.agreement_report(judge.tidy(study.store))   # doctest: +SKIP
>>> print(judge.to_text(report))                               # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from judge.bulk.ray_runner import run_ray
    from judge.database.fastchat_export import export_run
    from judge.database.store import VerdictStore
    from judge.database.table import tidy
    from judge.database.verdict_import import verdict_sink
    from judge.engine.endpoints import Endpoint
    from judge.engine.local import local_endpoint
    from judge.engine.runner import run
    from judge.engine.settings import JudgeSettings
    from judge.engine.tally import RunSummary
    from judge.reporting.report import to_json, to_markdown, to_text
    from judge.reporting.summary import agreement_report
    from judge.reporting.values import Report
    from judge.stats.estimate import Estimate

_HOMES = {
    "Endpoint": "engine.endpoints",
    "Estimate": "stats.estimate",
    "JudgeSettings": "engine.settings",
    "Report": "reporting.values",
    "RunSummary": "engine.tally",
    "VerdictStore": "database.store",
    "agreement_report": "reporting.summary",
    "export_run": "database.fastchat_export",
    "local_endpoint": "engine.local",
    "run": "engine.runner",
    "run_ray": "bulk.ray_runner",
    "tidy": "database.table",
    "to_json": "reporting.report",
    "to_markdown": "reporting.report",
    "to_text": "reporting.report",
    "verdict_sink": "database.verdict_import",
}

__all__ = [
    "Endpoint",
    "Estimate",
    "JudgeSettings",
    "Report",
    "RunSummary",
    "VerdictStore",
    "agreement_report",
    "export_run",
    "local_endpoint",
    "run",
    "run_ray",
    "tidy",
    "to_json",
    "to_markdown",
    "to_text",
    "verdict_sink",
]


def __getattr__(name: str) -> object:
    """Load a public name from its module on first use (`--help` must not pay for it)."""
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
