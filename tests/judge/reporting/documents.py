"""A document with every kind of part, and names that would do harm if they could."""

from __future__ import annotations

from judge.reporting import cells
from judge.reporting.document import (
    Column,
    Document,
    Exchange,
    Facts,
    Picture,
    Section,
    Table,
    Text,
    Weight,
)
from judge.reporting.pictures import Forest
from judge.stats.estimate import Estimate

HOSTILE = "</script><img src=x onerror=alert(1)>"
TURNED = "\u202egpj.exe\u202c"
SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="504pt" height="200pt" viewBox="0 0 504 200">'
    '<text id="one" x="10" y="20">excess</text></svg>'
)
LONG = "A sentence that says little. " * 60


def estimate(
    value: float | None,
    low: float | None = None,
    high: float | None = None,
    *,
    reason: str = "",
    of: tuple[int, int] | None = None,
) -> Estimate:
    """A figure on 721 rows of 80 questions."""
    numerator, denominator = of or (None, None)
    return Estimate(
        "agreement", value, "votes of 65 people", 721, 80, reason, low, high, 0.95,
        "cluster bootstrap" if low is not None else "", {"no verdict": 3}, numerator, denominator,
    )  # fmt: skip


def table(id: str = "by-category", *names: str, rows: int = 0) -> Table:
    """Two groups of rows; undefined figures for two reasons, the first of them twice."""
    few, one = "under 30 questions", f"one category only, says {HOSTILE}"
    body = [
        ("S1", "writing", estimate(0.63, 0.581, 0.68, of=(454, 721)), estimate(0.4, reason=few)),
        ("", "maths", estimate(None, reason=few, of=(0, 0)), estimate(-0.012, -0.05, 0.03)),
        ("S2", HOSTILE, estimate(0.5, 0.4, 0.6), estimate(None, reason=one)),
        *(("", name, estimate(0.5, 0.4, 0.6), estimate(0.1, 0.0, 0.2)) for name in names),
        *(("", f"row {i}", estimate(0.5, 0.4, 0.6), estimate(0.1, 0, 0.2)) for i in range(rows)),
    ]
    return Table(
        id,
        f"Agreement by category, {HOSTILE}",
        (Column("setup", True), Column("who", True), Column("agree, percent"), Column("kappa")),
        tuple(
            (cells.words(setup), cells.words(who), cells.share(share), cells.coefficient(kappa))
            for setup, who, share, kappa in body
        ),
        ("Votes of 65 people.",),
    )


def document(*names: str) -> Document:
    """Every kind of part; `names` are further rows of the first table."""
    picture = Picture(
        "excess", "Excess over guesses", f"A forest plot of {HOSTILE}", Forest("", ())
    )
    exchange = Exchange(
        "q81",
        f"Question 81, {TURNED}",
        ("votes: 5 a, 0 b",),
        (
            ("Say\n\thello.", f"{HOSTILE}\n\n  1. {TURNED} \x1b[31m\0", ""),
            ("Again.", LONG, "```\ncode\n```"),
        ),
        ("alder", HOSTILE),
    )
    return Document(
        f"Report on {HOSTILE}",
        (
            Text("Judge alder agrees on 63.0 % of votes.", Weight.KEY),
            Text("Its interval does not lie above 0.", Weight.WARNING),
            Text("Holds for this judge."),
        ),
        "95 % intervals, seed 7",
        (
            Section(
                "agreement",
                "Agreement",
                (Facts(("1. of all: 80 questions", "- and 3,354 votes")), table("main", *names)),
                (Section("agreement-raters", f"By rater, {TURNED}", (table("raters", rows=45),)),),
            ),
            Section("excess", "Excess", (Text("Nothing."), table("excess"), picture)),
            Section("gallery", "Where they part", (exchange,)),
        ),
    )
