"""The owner's console: progress, raters, agreement so far. A Gradio page of its own.

It lives on the judge's side because it shows verdicts; the rating page cannot import it.
Every value is escaped: a rater's name is text like any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from html import escape
from typing import Any

import gradio as gr
from fastapi import FastAPI

from annotate import library, overview
from annotate.api import Sessions
from annotate.app import mount_page
from annotate.errors import EvenhandError
from annotate.live import LiveSettings
from annotate.study import Study

from .agreement import S1
from .estimate import Estimate
from .summary import Line, Report, agreement_report
from .table import tidy
from .views import comparison_words, turn_words

REFRESH_SECONDS = 20
LIVE_RESAMPLES = 2_000
LEGEND = (
    "Ties and both-bad count as one category here. kappa* is chance-corrected agreement: 1 always"
    " the same, 0 as by chance. Intervals resample questions. The report has the rest."
)


def mount(app: FastAPI, study: Study, sessions: Sessions, live: LiveSettings) -> None:
    """Add the console at /console, for the owner's session only."""
    console = Console(study, live)
    with gr.Blocks(title="Evenhand console", analytics_enabled=False) as page:
        shown = gr.HTML(padding=False)
        timer = gr.Timer(REFRESH_SECONDS)
        refresh = gr.Button("Refresh", size="sm", variant="secondary", scale=0, min_width=120)
        for trigger in (page.load, timer.tick, refresh.click):
            trigger(console.html, outputs=shown, show_progress="hidden", api_visibility="private")
    head = '<link rel="stylesheet" href="../static/console.css">'
    mount_page(app, page, "/console", head, sessions.owner)


class Console:
    """The page's text, computed from the store at each refresh."""

    def __init__(self, study: Study, live: LiveSettings) -> None:
        self._study = study
        self._live = live
        self._agreement = lru_cache(maxsize=2)(self._compute_agreement)

    def html(self) -> str:
        """The whole page."""
        settings = self._live.get()
        progress = overview.progress(self._study.store, settings.assignment)
        parts = [
            f"<h1>{escape(settings.study.title)}</h1>",
            f'<p class="c-muted">{_holdings(library.counts(self._study.store))}</p>',
            _warning(self._live.error),
            _progress(progress, settings.assignment.overlap),
            "<h2>Raters</h2>",
            _raters(overview.raters(self._study.store)),
            "<h2>Agreement so far</h2>",
            self._agreement(self._state()),
        ]
        return f'<div id="console">{"".join(parts)}</div>'

    def _state(self) -> tuple[int, ...]:
        """Changes whenever a vote or a verdict does: the key of the agreement's cache."""
        conn = self._study.store.conn
        tables = ["vote", *(t for t in ("pair_verdict", "judge_attempt") if _has(conn, t))]
        return tuple(
            int(conn.execute(f"SELECT coalesce(max(rowid), 0) FROM {table}").fetchone()[0])
            for table in tables
        )

    def _compute_agreement(self, _state: tuple[int, ...]) -> str:
        report_settings = self._live.get().report
        try:
            report = agreement_report(
                tidy(self._study.store),
                level=report_settings.level,
                resamples=min(LIVE_RESAMPLES, report_settings.resamples),
                seed=report_settings.seed,
            )
        except EvenhandError as error:
            return f'<p class="c-empty">{escape(str(error))}</p>'
        return _agreement(report)


def _has(conn: Any, table: str) -> bool:
    return bool(conn.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone())


def _holdings(counts: dict[str, int]) -> str:
    shown = ("questions", "models", "answers", "pairs", "references")
    return " · ".join(f"{counts[name]:,} {name}" for name in shown)


def _warning(error: str) -> str:
    if not error:
        return ""
    text = f"study.toml was edited but cannot be used; the last good settings stay: {error}"
    return f'<p class="c-warn">{escape(text)}</p>'


def _progress(progress: overview.Progress, overlap: int) -> str:
    share = 100 * progress.finished / progress.wanted if progress.wanted else 0
    cards = [
        (f"{progress.finished:,} / {progress.wanted:,}", "ratings finished"),
        (f"{progress.complete_pairs:,} / {progress.pairs:,}", f"pairs with {overlap} raters"),
        (f"{progress.votes:,}", "votes cast here"),
        (f"{progress.imported_votes:,}", "votes imported"),
        (f"{progress.leased:,}", "open on a screen"),
        (f"{progress.skips:,}", f"skips, {progress.owner_queue:,} pairs for you"),
    ]
    if progress.simulated_votes:
        cards.insert(4, (f"{progress.simulated_votes:,}", "simulated votes (not people's)"))
    tiles = "".join(
        f'<div class="c-card"><b>{escape(value)}</b><span>{escape(name)}</span></div>'
        for value, name in cards
    )
    return (
        f'<div class="c-bar" role="progressbar" aria-valuenow="{share:.0f}" aria-valuemin="0"'
        f' aria-valuemax="100" aria-label="ratings finished">'
        f'<i style="inline-size:{share:.1f}%"></i></div>'
        f'<p class="c-muted">{share:.0f} % of the ratings are finished.</p>'
        f'<div class="c-cards">{tiles}</div>'
    )


def _raters(rows: Sequence[overview.RaterRow]) -> str:
    if not rows:
        return '<p class="c-empty">Nobody is invited yet: evenhand invite STUDY NAME…</p>'
    return _table(
        ("rater", "group", "#pairs", "#votes", "#A shown left : right", "#chose left", "#median s",
         "last vote (UTC)"),
        (
            (
                row.name,
                row.group,
                f"{row.pairs:,}",
                f"{row.votes:,}",
                f"{row.shown_ab} : {row.shown_ba}",
                f"{row.left} of {row.decided}",
                "–" if row.median_seconds is None else f"{row.median_seconds:.1f}",
                (row.last_vote or "–").replace("T", " ")[:16],
            )
            for row in rows
        ),
    )  # fmt: skip


def _agreement(report: Report) -> str:
    parts = []
    for dimension in report.dimensions:
        for block in dimension.blocks:
            lines = [line for line in block.lines if line.setup == S1 and line.agreement.n]
            if not lines:
                continue
            parts.append(
                f"<h3>{escape(dimension.dimension.capitalize())}"
                f" <small>{escape(block.population)}</small></h3>"
            )
            parts.append(
                _table(
                    ("who", "turn", "#agree", "#share", "#95 % interval", "#kappa*"),
                    (_line(line, block.simulated) for line in lines),
                )
            )
    if parts:
        parts.append(f'<p class="c-muted">{LEGEND}</p>')
    return "".join(parts) or '<p class="c-empty">No two votes on one pair yet.</p>'


def _line(line: Line, simulated: bool) -> tuple[str, ...]:
    agreement = line.agreement
    return (
        comparison_words(line.comparison, line.judge, simulated=simulated),
        turn_words(line.turn),
        f"{agreement.numerator:,} / {agreement.denominator:,}",
        _share(agreement.value),
        _interval(agreement),
        "–" if line.kappa_symmetrised.value is None else f"{line.kappa_symmetrised.value:.2f}",
    )


def _share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"


def _interval(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return "–"
    return f"{100 * estimate.low:.1f} – {100 * estimate.high:.1f}"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; heads that begin with # are numbers and stand at the end of their column."""
    numeric = [head.startswith("#") for head in heads]
    names = [head.removeprefix("#") for head in heads]

    def cells(tag: str, values: Sequence[str]) -> str:
        return "".join(
            f"<{tag}{' class=n' if is_number else ''}>{escape(value)}</{tag}>"
            for value, is_number in zip(values, numeric, strict=True)
        )

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return f'<div class="c-wrap"><table><tr>{cells("th", names)}</tr>{body}</table></div>'
