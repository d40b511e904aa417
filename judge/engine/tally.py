"""What a run did: counted as it goes, and summed up at its end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from annotate.records import Status
from judge.engine.item import Ending
from judge.engine.replies import Next, Reply
from judge.stats.failures import Failures


@dataclass(frozen=True, slots=True)
class RunSummary:
    """What a run did and what its plan holds now.

    `calls` are HTTP calls of this start, retries included; `cached` requests needed none.
    `statuses` counts the plan's requests, `judgments` what they came to (a pair's two orders
    are one judgment).
    Tokens are sums over calls that told them; `tokens_unknown` calls did not.
    `usd` is what the run has cost over all its starts (None: unknown price); calls that
    did not tell count with the most they can have used.
    """

    run_id: str
    name: str
    state: str
    planned: int
    cached: int
    calls: int
    statuses: Mapping[str, int]
    judgments: Mapping[str, int]
    prompt_tokens: int
    completion_tokens: int
    tokens_unknown: int
    usd: float | None
    seconds: float
    warnings: tuple[str, ...]
    failures: tuple[Failures, ...] = ()
    """Judgments without a value, by model and category, where there are any."""


@dataclass(slots=True)
class Tally:
    """The counts behind a summary; tokens are sums over calls that told them."""

    planned: int = 0
    cached: int = 0
    done: int = 0
    calls: int = 0
    replies: int = 0
    rejected: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    tokens_unknown: int = 0
    failed: dict[str, int] = field(default_factory=dict)
    last_error: str = ""
    """What the newest call without a reply said."""

    def plan(self, planned: int, cached: int) -> None:
        """So many requests are planned, and so many of them need no call."""
        self.planned, self.cached, self.done = planned, cached, cached

    def call(self, reply: Reply) -> None:
        """A call has been made and saved."""
        self.calls += 1
        if reply.prompt_tokens is None or reply.completion_tokens is None:
            self.tokens_unknown += 1
        self.prompt_tokens += reply.prompt_tokens or 0
        self.completion_tokens += reply.completion_tokens or 0
        if reply.status not in (Status.API_ERROR, Status.TIMEOUT):
            self.replies += 1
        else:
            self.last_error = reply.error_text or ""
        if reply.next is Next.GIVE_UP:
            self.rejected += 1

    def end(self, ending: Ending) -> None:
        """A request has come to its end."""
        self.done += 1
        if ending.status is not Status.OK:
            self.failed[ending.status] = self.failed.get(ending.status, 0) + 1
