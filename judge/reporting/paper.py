"""The report as a document: which topics stand where, and what the reader must know first."""

from __future__ import annotations

from collections.abc import Iterator

from judge.reporting.document import Document, Facts, Part, Section, Text, Weight, told_apart
from judge.reporting.findings import Findings
from judge.reporting.layout import counted
from judge.reporting.scope import Texts, slug
from judge.reporting.topics import (
    agreement,
    breakdown,
    confusion,
    excess,
    gallery,
    gap,
    grades,
    harm_labels,
    judge_alone,
    length,
    majority,
    own_models,
    people,
    position,
    rankings,
    raters,
    reference,
    study,
)
from judge.reporting.topics.excess import Excess
from judge.reporting.topics.reference import Reference
from judge.reporting.values import DimensionReport, JudgeCounts, Report, RunFacts
from judge.stats.bands import INDICATIVE_BELOW

TITLE = "Agreement report"

SCOPE_NOTE = (
    "What is said here holds for these judges under these prompts and settings, for these"
    " questions, and for raters of the groups named; each figure names its population.",
    "Public questions: models and judges may have been trained on them. How far is not known, and"
    " no figure here corrects for it.",
    "Intervals say how far other questions of the same kind could move a figure. They say nothing"
    " of other benchmarks, languages, prompts, judges or later versions of a model.",
    "Agreement with people is no accuracy: people differ, and the human reference shows how much.",
)

DEFINITIONS = {**agreement.DEFINITIONS, **judge_alone.DEFINITIONS, **grades.DEFINITIONS} | {
    "majority": "the outcome of more than half of the judges, ties of both kinds as one; "
    "otherwise the panel abstains, which is no verdict",
}


def document(report: Report, texts: Texts | None = None) -> Document:
    """Everything a report says, in the order in which it should be read.

    Args:
        report: from `judge.reporting.summary`.
        texts: for the gallery of disagreements; without it votes and verdicts alone.
    """
    title = TITLE if report.study is None else f"{report.study.title}: {TITLE.lower()}"
    return Document(
        title,
        tuple(_lead(report)),
        f"{100 * report.level:g} % intervals: cluster bootstrap by question,"
        f" {report.resamples:,} resamples, seed {report.seed}",
        told_apart(tuple(_sections(report, texts))),
    )


def _lead(report: Report) -> Iterator[Text]:
    """What each judge's agreement is worth, before any table."""
    if not report.findings:
        yield Text(
            "No judgment of people stands beside a judge's, so nothing here says whether a judge"
            " is right.",
            Weight.WARNING,
        )
    for one in report.findings:
        yield from headlines(one.excess, one.reference, one.dimension)
        if one.simulated:
            yield Text(agreement.SIMULATED, Weight.WARNING)
        if one.excess.questions < INDICATIVE_BELOW:
            few = counted(one.excess.questions, "question")
            yield Text(
                f"Indicative: {few}, fewer than {INDICATIVE_BELOW}; intervals are too narrow.",
                Weight.WARNING,
            )


def headlines(found: Excess, beside: Reference, dimension: str = "") -> Iterator[Text]:
    """What one judge's agreement is worth, in two paragraphs: report and console begin so."""
    said = excess.headline(found)
    words = said.words[0].lower() + said.words[1:]
    where = f"On {dimension} ({found.population}): {words}"
    yield Text(where if dimension else said.words, said.weight)
    second = reference.headline(beside)
    yield Text(second.words, second.weight)


def _sections(report: Report, texts: Texts | None) -> Iterator[Section]:
    if report.study is not None:
        yield study.section(report.study)
    yield _made_with(report)
    for part in report.dimensions:
        yield _dimension(part, [f for f in report.findings if f.dimension == part.dimension])
    if report.grades:
        sections = tuple(grades.section(table) for table in report.grades)
        yield Section("grades", "Grades of single answers", (), sections)
    if report.harm:
        beside = tuple(map(harm_labels.section, report.harm))
        yield Section("harm", "Labels of harm", (), beside)
    if report.findings:
        shown = tuple(gallery.section(one.gallery, texts) for one in report.findings)
        yield Section("gallery", "Disagreements", (), shown)
    yield Section("scope", "What this report can and cannot say", (Facts(SCOPE_NOTE),))
    meanings = tuple(f"{word}: {meaning}" for word, meaning in DEFINITIONS.items())
    yield Section("definitions", "How to read", (Facts(meanings),))


def _made_with(report: Report) -> Section:
    facts = [report.chosen] if report.chosen else []
    if report.plan:
        facts.append(report.plan)
    facts += map(_run_words, report.runs)
    return Section("runs", "Settings and judges", (Facts(tuple(facts) or ("no judge",)),))


def _run_words(run: RunFacts) -> str:
    if run.kind == "imported":
        return f"judge {run.name}: verdicts from a file, no manifest"
    return (
        f"judge {run.name}: {run.mode}, model {run.manifest.get('requested_model')} at"
        f" {run.manifest.get('endpoint')}, fingerprint {run.fingerprint[:12]}"
        f" (evenhand judge show)"
    )


def _dimension(part: DimensionReport, found: list[Findings]) -> Section:
    name = slug(part.dimension)
    sections = [agreement.section(block, part.dimension) for block in part.blocks]
    for one in found:
        sections += _topics(one)
    if part.panel is not None:
        panel = part.panel
        said = (
            f"Side by side, on the {counted(panel.units, 'unit')} that all of"
            f" {', '.join(panel.judges)} judged ({panel.left_out} left out);"
            f" the majority abstains on {panel.abstained}"
        )
        beside = tuple(
            agreement.section(block, part.dimension, among="side-by-side")
            for block in part.side_by_side
        )
        sections.append(
            Section(f"side-by-side-{name}", "Judges side by side", (Text(said),), beside)
        )
    seen = {(one.judge, one.whole_dialogues) for one in found}
    sections += [
        # What the orders say stands among the topics where people voted.
        judge_alone.section(one, part.dimension, orders=(one.judge, one.turn == 0) not in seen)
        for one in part.figures
    ]
    parts: tuple[Part, ...] = (Facts(facts),) if (facts := tuple(_facts(part))) else ()
    return Section(f"on-{name}", f"Dimension: {part.dimension}", parts, tuple(sections))


def _topics(found: Findings) -> Iterator[Section]:
    yield excess.section(found.excess)
    yield reference.section(found.reference)
    yield majority.section(found.majority)
    yield confusion.section(found.confusion)
    for one in found.breakdowns:
        yield breakdown.section(one)
    yield raters.section(found.raters)
    yield people.section(found.people)
    yield position.section(found.position)
    yield length.section(found.length)
    yield own_models.section(found.own_models)
    yield rankings.section(found.rankings)
    yield gap.section(found.gap)


def _facts(part: DimensionReport) -> Iterator[str]:
    yield from map(_judge_words, part.judges)
    for name, found in part.stability:
        yield f"judge {name}, {grades.stability_words(found)}"
    yield from part.notes


def _judge_words(judge: JudgeCounts) -> str:
    reasons = [f"{n} {reason}" for reason, n in judge.tie_reasons.items()]
    parts = [
        f"judge {judge.judge}: {counted(judge.verdicts, 'pair verdict')}",
        f"{judge.usable} usable",
        counted(judge.ties, "tie") + (f" ({', '.join(reasons)})" if reasons else ""),
        *([f"{judge.both_bad} both bad"] if judge.both_bad else []),
        *(f"{n} {status}" for status, n in judge.failed.items()),
    ]
    return ", ".join(parts)
