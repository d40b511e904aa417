"""A judge in a process of its own, to be killed or interrupted: path, URL, concurrency."""

from __future__ import annotations

import sys
from pathlib import Path

from annotate.store import Store
from judge.engine.progress import progress_for
from judge.engine.runner import run
from tests.judge.study import settings


def main() -> None:
    path, url, concurrency = sys.argv[1:]
    store = Store.open(Path(path))
    summary = run(store, settings(url, concurrency=int(concurrency)), progress_for())
    print(summary.state, summary.calls, flush=True)
    store.close()


if __name__ == "__main__":
    main()
