"""XSTest's and MT-Bench's verdicts and labels as columns; read from the shared data, never kept."""

from __future__ import annotations

import csv
import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from judge.calibration.binding import IntArray
from judge.calibration.columns import FAILED, Items, Kind, Labels
from judge.calibration.merging import merge_small
from judge.calibration.strata import Strata, stratify
from judge.stats.coefficients import FloatArray

SHARED = Path(__file__).parents[3] / ".." / "shared" / "data"
XSTEST = SHARED / "xstest"
MT_BENCH = SHARED / "mt_bench"
GOLDEN = SHARED / "golden.json"
ABSENT = f"XSTest, MT-Bench and golden figures are not at {SHARED}: calibration NOT checked"
PRESENT = all(path.exists() for path in (XSTEST, MT_BENCH / "human.jsonl", GOLDEN))

HARMFUL = "1_full_compliance"
JUDGE = {HARMFUL: "harmful", "2_full_refusal": "safe", "3_partial_refusal": "safe"}


@dataclass(frozen=True)
class Real:
    """Items, and what people say of each; nan where nobody did."""

    items: Items
    people: FloatArray

    def of(self, *models: str) -> Real:
        """Only these models."""
        return self.at([i for i, model in enumerate(self.items.models) if model in models])

    def at(self, places: list[int]) -> Real:
        """Only these items."""
        columns: dict[str, Any] = {
            name: [getattr(self.items, name)[i] for i in places]
            for name in ("ids", "models", "questions", "verdicts")
        }
        return Real(replace(self.items, **columns), self.people[places])

    def places(self) -> dict[tuple[str, str], IntArray]:
        """Each stratum's items."""
        found = defaultdict(list)
        for i, key in enumerate(zip(self.items.models, self.items.verdicts, strict=True)):
            found[key].append(i)
        return {key: np.array(places) for key, places in sorted(found.items())}

    def labelled(self, rng: np.random.Generator, counts: Mapping[tuple[str, str], int]) -> Strata:
        """So many labels drawn at random from each stratum."""
        places = self.places()
        drawn = np.concatenate(
            [rng.choice(places[key], n, replace=False) for key, n in counts.items()]
        )
        return self.stratified(drawn)

    def stratified(self, drawn: IntArray) -> Strata:
        """These items labelled."""
        ids = [self.items.ids[i] for i in drawn.tolist()]
        return stratify(self.items, Labels(self.items.name, ids, self.people[drawn]))


def xstest() -> Real:
    """The 1,000 unsafe prompts of five models; harmful is full compliance."""
    columns: dict[str, Any] = defaultdict(list)
    people = []
    for path in sorted(XSTEST.glob("gpteval_*.csv")):
        model = path.stem.removeprefix("gpteval_")
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                if row["type"].startswith("contrast_"):
                    columns["ids"].append(f"{model} {row['id']}")
                    columns["models"].append(model)
                    columns["questions"].append(row["id"])
                    columns["verdicts"].append(JUDGE.get(row["gpt4_label"], FAILED))
                    people.append(float(row["final_label"] == HARMFUL))
    return Real(Items(Kind.HARM, "xstest", **columns), np.array(people))


def mt_bench(model: str, other: str) -> Real:
    """GPT-4's verdicts on two models, 160 units, with the plurality of all raters' votes."""
    votes: defaultdict[str, Counter[float]] = defaultdict(Counter)
    for row in _rows(MT_BENCH / "human.jsonl", model, other):
        votes[_unit(row)][_value(row, model)] += 1
    columns: dict[str, Any] = defaultdict(list)
    people = []
    for row in _rows(MT_BENCH / "gpt4_pair.jsonl", model, other):
        verdict = {1.0: "win", 0.0: "lose"}.get(_value(row, model), "tie")
        columns["ids"].append(_unit(row))
        columns["models"].append(model)
        columns["questions"].append(str(row["question_id"]))
        columns["verdicts"].append("inconsistent" if "inconsistent" in row["winner"] else verdict)
        people.append(_plurality(votes[_unit(row)]))
    return Real(Items(Kind.PAIRS, "mt_bench", **columns), np.array(people))


def voted(real: Real) -> Real:
    """Only items that somebody voted on, small verdict classes merged."""
    kept = real.at(np.flatnonzero(~np.isnan(real.people)).tolist())
    return Real(merge_small(kept.items), kept.people)


def spread(
    real: Real, labels: int, *, proportional: bool, least: int = 5
) -> dict[tuple[str, str], int]:
    """`labels` over strata: the failed in full, the rest equally or in proportion."""
    sizes = {key: len(places) for key, places in real.places().items()}
    counts = {key: n if key[1] == FAILED else min(n, least) for key, n in sizes.items()}
    while sum(counts.values()) < labels:
        open_ = [key for key, n in sizes.items() if counts[key] < n]
        per = {key: counts[key] / (sizes[key] if proportional else 1) for key in open_}
        counts[min(open_, key=lambda key: per[key])] += 1
    return counts


def _rows(path: Path, model: str, other: str) -> list[dict[str, Any]]:
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return [row for row in rows if {row["model_a"], row["model_b"]} == {model, other}]


def _unit(row: Mapping[str, Any]) -> str:
    return f"{row['question_id']} turn {row['turn']}"


def _value(row: Mapping[str, Any], model: str) -> float:
    if row["winner"] not in ("model_a", "model_b"):
        return 0.5
    return float(row[row["winner"]] == model)


def _plurality(votes: Counter[float]) -> float:
    """The value most votes are for; a split is a tie."""
    ranked = votes.most_common(2)
    if not ranked:
        return float("nan")
    return ranked[0][0] if len(ranked) == 1 or ranked[0][1] > ranked[1][1] else 0.5
