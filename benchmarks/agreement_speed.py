"""Agreement with clustered intervals: beside other packages in a loop, and on many votes.

Ours takes 10,000 resamples of the questions, from votes beside verdicts to intervals of
agreement, symmetrised kappa and alpha. Theirs draws questions, copies their votes and calls
the package on them, THEIRS times; its time for 10,000 is that many times more. Rounds
alternate between the three, so that what else the machine does falls on all of them.

Many votes are measured from votes and verdicts in frames to intervals, joining included.
Memory is the peak of a process (VmHWM) that makes a table of a million votes and computes
the whole agreement report from it, interpreter, table and packages included.

python -m benchmarks.agreement_speed                     prints the rows of the table
python -m benchmarks.agreement_speed report QUESTIONS    is one measured process
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
import pandas as pd

from benchmarks.votes import JUDGE, generated, mt_bench
from judge.reporting.summary import agreement_report
from judge.stats.agreement import Votes, pair_judgments, select_verdicts, select_votes
from judge.stats.estimate import Estimate
from judge.stats.joint import estimates
from judge.stats.rows import Rows, confusion_figures, judged_rows, question_index

RESAMPLES = 10_000
THEIRS = 50
ROUNDS = 7
MANY = 1_000_000
WANTED = {"krippendorff": 100.0, "scikit-learn": 250.0}
"""How many times faster."""
SECONDS = {80: 1.0, 20_000: 15.0}
"""By questions, for MANY votes."""
MODELS = {80: 6, 20_000: 3}
"""2,400 and 120,000 verdicts."""
GIGABYTE = 1.0
MEASURED = ("agreement", "kappa_symmetrised", "alpha")

Chosen = tuple[np.ndarray, np.ndarray]
"""A resample's votes and verdicts."""


def main() -> list[str]:
    """Measure; returns the rows of the table."""
    return [*_beside_others(), *(row for questions in SECONDS for row in _many(questions))]


def _beside_others() -> list[str]:
    table = mt_bench()
    whose = "MT-Bench's votes"
    if table is None:
        table, whose = generated(3_355, 80), "generated votes (MT-Bench is not here)"
    votes, verdicts = _selected(table)
    questions = question_index(votes.rows["cluster"])
    rows = judged_rows(votes, verdicts, "S1", questions)
    resample = _resampler(rows)
    ours: list[float] = []
    theirs: dict[str, list[float]] = {name: [] for name in PACKAGES}
    for _ in range(ROUNDS):
        ours.append(_seconds(lambda: _ours(rows, len(questions))))
        for name, compute in PACKAGES.items():
            loop = _seconds(lambda compute=compute: [compute(*resample()) for _ in range(THEIRS)])
            theirs[name].append(loop * RESAMPLES / THEIRS)
    what = f"{RESAMPLES:,} resamples of {len(rows.vote):,} of {whose}"
    made = [f"| {what}: agreement, kappa, alpha | median {median(ours):.3f} s | |"]
    for name, times in theirs.items():
        ratio = median(other / own for other, own in zip(times, ours, strict=True))
        made.append(
            f"| ratio to {name} in a loop, from {THEIRS} resamples, median of rounds |"
            f" {ratio:.0f} ({median(times):.0f} s) | wanted ≥ {WANTED[name]:.0f} |"
        )
    return made


def _many(questions: int) -> list[str]:
    votes, verdicts = _selected(generated(MANY, questions, MODELS[questions]))
    index = question_index(votes.rows["cluster"])
    before = time.process_time()
    times = [
        _seconds(lambda: _ours(judged_rows(votes, verdicts, "S1", index), len(index)))
        for _ in range(ROUNDS)
    ]
    cpu = (time.process_time() - before) / ROUNDS
    seconds, peak = _report(questions)
    what = f"{MANY:,} votes, {questions:,} questions"
    return [
        f"| {what}: the three, {RESAMPLES:,} resamples | median {median(times):.2f} s,"
        f" {cpu:.2f} s of CPU | wanted ≤ {SECONDS[questions]:.0f} s |",
        f"| {what}: whole agreement report, peak memory | {peak:.2f} GB, {seconds:.1f} s |"
        f" wanted ≤ {GIGABYTE:.0f} GB |",
    ]


def _ours(rows: Rows, questions: int) -> dict[str, Estimate]:
    figures = {n: f for n, f in confusion_figures(rows, "all").items() if n in MEASURED}
    return estimates(figures, questions, level=0.95, resamples=RESAMPLES, seed=7)


def _resampler(rows: Rows) -> Callable[[], Chosen]:
    """Draws questions and copies their rows, the way a loop over resamples does."""
    rng = np.random.default_rng(7)
    of_question = [np.flatnonzero(rows.question == q) for q in range(rows.question.max() + 1)]

    def resample() -> Chosen:
        drawn = rng.integers(len(of_question), size=len(of_question))
        at = np.concatenate([of_question[question] for question in drawn])
        return rows.vote[at], rows.verdict[at]

    return resample


def _krippendorff(vote: np.ndarray, verdict: np.ndarray) -> None:
    import krippendorff

    krippendorff.alpha(np.stack([vote, verdict]), level_of_measurement="nominal")


def _sklearn(vote: np.ndarray, verdict: np.ndarray) -> None:
    from sklearn.metrics import accuracy_score, cohen_kappa_score

    accuracy_score(vote, verdict)
    mirrored = np.concatenate([vote, 2 - vote]), np.concatenate([verdict, 2 - verdict])
    cohen_kappa_score(*mirrored)


PACKAGES = {"krippendorff": _krippendorff, "scikit-learn": _sklearn}


def _selected(table: pd.DataFrame) -> tuple[Votes, pd.DataFrame]:
    judgments = pair_judgments(table)
    votes = select_votes(judgments, "overall", groups=None, simulated=False)
    return votes, select_verdicts(judgments, "overall", JUDGE)


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _report(questions: int) -> tuple[float, float]:
    """Seconds and peak memory in GB of the whole report, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.agreement_speed", "report", str(questions)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds, peak = done.stdout.split()
    return float(seconds), float(peak)


def _measured_report(questions: int) -> None:
    table = generated(MANY, questions, MODELS[questions])
    seconds = _seconds(lambda: agreement_report(table, resamples=RESAMPLES))
    status = Path("/proc/self/status").read_text("utf-8")
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    print(seconds, int(peak.split()[1]) / 1e6)


if __name__ == "__main__":
    if sys.argv[1:2] == ["report"]:
        _measured_report(int(sys.argv[2]))
    else:
        print("\n".join(main()))
