"""One request to its end: the coroutine that every way of running shares.

It decides what to send and when a call was the last one; what a call costs, where it is
saved and how long to wait is the business of whoever runs it (:class:`Line`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from annotate.records import Status
from judge.database.store import Pending
from judge.engine.adapt import Parameters
from judge.engine.plan import body_of
from judge.engine.replies import Next, Reply


class Ending(Protocol):
    """What a call's reply was found to be."""

    @property
    def status(self) -> Status:
        """`ok`, or how it failed."""


class Line(Protocol):
    """The run's side of asking: its pace, purse and store."""

    parameters: Parameters
    attempts: int

    def stopped(self) -> bool:
        """Whether nothing more is to be asked."""

    async def send(self, sent: Mapping[str, Any]) -> Reply | None:
        """One call, as soon as caps and pace allow; None when the run stops before."""

    async def learn(self, sent: Mapping[str, Any], reply: Reply) -> bool:
        """Whether the call was refused for a parameter that is left out from now on."""

    async def save(self, item: Pending, reply: Reply, *, last: bool) -> Ending:
        """Put the call on disk (or with what will be); what it was found to be."""

    def again(self, ending: Ending) -> bool:
        """Whether a reply was cut off in such a way that twice the budget may help."""

    def watch(self, reply: Reply, *, learnt: bool) -> None:
        """Look at every call: some say that no other will do better."""

    async def pause(self, failures: int, reply: Reply) -> None:
        """Wait before the next attempt."""


async def ask(line: Line, item: Pending) -> Ending | None:
    """Ask until there is an answer, or as many failed calls as configured, not one more.

    Neither a call that taught us a parameter nor the one retry of a reply that was cut off
    counts as a failed attempt; each can happen only once. None when the run stopped before.
    """
    planned, doubled, failures = body_of(item.body), item.doubled, 0
    while not line.stopped():
        sent = line.parameters.apply(planned, doubled=doubled)
        reply = await line.send(sent)
        if reply is None:
            return None
        learnt = await line.learn(sent, reply)
        failures += reply.next is Next.RETRY
        last = reply.next in (Next.KEEP, Next.GIVE_UP) or failures == line.attempts
        last = last and not learnt and reply.next is not Next.STOP
        ending = await line.save(item, reply, last=last)
        line.watch(reply, learnt=learnt)
        if learnt:
            continue
        if line.again(ending) and not doubled:
            doubled = True
        elif last:
            return ending
        else:
            await line.pause(failures, reply)
    return None
