"""Group commit: calls that end while a commit waits for the disk go into the next one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from judge.database.store import Ended
from judge.engine.item import Ending

E = TypeVar("E", bound=Ending)


class Commits(Generic[E]):
    """Takes ended calls one by one and writes them together; use within one event loop."""

    def __init__(self, write: Callable[[Sequence[Ended]], Awaitable[Sequence[E]]]) -> None:
        self._write = write
        self._waiting: list[tuple[Ended, asyncio.Future[E]]] = []
        self._writing: asyncio.Task[None] | None = None

    async def save(self, ended: Ended) -> E:
        """Returns when the call is on disk.

        Raises:
            EvenhandError: it could not be written.
        """
        done: asyncio.Future[E] = asyncio.get_running_loop().create_future()
        self._waiting.append((ended, done))
        if self._writing is None:
            self._writing = asyncio.create_task(self._drain())
        return await done

    async def _drain(self) -> None:
        """Write until nobody waits; an error reaches everyone whose call was in it."""
        while self._waiting:
            batch, self._waiting = self._waiting, []
            try:
                found = await self._write([ended for ended, _done in batch])
            except Exception as error:  # noqa: BLE001  # passed on to those who wait
                for _ended, done in batch:
                    if not done.done():
                        done.set_exception(error)
                continue
            for (_ended, done), parsed in zip(batch, found, strict=True):
                if not done.done():
                    done.set_result(parsed)
        self._writing = None
