"""Votes and verdicts to measure statistics on, as one tidy table: MT-Bench's, or made here."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

MT_BENCH = Path(__file__).resolve().parent.parent.parent / "shared" / "data" / "mt_bench"
JUDGE = "gpt-4"
WORDS = np.array(["a", "tie", "b"], dtype=object)


def mt_bench() -> pd.DataFrame | None:
    """MT-Bench's 3,355 votes beside GPT-4's verdicts; None where the files are not there."""
    files = {"rater": MT_BENCH / "human.jsonl", "judge": MT_BENCH / "gpt4_pair.jsonl"}
    if not all(path.exists() for path in files.values()):
        return None
    rows = []
    for kind, path in files.items():
        for line in path.read_text("utf-8").splitlines():
            one = json.loads(line)
            a, b = sorted((one["model_a"], one["model_b"]))
            won = one.get(one["winner"])
            unit = f"{one['question_id']}|{a}|{b}"
            value = "tie" if won is None else "a" if won == a else "b"
            source = JUDGE if kind == "judge" else one["judge"]
            rows.append((kind, source, unit, str(one["question_id"]), a, b, one["turn"], value))
    names = ["source_kind", "source_id", "unit_id", "question_id"]
    table = pd.DataFrame(rows, columns=[*names, "model_a", "model_b", "turn", "value"])
    return _completed(table)


def generated(votes: int, questions: int, models: int = 6, seed: int = 1) -> pd.DataFrame:
    """Votes on every pair of models in two turns, and a verdict on each unit."""
    rng = np.random.default_rng(seed)
    pairs = list(combinations([f"model {n}" for n in range(models)], 2))
    units = questions * len(pairs) * 2
    voted = np.sort(rng.integers(units, size=votes))
    # The nth vote of a unit is its nth rater's.
    rater = np.arange(votes) - np.searchsorted(voted, voted)
    unit = np.concatenate([voted, np.arange(units)])
    people = np.arange(len(unit)) < votes
    truth = rng.integers(3, size=units)[unit]
    said = np.where(rng.random(len(unit)) < 0.6, truth, rng.integers(3, size=len(unit)))
    sources = _texts([JUDGE, *(f"expert {n}" for n in range(rater.max() + 1))])
    ids = _texts([str(q) for q in range(questions)])
    names = _texts([f"{q}|{a}|{b}" for q in range(questions) for a, b in pairs])
    pair = unit // 2 % len(pairs)
    return _completed(
        pd.DataFrame(
            {
                "source_kind": _texts(["judge", "rater"])[people.astype(int)],
                "source_id": sources[np.concatenate([rater + 1, np.zeros(units, dtype=int)])],
                "unit_id": names[unit // 2],
                "question_id": ids[unit // 2 // len(pairs)],
                "model_a": _texts([a for a, _ in pairs])[pair],
                "model_b": _texts([b for _, b in pairs])[pair],
                "turn": unit % 2 + 1,
                "value": WORDS[said],
            }
        )
    )


def _completed(table: pd.DataFrame) -> pd.DataFrame:
    """The columns that say the same everywhere, as Python's texts, as a store gives them."""
    people = (table["source_kind"] == "rater").to_numpy().astype(int)
    same = {"subject": "pair", "dimension": "overall", "purpose": "estimation", "status": "ok"}
    for name, word in same.items():
        table[name] = np.full(len(table), word, dtype=object)
    for name, word in {"rater_group": "expert", "layer": "vote"}.items():
        table[name] = np.array([None, word], dtype=object)[people]
    table["occurrence"] = 1
    return table


def _texts(words: list[str]) -> np.ndarray:
    return np.array(words, dtype=object)
