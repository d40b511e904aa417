"""A study's report: computed, set, drawn and written into its folder."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from annotate.library import turn_counts
from annotate.study import Study
from judge.database.analysis_plan import kept, report_settings
from judge.database.material import material
from judge.database.study_facts import study_facts
from judge.database.table import run_facts
from judge.reporting.findings import BREAKDOWNS
from judge.reporting.folder import report_files, write_folder
from judge.reporting.methods import methods_markdown
from judge.reporting.paper import document
from judge.reporting.release import votes_csv
from judge.reporting.report import to_json
from judge.reporting.scope import Material, Settings, choose
from judge.reporting.summary import full_report

if TYPE_CHECKING:
    from judge.reporting.document import Document, Picture
    from judge.reporting.values import Report


Told = Callable[[int], None]
"""Told how many pictures were drawn since it was told last."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a report is to be about, as the command was given it."""

    groups: tuple[str, ...] = ()
    judges: tuple[str, ...] = ()
    by: tuple[str, ...] = BREAKDOWNS
    resamples: int | None = None
    """Instead of study.toml's."""


@dataclass(frozen=True, slots=True)
class Computed:
    """A report's figures, and what they were made from."""

    report: Report
    document: Document
    material: Material


def compute(study: Study, asked: Asked) -> Computed:
    """All figures of a study's report, and the report as a document.

    Raises:
        UsageError: a group, judge or breakdown is not known.
        NothingComputable: there is nothing to report.
    """
    section = study.settings.report
    settings = Settings(section.level, asked.resamples or section.resamples, section.seed)
    planned = report_settings(study, asked.resamples)
    with study.store.snapshot():  # of a study that is being voted on, one moment
        made_from = material(study.store)
        facts = study_facts(study)
        questions = turn_counts(study.store)
        runs = run_facts(study.store)
        plan = kept(study.store, planned, narrowed=bool(asked.groups or asked.judges))
    report = full_report(
        made_from,
        facts,
        settings=settings,
        groups=asked.groups,
        judges=asked.judges,
        by=asked.by,
        questions=questions,
        runs=runs,
        plan=plan,
    )
    return Computed(report, document(report, made_from.texts), made_from)


def publish(
    found: Computed, asked: Asked, folder: Path, *, draw: bool = True, drawn: Told | None = None
) -> tuple[Path, ...]:
    """Write the report's folder; returns the paths written.

    Args:
        found: from :func:`compute`.
        asked: what it was asked for.
        folder: made if need be.
        draw: whether to draw the pictures; numbers alone take a moment.
        drawn: is told of each picture.

    Raises:
        UsageError: the folder is a file.
        DataError: it cannot be written.
    """
    figures = dict(drawn_files(found.document.pictures(), drawn)) if draw else {}
    files = report_files(
        found.document,
        values=to_json(found.report),
        methods=methods_markdown(found.report),
        figures=figures,
    )
    chosen, _words = choose(found.material, asked.groups, asked.judges)
    files["votes.csv"] = votes_csv(chosen.judgments).encode("utf-8", "replace")
    return write_folder(files, _inputs(found, asked), folder)


def drawn_files(pictures: Iterable[Picture], told: Told | None) -> Iterator[tuple[str, bytes]]:
    """Every picture in every format, by its file's name; `told` hears of each picture."""
    from typing import get_args

    from judge.reporting.drawing import Format, draw

    for picture in pictures:
        for form in get_args(Format):
            yield f"{picture.id}.{form}", draw(picture.plot, form)
        if told:
            told(1)


def _inputs(found: Computed, asked: Asked) -> Mapping[str, object]:
    report = found.report
    return {
        "level": report.level,
        "resamples": report.resamples,
        "seed": report.seed,
        "raters": list(asked.groups),
        "against": list(asked.judges),
        "by": list(asked.by),
        "judges": {run.name: run.fingerprint for run in report.runs},
        "judgments": judgments_digest(found.material),
        "analysis_plan": report.plan,
    }


def judgments_digest(made_from: Material) -> str:
    """A hash of all judgments, whatever the order of rows: what the figures rest on.

    The sum of every row's SHA-256: of a million rows none has to be kept or sorted.
    """
    rows = made_from.judgments
    columns = [rows[name].astype(object) for name in sorted(rows.columns)]
    total = 0
    for row in zip(*columns, strict=True):
        line = "\x1f".join(map(str, row)).encode("utf-8", "replace")
        total += int.from_bytes(hashlib.sha256(line).digest(), "big")
    return f"{total % 2**256:064x}"
