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
    from .endpoints import Endpoint
    from .estimate import Estimate
    from .fastchat_export import export_run
    from .local import local_endpoint
    from .ray_runner import run_ray
    from .report import to_json, to_markdown, to_text, write
    from .runner import run
    from .settings import JudgeSettings
    from .store import VerdictStore
    from .summary import Report, agreement_report
    from .table import tidy
    from .tally import RunSummary
    from .verdict_import import verdict_sink

_HOMES = {
    "Endpoint": "endpoints",
    "Estimate": "estimate",
    "JudgeSettings": "settings",
    "Report": "summary",
    "RunSummary": "tally",
    "VerdictStore": "store",
    "agreement_report": "summary",
    "export_run": "fastchat_export",
    "local_endpoint": "local",
    "run": "runner",
    "run_ray": "ray_runner",
    "tidy": "table",
    "to_json": "report",
    "to_markdown": "report",
    "to_text": "report",
    "verdict_sink": "verdict_import",
    "write": "report",
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
    "write",
]


def __getattr__(name: str) -> object:
    """Load a public name from its module on first use (`--help` must not pay for it)."""
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
