"""What a study holds and how far it is, as text."""

from __future__ import annotations

from collections.abc import Iterator

from annotate import library, overview
from annotate.study import Study
from judge.ask.modes import Mode
from judge.database.store import VerdictStore
from judge.reporting.layout import counted

VERDICTS = {Mode.PAIRWISE: "pair verdicts", Mode.HARM: "harm labels", Mode.GRADE: "grades"}


def status_text(study: Study, url: str | None) -> str:
    """The whole of `evenhand status`."""
    return "\n".join(_lines(study, url)) + "\n"


def _lines(study: Study, url: str | None) -> Iterator[str]:
    settings = study.settings
    yield f"{settings.study.title} ({study.folder})"
    yield f"  served at {url}" if url else "  not being served"
    yield f"  protocol {settings.protocol.id[:12]}: " + ", ".join(
        d.name for d in settings.protocol.dimensions
    )
    counts = library.counts(study.store)
    yield "  holds " + ", ".join(f"{n:,} {name}" for name, n in counts.items())
    done = overview.progress(study.store, settings.assignment)
    yield (
        f"  rating: {done.finished:,} of {done.wanted:,} finished ({done.pairs:,} pairs"
        f" × {counted(settings.assignment.overlap, 'rater')}), {done.leased:,} open on a screen"
    )
    yield (
        f"  votes: {done.votes:,} cast here, {done.imported_votes:,} imported,"
        f" {done.simulated_votes:,} simulated, {done.withdrawn:,} taken back"
    )
    if done.owner_queue:
        yield f"  {done.owner_queue:,} pairs were skipped too often and wait for you"
    labels = overview.label_progress(study.store, settings.assignment)
    if settings.protocol.answer_forms:
        raters = counted(settings.assignment.labels, "rater")
        yield (
            f"  answers: {labels.finished:,} of {labels.wanted:,} labelled ({labels.items:,} items"
            f" × {raters}), {labels.leased:,} open on a screen, {labels.skips:,} skipped;"
            f" {counted(labels.opted_out, 'rater')} leaving out a subject"
        )
    if labels.given or labels.imported or labels.simulated:
        yield (
            f"  labels and grades of turns: {labels.given:,} given here, {labels.imported:,}"
            f" imported, {labels.simulated:,} simulated"
        )
    if settings.protocol.harm_labels is not None:
        yield (
            f"  adjudicators: {labels.settled:,} settled, {labels.to_settle:,} queued so far"
            " (invite them with --group adjudicator)"
        )
    for row in overview.raters(study.store):
        answers = f", {row.answers:,} answers" if settings.protocol.answer_forms else ""
        yield f"  rater {row.name} ({row.group}): {row.pairs:,} pairs, {row.votes:,} votes{answers}"
    yield from _judges(study)


def _judges(study: Study) -> Iterator[str]:
    verdicts = VerdictStore(study.store)
    for run in verdicts.runs():
        counts = verdicts.judgment_counts(run.id)
        shown = ", ".join(f"{n:,} {name}" for name, n in sorted(counts.items()))
        what = VERDICTS[Mode(run.mode)]
        yield f"  judge {run.name} ({run.kind}, {run.state}): {what} {shown or 'none'}"
