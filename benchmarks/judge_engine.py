"""The judge's engine against a local asyncio server in a process of its own.

Makespan: 256 calls in flight, latency uniform in 1–3 s, 2,560 calls through the whole
pipeline, over the ideal of list scheduling (each call, in the order of arrival, on the
first free of 256 slots). Zero latency: processor time per call and calls per second,
beside a thread pool on one shared client and a client per call, both with parse and
durable write; rounds alternate.

python -m benchmarks.judge_engine            prints the rows of the table
python -m benchmarks.judge_engine serve      is the server: prints its port
"""

from __future__ import annotations

import asyncio
import heapq
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import judge.engine.client  # noqa: F401  # loaded before the clock runs: start-up is measured elsewhere
from judge.ask.parse import parse_reply
from judge.engine.progress import Silent
from judge.engine.runner import run
from judge.engine.settings import JudgeSettings
from tests.judge.study import make_study

IN_FLIGHT = 256
CALLS = 2560
QUICK_CALLS = 1000
PER_CALL_CALLS = 40
ROUNDS = 3
SEED = 7
REPLY = json.dumps(
    {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "local",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": "Short reason.\n[[A]]"},
            }
        ],
        "usage": {"prompt_tokens": 300, "completion_tokens": 8, "total_tokens": 308},
    }
).encode()
RESPONSE = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (
    len(REPLY),
    REPLY,
)


@dataclass
class Timed(Silent):
    """Takes the time when the plan stands and the calls begin."""

    wall: float = 0.0
    cpu: float = 0.0

    def start(self, total: int, cached: int) -> None:  # noqa: ARG002
        self.wall, self.cpu = time.perf_counter(), time.process_time()


def main() -> list[str]:
    """Measure; returns the rows of the table."""
    rows = [makespan(IN_FLIGHT, 1.0, 3.0, CALLS), makespan(64, 0.1, 0.3, CALLS)]
    ours, threads, single = [], [], []
    for _ in range(ROUNDS):
        ours.append(engine())
        threads.append(pooled(QUICK_CALLS, one_client=True))
        single.append(pooled(PER_CALL_CALLS, one_client=False))
    names = ("Evenhand", "thread pool, one shared client", "thread pool, a client per call")
    for name, found in zip(names, (ours, threads, single), strict=True):
        rate, cpu = (median(values) for values in zip(*found, strict=True))
        rows.append(
            f"| judged calls/s, no latency, {name} | {rate:.0f} | {cpu:.2f} ms CPU per call |"
        )
    for name, other in zip(names[1:], (threads, single), strict=True):
        ratio = median(a[0] / b[0] for a, b in zip(ours, other, strict=True))
        rows.append(f"| ratio to {name}, median of rounds | {ratio:.1f} | |")
    return rows


def makespan(in_flight: int, low: float, high: float, calls: int) -> str:
    """One run with latency, as a row: its length over the ideal."""
    with server(low, high) as url, study(calls) as store:
        timed = Timed()
        summary = run(store, settings(url, in_flight), timed)
        seconds = time.perf_counter() - timed.wall
        cpu = time.process_time() - timed.cpu
    if summary.statuses != {"ok": calls}:
        raise RuntimeError(f"expected {calls} verdicts, found {summary.statuses}")
    best = ideal(islice(latencies(low, high), calls), in_flight)
    return (
        f"| {calls:,} calls, {in_flight} in flight, {low}–{high} s: ideal / makespan"
        f" | {best / seconds:.3f} | {best:.1f} s / {seconds:.1f} s,"
        f" {1000 * cpu / calls:.2f} ms CPU per call |"
    )


def engine() -> tuple[float, float]:
    """Ours without latency: (calls per second, ms of processor time per call)."""
    with server(0, 0) as url, study(QUICK_CALLS) as store:
        timed = Timed()
        run(store, settings(url, 64), timed)
        seconds = time.perf_counter() - timed.wall
        cpu = time.process_time() - timed.cpu
    return QUICK_CALLS / seconds, 1000 * cpu / QUICK_CALLS


def pooled(calls: int, *, one_client: bool) -> tuple[float, float]:
    """The usual way: threads, the SDK, parse and a durable write behind a lock."""
    import openai

    body: dict[str, Any] = {
        "model": "m",
        "messages": [{"role": "user", "content": "x " * 600}],
        "temperature": 0,
        "max_tokens": 32,
    }
    with server(0, 0) as url, tempfile.TemporaryDirectory() as folder:
        store = sqlite3.connect(Path(folder) / "x.sqlite", check_same_thread=False)
        store.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;")
        store.execute("CREATE TABLE verdict (id INTEGER PRIMARY KEY, raw TEXT, choice TEXT)")
        lock = threading.Lock()

        def client() -> openai.OpenAI:
            return openai.OpenAI(base_url=url, api_key="none", max_retries=0)

        shared = client()

        def ask(_number: int) -> None:
            used = shared if one_client else client()
            reply = used.chat.completions.create(**body)
            raw = reply.model_dump_json()
            parsed = parse_reply(json.loads(raw), ("A", "B", "C", "D"))
            with lock, store:
                store.execute(
                    "INSERT INTO verdict (raw, choice) VALUES (?, ?)", (raw, parsed.choice)
                )
            if not one_client:
                used.close()

        wall, cpu = time.perf_counter(), time.process_time()
        with ThreadPoolExecutor(64 if one_client else 8) as pool:
            list(pool.map(ask, range(calls)))
        seconds, used_cpu = time.perf_counter() - wall, time.process_time() - cpu
        shared.close()
        store.close()
    return calls / seconds, 1000 * used_cpu / calls


def ideal(lengths: Iterator[float], slots: int) -> float:
    """The makespan of list scheduling: each job on the slot that is free first."""
    free = [0.0] * slots
    for length in lengths:
        heapq.heapreplace(free, free[0] + length)
    return max(free)


def latencies(low: float, high: float) -> Iterator[float]:
    """What the nth call to arrive takes, in seconds."""
    source = random.Random(SEED)
    while True:
        yield source.uniform(low, high)


def settings(url: str, concurrency: int) -> JudgeSettings:
    return JudgeSettings(url, "local", concurrency=concurrency, api_key_env="EVENHAND_NO_KEY")


@contextmanager
def study(calls: int) -> Iterator[Any]:
    """A study whose plan has so many calls: pairs in both orders, answers of 200 words."""
    texts = {name: [f"{name} says " + "word " * 200] for name in ("alder", "birch")}
    with tempfile.TemporaryDirectory() as folder:
        store = make_study(Path(folder), calls // 2, replies=texts)
        yield store
        store.close()


@contextmanager
def server(low: float, high: float) -> Iterator[str]:
    """The server's process; ended by its own id afterwards."""
    command = [sys.executable, "-m", "benchmarks.judge_engine", "serve", str(low), str(high)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1"
    finally:
        process.terminate()
        process.wait()


class Http(asyncio.Protocol):
    """Just enough of HTTP/1.1 to answer a POST with keep-alive."""

    def __init__(self, latency: Iterator[float]) -> None:
        self._latency, self._data = latency, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport

    def data_received(self, data: bytes) -> None:
        self._data += data
        head, found, rest = self._data.partition(b"\r\n\r\n")
        if not found:
            return
        length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        if len(rest) < length:
            return
        self._data = rest[length:]
        wait = next(self._latency)
        if wait:
            asyncio.get_running_loop().call_later(wait, self._answer)
        else:
            self._answer()

    def _answer(self) -> None:
        if not self._transport.is_closing():
            self._transport.write(RESPONSE)


async def serve(low: float, high: float) -> None:
    source = latencies(low, high)
    make: Callable[[], Http] = lambda: Http(source)  # noqa: E731
    listening = await asyncio.get_running_loop().create_server(make, "127.0.0.1", 0, backlog=1024)
    print(listening.sockets[0].getsockname()[1], flush=True)
    await listening.serve_forever()


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        asyncio.run(serve(float(sys.argv[2]), float(sys.argv[3])))
    print(f"load average before: {os.getloadavg()}, cores: {os.cpu_count()}")
    for row in main():
        print(row, flush=True)
    print(f"load average after: {os.getloadavg()}")
