"""The report as values: what was found on each dimension, before anyone prints it.

`judge.reporting.summary` computes it, `judge.reporting.paper` sets it as a document.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from judge.reporting.findings import Findings
from judge.reporting.topics.harm_labels import HarmLabels
from judge.reporting.topics.study import StudyFacts
from judge.stats.estimate import Estimate
from judge.stats.grades import GradeTable
from judge.stats.one_judge import JudgeFigures
from judge.stats.panel import PanelCounts
from judge.stats.replicates import Stability


@dataclass(frozen=True, slots=True)
class Line:
    """One comparison on some turns in one setup."""

    comparison: str
    """`human-human` or `judge-human`."""
    judge: str
    """The judge's source id; empty for human–human."""
    turn: int | None
    """1, 2, …; 0 is the whole dialogue; None is all turns ≥ 1 together."""
    setup: str
    """S1 or S2."""
    agreement: Estimate
    kappa_symmetrised: Estimate
    kappa: Estimate
    alpha: Estimate
    ac1: Estimate
    coverage: Estimate | None
    """S2 only: its rows as a share of S1's."""
    confusion: tuple[tuple[int, ...], ...]
    """Counts by CATEGORIES: votes × verdicts; human–human: ordered pairs, each pair twice."""


@dataclass(frozen=True, slots=True)
class VoteCounts:
    """What a population's votes on a dimension come to."""

    questions: int
    pairs: int
    units: int
    """Pair × turn."""
    units_with_two_votes: int
    raters: int
    votes: int
    ties: int
    both_bad: int
    excluded: Mapping[str, int]
    """Votes not used at all, by reason."""


@dataclass(frozen=True, slots=True)
class JudgeCounts:
    """What a judge's pair verdicts on a dimension come to."""

    judge: str
    verdicts: int
    usable: int
    ties: int
    both_bad: int
    tie_reasons: Mapping[str, int]
    """Ties by recorded reason, e.g. `inconsistent`."""
    failed: Mapping[str, int]
    """Verdicts without a value, by status."""


@dataclass(frozen=True, slots=True)
class Block:
    """One population of raters on one dimension."""

    population: str
    """In words, as printed beside every figure."""
    group: str
    """The rater group, or `all`."""
    simulated: bool
    """Made by a program: never to be quoted as people's."""
    counts: VoteCounts
    notes: tuple[str, ...]
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class DimensionReport:
    """Everything on one dimension; dimensions never mix."""

    dimension: str
    judges: tuple[JudgeCounts, ...]
    blocks: tuple[Block, ...]
    notes: tuple[str, ...]
    figures: tuple[JudgeFigures, ...] = ()
    """Of each judge alone: win rates and position."""
    stability: tuple[tuple[str, Stability], ...] = ()
    """Of each judge that was asked several times: how far it agrees with itself."""
    panel: PanelCounts | None = None
    """Of two judges or more: what all of them judged, and their majority there."""
    side_by_side: tuple[Block, ...] = ()
    """The judges and their majority on what all of them judged."""


@dataclass(frozen=True, slots=True)
class Report:
    """Agreement of people with each other and of judges with people."""

    dimensions: tuple[DimensionReport, ...]
    level: float
    resamples: int
    seed: int
    grades: tuple[GradeTable, ...] = ()
    """Judges' grades of single answers."""
    runs: tuple[RunFacts, ...] = ()
    """What the judges were: every figure of one rests on the run of its name."""
    plan: str = ""
    """Whether the report keeps to a frozen analysis plan, in a sentence."""
    study: StudyFacts | None = None
    """What was studied; None where only a table is known."""
    findings: tuple[Findings, ...] = ()
    """What each judge's agreement is worth, per dimension and population."""
    harm: tuple[HarmLabels, ...] = ()
    """Each judge's harm verdicts beside people's labels of the same answers."""
    chosen: str = ""
    """Which raters and judges were asked for, in words; "" is all of them."""


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What defines one judge's run: `manifest` in full, {} for verdicts from a file."""

    name: str
    kind: str
    mode: str
    fingerprint: str
    manifest: Mapping[str, object]
