"""Cells of CSV files that no spreadsheet runs as a formula. Pure."""

from __future__ import annotations

from typing import Any

FORMULA_STARTS = "=+-@\t\r\n＝＋－＠"


def inert(value: Any) -> Any:
    """A text that a spreadsheet would run as a formula starts with an apostrophe instead."""
    if isinstance(value, str) and value[:1] and value[0] in FORMULA_STARTS:
        return "'" + value
    return value
