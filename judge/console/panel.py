"""The Judge tab in words: a run while it goes on and at its end, a forecast, earlier runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from annotate.records import Status
from judge.ask.verdicts import INCONSISTENT, SOFT
from judge.console.html import bar, cards, count, dollars, duration, muted, table, text, warning
from judge.console.run import Phase, Snapshot
from judge.database.runs import Run
from judge.engine.call_settings import HOW_TO_PRICE
from judge.engine.forecast import Forecast
from judge.engine.tally import RunSummary

STATE_WORDS: Mapping[Phase, str] = {
    Phase.PREPARING: "Planning",
    Phase.RUNNING: "Running",
    Phase.STOPPING: "Stopping",
    Phase.DONE: "Done",
    Phase.STOPPED: "Stopped",
    Phase.FAILED: "Broke off",
}
FOLLOWS: Mapping[Phase, str] = {
    Phase.PREPARING: "Every pair is being checked and every request planned; nothing is asked yet.",
    Phase.RUNNING: "You may close this page: the run goes on, and opening it again shows it.",
    Phase.STOPPING: "Finishing the calls in flight. What is answered is saved.",
    Phase.STOPPED: "Run goes on from here: nothing that was answered is asked again.",
    Phase.FAILED: "Every reply that came is saved; Run goes on from there.",
}
NOT_ASKED = frozenset({"pending", Status.SKIPPED_BUDGET.value})
WARNINGS_SHOWN = 20


def run_panel(now: Snapshot) -> str:
    """The run that goes on, or the last one."""
    if now.phase is Phase.IDLE:
        return ""
    parts = [
        f'<div class="c-runhead"><span role="status" class="c-state c-{now.phase}">'
        f"{STATE_WORDS[now.phase]}</span><b>{text(now.title)}</b></div>",
        warning(now.error),
    ]
    if now.summary is not None:
        parts += _ended(now.summary)
    elif now.total:
        parts += _going(now)
    parts.append(muted(FOLLOWS.get(now.phase, "")))
    if now.summary is None:
        parts.append(_list("What it noted", now.notes))
    return f'<section class="c-panel" aria-label="Judge run">{"".join(parts)}</section>'


def _going(now: Snapshot) -> Iterator[str]:
    yield bar(now.done / now.total, "requests answered")
    yield f'<p class="c-line">{text(" · ".join(_line(now)))}</p>'
    failed = sum(now.failed.values())
    eta = now.eta_seconds
    figures = [
        (f"{now.done:,} / {now.total:,}", "requests answered"),
        (f"{now.per_second:.1f}", "a second"),
    ]
    if now.phase is Phase.RUNNING:
        figures.append(("–" if eta is None else duration(eta), "left at this pace"))
    figures.append(("–" if now.usd is None else dollars(now.usd), _spent(now)))
    figures.append((f"{failed:,}", "no usable reply"))
    yield cards(figures)
    if failed:
        yield muted("No usable reply: " + _counts(now.failed) + ".")


def _line(now: Snapshot) -> Iterator[str]:
    yield f"{100 * now.done / now.total:.0f} %"
    if now.cached:
        yield f"{now.cached:,} were answered before"
    yield f"{duration(now.seconds)} so far"


def _spent(now: Snapshot) -> str:
    if now.cap_usd is not None:
        return f"spent of at most {dollars(now.cap_usd)}"
    return "spent" if now.usd is not None else "spent: no known price"


def _ended(found: RunSummary) -> Iterator[str]:
    """A run's end: what it came to, in words and figures."""
    answered = sum(n for name, n in found.statuses.items() if name not in NOT_ASKED)
    yield bar(answered / found.planned if found.planned else 1.0, "requests answered")
    yield f'<p class="c-line">{text(_sentence(found, answered))}</p>'
    yield cards(_verdicts(found.judgments))
    yield muted(_cost(found))
    bad = {n: c for n, c in found.statuses.items() if n not in ("ok", *NOT_ASKED)}
    if bad:
        yield muted("Without a usable reply: " + _counts(bad) + ".")
    yield _list("Warnings", found.warnings)


def _sentence(found: RunSummary, answered: int) -> str:
    asked = f"{count(found.calls, 'call')} made in {duration(found.seconds)}"
    before = f", {found.cached:,} answered before" if found.cached else ""
    of = f"{answered:,} of {count(found.planned, 'request')} answered"
    return f"{of}: {asked}{before}. The run is called “{found.name}”."


def _verdicts(judgments: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """A run's judgments as figures; outcomes of different pairs are no sum, being decided is."""
    taken: set[str] = set()
    groups = (
        ("one answer better, in both orders", ("a", "b")),
        ("ties", ("tie", f"tie:{SOFT}")),
        ("both bad", ("both_bad",)),
        ("changed with the order", (f"tie:{INCONSISTENT}",)),
        ("answers graded", ("graded",)),
    )
    for words, names in groups:
        number = sum(judgments.get(name, 0) for name in names)
        taken.update(names)
        if number or (words.startswith("changed") and judgments.keys() & {"a", "b", "tie"}):
            yield f"{number:,}", words
    rest = {name: n for name, n in judgments.items() if name not in taken}
    for name in sorted(name for name in rest if name.startswith("severity ")):
        yield f"{rest.pop(name):,}", f"labelled {name}"
    if rest:
        yield f"{sum(rest.values()):,}", "without a verdict"


def _cost(found: RunSummary) -> str:
    words = f"{found.prompt_tokens:,} tokens in, {found.completion_tokens:,} out"
    if found.tokens_unknown:
        words += f", unknown for {count(found.tokens_unknown, 'call')}"
    return f"{words}. {dollars(found.usd)} for this run so far." if found.usd else f"{words}."


def forecast_panel(found: Forecast, title: str) -> str:
    """What a run would take."""
    low, high = found.tokens
    figures = [
        (f"{found.calls:,}", f"calls; {found.cached:,} of {found.planned:,} answered before"),
        (_range(low.prompt, high.prompt), "tokens in"),
        (_range(low.reply, high.reply), "tokens out"),
    ]
    if found.usd is None:
        figures.append(("unknown", f"price of {found.model}"))
        price = f"No price: {HOW_TO_PRICE}."
    else:
        least, most = (dollars(value) for value in found.usd)
        figures.append((least if least == most else f"{least} – {most}", "price"))
        price = f"Price from {found.price_source}."
    return (
        '<section class="c-panel" aria-label="Forecast">'
        '<div class="c-runhead"><span class="c-state">Forecast</span>'
        f"<b>{text(title)}</b></div>{cards(figures)}"
        f"{muted(f'Nothing was asked. Retries would come on top. {price}')}"
        f"{_list('Warnings', found.warnings)}</section>"
    )


def problem_panel(error: str) -> str:
    """Why what was wanted cannot be done: the one line that the command would print."""
    return f'<section class="c-panel" aria-label="Problem">{warning(error)}</section>'


def runs_table(rows: Sequence[tuple[Run, int]]) -> str:
    """Every run with how many judgments it has, the newest first; none goes on here."""
    if not rows:
        return ""
    return "<h2>Runs so far</h2>" + table(
        ("run", "asks for", "model", "state", "#judgments", "started (UTC)"),
        (
            (
                run.name,
                run.mode,
                run.requested_model,
                _state(run),
                f"{judgments:,}",
                run.created_at.replace("T", " ")[:16],
            )
            for run, judgments in reversed(rows)
        ),
    )


def _state(run: Run) -> str:
    if run.kind == "imported":
        return "imported"
    return "running elsewhere, or killed" if run.state == "running" else run.state


def _list(title: str, lines: Sequence[str]) -> str:
    if not lines:
        return ""
    shown = [f"<li>{text(line.removeprefix('warning: '))}</li>" for line in lines[:WARNINGS_SHOWN]]
    more = len(lines) - len(shown)
    if more > 0:
        shown.append(f"<li>… and {more:,} more</li>")
    return f'<div class="c-notes"><h4>{text(title)}</h4><ul>{"".join(shown)}</ul></div>'


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{n:,} {name.replace('_', ' ')}" for name, n in sorted(counts.items()))


def _range(low: int, high: int) -> str:
    return f"{low:,}" if low == high else f"{low:,} – {high:,}"
