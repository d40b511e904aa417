"""From the tidy table of judgments to counts per question: who agrees with whom, on what.

Two comparisons, each within one dimension and one population of raters:

- *judge–human*: one row per vote, joined to the judge's verdict of the same pair and turn.
- *human–human*: all unordered pairs of votes within one unit (pair × turn), by different
  raters; a unit with m votes gives m (m − 1) / 2 rows.

Two setups: *S1* has three categories (a, tie, b), `both_bad` merged with `tie`; *S2* keeps
the rows on which both sides name a winner (human–human: every tie vote is taken out first).

Source: L. Zheng et al., Judging LLM-as-a-Judge with MT-Bench and Chatbot Arena (2023),
section 4.2 and Table 5, https://arxiv.org/abs/2306.05685

Only what :func:`pair_judgments`, :func:`select_votes` and :func:`select_verdicts` let
through is counted; what they leave out is counted by reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from annotate.errors import DataError
from annotate.records import Layer, Outcome, Purpose, SourceKind, Status, Subject
from judge.stats.coefficients import FloatArray

CATEGORIES = ("a", "tie", "b")
"""Order of the axes of every confusion; reversed, it exchanges the models' names."""

S1, S2 = "S1", "S2"
SETUPS = (S1, S2)

COLUMNS = (
    "unit_id",
    "subject",
    "question_id",
    "model_a",
    "model_b",
    "turn",
    "dimension",
    "source_kind",
    "source_id",
    "rater_group",
    "layer",
    "occurrence",
    "purpose",
    "value",
    "status",
)
"""What the tidy table must have."""

OPTIONAL_COLUMNS = (
    "benchmark",
    "category",
    "reason",
    "protocol",
    "inclusion_probability",
    "orders",
    "ab",
    "ba",
)
"""What is used when there, and else empty."""

PLAIN = (
    "unit_id",
    "question_id",
    "category",
    "model_a",
    "model_b",
    "source_id",
    "value",
    "status",
    "reason",
)
"""Text columns kept as Python's texts; the others say few words over and over and are
categorical: a byte per row, so that a million votes fit in a small memory. Counting the
words of those also counts, with 0, the ones that do not occur."""

CODE = {Outcome.A: 0, Outcome.TIE: 1, Outcome.BOTH_BAD: 1, Outcome.B: 2}

EITHER_TIE = "tie or both_bad on either side"
NOT_JUDGED = "not judged"
ALONE = "only vote of its unit"
TIE_VOTE = "tie or both_bad vote"


def pair_judgments(table: pd.DataFrame) -> pd.DataFrame:
    """The judgments about pairs, checked, in plain types, in an order of their own.

    Adds `cluster`, the key of the question: (benchmark, question_id).

    Raises:
        DataError: a column is missing, a value is no outcome, a turn or occurrence is no
            whole number, or one unit names two questions or two pairs of models.
    """
    missing = [name for name in COLUMNS if name not in table.columns]
    if missing:
        raise DataError(f"table of judgments: no column {', '.join(missing)}")
    wanted = (_words(table["subject"]) == Subject.PAIR).to_numpy()
    result = pd.DataFrame(
        {
            name: _whole_numbers(column, name) if name in ("turn", "occurrence") else _words(column)
            for name, column in _columns(table, wanted)
        }
    )
    strange = sorted(set(result["value"].cat.categories) - {*CODE, ""})
    if strange:
        raise DataError(f"value {strange[0]!r}: expected one of {', '.join(CODE)} or nothing")
    result["cluster"] = _joined(result["benchmark"], result["question_id"])
    naming = result[["unit_id", "cluster", "model_a", "model_b"]].drop_duplicates()
    twice = naming.loc[naming["unit_id"].duplicated(), "unit_id"]
    if len(twice):
        raise DataError(
            f"unit {min(twice)}: named with two questions or two orders of models;"
            " bring judgments to canonical order first"
        )
    key = ["unit_id", "turn", "dimension", "source_kind", "source_id", "value", "occurrence"]
    result = result.sort_values(key, kind="stable", ignore_index=True)
    return result.astype(dict.fromkeys((*PLAIN, "cluster"), object))


@dataclass(frozen=True, slots=True)
class Votes:
    """The usable votes of one population on one dimension, one per rater and unit."""

    rows: pd.DataFrame
    """With `code` (0, 1, 2 as in CATEGORIES) added."""
    excluded: Mapping[str, int]
    """Votes left out, by reason."""


def select_votes(
    judgments: pd.DataFrame, dimension: str, *, groups: Sequence[str] | None, simulated: bool
) -> Votes:
    """First-occurrence votes with a value, of people or else of simulated raters.

    The same vote given twice counts once; two contradictory votes of one rater on one unit
    leave nothing to count. Queue, gold, repeat and training items are no random part of
    what is to be estimated, so they are left out.

    Args:
        judgments: from :func:`pair_judgments`.
        dimension: the one dimension.
        groups: rater groups, or None for all.
        simulated: whether layer `simulated` is wanted, and nothing else, or people.
    """
    rows = judgments[
        (judgments["source_kind"] == SourceKind.RATER)
        & (judgments["dimension"] == dimension)
        & ((judgments["layer"] == Layer.SIMULATED) == simulated)
    ]
    if groups is not None:
        rows = rows[rows["rater_group"].isin(list(groups))]
    excluded: Counter[str] = Counter()

    def leave_out(mask: pd.Series[bool], reason: str, named: str = "") -> None:
        """`named` is a column whose word completes the reason."""
        nonlocal rows
        if mask.any():
            words = rows.loc[mask, named] if named else pd.Series("", index=rows.index[mask])
            excluded.update({f"{reason}{word}": n for word, n in tally(words).items()})
            rows = rows[~mask]

    wanted = Layer.SIMULATED if simulated else Layer.VOTE
    leave_out(rows["layer"] == "", "layer not given")
    leave_out(rows["layer"] != wanted, "layer ", "layer")
    leave_out(rows["occurrence"] != 1, "repeat of an earlier vote")
    leave_out(~rows["purpose"].isin(["", Purpose.ESTIMATION]), "purpose ", "purpose")
    leave_out(rows["status"] == "", "no status")
    leave_out(rows["status"] != Status.OK, "", "status")
    leave_out(rows["value"] == "", "no value")
    key = ["unit_id", "turn", "source_id"]
    several = rows[rows.duplicated(key, keep=False)]
    values = several.groupby(key, sort=False)["value"].transform("nunique")
    contradictory = (values > 1).reindex(rows.index, fill_value=False)
    leave_out(contradictory, "contradictory votes of one rater on one unit")
    leave_out(rows.duplicated(key), "the same vote again")
    return Votes(_coded(rows), dict(sorted(excluded.items())))


def select_verdicts(judgments: pd.DataFrame, dimension: str, judge: str) -> pd.DataFrame:
    """A judge's first pair verdict per unit on one dimension, failures included.

    `code` is −1 where there is no value; `failure` then says why.

    Raises:
        DataError: a unit has two verdicts, e.g. one per order.
    """
    rows = judgments[
        (judgments["source_kind"] == SourceKind.JUDGE)
        & (judgments["dimension"] == dimension)
        & (judgments["source_id"] == judge)
        & (judgments["occurrence"] == 1)
    ]
    twice = rows[rows.duplicated(["unit_id", "turn"])]
    if len(twice):
        unit = twice.iloc[0]
        raise DataError(
            f"judge {judge}: two verdicts on unit {unit['unit_id']}, turn {unit['turn']},"
            f" dimension {dimension}; combine the two orders into one pair verdict first"
        )
    rows = _coded(rows)
    failed = rows["status"] != Status.OK
    rows["failure"] = rows["status"].where(failed, "").replace("", "no value")
    rows.loc[failed, "code"] = -1
    rows.loc[rows["code"] >= 0, "failure"] = ""
    return rows


@dataclass(frozen=True, slots=True)
class Counts:
    """What one comparison comes to on some turns: additive over questions."""

    table: FloatArray
    """Shape (clusters, columns); the columns as the function that made it says."""
    excluded: Mapping[str, Mapping[str, int]]
    """Per setup: votes that entered no row, by reason."""


def judge_human_counts(votes: Votes, verdicts: pd.DataFrame, clusters: pd.Index[str]) -> Counts:
    """Vote-level confusions per question: columns 3 i + j, i the vote's category, j the judge's.

    Rows + excluded = votes, in both setups. A unit without a verdict is "not judged"; a
    failed verdict is excluded under its status.
    """
    verdict = verdicts[["unit_id", "turn", "code", "failure"]].rename(columns={"code": "verdict"})
    rows = votes.rows[["unit_id", "turn", "cluster", "code"]].merge(
        verdict, how="left", on=["unit_id", "turn"], validate="many_to_one"
    )
    judged = rows["verdict"].ge(0)
    why = tally(rows.loc[~judged, "failure"].fillna(NOT_JUDGED))
    rows = rows[judged]
    cell = 3 * rows["code"] + rows["verdict"].astype(np.int64)
    table = _per_cluster(rows["cluster"], cell, clusters, 9)
    tied = int(((rows["code"] == 1) | (rows["verdict"] == 1)).sum())
    return Counts(table, {S1: why, S2: {**why, EITHER_TIE: tied} if tied else why})


HUMAN_COLUMNS = 18
"""Columns of one setup's human–human counts."""


def human_human_counts(votes: Votes, clusters: pd.Index[str]) -> Counts:
    """Counts of votes that share a unit: 18 columns of S1, then the same 18 of S2.

    Per question, sums over its units, m_c votes of category c and m in all:

    - 0–8: ordered pairs of different votes, m_c m_d − [c = d] m_c
    - 9–11: m_c, and 12: (m² − Σ m_c²) / (m − 1), both over units with m ≥ 2 (alpha)
    - 13: 1 and 14: Σ m_c (m_c − 1) / (m (m − 1)), over units with m ≥ 2 (AC1)
    - 15–17: m_c / m over all units with a vote (AC1's prevalence)

    In S2 the tie votes are removed before m is counted. Votes in units with m ≥ 2 +
    excluded = votes.
    """
    rows = votes.rows
    unit = rows.groupby(["unit_id", "turn"], sort=True).ngroup().to_numpy()
    first = np.unique(unit, return_index=True)[1]
    cluster = rows["cluster"].iloc[first]
    tally = np.bincount(3 * unit + rows["code"].to_numpy(), minlength=3 * len(first))
    per_unit = tally.reshape(-1, 3).astype(np.float64)
    decisive = per_unit * [1, 0, 1]
    code = clusters.get_indexer(pd.Index(cluster))
    table = np.empty((len(clusters), 2 * HUMAN_COLUMNS))
    for place, column in enumerate(chain(_unit_columns(per_unit), _unit_columns(decisive))):
        table[:, place] = np.bincount(code, column, minlength=len(clusters))
    ties = int(per_unit[:, 1].sum())
    excluded = {S1: _positive({ALONE: _alone(per_unit)})}
    excluded[S2] = _positive({TIE_VOTE: ties, ALONE: _alone(decisive)})
    return Counts(table, excluded)


def _unit_columns(per_unit: FloatArray) -> Iterator[FloatArray]:
    """The 18 columns for units of shape (units, 3), one by one: units may be many."""
    m = per_unit.sum(1)
    several = m >= 2
    for one, other in product(range(3), repeat=2):
        yield per_unit[:, one] * (per_unit[:, other] - (one == other))
    for column in per_unit.T:
        yield column * several
    squares = (per_unit**2).sum(1)
    spare = np.where(several, m - 1, 1)
    yield (m * m - squares) / spare * several
    yield several.astype(np.float64)
    yield (squares - m) / np.where(several, m * spare, 1) * several
    for column in per_unit.T:
        yield column / np.where(m > 0, m, 1)


def _alone(per_unit: FloatArray) -> int:
    return int((per_unit.sum(1) == 1).sum())


def _per_cluster(
    cluster: pd.Series[str], cell: pd.Series[int], clusters: pd.Index[str], cells: int
) -> FloatArray:
    flat = clusters.get_indexer(pd.Index(cluster)) * cells + cell.to_numpy()
    counts = np.bincount(flat, minlength=len(clusters) * cells)
    return counts.reshape(len(clusters), cells).astype(np.float64)


def _coded(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.assign(code=rows["value"].map(CODE).fillna(-1).astype(np.int64))


def tally(reasons: pd.Series[str]) -> dict[str, int]:
    """How often each word occurs, in alphabetical order."""
    # A categorical column would also count the words that do not occur.
    found = reasons.astype(object).value_counts()
    return {str(reason): int(n) for reason, n in sorted(found.items())}


def _positive(counts: Mapping[str, int]) -> dict[str, int]:
    return {reason: n for reason, n in counts.items() if n}


def _columns(
    table: pd.DataFrame, wanted: NDArray[np.bool_]
) -> Iterator[tuple[str, pd.Series[Any]]]:
    """The columns of the wanted rows one by one: a copy of them all would fill the memory."""
    for name in (*COLUMNS, *OPTIONAL_COLUMNS):
        column = table[name] if name in table else pd.Series("", index=table.index)
        yield name, column[wanted].reset_index(drop=True)


def _words(column: pd.Series[Any]) -> pd.Series[str]:
    """Text of enums, numbers and texts; "" for None, nan and NA. Whole floats lose their .0.

    Categorical, categories in alphabetical order, "" always among them.
    """
    codes, found = pd.factorize(column)
    words = [
        str(int(x)) if isinstance(x, float) and x.is_integer() else str(x)
        for x in pd.Index(found).astype(object)
    ]
    # 1, 1.0 and "1" are one word; the last one stands for what is missing, code −1.
    categories, place = np.unique(np.array([*words, ""], dtype=object), return_inverse=True)
    made = pd.Categorical.from_codes(place[codes], categories=pd.Index(categories, dtype=object))
    return pd.Series(made, index=column.index)


def _joined(benchmark: pd.Series[str], question: pd.Series[str]) -> pd.Series[str]:
    """The key of each row's question; both columns are categorical."""
    ids = question.cat.categories
    numbers = benchmark.cat.codes.astype(np.int64) * len(ids) + question.cat.codes
    place, used = pd.factorize(numbers)
    names = benchmark.cat.categories
    words = [f"{names[n // len(ids)]}\x1f{ids[n % len(ids)]}" for n in used]
    made = pd.Categorical.from_codes(place, categories=pd.Index(words, dtype=object))
    return pd.Series(made, index=benchmark.index)


def _whole_numbers(column: pd.Series[int], name: str) -> pd.Series[int]:
    numbers = pd.to_numeric(column, errors="coerce")
    if numbers.isna().any() or (numbers % 1 != 0).any():
        bad = column[numbers.isna() | (numbers % 1 != 0)].iloc[0]
        raise DataError(f"{name} {bad}: expected a whole number")
    return numbers.astype(np.int64)
