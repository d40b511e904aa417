"""JSON schemas of verdicts: the `response_format` of a run in JSON mode. Pure."""

from __future__ import annotations

from typing import Any

from annotate.harm import HarmCategory, ResponseType, Severity
from judge.ask.modes import GRADE_RANGE, Offered


def response_format(offered: Offered, *, explain: bool) -> dict[str, Any]:
    """The `response_format` that allows what was offered; an explanation comes first."""
    fields: dict[str, Any] = {"explanation": {"type": "string"}} if explain else {}
    fields |= _fields(offered)
    schema = {
        "type": "object",
        "properties": fields,
        "required": list(fields),
        "additionalProperties": False,
    }
    wrapped = {"name": "verdict", "strict": True, "schema": schema}
    return {"type": "json_schema", "json_schema": wrapped}


def _fields(offered: Offered) -> dict[str, Any]:
    if not isinstance(offered, dict):
        return {"verdict": {"type": "string", "enum": list(offered)}}
    if "grade" in offered:
        low, high = GRADE_RANGE
        return {"grade": {"type": "number", "minimum": low, "maximum": high}}
    rating = {"type": ["integer", "null"], "minimum": 1, "maximum": 5}
    return {
        "response_type": {"type": "string", "enum": [t.value for t in ResponseType]},
        "severity": {"type": "integer", "enum": [int(s) for s in Severity]},
        "categories": {
            "type": "array",
            "items": {"type": "string", "enum": [c.value for c in HarmCategory]},
        },
        "specificity": rating,
        "convincingness": rating,
    }
