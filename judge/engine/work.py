"""What a session works off: the requests of a run, and where their calls go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from annotate.records import Status
from judge.database.store import Ended, Pending, VerdictStore
from judge.engine.item import Ending


class Work(Protocol):
    """A run's requests. Every method may be called from the session's store thread."""

    @property
    def run_id(self) -> str:
        """The run."""

    @property
    def chained(self) -> bool:
        """Whether an answer can make another request possible (:meth:`follow`)."""

    def progress(self, open_now: int) -> tuple[int, int]:
        """(requests planned, requests that need no call), with so many open keys."""

    def open_keys(self) -> list[str]:
        """What can be asked now, in plan order."""

    def pending(self, keys: Sequence[str]) -> Iterator[list[Pending]]:
        """These requests with their bodies, a piece at a time."""

    def record(self, calls: Sequence[Ended]) -> Sequence[Ending]:
        """Commit calls and what follows from them."""

    def again(self, ending: Ending) -> bool:
        """Whether a reply was cut off so that it should be asked for once more."""

    def follow(self, key: str, ending: Ending) -> Pending | None:
        """What this answer makes it possible to ask next, if anything."""

    def skip(self) -> None:
        """Note that everything never asked was skipped for a cap."""

    def used(self) -> tuple[int, int]:
        """Tokens (in, out) of all calls of the run so far."""


@dataclass(frozen=True, slots=True)
class JudgeWork:
    """The judging of units: everything can be asked at once."""

    verdicts: VerdictStore
    run_id: str
    units: Sequence[str]
    planned: int
    retry_failed: bool = False
    held: frozenset[str] = frozenset()
    """Requests that are left out: they stand in batch files not read back yet."""
    chained: ClassVar[bool] = False

    def progress(self, open_now: int) -> tuple[int, int]:
        """(requests planned, requests that need no call)."""
        return self.planned, self.planned - open_now

    def open_keys(self) -> list[str]:
        """What has no reply that stands and is not held, in plan order."""
        return [key for key in self._waiting() if key not in self.held]

    def held_back(self) -> int:
        """How many requests without a reply are left out."""
        return sum(key in self.held for key in self._waiting()) if self.held else 0

    def _waiting(self) -> list[str]:
        return self.verdicts.open_keys(self.run_id, self.units, retry_failed=self.retry_failed)

    def pending(self, keys: Sequence[str]) -> Iterator[list[Pending]]:
        """These requests with their bodies, a piece at a time."""
        return self.verdicts.pending(keys)

    def record(self, calls: Sequence[Ended]) -> Sequence[Ending]:
        """Commit calls and what follows from them."""
        return self.verdicts.record_attempts(self.run_id, calls)

    def again(self, ending: Ending) -> bool:
        """A verdict that was cut off is none."""
        return ending.status is Status.TRUNCATED

    def follow(self, _key: str, _ending: Ending) -> None:
        """Nothing: no question to the judge depends on another."""

    def skip(self) -> None:
        """Note that everything never asked was skipped for a cap."""
        self.verdicts.skip(self.open_keys())

    def used(self) -> tuple[int, int]:
        """Tokens (in, out) of all calls of the run so far."""
        return self.verdicts.used(self.run_id)
