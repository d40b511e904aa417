"""Run a judge against padded answers, in a file of its own beside the study's.

Raters never see padded answers, and no report counts verdicts on them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from annotate import library
from annotate.errors import NothingComputable, UsageError
from annotate.records import Answer, Pair
from annotate.store import FILE_NAME, Store
from annotate.study import Study
from judge.ask.attacks import ATTACKS, AttackResult, padded, results
from judge.ask.modes import Mode
from judge.database.store import VerdictStore
from judge.engine.progress import Progress
from judge.engine.runner import run
from judge.engine.settings import JudgeSettings
from judge.engine.tally import RunSummary
from judge.engine.units import CHUNK

FOLDER = "attacks"


@dataclass(frozen=True, slots=True)
class AttackReport:
    """One judge's run against padded answers."""

    summary: RunSummary
    results: tuple[AttackResult, ...]


def attack(
    study: Study,
    settings: JudgeSettings,
    attacks: Sequence[str] = (),
    progress: Progress | None = None,
) -> AttackReport:
    """Judge the study's first `limit` answers against themselves made longer.

    As resumable as any run: what was asked before is not asked again.

    Raises:
        UsageError: an attack is unknown, or the settings are not pairwise.
        NothingComputable: the study has no answers.
        ServiceError: no call came back usable.
    """
    wanted = tuple(attacks) or tuple(ATTACKS)
    unknown = sorted(set(wanted) - set(ATTACKS))
    if unknown:
        raise UsageError(f"attack {unknown[0]!r}: expected one of {', '.join(ATTACKS)}")
    if settings.mode is not Mode.PAIRWISE or settings.baseline:
        raise UsageError("an attack compares pairs of its own: no --mode, no --baseline")
    store = _store(study)
    try:
        part, parts = settings.shard or (1, 1)
        ids = library.answer_ids(study.store, limit=settings.limit)[part - 1 :: parts]
        if not ids:
            raise NothingComputable(f"{study.folder}: no answers to make longer; import some")
        units = [
            unit
            for start in range(0, len(ids), CHUNK)
            for unit in _make_pairs(study.store, store, ids[start : start + CHUNK], wanted)
        ]
        summary = run(store, replace(settings, limit=None, shard=None), progress, units=units)
        return AttackReport(summary, tuple(results(_verdicts(store, summary.run_id, units))))
    finally:
        store.close()


def _store(study: Study) -> Store:
    folder = study.folder / FOLDER
    folder.mkdir(exist_ok=True)
    path = folder / FILE_NAME
    return Store.open(path) if path.exists() else Store.create(path, "evenhand attacks")


def _make_pairs(
    source: Store, store: Store, ids: Sequence[str], attacks: Sequence[str]
) -> list[str]:
    """Copy answers, add their padded forms, and pair each with its own; the pairs' ids."""
    found: list[str] = []
    with store.write() as conn:
        for stored in library.answers(source, ids):
            answer = stored.answer
            longer = [padded(answer, attack) for attack in attacks]
            library.add_question(conn, stored.question)
            for one in (answer, *longer):
                library.add_answers(conn, one.key.benchmark, one.model, [one])
            found += [Pair.of(answer, one).id for one in longer if one.hash != answer.hash]
        wanted = set(found)
        library.build_pairs(conn, store.study_id, lambda one, other: _is_pair(one, other, wanted))
    return found


def _is_pair(one: Answer, other: Answer, wanted: Collection[str]) -> bool:
    return one.key == other.key and Pair.of(one, other).id in wanted


def _verdicts(store: Store, run_id: str, units: Sequence[str]) -> Iterator[dict[str, str | None]]:
    """The run's verdicts on these pairs."""
    name = VerdictStore(store).run(run_id).name
    wanted = set(units)
    for row in VerdictStore(store).judgments():
        if row["source_id"] == name and row["unit_id"] in wanted:
            yield row
