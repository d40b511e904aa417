"""What every reader of files yields: records with their place, or problems with theirs."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from pydantic import BaseModel, ValidationError

from ..harm import AnswerLabel
from ..records import Answer, Grade, Label, Question, Reference, whole_text

Record: TypeAlias = Question | Answer | Reference | Label | Grade | AnswerLabel

MAX_LINE_CHARACTERS = 20_000_000


@dataclass(frozen=True, slots=True)
class Where:
    """A place in a file; line counts from 1, 0 means the file as a whole."""

    file: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass(frozen=True, slots=True)
class Found:
    """A record and where it stood."""

    where: Where
    record: Record


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that was not imported, or imported with a warning."""

    where: Where
    field: str
    reason: str
    warning: bool = False

    def __str__(self) -> str:
        field = f" {self.field}:" if self.field else ""
        return f"{self.where}:{field} {self.reason}"


Read: TypeAlias = Found | Problem


def json_lines(path: Path, name: str) -> Iterator[tuple[Where, dict[str, Any]] | Problem]:
    """The objects of a JSONL file, one at a time; a broken line loses only itself."""
    with path.open("rb") as file:
        for number, raw in enumerate(file, start=1):
            where = Where(name, number)
            if not raw.strip():
                continue
            if len(raw) > MAX_LINE_CHARACTERS:
                yield Problem(where, "", f"line of {len(raw):,} bytes; at most 20 MB are read")
                continue
            try:
                text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
                value = json.loads(text)
                # A lone surrogate is valid JSON but not valid text: SQLite would refuse it.
                json.dumps(value, ensure_ascii=False).encode("utf-8")
            except UnicodeDecodeError as error:
                yield Problem(where, "", f"not UTF-8 (byte {error.start}); save the file as UTF-8")
            except UnicodeEncodeError:
                yield Problem(where, "", "holds half of a surrogate pair (\\ud800–\\udfff)")
            except (ValueError, RecursionError) as error:
                yield Problem(where, "", f"not JSON: {str(error)[:120]}")
            else:
                if isinstance(value, dict):
                    yield where, value
                else:
                    yield Problem(
                        where, "", f"found a JSON {type(value).__name__}, expected an object"
                    )


def csv_lines(path: Path, name: str) -> Iterator[tuple[Where, dict[str, Any]] | Problem]:
    """The rows of a CSV file by the names in its first line; empty cells are left out.

    A row with more or fewer cells than names, or not in UTF-8, loses only itself; a broken quote
    ends the file, since nobody can say where it would.
    """
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        rows = csv.reader(file, strict=True)
        line = 1
        try:
            names = [one.strip() for one in next(rows, [])]
            for row in rows:
                where, line = Where(name, line + 1), rows.line_num
                if not any(row):
                    continue
                if len(row) != len(names):
                    yield Problem(where, "", f"{len(row)} cells, the first line has {len(names)}")
                elif not "".join(row).isascii() and whole_text("".join(row)) != "".join(row):
                    yield Problem(where, "", "not UTF-8; save the file as UTF-8")
                else:
                    yield where, {key: cell for key, cell in zip(names, row, strict=True) if cell}
        except csv.Error as error:
            yield Problem(Where(name, line + 1), "", f"not CSV: {error}")


def validated(
    model: type[BaseModel], where: Where, value: dict[str, Any]
) -> BaseModel | list[Problem]:
    """The validated record, or what is wrong with it (one problem)."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        return [_problem(where, error)]


def _problem(where: Where, error: ValidationError) -> Problem:
    """One problem a record, whatever the number of fields: the first, and the others' names."""
    first, *others = error.errors()
    field = str(first["loc"][0]) if first["loc"] else "record"
    # pydantic names the branch of a union it tried ("list[str]"): that is no field of theirs.
    path = ".".join(str(p) for p in first["loc"] if not str(p).startswith(("list[", "str")))
    more = sorted({str(item["loc"][0]) for item in others if item["loc"]} - {field})
    reason = _plain(first["msg"], first.get("input"))
    if more:
        reason += f" (and {', '.join(more)})"
    return Problem(where, path or field, reason)


def _plain(message: str, found: object) -> str:
    """A pydantic message as "expected …, found …"."""
    shown = repr(found)
    short = shown if len(shown) <= 60 else shown[:57] + "…"
    text = message.removeprefix("Value error, ")
    return text if "found" in text else f"{text[0].lower()}{text[1:]}; found {short}"
