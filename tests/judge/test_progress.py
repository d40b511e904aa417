"""Progress: a line for people, JSON lines for everything else."""

from __future__ import annotations

import io
import json

from judge.engine.progress import JsonProgress, TerminalProgress, progress_for


class Clock:
    """Time that the test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def lines(out: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_json_lines_come_at_most_once_a_second() -> None:
    out, clock = io.StringIO(), Clock()
    shown = JsonProgress(out, clock)
    shown.start(100, 0)
    for done in range(1, 51):
        clock.now += 0.1
        shown.update(done, {})
    shown.finish()
    assert len(lines(out)) == 1 + 5
    assert lines(out)[-1]["done"] == 50
    assert lines(out)[-1]["per_second"] == 10.0
    assert lines(out)[-1]["eta_seconds"] == 5


def test_the_last_state_is_always_told() -> None:
    out, clock = io.StringIO(), Clock()
    shown = JsonProgress(out, clock)
    shown.start(3, 1)
    clock.now += 0.5
    shown.update(3, {"truncated": 1})
    shown.finish()
    assert [line["done"] for line in lines(out)] == [1, 3]
    assert lines(out)[-1]["failed"] == {"truncated": 1}
    assert lines(out)[-1]["per_second"] == 4.0


def test_cached_requests_do_not_enter_the_rate() -> None:
    out, clock = io.StringIO(), Clock()
    shown = JsonProgress(out, clock)
    shown.start(1000, 990)
    clock.now += 5
    shown.update(995, {})
    assert lines(out)[-1]["per_second"] == 1.0


def test_terminal_line_has_rate_remaining_time_and_failures() -> None:
    out, clock = io.StringIO(), Clock()
    shown = TerminalProgress(out, clock)
    shown.start(130, 10)
    clock.now += 10
    shown.update(30, {"truncated": 2, "refused": 1})
    shown.note("warning: x")
    shown.finish()
    text = out.getvalue()
    assert "30/130 (10 cached)  2.0/s  0:50 left  failed: refused 1, truncated 2" in text
    assert "warning: x\n" in text
    assert text.endswith("\n")


def test_no_terminal_means_json_lines() -> None:
    assert isinstance(progress_for(io.StringIO()), JsonProgress)


def test_a_note_cannot_act_on_the_terminal() -> None:
    out = io.StringIO()
    TerminalProgress(out, Clock()).note("\x1b]0;owned\x07\nline")
    assert out.getvalue() == "\r\x1b[K" + r"\x1b]0;owned\x07\nline" + "\n"
