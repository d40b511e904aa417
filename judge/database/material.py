"""What a study gives to its report: judgments, what is known of the answers, votes as cast."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from annotate import library
from annotate.ballots import STANDING
from annotate.errors import DataError
from annotate.records import Order, Outcome, Turn, asked_of, choice_of, turn_text, turns_from_json
from annotate.store import Store
from judge.database.table import tidy
from judge.reporting.scope import Material, UnitText
from judge.stats.agreement import pair_judgments
from judge.stats.baselines import ANSWER_COLUMNS, refuses

if TYPE_CHECKING:
    import pandas as pd

BALLOT_COLUMNS = (
    "dimension", "rater", "rater_group", "layer", "pair", "choice", "order", "active_ms",
    "sequence",
)  # fmt: skip


def material(store: Store) -> Material:
    """Everything a report is made from, read in one snapshot."""
    with store.snapshot():
        table = tidy(store)
        return Material(
            judgments=pair_judgments(table),
            table=table,
            answers=answer_facts(store),
            ballots=ballots(store),
            texts=StudyTexts(store),
        )


def answer_facts(store: Store) -> pd.DataFrame | None:
    """Characters of each reply and whether it declines, by pair and turn; None without texts.

    Turn 0 is the whole dialogue: all characters, and a refusal if any turn is one.
    """
    import pandas as pd

    facts: dict[str, list[tuple[int, int, bool]]] = {}
    for answer, asked, given in store.conn.execute(
        "SELECT a.id, q.turns, a.turns FROM answer a JOIN question q ON q.id = a.question"
        " WHERE a.turns IS NOT NULL"
    ):
        turns = turns_from_json(json.loads(given))
        numbers = (
            asked_of(turns_from_json(json.loads(asked))) if asked else range(1, len(turns) + 1)
        )
        facts[answer] = list(_facts(turns, numbers))
    rows = [
        (pair, turn, length, other_length, refusal, other_refusal)
        for pair, a, b in store.conn.execute(
            "SELECT id, answer_a, answer_b FROM pair"
            " WHERE answer_a IS NOT NULL AND superseded_by IS NULL"
        )
        for (turn, length, refusal), (_, other_length, other_refusal) in zip(
            facts.get(a, ()), facts.get(b, ()), strict=False
        )
    ]
    return pd.DataFrame(rows, columns=list(ANSWER_COLUMNS)) if rows else None


def ballots(store: Store) -> pd.DataFrame | None:
    """First votes as they were cast here, with the side and the time; None when none were."""
    import pandas as pd

    rows = []
    for (
        dimension,
        rater,
        group,
        layer,
        pair,
        found,
        order,
        active_ms,
        sequence,
    ) in store.conn.execute(
        "SELECT v.dimension, coalesce(r.label, r.id), r.rater_group, v.layer, v.pair,"
        f" v.outcome, v.order_shown, v.active_ms, w.rowid FROM {STANDING}"
        " JOIN rater r ON r.id = v.rater"
        " WHERE v.subject = 'pair' AND v.occurrence = 1 AND v.import_batch IS NULL"
        " AND v.purpose IN ('estimation', 'queue') AND r.kind <> 'preview' ORDER BY w.rowid"
    ):
        side = choice_of(Outcome(found), Order(order))
        rows.append((dimension, rater, group, layer, pair, side or "", order, active_ms, sequence))
    return pd.DataFrame(rows, columns=list(BALLOT_COLUMNS)) if rows else None


class StudyTexts:
    """The texts of a study's pairs, read when they are wanted."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __call__(self, unit: str) -> UnitText | None:
        """Question and answers of a pair, turn by turn; None where they are not known."""
        try:
            pair = library.pair(self._store, unit)
        except DataError:
            return None
        asked, given = pair.question.turns or (), (pair.a.turns or (), pair.b.turns or ())
        return UnitText(
            pair.question.key.question_id,
            pair.question.category,
            (pair.a.model, pair.b.model),
            tuple(
                ("\n\n".join(message.content for message in turn), turn_text(a), turn_text(b))
                for turn, a, b in zip_longest(asked, *given, fillvalue=())
            ),
        )


def _facts(turns: tuple[Turn, ...], asked: Sequence[int]) -> Iterator[tuple[int, int, bool]]:
    said = {number: turn_text(turns[number - 1]) for number in asked if number <= len(turns)}
    yield from ((number, len(text), refuses(text)) for number, text in said.items())
    yield 0, sum(map(len, said.values())), any(map(refuses, said.values()))
