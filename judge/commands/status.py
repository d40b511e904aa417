"""What a study holds and how far it is, as text."""

from __future__ import annotations

from collections.abc import Iterator

from annotate import library, overview
from annotate.study import Study
from judge.database.store import VerdictStore


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
        f" × {settings.assignment.overlap} raters), {done.leased:,} open on a screen"
    )
    yield (
        f"  votes: {done.votes:,} cast here, {done.imported_votes:,} imported,"
        f" {done.simulated_votes:,} simulated, {done.withdrawn:,} taken back"
    )
    if done.owner_queue:
        yield f"  {done.owner_queue:,} pairs were skipped too often and wait for you"
    if settings.protocol.answer_forms:
        labels = overview.label_progress(study.store, settings.assignment)
        yield (
            f"  answers: {labels.finished:,} of {labels.wanted:,} labelled ({labels.items:,} items"
            f" × {settings.assignment.labels} raters), {labels.leased:,} open on a screen,"
            f" {labels.skips:,} skipped, {labels.opted_out:,} raters leave out a subject"
        )
    if settings.protocol.harm_labels is not None:
        yield (
            f"  adjudicators: {labels.settled:,} settled, {labels.to_settle:,} queued so far"
            " (invite them with --group adjudicator)"
        )
    for row in overview.raters(study.store):
        yield f"  rater {row.name} ({row.group}): {row.pairs:,} pairs, {row.votes:,} votes"
    yield from _judges(study)


def _judges(study: Study) -> Iterator[str]:
    verdicts = VerdictStore(study.store)
    for run in verdicts.runs():
        counts = verdicts.judgment_counts(run.id)
        shown = ", ".join(f"{n:,} {name}" for name, n in sorted(counts.items()))
        yield f"  judge {run.name} ({run.kind}, {run.state}): pair verdicts {shown or 'none'}"
