"""What was studied: questions, pairs, who rated, what was shown to them, what is left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from judge.reporting import cells
from judge.reporting.document import Column, Facts, Part, Section, Table, Text, Weight
from judge.reporting.layout import counted, tallied

NOT_STATED = "not stated in study.toml"
SUBJECTS = ("population", "recruitment", "pay", "ethics", "training")


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many pairs of one dimension have so many votes of people, all their turns together."""

    dimension: str
    pairs: Mapping[str, int]
    """Number of raters, as text, to number of pairs."""


@dataclass(frozen=True, slots=True)
class StudyFacts:
    """A study in figures and words, as its store and study.toml have it."""

    title: str
    questions: Mapping[str, int]
    """By benchmark."""
    categories: Mapping[str, int]
    """Questions by category."""
    models: tuple[str, ...]
    pairs: int
    excluded_pairs: Mapping[str, int]
    """By reason."""
    coverage: tuple[Coverage, ...]
    raters: Mapping[str, int]
    """People with a standing vote, by group ("" is no group)."""
    votes: Mapping[str, int]
    """Standing votes, by where they come from: cast here, imported, simulated."""
    withdrawn: int
    skips: Mapping[str, int]
    """Pairs that a rater skipped, by reason."""
    statuses: Mapping[str, int]
    """Invited raters by status: active, stopped, opted_out …"""
    overlap: int
    protocols: tuple[str, ...]
    """Hashes of the versions under which votes were cast here, first used first."""
    human_subjects: Mapping[str, str]
    instructions: str
    consent: str
    rubrics: Mapping[str, str]
    """Dimension to its question and rubric, as shown."""


def section(facts: StudyFacts) -> Section:
    """Counts first, then the block on human subjects with whatever is missing named."""
    parts: list[Part] = [Facts(tuple(_facts(facts))), *_tables(facts)]
    return Section(
        "study",
        "The study",
        tuple(parts),
        (Section("human-subjects", "The people who rated", tuple(_subjects(facts))),),
    )


def _facts(facts: StudyFacts) -> Iterator[str]:
    named = ", ".join(f"{counted(n, 'question')} of {name}" for name, n in facts.questions.items())
    models = counted(len(facts.models), "model")
    yield f"{named or 'no question'}; {counted(facts.pairs, 'pair')} of {models}"
    if facts.excluded_pairs:
        yield f"pairs left out: {tallied(facts.excluded_pairs)}"
    who = {f"in group {name}" if name else "in no group": n for name, n in facts.raters.items()}
    people = counted(sum(facts.raters.values()), "rater")
    yield f"{people} with a standing vote{': ' + tallied(who) if who else ''}"
    yield f"standing votes: {tallied(facts.votes) or 'none'}; {facts.withdrawn} withdrawn"
    yield f"skipped: {tallied(facts.skips) if facts.skips else 'nothing'}"
    if facts.statuses:
        yield f"invited raters: {tallied(facts.statuses)}"


def _tables(facts: StudyFacts) -> Iterator[Table]:
    counts = sorted({number for one in facts.coverage for number in one.pairs}, key=int)
    if counts:
        yield Table(
            "votes-per-pair",
            "Pairs by the number of people who voted on them",
            (Column("dimension", words=True), *(Column(number) for number in counts)),
            tuple(
                (
                    cells.words(one.dimension),
                    *(cells.count(one.pairs.get(number, 0)) for number in counts),
                )
                for one in facts.coverage
            ),
        )


def _subjects(facts: StudyFacts) -> Iterator[Part]:
    missing = [name for name in SUBJECTS if not facts.human_subjects.get(name)]
    if missing and sum(facts.raters.values()):
        yield Text(
            f"Not stated: {', '.join(missing)}. Write them into study.toml,"
            " [study.human_subjects]; reviewers ask for them.",
            Weight.WARNING,
        )
    said = [f"{name}: {facts.human_subjects[name]}" for name in SUBJECTS if name not in missing]
    versions = ", ".join(one[:12] for one in facts.protocols)
    said.append(
        f"what was shown: {counted(len(facts.protocols), 'version')} of the protocol ({versions})"
        if versions
        else "no vote was cast here, so what raters were shown is not known to this study"
    )
    yield Facts(tuple(said))
    if facts.protocols:
        yield Text(f"Instructions as shown now: {facts.instructions}")
        yield Text(f"Consent as shown now: {facts.consent}")
        for dimension, words in facts.rubrics.items():
            yield Text(f"{dimension}: {words}")
