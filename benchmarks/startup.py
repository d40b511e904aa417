"""Start-up and import, as whole processes."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

RUNS = 5
MT_BENCH = Path(__file__).resolve().parent.parent.parent / "shared" / "data" / "mt_bench"


def main() -> list[str]:
    """Measure; returns the rows of the table."""
    rows = [_row("evenhand --help", [_seconds(["--help"]) for _ in range(RUNS)])]
    rows.append(_row("start to first page", [_first_page() for _ in range(3)]))
    if MT_BENCH.is_dir():
        rows.append(_row("MT-Bench import", [_import() for _ in range(3)]))
    else:
        rows.append(f"| MT-Bench import | not measured: {MT_BENCH.name} is not here | |")
    return rows


def _command(arguments: list[str]) -> list[str]:
    return [sys.executable, "-m", "judge.cli", *arguments]


def _seconds(arguments: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(_command(arguments), check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def _first_page() -> float:
    """From the command to the rating page's HTML."""
    with tempfile.TemporaryDirectory() as folder:
        study = f"{folder}/study"
        _seconds(["init", study])
        start = time.perf_counter()
        server = subprocess.Popen(
            _command(["demo", "--folder", f"{folder}/demo", "--port", "0", "--no-open"]),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            return _until_page(server, start)
        finally:
            server.terminate()
            server.wait(timeout=20)


def _until_page(server: subprocess.Popen[str], start: float) -> float:
    import urllib.request
    from http.cookiejar import CookieJar

    for line in server.stdout or ():
        if "Rater you:" in line:
            opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
            with opener.open(line.split()[-1]) as page:
                page.read()
            return time.perf_counter() - start
    raise RuntimeError("the server ended before it printed its links")


def _import() -> float:
    with tempfile.TemporaryDirectory() as folder:
        _seconds(["init", f"{folder}/s"])
        return _seconds(["import", f"{folder}/s", str(MT_BENCH)])


def _row(name: str, values: list[float]) -> str:
    return f"| {name} | median {median(values):.2f} s | worst {max(values):.2f} s |"


if __name__ == "__main__":
    print("\n".join(main()))
