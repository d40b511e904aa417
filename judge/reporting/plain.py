"""Frozen results as plain JSON values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from judge.stats.estimate import Estimate, rounded


def plain(value: Any) -> Any:
    """Dataclasses as objects, tuples as lists, estimates in full, numbers to ten decimals."""
    if isinstance(value, Estimate):
        return value.to_json()
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, float):
        return rounded(value)
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, tuple | list) else value
