"""JSON Schema of report.json, from the dataclasses that it is: docs/report.schema.json.

python -m scripts.report_schema          write it
python -m scripts.report_schema --check  exit 1 if it is not what the code says
"""

from __future__ import annotations

import ast
import inspect
import json
import sys
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_type_hints

from pydantic import TypeAdapter

from judge.reporting.report import SCHEMA
from judge.reporting.values import Report

FILE = Path(__file__).parents[1] / "docs" / "report.schema.json"


def schema() -> dict[str, Any]:
    """The shape of the whole file, with the code's own words for every field."""
    made = TypeAdapter(Report).json_schema(mode="serialization")
    known = {one.__name__: one for one in _classes(Report, set())}
    for name, definition in (*made["$defs"].items(), ("Report", made)):
        _describe(definition, known[name])
    made["properties"] |= {
        "schema": {"const": SCHEMA},
        "title": {"type": "string"},
        "definitions": {"type": "object", "additionalProperties": {"type": "string"}},
    }
    made["required"] = sorted({*made["properties"]})
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made}


def _describe(definition: dict[str, Any], made_from: type) -> None:
    """Every field is written, and each says what its docstring says."""
    words = _attribute_words(made_from)
    for name, one in definition["properties"].items():
        one.pop("title", None)
        one.pop("default", None)
        if name in words:
            one["description"] = words[name]
    definition["description"] = inspect.cleandoc(made_from.__doc__ or "").split("\n\n")[0]
    definition["required"] = sorted(field.name for field in fields(made_from))
    definition["additionalProperties"] = False


def _attribute_words(made_from: type) -> dict[str, str]:
    """The string that stands under a field, as one line."""
    body = ast.parse(inspect.cleandoc("\n" + inspect.getsource(made_from))).body[0]
    assert isinstance(body, ast.ClassDef)
    found = {}
    for field, after in zip(body.body, body.body[1:], strict=False):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
        ):
            found[field.target.id] = " ".join(str(after.value.value).split())
    return found


def _classes(one: Any, seen: set[type]) -> set[type]:
    """Every dataclass that a report holds."""
    for part in getattr(one, "__args__", ()):
        _classes(part, seen)
    if isinstance(one, type) and is_dataclass(one) and one not in seen:
        seen.add(one)
        for hint in get_type_hints(one).values():
            _classes(hint, seen)
    return seen


def main() -> int:
    """Write the file, or say whether it is fresh."""
    text = json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"
    if "--check" in sys.argv:
        fresh = FILE.is_file() and FILE.read_text("utf-8") == text
        if not fresh:
            print(f"{FILE.name} is stale: run python -m scripts.report_schema", file=sys.stderr)
        return int(not fresh)
    FILE.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
