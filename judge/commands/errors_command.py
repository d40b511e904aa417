"""`evenhand judge errors`: what a judge probably got wrong, put before second raters, confirmed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from annotate.errors import UsageError
from annotate.harm import HARM
from annotate.records import SourceKind
from annotate.study import SETTINGS_NAME, Study
from judge.database import second_looks
from judge.database.store import VerdictStore
from judge.database.table import tidy
from judge.reporting.topics.judge_errors import JudgeErrors
from judge.stats.suspects import (
    CONFIRMING,
    Judged,
    Unit,
    confirmed_share,
    judged_units,
    suspects,
)


@dataclass(frozen=True, slots=True)
class _Found:
    """One dimension of a run."""

    judged: Sequence[Judged]
    queued: set[Unit]


def judge_errors(
    study: Study, name: str, *, dimension: str = "", limit: int = 50, queue: bool = False
) -> JudgeErrors:
    """Suspect verdicts of a run, worst first; with `queue`, those lacking people go to raters.

    Args:
        study: with the run.
        name: the run's name or id.
        dimension: only this one; "" all that the run has.
        limit: most suspects listed, and most put into the queue now.
        queue: whether to put them there.

    Raises:
        UsageError: an unknown run, no verdicts on the dimension, or answers to be queued in a
            study whose raters label none.
    """
    run = VerdictStore(study.store).find(name)
    table = tidy(study.store)
    mine = table[(table["source_kind"] == SourceKind.JUDGE) & (table["source_id"] == run.name)]
    known = sorted(set(mine["dimension"]))
    wanted = [dimension] if dimension else known
    if not known or not set(wanted) <= set(known):
        raise UsageError(
            f"run {run.name}: no verdicts{f' on {dimension}' if dimension else ''}; expected"
            f" {'one of ' + ', '.join(known) if known else 'some: evenhand judge'}"
        )
    found = {
        one: _Found(judged_units(table, run.name, one), second_looks.queued(study.store, run, one))
        for one in wanted
    }
    every = suspects(one for part in found.values() for one in part.judged)
    added = 0
    if queue and HARM in wanted and study.settings.protocol.harm_labels is None:
        raise UsageError(
            f"{study.folder / SETTINGS_NAME}: no [protocol.harm_labels]: raters label no answers;"
            " add it (evenhand init wrote an example) before you queue answers"
        )
    if queue:
        open_now = _open(study, every, found)[:limit]
        for one in wanted:
            units = [(s.unit[0], _turns(study, s)) for s in open_now if s.dimension == one]
            added += second_looks.queue(study.store, run, one, units)
        for one in wanted:
            found[one].queued.update(s.unit for s in open_now if s.dimension == one)
    left = len(_open(study, every, found))
    decided = [s for s in every if len(s.people) >= CONFIRMING and not _queued(s, found)]
    level = study.settings.report.level
    return JudgeErrors(
        run=run.name,
        judged=sum(len(part.judged) for part in found.values()),
        suspects=len(every),
        listed=tuple((one, _queued(one, found)) for one in every[:limit]),
        shares=tuple(
            (one, confirmed_share(part.judged, part.queued, level=level))
            for one, part in found.items()
        ),
        added=added,
        left=left,
        decided=(sum(one.confirmed for one in decided), len(decided)),
    )


def _queued(one: Judged, found: Mapping[str, _Found]) -> bool:
    return one.unit in found[one.dimension].queued


def _open(study: Study, every: Sequence[Judged], found: Mapping[str, _Found]) -> list[Judged]:
    """Suspects that lack a second person, can be shown, and stand in no queue yet."""
    lacking = [s for s in every if len(s.people) < CONFIRMING and not _queued(s, found)]
    shown = second_looks.with_text(study.store, (s.unit[0] for s in lacking))
    return [s for s in lacking if s.unit[0] in shown]


def _turns(study: Study, one: Judged) -> Sequence[int]:
    """What raters are asked: a pair's turn; of an answer what the protocol has them label."""
    words = study.settings.protocol.harm_labels
    if one.dimension != HARM:
        return one.turns
    return (0,) if words is None or words.turns == "whole" else one.turns
