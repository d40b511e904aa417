"""A rater in another process: votes and says so, until it is done or killed."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path

from annotate import ballots, leases, seats
from annotate.leases import Screen
from annotate.records import Choice
from annotate.store import Store
from annotate.study import Study, load_settings, open_study


def rate(folder: Path, raters: list[str], number: int) -> None:
    """Every rater casts `number` votes at once, each through a store of their own."""
    failures: list[BaseException] = []

    def one(rater_id: str) -> None:
        study = Study(folder, load_settings(folder), Store.open(folder / "evenhand.sqlite"))
        try:
            for _ in range(number):
                _vote(study, rater_id)
        except BaseException as error:  # noqa: BLE001 - told to the parent by the exit code
            failures.append(error)
        study.close()

    threads = [threading.Thread(target=one, args=(rater,)) for rater in raters]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def _vote(study: Study, rater_id: str) -> str:
    settings = study.settings
    rater = seats.rater(study.store, rater_id)
    screen = leases.next_screen(study.store, rater, settings.protocol, settings.assignment)
    if not isinstance(screen, Screen):
        raise SystemExit(f"nothing to rate: {screen}")
    return ballots.cast(
        study.store,
        rater_id,
        screen.id,
        Choice.LEFT,
        settings.assignment,
        client_key=f"key of {screen.id}",
    ).vote


def main() -> None:
    """Vote slowly, printing the id of every vote that was acknowledged."""
    study = open_study(Path(sys.argv[1]))
    while True:
        print(_vote(study, sys.argv[2]), flush=True)
        time.sleep(0.002)


if __name__ == "__main__":
    main()
