"""What the judge's tables hold, as rows for statistics and for people to read."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from annotate.harm import UNSAFE_FROM
from annotate.records import Subject, canonical_json
from annotate.store import Store
from annotate.versions import PAIR_MODELS, pair_names, shown_name
from judge.ask.modes import Mode
from judge.stats.failures import Judged


def judgments(store: Store) -> Iterator[dict[str, Any]]:
    """Every judge's verdicts as rows of the tidy table (DESIGN §2), plus `reason`, `benchmark`.

    A verdict on a label-only pair counts for the pair that superseded it. The value of an
    answer is its grade (a number), or its harm label as JSON.

    Runs that ask about a dimension in the very same way are one judge on it, under the oldest
    run's name: an edit to the words of another dimension makes no second one.
    """
    names_of, seen = _one_name(store), set[tuple[Any, ...]]()
    for sql in (_PAIRS, _ANSWERS):
        rows = store.conn.execute(sql)
        columns = [column[0] for column in rows.description]
        for row in rows:
            fields = dict(zip(columns, row, strict=True))
            shared = names_of.get((fields.pop("run"), fields["dimension"]))
            if shared is not None:
                fields["source_id"] = shared
                place = tuple(fields[name] for name in _PLACE)
                if place in seen:
                    continue
                seen.add(place)
            yield {**_CONSTANT, **fields}


_PLACE = ("source_id", "subject", "unit_id", "turn", "dimension", "occurrence")


def _one_name(store: Store) -> dict[tuple[str, str], str]:
    """(run, dimension) → the name of the judge, where several runs ask in the same way."""
    rows = store.conn.execute(
        "SELECT id, name, endpoint, mode, manifest FROM judge_run WHERE kind = 'live'"
        " AND mode IN ('pairwise', 'grade', 'harm') ORDER BY created_at, rowid"
    ).fetchall()
    alike: dict[str, list[tuple[str, str, str]]] = {}
    for run_id, name, endpoint, mode, text in rows:
        manifest = json.loads(text)
        asked = [manifest.get(part) for part in _JUDGE]
        for prompt in manifest.get("prompts", []):
            key = canonical_json([endpoint, mode, prompt["hash"], *asked])
            alike.setdefault(key, []).append((run_id, prompt["dimension"], name))
    return {
        (run_id, dimension): group[0][2]
        for group in alike.values()
        if len(group) > 1
        for run_id, dimension, _name in group
    }


_JUDGE = ("requested_model", "sampling", "output_mode", "reference_policy", "aggregation")
"""What, beside its prompt, makes a judge on one dimension."""


def request_counts(
    store: Store, run_id: str, units: Collection[str] | None = None
) -> dict[str, int]:
    """Requests of a run by the status of their verdict; `pending` has none yet."""
    rows = store.conn.execute(
        "SELECT coalesce(v.status, 'pending'), count(DISTINCT i.request) FROM judge_item i"
        f" LEFT JOIN verdict v ON v.request = i.request WHERE i.run = ?1 {_AMONG} GROUP BY 1",
        (run_id, _json(units)),
    )
    return dict(sorted(rows.fetchall()))


def judgment_counts(
    store: Store, run_id: str, units: Collection[str] | None = None
) -> dict[str, int]:
    """A run's judgments by what they are: an outcome (with its reason), a status, `graded`."""
    pairs = store.conn.execute(
        "SELECT coalesce(outcome, status) || iif(reason = '', '', ':' || reason), count(*)"
        " FROM pair_verdict WHERE run = ?1"
        " AND (?2 IS NULL OR pair IN (SELECT value FROM json_each(?2))) GROUP BY 1",
        (run_id, _json(units)),
    ).fetchall()
    answers = store.conn.execute(
        "SELECT CASE WHEN grade IS NOT NULL THEN 'graded' WHEN harm IS NOT NULL"
        " THEN 'severity ' || json_extract(harm, '$.severity') ELSE status END, count(*)"
        " FROM answer_verdict WHERE run = ?1"
        " AND (?2 IS NULL OR answer IN (SELECT value FROM json_each(?2))) GROUP BY 1",
        (run_id, _json(units)),
    ).fetchall()
    return dict(sorted([*pairs, *answers]))


def judged(
    store: Store, run_id: str, mode: str, units: Collection[str] | None = None
) -> Iterator[Judged]:
    """A run's judgments, one after another, as `judge.stats.failures` counts them."""
    sql = _JUDGED_PAIRS if mode == Mode.PAIRWISE else _JUDGED_ANSWERS
    for *place, unit, a, b, status, value, reason in store.conn.execute(
        sql, (run_id, _json(units))
    ):
        models = (a,) if b is None else (a, b)
        worth = () if status != "ok" else (value,) if b is None else (value, 1 - value)
        failed = "" if status == "ok" else reason if b is not None else status
        dimension, dialogue, question, category = place
        yield Judged(dimension, bool(dialogue), question, category, unit, models, worth, failed)


def transcript(store: Store, unit_id: str) -> list[dict[str, Any]]:
    """Every call made for a pair or an answer: what was asked, the raw reply, what was read."""
    rows = store.conn.execute(
        'SELECT r.name AS run, i.turn, i.dimension, i.order_shown AS "order",'
        " i.replicate, q.key AS request, json_extract(q.body, '$.messages') AS messages,"
        " a.started_at, a.latency_ms, a.status AS call, a.http_status, a.raw,"
        " a.served_model, a.error_class, a.error_text,"
        " v.status, v.choice, v.grade, v.harm, v.detail FROM judge_item i"
        " JOIN judge_run r ON r.id = i.run JOIN judge_request q ON q.key = i.request"
        " JOIN judge_attempt a ON a.request = q.key"
        " LEFT JOIN verdict v ON v.attempt = a.id"
        " WHERE i.pair = ?1 OR i.answer = ?1 ORDER BY r.created_at, i.id, a.id",
        (unit_id,),
    )
    names = [column[0] for column in rows.description]
    found = [dict(zip(names, row, strict=True)) for row in rows]
    for entry in found:
        entry["messages"] = json.loads(entry["messages"])
        entry["raw"] = None if entry["raw"] is None else json.loads(entry["raw"])
    return found


_AMONG = "AND (?2 IS NULL OR coalesce(i.pair, i.answer) IN (SELECT value FROM json_each(?2)))"
"""SQL: an item `i` is about one of the units in the JSON list ?2, or there is no list."""


_JUDGED_PAIRS = (
    f"SELECT pv.dimension, pv.turn = 0, q.id, q.category, pv.pair, {pair_names(shown_name)},"
    " pv.status, CASE pv.outcome WHEN 'a' THEN 1.0 WHEN 'b' THEN 0.0 ELSE 0.5 END, pv.reason"
    f" FROM pair_verdict pv JOIN pair p ON p.id = pv.pair {PAIR_MODELS}"
    " JOIN question q ON q.id = p.question"
    " WHERE pv.run = ?1 AND (?2 IS NULL OR pv.pair IN (SELECT value FROM json_each(?2)))"
    " ORDER BY 1, 2, 3"
)
_JUDGED_ANSWERS = (
    "SELECT av.dimension, av.turn = 0, q.id, q.category, av.answer,"
    f" {shown_name('m')}, NULL, av.status,"
    " coalesce(av.grade, iif(json_extract(av.harm, '$.severity') >="
    f" {int(UNSAFE_FROM)}, 1.0, 0.0)),"
    " av.reason FROM answer_verdict av JOIN answer a ON a.id = av.answer"
    " JOIN model m ON m.id = a.model JOIN question q ON q.id = a.question"
    " WHERE av.run = ?1 AND (?2 IS NULL OR av.answer IN (SELECT value FROM json_each(?2)))"
    " ORDER BY 1, 2, 3"
)


def _json(units: Iterable[str] | None) -> str | None:
    return None if units is None else json.dumps(list(units))


_CONSTANT: dict[str, Any] = {
    "source_kind": "judge",
    "rater_group": "",
    "layer": "vote",
    "purpose": "estimation",
    "inclusion_probability": None,
    "strength": None,
    "protocol": "",
    "order": "unknown",
}
_PAIRS = (
    f"SELECT '{Subject.PAIR}' AS subject, coalesce(p.superseded_by, p.id) AS unit_id,"
    " q.question_id, q.category, p.model_a, p.model_b, pv.turn, pv.dimension,"
    " r.id AS run, r.name AS source_id, pv.replicate AS occurrence, pv.outcome AS value, pv.status,"
    " pv.orders, pv.reason, q.benchmark"
    " FROM pair_verdict pv JOIN judge_run r ON r.id = pv.run"
    " JOIN pair p ON p.id = pv.pair JOIN question q ON q.id = p.question"
    " ORDER BY r.created_at, r.id, q.benchmark, q.question_id, p.model_a, p.model_b,"
    " pv.pair, pv.turn, pv.dimension, pv.replicate"
)
_ANSWERS = (
    f"SELECT '{Subject.ANSWER}' AS subject, av.answer AS unit_id, q.question_id, q.category,"
    " m.name AS model_a, NULL AS model_b, av.turn, av.dimension, r.id AS run, r.name AS source_id,"
    " av.replicate AS occurrence, coalesce(av.grade, av.harm) AS value, av.status,"
    " '' AS orders, av.reason, q.benchmark"
    " FROM answer_verdict av JOIN judge_run r ON r.id = av.run"
    " JOIN answer a ON a.id = av.answer JOIN model m ON m.id = a.model"
    " JOIN question q ON q.id = a.question"
    " ORDER BY r.created_at, r.id, q.benchmark, q.question_id, m.name, m.version,"
    " av.turn, av.dimension, av.replicate"
)
