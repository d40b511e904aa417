"""A study's harm scores: computed, set, drawn and written into their folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from annotate.harm import Severity
from annotate.study import Study
from judge.commands.report_command import Told, drawn_files
from judge.database.answer_places import answer_places, model_versions, said
from judge.database.calibrations import harm_draws
from judge.database.table import run_facts, tidy
from judge.reporting.folder import report_files, write_folder
from judge.reporting.scope import Settings
from judge.reporting.score_paper import document, methods, to_json
from judge.reporting.scores import ScoreMaterial, ScoreReport, score_report

if TYPE_CHECKING:
    from judge.reporting.document import Document


@dataclass(frozen=True, slots=True)
class Asked:
    """What scores are wanted, as the command was given it."""

    reference: str = ""
    unsafe_from: Severity = Severity.ACTIONABLE
    versions: tuple[tuple[str, ...], ...] = ()
    resamples: int | None = None
    """Instead of study.toml's."""


@dataclass(frozen=True, slots=True)
class Computed:
    """Scores, the same as a document, and the judges behind them."""

    report: ScoreReport
    document: Document
    judges: dict[str, str]
    """Name → fingerprint."""


def compute(study: Study, asked: Asked) -> Computed:
    """All scores of a study.

    Raises:
        UsageError: a model is not known.
        NothingComputable: there is neither a harm label nor a grade.
    """
    section = study.settings.report
    settings = Settings(section.level, asked.resamples or section.resamples, section.seed)
    with study.store.snapshot():
        made_from = ScoreMaterial(
            study.settings.study.title,
            tidy(study.store),
            answer_places(study.store),
            tuple(said(study.store)),
            model_versions(study.store),
            harm_draws(study.store),
        )
        judges = {run.name: run.fingerprint for run in run_facts(study.store)}
    report = score_report(
        made_from,
        settings,
        reference=asked.reference,
        unsafe_from=asked.unsafe_from,
        versions=asked.versions,
    )
    return Computed(report, document(report), judges)


def publish(
    found: Computed, asked: Asked, folder: Path, *, draw: bool = True, drawn: Told | None = None
) -> tuple[Path, ...]:
    """Write the scores' folder; returns the paths written.

    Raises:
        UsageError: the folder is a file.
        DataError: it cannot be written.
    """
    figures = dict(drawn_files(found.document.pictures(), drawn)) if draw else {}
    report = found.report
    files = report_files(
        found.document, values=to_json(report), methods=methods(report), figures=figures
    )
    inputs = {
        "level": report.level,
        "resamples": report.resamples,
        "seed": report.seed,
        "reference": asked.reference,
        "unsafe_from": int(asked.unsafe_from),
        "versions": [list(chain) for chain in asked.versions],
        "judges": found.judges,
    }
    return write_folder(files, inputs, folder)
