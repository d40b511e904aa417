"""A judge run as FastChat's judgment files, which its own tools read.

    OUT/data/BENCHMARK/model_judgment/NAME_pair.jsonl      verdicts on pairs
    OUT/data/BENCHMARK/model_judgment/NAME_single.jsonl    grades of single answers

so that, in OUT, `python -m fastchat.llm_judge.show_result --bench-name BENCHMARK
--judge-model NAME --mode pairwise-all` gives our win rates. FastChat knows one question to the
judge; every dimension but `overall` has files of its own, named NAME-DIMENSION.

What FastChat cannot say goes out in its words, and beside it in ours, which FastChat ignores
and `annotate.readers.fastchat` reads back:

- `both_bad` goes out as `tie`, with `g1_verdict` / `g2_verdict`: `both_bad`.
- A failed game goes out as `error`, with its status in `g1_verdict` / `g2_verdict`. A failed
  grade goes out as the score −1, FastChat's own mark of a failure, which `show_result` drops,
  with its status in `status`: left out, the row would be missing from FastChat's counts.
- A verdict without its orders goes out as the combined verdict in both games (inconsistent:
  `tie`), with `orders`: `unknown` and the `reason`: never count positions in those.

Nothing goes out as null. Whole-dialogue judgments, repeats, and pairs of two versions of one
model have no place in FastChat's files: they are left out and counted.
"""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from annotate.errors import NothingComputable, StoreUnavailable
from annotate.records import OVERALL, digest
from annotate.store import Store
from annotate.versions import PAIR_MODELS, version_in, written_name
from judge.database.fastchat_lines import ERROR, Call, Line, grade_line, pair_line
from judge.database.runs import Run
from judge.database.store import VerdictStore

WHOLE_DIALOGUE = "of whole dialogues"
REPEAT = "repeated judgments"
ONE_NAME = "between two versions of one model"


@dataclass(frozen=True, slots=True)
class Written:
    """One file and what is in it."""

    path: Path
    rows: int
    failed: int
    unknown_orders: int


@dataclass
class Exported:
    """What an export wrote, and what it left out, by reason."""

    files: list[Written] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


def export_run(store: Store, run: Run, out: Path) -> Exported:
    """Write a run's pair verdicts and grades; each file is moved into place when whole.

    Raises:
        NothingComputable: the run has neither.
        StoreUnavailable: the folder cannot be written.
    """
    VerdictStore(store)
    done = Exported()
    with store.snapshot() as conn:
        for suffix, sql in (("pair", _PAIRS), ("single", _GRADES)):
            kept = (row for row in _rows(conn, sql, run) if not _left_out(row, done.left_out))
            for (benchmark, dimension), group in groupby(kept, key=_file_of):
                name = run.name if dimension == OVERALL else f"{run.name}-{dimension}"
                folder = out / "data" / file_name(benchmark) / "model_judgment"
                path = folder / f"{file_name(name)}_{suffix}.jsonl"
                done.files.append(_write(path, _lines(conn, run, suffix, group)))
    if not done.files:
        raise NothingComputable(
            f"judge run {run.name}: no pair verdict and no grade to export"
            + (f" but {_words(done.left_out)}" if done.left_out else "")
        )
    return done


def file_name(name: str) -> str:
    """A name as part of a path; one that had to be changed is told apart by its hash."""
    plain = re.sub(r"[^A-Za-z0-9._+-]+", "-", name).strip(".-")[:100]
    return plain if plain and plain == name else f"{plain or 'x'}-{digest(name)[:6]}"


def export_text(done: Exported) -> str:
    """What was written, in lines."""
    lines = []
    for one in done.files:
        line = f"Wrote {one.path}: {one.rows:,} judgments, {one.failed:,} of them failed"
        if one.unknown_orders:
            line += f", {one.unknown_orders:,} with unknown orders (one combined verdict twice)"
        lines.append(line)
    if done.left_out:
        lines.append(f"Left out, FastChat has no place for them: {_words(done.left_out)}")
    return "\n".join(lines) + "\n"


def _words(counts: Counter[str]) -> str:
    return ", ".join(f"{n:,} {reason}" for reason, n in sorted(counts.items()))


_PAIRS = (
    "SELECT q.benchmark, v.dimension, q.question_id,"
    f" coalesce({written_name('ma')}, p.model_a) AS model_1,"
    f" coalesce({written_name('mb')}, p.model_b) AS model_2, v.turn, v.replicate,"
    " v.status, v.outcome, v.reason, v.orders, v.pair FROM pair_verdict v"
    f" JOIN pair p ON p.id = v.pair {PAIR_MODELS} JOIN question q ON q.id = p.question"
    " WHERE v.run = ?"
    " ORDER BY q.benchmark, v.dimension, CAST(q.question_id AS INTEGER), q.question_id,"
    " v.turn, p.model_a, p.model_b, v.pair, v.replicate"
)
_GRADES = (
    f"SELECT q.benchmark, v.dimension, q.question_id, {written_name('m')} AS model_1, v.turn,"
    " v.replicate,"
    " v.status, v.grade, v.answer FROM answer_verdict v JOIN judge_run r ON r.id = v.run"
    " JOIN answer a ON a.id = v.answer JOIN model m ON m.id = a.model"
    " JOIN question q ON q.id = a.question WHERE v.run = ? AND r.mode = 'grade'"
    " ORDER BY q.benchmark, v.dimension, CAST(q.question_id AS INTEGER), q.question_id,"
    " v.turn, m.name, m.version, v.replicate"
)
# Looked up one by one: sorted together with them, prompts and replies would fill the disk.
_CALLS = (
    "SELECT i.order_shown, c.status, c.choice, NULL AS outcome, r.body, t.raw, t.finished_at"
    " FROM judge_item i JOIN judge_request r ON r.key = i.request"
    " JOIN verdict c ON c.request = i.request LEFT JOIN judge_attempt t ON t.id = c.attempt"
    " WHERE i.run = ?1 AND i.{0} = ?2 AND i.turn = ?3 AND i.dimension = ?4 AND i.replicate = ?5"
    " AND i.subject = '{0}'"
)
_PAIR_CALLS = (
    _CALLS.format("pair")
    + " UNION ALL SELECT order_shown, status, NULL, outcome, NULL, NULL, NULL FROM imported_order"
    " WHERE run = ?1 AND pair = ?2 AND turn = ?3 AND dimension = ?4 AND replicate = ?5"
)
_GRADE_CALLS = _CALLS.format("answer")


def _rows(conn: sqlite3.Connection, sql: str, run: Run) -> Iterator[Line]:
    cursor = conn.execute(sql, (run.id,))
    names = [column[0] for column in cursor.description]
    for values in cursor:
        yield dict(zip(names, values, strict=True))


def _lines(conn: sqlite3.Connection, run: Run, suffix: str, rows: Iterable[Line]) -> Iterator[Line]:
    for row in rows:
        paired = suffix == "pair"
        about = row["pair"] if paired else row["answer"]
        unit = (run.id, about, row["turn"], row["dimension"], row["replicate"])
        sql = _PAIR_CALLS if paired else _GRADE_CALLS
        calls = [Call(*values) for values in conn.execute(sql, unit)]
        yield pair_line(run, row, calls) if paired else grade_line(run, row, calls)


def _file_of(row: Line) -> tuple[str, str]:
    return row["benchmark"], row["dimension"]


def _left_out(row: Line, counts: Counter[str]) -> bool:
    reason = ""
    if row["turn"] == 0:
        reason = WHOLE_DIALOGUE
    elif row["replicate"] != 1:
        reason = REPEAT
    elif row.get("model_2") and version_in(row["model_1"])[0] == version_in(row["model_2"])[0]:
        reason = ONE_NAME
    if reason:
        counts[reason] += 1
    return bool(reason)


def _write(path: Path, lines: Iterator[Line]) -> Written:
    """Stream lines into a file beside its place, then move it there."""
    part = path.with_name(path.name + ".part")
    rows, failed, unknown = 0, 0, 0
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("w", encoding="utf-8") as file:
            for line in lines:
                file.write(json.dumps(line, allow_nan=False) + "\n")
                rows += 1
                failed += ERROR in (line.get("g1_winner"), line.get("g2_winner"))
                failed += "status" in line
                unknown += line.get("orders") == "unknown"
        part.replace(path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise StoreUnavailable(
                f"{path}: not written ({error}); check the folder and free space"
            ) from error
        raise
    return Written(path, rows, failed, unknown)
