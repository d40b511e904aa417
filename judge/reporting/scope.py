"""What a topic of the report is made from: a judge beside one population, on one dimension."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, TypeVar

import pandas as pd

from annotate.errors import UsageError
from annotate.records import Layer, SourceKind, digest
from judge.stats import joint
from judge.stats.agreement import S1, S2, Votes, select_verdicts, select_votes
from judge.stats.estimate import Estimate
from judge.stats.rows import Rows, judged_rows, question_index

Key = TypeVar("Key", bound=Hashable)

SLUG_LENGTH = 60
"""A file's name holds three slugs and more; disks allow 255 bytes."""

ALL = "all"
"""The group that is everyone."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How intervals are made; the same for every figure of a report."""

    level: float = 0.95
    resamples: int = 10_000
    seed: int = 7


@dataclass(frozen=True, slots=True)
class UnitText:
    """What was compared: per turn what the user said and both answers, as written."""

    question: str
    category: str
    names: tuple[str, str]
    turns: tuple[tuple[str, str, str], ...]


class Texts(Protocol):
    """Where the gallery finds texts; a study's store, or nothing."""

    def __call__(self, unit: str) -> UnitText | None:
        """The texts of a pair, None where they are not known."""


@dataclass(frozen=True, slots=True)
class Material:
    """What a study gives to its report, beside settings; frames are never changed."""

    judgments: pd.DataFrame
    """From `judge.stats.agreement.pair_judgments`."""
    answers: pd.DataFrame | None = None
    """`judge.stats.baselines.ANSWER_COLUMNS`: lengths and refusals; None without any text."""
    ballots: pd.DataFrame | None = None
    """Standing votes as cast, columns dimension, rater, rater_group, layer, pair, choice, order,
    active_ms, sequence; occurrence 1 only. None where all votes were imported."""
    texts: Texts | None = None
    table: pd.DataFrame | None = None
    """The tidy table itself, with grades of answers; None where only pairs are known."""

    @property
    def everything(self) -> pd.DataFrame:
        """The tidy table, or what is known of it."""
        return self.judgments if self.table is None else self.table


@dataclass(frozen=True)
class Scope:
    """One dimension, one population, one judge."""

    dimension: str
    population: str
    """In words, as printed beside every figure."""
    judge: str
    group: str
    """A rater group, or `all`."""
    votes: Votes
    """Of turns ≥ 1; dialogue judgments are a scope of their own."""
    verdicts: pd.DataFrame
    """From `select_verdicts`, all units of the judge on the same kind of turns."""
    material: Material
    settings: Settings

    @cached_property
    def questions(self) -> pd.Index[str]:
        """Every question with a vote: what is resampled."""
        return question_index(self.votes.rows["cluster"])

    @cached_property
    def rows(self) -> Mapping[str, Rows]:
        """Votes beside verdicts, by setup."""
        return {
            setup: judged_rows(self.votes, self.verdicts, setup, self.questions)
            for setup in (S1, S2)
        }

    def estimates(self, figures: Mapping[Key, joint.Figure]) -> dict[Key, Estimate]:
        """Values and intervals of figures on :attr:`questions`, from the report's resamples."""
        settings = self.settings
        return joint.estimates(
            figures,
            len(self.questions),
            level=settings.level,
            resamples=settings.resamples,
            seed=settings.seed,
        )

    @property
    def key(self) -> str:
        """Dimension, judge and group as a slug: unique in a report, fit for a file's name."""
        words = [self.dimension, self.judge, *([] if self.group == ALL else [self.group])]
        if self.simulated:
            words.append("simulated")
        if self.whole_dialogues:
            words.append("dialogues")
        return "-".join(map(slug, words))

    @property
    def simulated(self) -> bool:
        """A program made the votes: never to be quoted as people's."""
        return bool((self.votes.rows["layer"] == Layer.SIMULATED).any())

    @property
    def whole_dialogues(self) -> bool:
        """Judgments of whole dialogues (turn 0), never pooled with those of turns."""
        return bool((self.votes.rows["turn"] == 0).any())


def scopes(
    material: Material,
    settings: Settings,
    *,
    groups: Sequence[str] | None = None,
    judges: Sequence[str] | None = None,
) -> Iterator[Scope]:
    """Every judge beside everyone who voted, per dimension; dialogues after turns.

    Votes of people; simulated ones only where no person voted on the dimension.

    Args:
        material: of the study.
        settings: of the report.
        groups: rater groups that count, or None for all.
        judges: names of the judges wanted, or None for all.
    """
    everything = material.judgments
    of_judges = everything[everything["source_kind"] == SourceKind.JUDGE]
    for dimension in sorted(set(everything["dimension"])):
        votes = select_votes(everything, dimension, groups=groups, simulated=False)
        simulated = votes.rows.empty
        if simulated:
            votes = select_votes(everything, dimension, groups=groups, simulated=True)
        names = sorted(set(of_judges.loc[of_judges["dimension"] == dimension, "source_id"]))
        for dialogues in (False, True):
            part = replace(votes, rows=votes.rows[(votes.rows["turn"] == 0) == dialogues])
            if part.rows.empty:
                continue
            group = ALL if groups is None or len(groups) != 1 else groups[0]
            for judge in names:
                if judges is not None and judge not in judges:
                    continue
                verdicts = select_verdicts(everything, dimension, judge)
                yield Scope(
                    dimension,
                    population_words(part, group, simulated=simulated)
                    + (", whole dialogues" if dialogues else ""),
                    judge,
                    group,
                    part,
                    verdicts[(verdicts["turn"] == 0) == dialogues],
                    material,
                    settings,
                )


def choose(
    material: Material, groups: Sequence[str], judges: Sequence[str]
) -> tuple[Material, str]:
    """The material without raters of other groups and without other judges, and this in words.

    Raises:
        UsageError: a group or a judge is not there; judges may be named by how they begin.
    """
    rows = material.judgments
    of_judges = rows["source_kind"] == SourceKind.JUDGE
    known = sorted(set(rows.loc[of_judges, "source_id"]))
    wanted = {_named(name, known, "judge", "--against") for name in judges}
    known_groups = sorted(set(rows.loc[~of_judges, "rater_group"]))
    for group in groups:
        if group not in known_groups:
            raise UsageError(
                f"--raters {group}: no such group; expected one of"
                f" {', '.join(known_groups) or 'none: there are no votes'}"
            )

    def kept(frame: pd.DataFrame) -> pd.DataFrame:
        judge = frame["source_kind"] == SourceKind.JUDGE
        keep = ~judge | (frame["source_id"].isin(wanted) if judges else True)
        return frame[keep & (judge | (frame["rater_group"].isin(groups) if groups else True))]

    parts = []
    if groups:
        parts.append(f"only raters of {' and '.join(map(_group_words, groups))}")
    if judges:
        parts.append(f"only judge {' and '.join(sorted(wanted))}")
    table = None if material.table is None else kept(material.table)
    ballots = material.ballots
    if groups and ballots is not None:
        ballots = ballots[ballots["rater_group"].isin(groups)]
    chosen = replace(material, judgments=kept(rows), table=table, ballots=ballots)
    return chosen, "; ".join(parts)


def _named(name: str, known: Sequence[str], what: str, option: str) -> str:
    """The one that is called so, or the only one that begins so."""
    found = [one for one in known if one == name] or [one for one in known if one.startswith(name)]
    if len(found) == 1:
        return found[0]
    listed = ", ".join(known) or "none has verdicts"
    problem = f"{len(found)} {what}s begin so" if found else f"no such {what}"
    raise UsageError(f"{option} {name}: {problem}; expected one of {listed}")


def population_words(votes: Votes, group: str, *, simulated: bool) -> str:
    """Whose votes, as printed beside every figure of theirs."""
    raters = votes.rows["source_id"].nunique()
    if simulated:
        who = f"SIMULATED votes by {raters} program-made raters (not people)"
    else:
        who = f"votes of {raters} {'person' if raters == 1 else 'people'}"
    names = sorted(set(votes.rows["rater_group"]))
    if group == ALL and len(names) != 1:
        return f"{who}, all groups ({', '.join(map(_group_words, names))})"
    return f"{who}, {_group_words(names[0] if group == ALL else group)}"


def slug(words: str) -> str:
    """Letters, digits and hyphens, at most SLUG_LENGTH; names that differ in nothing else differ
    in no slug. What is cut, or has no such letter at all, gets a hash instead.
    """
    plain = "".join(ch if ch.isascii() and ch.isalnum() else "-" for ch in words.lower())
    short = "-".join(filter(None, plain.split("-")))
    if short and len(short) <= SLUG_LENGTH:
        return short
    return "-".join(filter(None, [short[: SLUG_LENGTH - 9].rstrip("-"), digest(words)[:8]]))


def _group_words(name: str) -> str:
    return f"group {name}" if name else "no group given"
