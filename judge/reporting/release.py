"""The votes behind a report as a file to publish: one row per vote, raters under new pseudonyms."""

from __future__ import annotations

import csv
import io

import pandas as pd

from annotate.inert import inert
from annotate.records import SourceKind
from judge.stats.agreement import NOT_JUDGED

COLUMNS = (
    "benchmark", "question_id", "category", "model_a", "model_b", "turn", "dimension", "rater",
    "rater_group", "layer", "occurrence", "purpose", "inclusion_probability", "outcome",
)  # fmt: skip

SAID = ("unit_id", "turn", "dimension", "occurrence", "value")


def votes_csv(judgments: pd.DataFrame) -> str:
    """Usable votes and what each judge said of the same unit.

    Raters are R1, R2 … in an order that tells nothing of who they are; no text, no comment,
    no time, no name goes out. Judges' columns are `judge:NAME`: an outcome, the status of a
    failure, or `not judged`.

    Args:
        judgments: from `judge.stats.agreement.pair_judgments`.
    """
    votes = judgments[(judgments["source_kind"] == SourceKind.RATER) & (judgments["value"] != "")]
    verdicts = judgments[
        (judgments["source_kind"] == SourceKind.JUDGE) & (judgments["occurrence"] == 1)
    ]
    names = pseudonyms(votes)
    key = ["unit_id", "turn", "dimension"]
    rows = votes.assign(rater=votes["source_id"].map(names), outcome=votes["value"])
    judges = sorted(set(verdicts["source_id"]))
    for judge in judges:
        said = verdicts[verdicts["source_id"] == judge]
        found = said["value"].where(said["value"] != "", said["status"])
        column = said[key].assign(**{f"judge:{judge}": found}).drop_duplicates(key)
        rows = rows.merge(column, how="left", on=key)
        rows[f"judge:{judge}"] = rows[f"judge:{judge}"].fillna(NOT_JUDGED)
    columns = [*COLUMNS, *(f"judge:{judge}" for judge in judges)]
    order = ["benchmark", "question_id", "model_a", "model_b", "turn", "dimension", "rater"]
    rows = rows.sort_values([*order, "occurrence", "outcome"], kind="stable")
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(map(inert, columns))
    writer.writerows(
        [inert(value) for value in row] for row in rows[columns].itertuples(index=False)
    )
    return out.getvalue()


def pseudonyms(votes: pd.DataFrame) -> dict[str, str]:
    """New names in the order of a hash of what each rater said, which the file tells anyway.

    The order of joining would say who is who, and so would that of a hash of the names to
    whoever has a list of them.
    """
    said = pd.util.hash_pandas_object(votes[list(SAID)], index=False)
    sums = said.groupby(votes["source_id"].to_numpy()).sum()
    shuffled = sorted((int(total), str(name)) for name, total in sums.items())
    return {name: f"R{number}" for number, (_, name) in enumerate(shuffled, start=1)}
