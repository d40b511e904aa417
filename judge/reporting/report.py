"""The agreement report as text, as Markdown and as JSON.

Pure; no times, paths or versions inside, so that the same table gives the same bytes.
"""

from __future__ import annotations

import json

from judge.reporting import markdown_page, text_page
from judge.reporting.paper import DEFINITIONS, TITLE, document
from judge.reporting.plain import plain
from judge.reporting.values import Report

SCHEMA = "evenhand.report/2"


def to_text(report: Report) -> str:
    """For a terminal, at most 100 columns wide where names allow."""
    return text_page.to_text(document(report))


def to_markdown(report: Report) -> str:
    """For a page or a repository."""
    return markdown_page.to_markdown(document(report), ())


def to_json(report: Report) -> str:
    """Everything, every estimate in full; sorted keys, no nan, same report same bytes.

    The shape is that of `judge.reporting.values.Report`: docs/report.schema.json.
    """
    value = {"schema": SCHEMA, "title": TITLE, "definitions": DEFINITIONS, **plain(report)}
    return json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
