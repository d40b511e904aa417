"""The console's first tab: progress, raters, agreement and planned labels so far. No page in it.

Every value is escaped: a rater's name is text like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from annotate import library, overview
from annotate.errors import EvenhandError
from annotate.harm import HARM
from annotate.live import LiveSettings
from annotate.study import AssignmentSection, Study
from annotate.study import Settings as StudySettings
from judge.console.cached import Cached
from judge.console.html import bar, cards, empty, muted, table, text, warning
from judge.console.label_plan import GATE, label_plan, newest_plan
from judge.database.material import material
from judge.reporting.document import Text, Weight
from judge.reporting.layout import counted
from judge.reporting.paper import headlines
from judge.reporting.scope import Settings, scopes
from judge.reporting.summary import agreement_report
from judge.reporting.topics import excess, reference
from judge.reporting.values import Line, Report
from judge.stats.agreement import S1
from judge.stats.estimate import Estimate
from judge.stats.views import comparison_words, turn_words

LEGEND = (
    "Ties and both-bad count as one category here. kappa* is chance-corrected agreement: 1 always"
    " the same, 0 as by chance. Intervals resample questions. The report has the rest."
)


class Overview:
    """The first tab, computed from the store at each refresh."""

    def __init__(self, study: Study, live: LiveSettings) -> None:
        self._study = study
        self._live = live
        self._agreement = Cached(self._compute_agreement)
        self._plan = Cached(lambda: label_plan(study))

    def head(self) -> str:
        """The study's title and what it holds."""
        held = library.counts(self._study.store)
        shown = ("questions", "models", "answers", "pairs", "references")
        holdings = " · ".join(f"{held[name]:,} {name}" for name in shown)
        return f"<h1>{text(self._live.get().study.title)}</h1>{muted(holdings)}"

    def html(self, *, judging: bool = False) -> str:
        """The whole tab; agreement waits while the judge is at work.

        Every verdict would make it stale, and resampling holds up the raters' pages.
        """
        settings = self._live.get()
        progress = overview.progress(self._study.store, settings.assignment)
        parts = [
            warning(_edited(self._live.error)),
            _progress(progress, settings.assignment),
            _labels(self._study, settings),
            "<h2>Raters</h2>",
            _raters(overview.raters(self._study.store), settings),
            "<h2>Agreement so far</h2>",
            muted("As before the judge's run that is going on.") if judging else "",
            self._agreement.get(self._counts, hold=judging),
            self._plan.get(self._planned, hold=judging),
        ]
        return f'<div id="console">{"".join(parts)}</div>'

    def _counts(self) -> tuple[int, ...]:
        """Changes whenever a vote or a verdict does: the key of the agreement's cache."""
        conn = self._study.store.conn
        tables = ["vote", *(t for t in ("pair_verdict", "judge_attempt") if _has(conn, t))]
        return tuple(
            int(conn.execute(f"SELECT coalesce(max(rowid), 0) FROM {name}").fetchone()[0])
            for name in tables
        )

    def _planned(self) -> tuple[object, ...]:
        """Changes whenever the newest plan, a label or the accepted harm rate does."""
        gate = self._study.folder / GATE
        changed = gate.stat().st_mtime_ns if gate.exists() else 0
        plan = newest_plan(self._study)
        return (changed, plan.id if plan else "", *self._counts())

    def _compute_agreement(self) -> str:
        """The report's own figures, from its own resamples: the same to the last digit."""
        section = self._live.get().report
        settings = Settings(section.level, section.resamples, section.seed)
        try:
            made_from = material(self._study.store)
            report = agreement_report(
                made_from.everything,
                judgments=made_from.judgments,
                level=settings.level,
                resamples=settings.resamples,
                seed=settings.seed,
            )
            said = [
                words
                for scope in scopes(made_from, settings)
                for words in headlines(excess.found(scope), reference.found(scope), scope.dimension)
            ]
        except EvenhandError as error:
            return empty(str(error))
        return "".join(map(_said, said)) + _agreement(report)


def _said(words: Text) -> str:
    if words.weight is Weight.WARNING:
        return warning(words.words)
    return f'<p class="c-key">{text(words.words)}</p>'


def _has(conn: Any, table: str) -> bool:
    return bool(conn.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone())


def _edited(error: str) -> str:
    if not error:
        return ""
    return f"study.toml was edited but cannot be used; the last good settings stay: {error}"


def _progress(progress: overview.Progress, settings: AssignmentSection) -> str:
    """Of pairs; where raters are given none there is nothing to finish."""
    if "pairs" not in settings.tasks:
        cast = [
            (progress.votes, "votes cast here"),
            (progress.imported_votes, "votes imported"),
            (progress.simulated_votes, "simulated votes (not people's)"),
        ]
        shown = [(f"{n:,}", what) for n, what in cast if n]
        return muted("Raters are given answers, no pairs.") + (cards(shown) if shown else "")
    share = progress.finished / progress.wanted if progress.wanted else 0.0
    figures = [
        (f"{progress.finished:,} / {progress.wanted:,}", "ratings finished"),
        (
            f"{progress.complete_pairs:,} / {progress.pairs:,}",
            f"pairs with {counted(settings.overlap, 'rater')}",
        ),
        (f"{progress.votes:,}", "votes cast here"),
        (f"{progress.imported_votes:,}", "votes imported"),
        (f"{progress.leased:,}", "open on a screen"),
        (f"{progress.skips:,}", f"skips, {progress.owner_queue:,} pairs for you"),
    ]
    if progress.simulated_votes:
        figures.insert(4, (f"{progress.simulated_votes:,}", "simulated votes (not people's)"))
    finished = muted(f"{100 * share:.0f} % of the ratings are finished.")
    return bar(share, "ratings finished") + finished + cards(figures)


def _labels(study: Study, settings: StudySettings) -> str:
    forms = settings.protocol.answer_forms
    if not forms:
        return ""
    found = overview.label_progress(study.store, settings.assignment)
    share = found.finished / found.wanted if found.wanted else 0.0
    figures = [
        (f"{found.finished:,} / {found.wanted:,}", "labels finished"),
        (f"{found.leased:,}", "open on a screen"),
        (f"{found.skips:,}", f"skips; {_leave_out(found.opted_out)}"),
        (f"{found.settled:,}", f"settled by adjudicators, {found.to_settle:,} queued"),
    ]
    what = " and ".join("labelled for harm" if one == HARM else "graded" for one in forms)
    return f"<h2>Answers {what}</h2>" + bar(share, "labels finished") + cards(figures)


def _leave_out(opted_out: int) -> str:
    return f"{counted(opted_out, 'rater')} leave{'s' if opted_out == 1 else ''} out a subject"


def _raters(rows: Sequence[overview.RaterRow], settings: StudySettings) -> str:
    """With columns of what these raters are given."""
    if not rows:
        return empty("Nobody is invited yet: evenhand invite STUDY NAME…")
    heads, figures = ["rater", "group"], [[row.name, row.group] for row in rows]
    if "pairs" in settings.assignment.tasks:
        heads += ["#pairs", "#votes", "#A shown left : right", "#chose left", "#median s"]
        figures = [[*one, *_pairs(row)] for one, row in zip(figures, rows, strict=True)]
    if settings.protocol.answer_forms:
        heads.append("#answers")
        figures = [[*one, f"{row.answers:,}"] for one, row in zip(figures, rows, strict=True)]
    last = [(row.last_vote or "–").replace("T", " ")[:16] for row in rows]
    cast = ([*one, when] for one, when in zip(figures, last, strict=True))
    return table((*heads, "last vote (UTC)"), cast)


def _pairs(row: overview.RaterRow) -> list[str]:
    return [
        f"{row.pairs:,}",
        f"{row.votes:,}",
        f"{row.shown_ab} : {row.shown_ba}",
        f"{row.left} of {row.decided}",
        "–" if row.median_seconds is None else f"{row.median_seconds:.1f}",
    ]


def _agreement(report: Report) -> str:
    parts = []
    for dimension in report.dimensions:
        for block in dimension.blocks:
            lines = [line for line in block.lines if line.setup == S1 and line.agreement.n]
            if not lines:
                continue
            parts.append(
                f"<h3>{text(dimension.dimension.capitalize())}"
                f" <small>{text(block.population)}</small></h3>"
            )
            parts.append(
                table(
                    ("who", "turn", "#agree", "#share", "#95 % interval", "#kappa*"),
                    (_line(line, block.simulated) for line in lines),
                )
            )
    if parts:
        parts.append(muted(LEGEND))
    return "".join(parts) or empty("No two votes on one pair yet.")


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
