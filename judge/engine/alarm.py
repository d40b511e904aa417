"""When a run should stop asking, and in which words it says so."""

from __future__ import annotations

from annotate.errors import ServiceError
from judge.engine.call_settings import CallSettings
from judge.engine.replies import Next, Reply, advice
from judge.engine.tally import Tally

ERROR_SHOWN = 200
"""Characters of an error that a message repeats."""
DEAD_AFTER = 5
"""Connection errors in a row, with no response ever, after which an endpoint is dead."""


class Alarm:
    """Hears every reply; some say that no other call will do better."""

    def __init__(self, settings: CallSettings) -> None:
        self._settings = settings
        self._alive, self._dead = False, 0

    def heard(self, reply: Reply, saved: int) -> ServiceError | None:
        """Why nothing more should be asked, if so; `saved` replies of the run are on disk."""
        self._alive = self._alive or reply.connected or reply.http_status is not None
        self._dead += 1
        if reply.next is Next.STOP:
            return self._refused(reply, saved)
        if self._alive or self._dead < DEAD_AFTER:
            return None
        return ServiceError(
            f"{self._settings.endpoint_name}: no connection after {self._dead} attempts"
            f" ({reply.error_text}); start the endpoint or correct the URL, then run"
            " the same command again"
        )

    def _refused(self, reply: Reply, saved: int) -> ServiceError:
        """Why the endpoint will not answer anything, in one line."""
        settings = self._settings
        what = advice(reply.http_status, settings.key_env(reply.endpoint))
        where = reply.endpoint if settings.endpoints else settings.endpoint_name
        return ServiceError(
            f"{where}: HTTP {reply.http_status} {reply.error_class} for model"
            f" {settings.model} ({reply.error_text}); {what}, then run the same command"
            f" again ({saved} replies of this run are saved)"
        )


def useless(settings: CallSettings, tally: Tally) -> ServiceError | None:
    """No run ends well in which every call failed (single rejected items aside)."""
    if tally.replies or not tally.calls:
        return None
    if tally.cached and tally.rejected == tally.calls:
        return None
    failed = ", ".join(f"{name} {count}" for name, count in sorted(tally.failed.items()))
    return ServiceError(
        f"{settings.endpoint_name}: all {tally.calls} calls failed (requests: {failed}); no verdict"
        f" was made; the last one said: {tally.last_error[:ERROR_SHOWN] or 'nothing'}; correct the"
        " settings and run the same command again"
    )
