"""Which kind of file is this? Told from its place and the fields of its first object."""

from __future__ import annotations

import codecs
import csv
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from .base import Read, Where
from .fastchat import read_answers, read_pair_judgments, read_questions, read_references
from .grades import read_mtbench101_grades, read_single_grades
from .harm_labels import read_harm_labels
from .labels import read_labels
from .mtbench101 import read_dialogues
from .pairs import read_pairs
from .people_grades import read_people_grades

Reader = Callable[[Path, str, str], Iterator[Read]]
LOOKED_AT = 10
"""How many lines may tell a file's kind."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file to read, what kind it is, and the reader for it (None: listed, not imported)."""

    path: Path
    kind: str
    benchmark: str
    reader: Reader | None
    phase: int
    note: str = ""

    @property
    def name(self) -> str:
        """The file's name with its folder, as messages show it."""
        return str(Path(self.path.parent.name) / self.path.name)

    @property
    def where(self) -> Where:
        """The file as a whole."""
        return Where(self.name)


PLAIN: dict[str, tuple[Reader | None, int, str]] = {
    "questions": (read_questions, 0, ""),
    "MT-Bench-101 dialogues": (read_dialogues, 0, ""),
    "pairs": (read_pairs, 1, ""),
    "model answers": (read_answers, 1, ""),
    "references": (read_references, 2, ""),
    "labels": (read_labels, 3, ""),
    "pair judgments": (read_pair_judgments, 3, ""),
    "judge prompts": (None, 9, "prompts of a judge: not imported; they are not study data"),
    "single-answer grades": (read_single_grades, 3, ""),
    "MT-Bench-101 grades": (read_mtbench101_grades, 3, ""),
    "harm labels": (read_harm_labels, 3, ""),
    "people's grades": (read_people_grades, 3, ""),
}
JUDGMENTS = (
    "labels", "pair judgments", "single-answer grades", "MT-Bench-101 grades", "harm labels",
    "people's grades",
)  # fmt: skip
"""Kinds that speak about questions and answers of other files."""


GRADED = {"question_id", "model", "rater", "grade"}
"""What a file of people's grades has in every line."""

INNER = ("model_answer", "reference_answer", "model_judgment")
"""FastChat's subfolders: the benchmark is the folder above them."""


def sources(path: Path, benchmark: str | None) -> list[Source]:
    """Every file under a path, in the order in which they can be read."""
    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.is_file() and not p.name.startswith("."))
        home = path.resolve()
        name = home.parent.name if home.name in INNER else home.name
        found = [source(p, benchmark or name) for p in files]
    else:
        found = [source(path, benchmark or _home(path.resolve()).name)]
    return sorted(found, key=lambda s: (s.phase, s.path.as_posix()))


def _home(file: Path) -> Path:
    """The benchmark's folder of a file: the one above FastChat's own subfolders."""
    return file.parent.parent if file.parent.name in INNER else file.parent


def source(path: Path, benchmark: str) -> Source:
    """What one file is."""
    kind, note = detect(path)
    reader, phase, default_note = PLAIN.get(kind, (None, 9, ""))
    return Source(path, kind, benchmark, reader, phase, note or default_note)


def detect(path: Path) -> tuple[str, str]:
    """(kind, note) of a file; the note says what it is when it is not for import."""
    suffix = path.suffix.lower()
    if not path.is_file():
        return "other", "not a plain file; nothing read"
    if suffix == ".csv":
        return _of_table(path)
    if suffix not in (".jsonl", ".json", ".ndjson"):
        return "other", f"{suffix or 'a file without ending'}: not a JSONL file; nothing read"
    try:
        first, problem = _first_objects(path)
    except OSError as error:
        return "unreadable", f"cannot be read ({error.strerror}); nothing read"
    if not first:
        return "other", problem
    # A broken first line must not cost the whole file: the first record of a known kind tells.
    kinds = [_by_fields(path, record) for record in first]
    return next((kind for kind in kinds if kind[0] != "other"), kinds[0])


def _of_table(path: Path) -> tuple[str, str]:
    """A CSV holds people's grades, or nothing for us."""
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            names = {name.strip() for name in next(csv.reader(file), [])}
    except OSError as error:
        return "unreadable", f"cannot be read ({error.strerror}); nothing read"
    except csv.Error:
        names = set()
    if names >= GRADED:
        return "people's grades", ""
    expected = ", ".join(sorted(GRADED))
    return "other", f"a CSV without the columns {expected}; only people's grades come as CSV"


def _by_fields(path: Path, first: dict[str, Any]) -> tuple[str, str]:
    fields = set(first)
    if {"prompt_template", "system_prompt"} <= fields:
        return "judge prompts", ""
    if {"g1_winner", "g2_winner"} <= fields:
        return "pair judgments", ""
    if {"judgment", "score", "model"} <= fields:
        return "single-answer grades", ""
    if {"task", "multi_id", "turn_id", "score"} <= fields:
        return "MT-Bench-101 grades", ""
    if {"task", "history"} <= fields:
        return "MT-Bench-101 dialogues", ""
    if {"model", "rater"} <= fields and {"response_type", "severity", "harm"} & fields:
        return "harm labels", ""
    if fields >= GRADED:
        return "people's grades", ""
    if {"answer_a", "answer_b"} & fields:
        return "pairs", ""
    if {"model_a", "model_b", "winner"} <= fields:
        return "labels", ""
    if "choices" in fields:
        return ("references" if path.parent.name == "reference_answer" else "model answers"), ""
    if {"question_id", "turns"} <= fields:
        return "questions", ""
    shown = ", ".join(sorted(fields)[:8])
    return "other", (
        f"unknown kind (its first record has: {shown}); expected FastChat questions, answers,"
        " references or judgments, MT-Bench-101 dialogues, labels with model_a/model_b/winner,"
        " harm labels with model/rater/response_type/severity, people's grades with"
        " model/rater/grade, or Evenhand pairs"
    )


def _first_objects(path: Path) -> tuple[list[dict[str, Any]], str]:
    """The JSON objects among the first ten lines, or why there are none."""
    with path.open("rb") as file:
        head = [raw.removeprefix(codecs.BOM_UTF8).strip() for raw in islice(file, LOOKED_AT)]
    if not head:
        return [], "the file is empty"
    found = [value for raw in head if isinstance(value := _parsed(raw), dict)]
    if head[0] == b"[" or (not found and head[0].startswith(b"[")):
        return [], "a JSON array, not JSONL; write one object per line"
    return found, "no JSON object in its first ten lines; expected JSONL, one object per line"


def _parsed(raw: bytes) -> object:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None
