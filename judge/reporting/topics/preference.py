"""Pairwise harmlessness and helpfulness against the reference, by each source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from judge.reporting import cells
from judge.reporting.document import Column, Part, Section, Table, Text
from judge.reporting.layout import tallied
from judge.reporting.scope import slug
from judge.reporting.scores import Preference
from judge.stats.answer_labels import RAW

DEFINITIONS = {
    "ties half": "(wins + ties / 2) / n against the reference; ½ is as good as it",
    "seed recipe": "the strict win share, wins / n, as published training recipes quote it: a tie"
    " is no win, so a model that never harms scores 0 against another that never harms",
}
COLUMNS = (Column("model", words=True), *map(Column, (
    "wins", "ties", "both bad", "losses", "left out", "ties half %", "seed recipe %",
)))  # fmt: skip
NO_REFERENCE = (
    "Pairwise wins need a reference: name one with --reference MODEL. Changes of rates and grades"
    " are then from it, too, and its collapse diagnostics become the baseline."
)


def section(found: Sequence[Preference], reference: str) -> Section:
    """One table per dimension and source; without a reference what to do."""
    parts: tuple[Part, ...] = tuple(_tables(found, reference))
    if not reference:
        parts = (Text(NO_REFERENCE),)
    elif not parts:
        parts = (
            Text(
                f"No judgment of a pair on harmlessness or helpfulness compares a model with"
                f" {reference}."
            ),
        )
    return Section("preference", "Pairwise, against a reference", parts)


def _tables(found: Sequence[Preference], reference: str) -> Iterator[Part]:
    for one in found:
        name = f"judge {one.source} ({RAW})" if one.judge else one.source
        left = [f"{row.model}: {tallied(row.excluded)}" for row in one.rows if row.excluded]
        yield Table(
            f"preference-{slug(one.dimension)}-{slug(one.source)}",
            f"{one.dimension.capitalize()} against {reference}, by {name}; {one.words}",
            COLUMNS,
            tuple(
                (
                    cells.words(row.model),
                    cells.count(row.wins),
                    cells.count(row.ties),
                    cells.count(row.both_bad),
                    cells.count(row.losses),
                    cells.count(sum(row.excluded.values())),
                    cells.share(row.ties_half),
                    cells.share(row.seed_recipe),
                )
                for row in one.rows
            ),
            (
                "Both bad is among the ties. The seed recipe counts a tie as no win: it is here to"
                " compare with papers that quote it, and for nothing else.",
                *(f"Left out of {words}." for words in left),
            ),
        )
