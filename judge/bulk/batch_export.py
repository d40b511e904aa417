"""A run's open requests as OpenAI Batch JSONL, for hosted batch services and `vllm run-batch`.

Each line's `custom_id` is the request's key, so that answers find their way back whoever
made them, in whatever order.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from annotate.errors import UsageError
from annotate.store import Store, now
from judge.database.runs import Run
from judge.database.store import Pending, VerdictStore
from judge.engine.adapt import Parameters
from judge.engine.plan import body_of
from judge.engine.runner import begin, planned_units, prepare
from judge.engine.settings import JudgeSettings

URL = "/v1/chat/completions"
FILE_REQUESTS = 50_000
FILE_BYTES = 190_000_000
"""A little under what hosted services take in one file (200 MB)."""


@dataclass(frozen=True, slots=True)
class BatchExport:
    """The files written; `outstanding` requests are in files that were not read back yet."""

    run: str
    files: tuple[tuple[Path, int], ...]
    planned: int
    answered: int
    outstanding: int


def export_batch(
    store: Store,
    settings: JudgeSettings,
    folder: Path,
    *,
    again: bool = False,
    file_requests: int = FILE_REQUESTS,
    file_bytes: int = FILE_BYTES,
) -> BatchExport:
    """Plan a run and write what has no reply into files of at most so many requests and bytes.

    Requests in files that were written before and not read back yet are left out, since
    they would be paid twice; `again` writes them once more.

    Raises:
        PreflightError: the plan has errors; nothing was written.
        UsageError: the folder cannot be written, or `output` is `auto` (no call is made
            here that could find out).
    """
    if settings.output == "auto":
        raise UsageError("output auto needs a call to find out; use --output tag or json")
    verdicts = VerdictStore(store)
    units = planned_units(store, settings)
    found, known = prepare(verdicts, settings, units)
    run = begin(verdicts, settings, units, found, known=known)
    keys = verdicts.open_keys(run.id, units, retry_failed=settings.retry_failed)
    waiting = verdicts.outstanding()
    wanted = keys if again else [key for key in keys if key not in waiting]
    parameters = Parameters(run.manifest["rejected_parameters"])
    lines = _lines(verdicts, wanted, parameters)
    files = _write(store, run, folder, lines, file_requests, file_bytes)
    planned = verdicts.size(run.id, units)
    verdicts.finish_run(run.id, "stopped" if keys else "done")
    held = 0 if again else len(keys) - len(wanted)
    return BatchExport(run.name, tuple(files), planned, planned - len(keys), held)


def _lines(
    verdicts: VerdictStore, keys: Sequence[str], parameters: Parameters
) -> Iterator[tuple[str, str]]:
    """(key, line) of every request, as this endpoint takes it."""
    for piece in verdicts.pending(keys):
        for item in piece:
            yield item.key, json.dumps(_line(item, parameters)) + "\n"


def _line(item: Pending, parameters: Parameters) -> dict[str, object]:
    body = parameters.apply(body_of(item.body), doubled=item.doubled)
    return {"custom_id": item.key, "method": "POST", "url": URL, "body": body}


def _write(
    store: Store,
    run: Run,
    folder: Path,
    lines: Iterator[tuple[str, str]],
    file_requests: int,
    file_bytes: int,
) -> list[tuple[Path, int]]:
    """Write the lines into numbered files, each whole before its name appears."""
    done: list[tuple[Path, int]] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for number, piece in enumerate(_cut(lines, file_requests, file_bytes), start=1):
            stamp = now()[:19].replace(":", "").replace("-", "")
            path = folder / f"{_plain(run.name)}-{stamp}-{number:03d}.jsonl"
            part = path.with_name(path.name + ".part")
            part.write_text("".join(line for _key, line in piece), "utf-8")
            _note(store, run.id, path.name, [key for key, _line in piece])
            part.rename(path)
            done.append((path, len(piece)))
    except OSError as error:
        raise UsageError(f"{folder}: cannot write batch files here ({error.strerror})") from error
    return done


def _cut(
    lines: Iterator[tuple[str, str]], file_requests: int, file_bytes: int
) -> Iterator[list[tuple[str, str]]]:
    piece: list[tuple[str, str]] = []
    size = 0
    for key, line in lines:
        added = len(line.encode("utf-8", "surrogatepass"))
        if piece and (len(piece) == file_requests or size + added > file_bytes):
            yield piece
            piece, size = [], 0
        piece.append((key, line))
        size += added
    if piece:
        yield piece


def _note(store: Store, run_id: str, name: str, keys: Sequence[str]) -> None:
    batch = str(uuid.uuid4())
    with store.write() as conn:
        conn.execute(
            "INSERT INTO judge_batch (id, run, created_at, file) VALUES (?, ?, ?, ?)",
            (batch, run_id, now(), name),
        )
        conn.executemany(
            "INSERT INTO judge_batch_item (batch, request) VALUES (?, ?)",
            [(batch, key) for key in keys],
        )
        store.log(conn, "judge_batch", batch, {"file": name, "requests": len(keys)})


def _plain(name: str) -> str:
    """A run's name as part of a file name."""
    return "".join(c if c.isalnum() or c in "-._" else "-" for c in name)[:80] or "run"
