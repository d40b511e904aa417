"""A judge run of 100,000 requests, in fresh processes: how soon it asks, how much it holds.

2,500 questions of two turns, five models, every pair in both orders: 25,000 pairs, 100,000
requests of 4 to 7 kB. First nothing is planned yet, and the run is interrupted after some
calls; then all but the last 80 requests are answered, through the function that a run
commits its calls with, and the run is started again: as the function, then as the command.

Seconds are on the clock of the server, which sees the first request: from the call of the
function, or from the start of the command's process. Memory is the peak of the whole
process (VmHWM), interpreter and SDK included.

python -m benchmarks.judge_resume                       prints the rows of the table
python -m benchmarks.judge_resume function FOLDER URL   is one measured process
python -m benchmarks.judge_resume command FOLDER URL    is the other
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

QUESTIONS = 2500
MODELS = ("alder", "birch", "cedar", "dogwood", "elm")
REQUESTS = QUESTIONS * 10 * 2 * 2
OPEN = 80
"""Requests that the resumed run still has to ask; half of them by the first start."""
BATCH = 500
LONGEST = 900
"""Seconds that a measured process may take."""
MARK = "measured "


@dataclass
class Hits:
    """What the server saw: when the first request came, how many came, and enough of them."""

    wanted: int = 0
    first: float = 0.0
    count: int = 0
    enough: threading.Event = field(default_factory=threading.Event)

    def begin(self, wanted: int) -> None:
        """Forget what came; say when so many have come."""
        self.wanted, self.first, self.count = wanted, 0.0, 0
        self.enough.clear()

    def latencies(self) -> Iterator[float]:
        """What the nth request to arrive takes: no time, but it is counted."""
        while True:
            self.first = self.first or time.time()
            self.count += 1
            if self.count == self.wanted:
                self.enough.set()
            yield 0.0


@dataclass(frozen=True)
class Found:
    """One measured process: seconds to its first request, its peak in MB, its requests."""

    seconds: float
    peak: float
    calls: int


def main() -> list[str]:
    """Measure; returns the rows of the table."""
    hits = Hits()
    # One server for all: another port would be another endpoint, and so another run.
    with tempfile.TemporaryDirectory() as temporary, server(hits) as url:
        folder = Path(temporary) / "study"
        make(folder)
        fresh = measure("function", folder, url, hits, stop_after=100)
        finish(folder)
        resumed = measure("function", folder, url, hits, stop_after=OPEN // 2)
        command = measure("command", folder, url, hits)
    return [
        row("function, nothing planned", fresh),
        row(f"function, {REQUESTS - OPEN:,} answered", resumed),
        row(f"command, {REQUESTS - OPEN:,} and more answered", command),
    ]


def row(what: str, found: Found) -> str:
    return (
        f"| judge run of {REQUESTS:,} requests to its first call: {what}"
        f" | {found.seconds:.2f} s | peak memory {found.peak:.0f} MB, {found.calls} calls |"
    )


def make(folder: Path) -> None:
    """The study: every pair of five models on 2,500 questions of two turns."""
    from annotate import library
    from annotate.records import Answer, Question, QuestionKey, assistant_turns, user_turns
    from annotate.study import init
    from benchmarks.material import PARAGRAPH, answer
    from judge.database.store import VerdictStore

    study = init(folder, "Benchmark")
    keys = [QuestionKey("bench", f"q{number}") for number in range(QUESTIONS)]
    with study.store.write() as conn:
        for key in keys:
            asked = [f"{key.question_id}, turn {n}: {PARAGRAPH} What comes next?" for n in (1, 2)]
            library.add_question(conn, Question(key, "writing", user_turns(asked)))
        for side, model in enumerate(MODELS):
            said = [
                Answer(key, model, assistant_turns([answer(n, side), answer(-n, side)]))
                for n, key in enumerate(keys, start=1)
            ]
            library.add_answers(conn, "bench", model, said)
        library.build_pairs(conn, study.store.study_id)
    VerdictStore(study.store)  # as `evenhand import` does: the judge's tables are made once
    study.close()


def finish(folder: Path) -> None:
    """Commit a reply to every open request but the last ones."""
    from annotate.records import Subject
    from annotate.study import open_study
    from judge.database.store import Ended, VerdictStore
    from judge.engine.units import unit_ids

    with contextlib.closing(open_study(folder)) as study:
        verdicts = VerdictStore(study.store)
        (run,) = verdicts.runs()
        keys = verdicts.open_keys(run.id, unit_ids(study.store, Subject.PAIR))[:-OPEN]
        for start in range(0, len(keys), BATCH):
            calls = [Ended(key, _reply(), True) for key in keys[start : start + BATCH]]
            verdicts.record_attempts(run.id, calls)


def _reply() -> Any:
    """What the server would have answered."""
    from benchmarks.judge_engine import REPLY
    from judge.engine.replies import Timing, read

    at = "2026-01-01T00:00:00.000Z"
    return read(200, {}, REPLY.decode(), Timing(at, at, 900))


def measure(kind: str, folder: Path, url: str, hits: Hits, stop_after: int = 0) -> Found:
    """Run the judge in a process of its own; interrupt it after so many calls (0: do not)."""
    hits.begin(stop_after)
    command = [sys.executable, "-m", "benchmarks.judge_resume", kind, str(folder), url]
    began = time.time()
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True)
    if stop_after:
        hits.enough.wait(LONGEST)
        process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=LONGEST)
    if process.returncode:
        raise RuntimeError(errors)
    told = json.loads(next(x for x in out.splitlines() if x.startswith(MARK)).removeprefix(MARK))
    return Found(hits.first - (told["began"] or began), told["peak_kb"] / 1024, hits.count)


@contextlib.contextmanager
def server(hits: Hits) -> Iterator[str]:
    """The benchmark server in a thread of this process."""
    from benchmarks.judge_engine import Http

    loop = asyncio.new_event_loop()
    latencies = hits.latencies()
    listening = loop.run_until_complete(
        loop.create_server(lambda: Http(latencies), "127.0.0.1", 0, backlog=1024)
    )
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def measured(kind: str, folder: str, url: str) -> None:
    """One measured process: judge, then tell the parent when it began and the peak."""
    began = 0.0
    try:
        if kind == "command":
            from judge.cli import main as evenhand

            options = ["--base-url", url, "--model", "local", "--dimension", "harmlessness"]
            evenhand(["judge", folder, *options])
        else:
            began = as_function(Path(folder), url)
    finally:
        peak = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
        print(MARK + json.dumps({"began": began, "peak_kb": int(peak[1]) if peak else 0}))


def as_function(folder: Path, url: str) -> float:
    """Call `run`; returns when (seconds since the epoch)."""
    from annotate.study import open_study
    from judge.ask.modes import Mode
    from judge.engine.prompt_files import prompts_for
    from judge.engine.runner import run
    from judge.engine.settings import JudgeSettings

    with contextlib.closing(open_study(folder)) as study:
        prompts = prompts_for(study.settings.protocol, Mode.PAIRWISE, ("harmlessness",), ())
        chosen = study.settings.judge
        settings = JudgeSettings(
            url,
            "local",
            dimensions=("harmlessness",),
            prompts=prompts,
            max_tokens=chosen.max_tokens,
            explain=chosen.explain,
            seed=chosen.seed,
        )
        began = time.time()
        run(study.store, settings)
    return began


if __name__ == "__main__":
    if len(sys.argv) == 4:
        measured(*sys.argv[1:])
    else:
        print(f"load average before: {os.getloadavg()}, cores: {os.cpu_count()}")
        for line in main():
            print(line, flush=True)
        print(f"load average after: {os.getloadavg()}")
