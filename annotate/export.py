"""Votes out, one row each, with everything that was recorded: JSONL and CSV, streamed."""

from __future__ import annotations

import contextlib
import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .ballots import STANDING, UNIT
from .errors import StoreUnavailable
from .inert import inert
from .records import Order, Outcome, choice_of
from .store import Store
from .versions import PAIR_MODELS, written_name

COLUMNS = (
    "vote_id", "unit_id", "benchmark", "question_id", "category", "model_a", "model_b", "turn",
    "dimension", "subject", "occurrence", "rater", "rater_group", "layer", "outcome", "strength",
    "grade", "harm", "order_shown", "shown_left", "shown_right", "choice", "revision", "purpose",
    "inclusion_probability", "protocol", "active_ms", "comment", "created_at",
)  # fmt: skip

OF_ANSWERS = {"harm": "harm_labels.jsonl", "grade": "grades.jsonl"}
"""Column of a judgment of an answer → the file that holds those alone."""


def export_votes(store: Store, folder: Path) -> list[tuple[Path, int]]:
    """Write votes.jsonl, votes.csv and, if there are any, harm_labels.jsonl and grades.jsonl.

    Only what stands; raters under their pseudonyms. The first two hold votes, labels and grades
    alike, the others the labels or grades in the form that `import` reads. All are written
    beside their names and moved into place, so an interrupted export never looks whole.

    Returns:
        (file, rows) of each that was written.

    Raises:
        StoreUnavailable: the folder cannot be written.
    """
    files = [folder / name for name in ("votes.jsonl", "votes.csv", *OF_ANSWERS.values())]
    parts = [_part(file) for file in files]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        of_answers = dict(zip(OF_ANSWERS, parts[2:], strict=True))
        counts = _write_parts(store, parts[0], parts[1], of_answers)
        for file, part, count in zip(files, parts, counts, strict=True):
            if count or file in files[:2]:
                part.replace(file)
            else:
                part.unlink()
                file.unlink(missing_ok=True)
    except BaseException as error:
        with contextlib.suppress(OSError):
            for part in parts:
                part.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise StoreUnavailable(
                f"{folder}: the export was not written ({error}); check the folder and free space"
            ) from error
        raise
    found = zip(files, counts, strict=True)
    return [(file, count) for file, count in found if count or file in files[:2]]


def _write_parts(
    store: Store, part_jsonl: Path, part_table: Path, parts: dict[str, Path]
) -> list[int]:
    count, of_answers = 0, dict.fromkeys(parts, 0)
    with (
        contextlib.ExitStack() as stack,
        store.snapshot(),
        part_jsonl.open("w", encoding="utf-8") as lines,
        part_table.open("w", encoding="utf-8", newline="") as rows,
    ):
        files = {c: stack.enter_context(p.open("w", encoding="utf-8")) for c, p in parts.items()}
        writer = csv.DictWriter(rows, COLUMNS)
        writer.writeheader()
        for row in vote_rows(store):
            lines.write(json.dumps(row, ensure_ascii=False) + "\n")
            writer.writerow({name: inert(value) for name, value in row.items()})
            count += 1
            for column, file in files.items():
                if row[column] is not None:
                    file.write(json.dumps(_answer_line(row), ensure_ascii=False) + "\n")
                    of_answers[column] += 1
    return [count, count, *of_answers.values()]


def _answer_line(row: dict[str, Any]) -> dict[str, Any]:
    """A label or grade as `annotate.readers.harm_labels` or `people_grades` reads it."""
    same = ("benchmark", "question_id", "category", "turn", "rater", "rater_group", "layer")
    more = ("purpose", "inclusion_probability")
    return {
        **{name: row[name] for name in (*same, *more)},
        "model": row["model_a"],
        **(
            {"dimension": row["dimension"], "grade": row["grade"]}
            if row["harm"] is None
            else json.loads(row["harm"])
        ),
        "comment": row["comment"] or "",
    }


def _part(path: Path) -> Path:
    return path.with_name(path.name + ".part")


_NAMES = (
    f"coalesce({written_name('ma')}, p.model_a, {written_name('m')}),"
    f" coalesce({written_name('mb')}, p.model_b)"
)


def vote_rows(store: Store) -> Iterator[dict[str, Any]]:
    """Standing votes in the order they were cast, with what stood left on the screen."""
    rows = store.conn.execute(
        "SELECT v.id, coalesce(p.superseded_by, p.id, v.answer), q.benchmark, q.question_id,"
        f" q.category, {_NAMES}, v.turn, v.dimension, v.subject,"
        " v.occurrence, coalesce(r.label, r.id), r.rater_group, v.layer, v.outcome, v.strength,"
        " v.grade, v.harm, v.order_shown, v.revision, v.purpose, v.inclusion_probability,"
        " v.protocol, v.active_ms, c.comment, v.created_at"
        f" FROM {STANDING} {UNIT} {PAIR_MODELS} JOIN rater r ON r.id = v.rater"
        " LEFT JOIN vote_comment c ON c.vote = v.id"
        " WHERE r.kind <> 'preview' ORDER BY w.rowid"
    )
    derived = ("shown_left", "shown_right", "choice")
    stored = [name for name in COLUMNS if name not in derived]
    for values in rows:
        row = dict(zip(stored, values, strict=True))
        row |= _screen_terms(row)
        yield {name: row[name] for name in COLUMNS}


def _screen_terms(row: dict[str, Any]) -> dict[str, str | None]:
    """What the rater saw and pressed, derived from outcome and order for readers' ease."""
    if row["outcome"] is None:
        return {"shown_left": None, "shown_right": None, "choice": None}
    order = Order(row["order_shown"])
    picked = choice_of(Outcome(row["outcome"]), order)
    if picked is None:
        return {"shown_left": None, "shown_right": None, "choice": None}
    models = (row["model_a"], row["model_b"])
    left, right = models if order is Order.AB else models[::-1]
    return {"shown_left": left, "shown_right": right, "choice": picked.value}
