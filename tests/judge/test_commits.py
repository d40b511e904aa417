"""Calls that end together are written together, and nobody is told before it is on disk."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from annotate.errors import StoreUnavailable
from annotate.records import Status
from judge.ask.parse import Parsed
from judge.database.store import Ended
from judge.engine.commits import Commits
from judge.engine.replies import Next, Reply

OK = Reply(Next.KEEP, Status.OK, "", "", 0)


class Disk:
    """Writes when told to; keeps what each commit held."""

    def __init__(self) -> None:
        self.commits: list[list[str]] = []
        self.go = asyncio.Event()
        self.broken = False

    async def write(self, calls: Sequence[Ended]) -> list[Parsed]:
        self.commits.append([call.key for call in calls])
        await self.go.wait()
        if self.broken:
            raise StoreUnavailable("disk full")
        return [Parsed(Status.UNPARSEABLE, detail=call.key) for call in calls]


def test_calls_that_end_during_a_commit_share_the_next_one() -> None:
    async def play() -> None:
        disk = Disk()
        commits = Commits(disk.write)
        saving = [asyncio.create_task(commits.save(Ended(key, OK, True))) for key in "a"]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        saving += [asyncio.create_task(commits.save(Ended(key, OK, True))) for key in "bcd"]
        await asyncio.sleep(0.01)
        assert disk.commits == [["a"]]
        assert not any(task.done() for task in saving), "told before it was on disk"
        disk.go.set()
        found = await asyncio.gather(*saving)
        assert disk.commits == [["a"], ["b", "c", "d"]]
        assert [parsed.detail for parsed in found] == ["a", "b", "c", "d"]
        assert (await commits.save(Ended("e", OK, True))).detail == "e", "and on it goes"

    asyncio.run(asyncio.wait_for(play(), 5))


def test_a_commit_that_fails_fails_for_everyone_in_it_and_only_them() -> None:
    async def play() -> None:
        disk = Disk()
        commits, disk.broken = Commits(disk.write), True
        disk.go.set()
        found = await asyncio.gather(
            *(commits.save(Ended(key, OK, True)) for key in "ab"), return_exceptions=True
        )
        assert [type(error) for error in found] == [StoreUnavailable, StoreUnavailable]
        disk.broken = False
        assert (await commits.save(Ended("c", OK, True))).detail == "c"

    asyncio.run(asyncio.wait_for(play(), 5))


def test_a_waiter_that_was_cancelled_does_not_harm_the_others() -> None:
    async def play() -> None:
        disk = Disk()
        commits = Commits(disk.write)
        gone = asyncio.create_task(commits.save(Ended("gone", OK, True)))
        stays = asyncio.create_task(commits.save(Ended("stays", OK, True)))
        await asyncio.sleep(0.01)
        gone.cancel()
        disk.go.set()
        assert (await stays).detail == "stays"
        with pytest.raises(asyncio.CancelledError):
            await gone

    asyncio.run(asyncio.wait_for(play(), 5))
