"""Votes out: a pinned schema, inert cells, bounded memory, no half files."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from annotate import ballots, export, seats
from annotate.export import COLUMNS, export_votes, vote_rows
from annotate.leases import skip
from annotate.records import Choice
from annotate.store import Store
from annotate.study import Study
from tests.annotate.support import cast, join, label_line, read_in, screen_for, write_lines
from tests.conftest import MakeStudy

GOLDEN_COLUMNS = [
    "vote_id",
    "unit_id",
    "benchmark",
    "question_id",
    "category",
    "model_a",
    "model_b",
    "turn",
    "dimension",
    "subject",
    "occurrence",
    "rater",
    "rater_group",
    "layer",
    "outcome",
    "strength",
    "grade",
    "harm",
    "order_shown",
    "shown_left",
    "shown_right",
    "choice",
    "revision",
    "purpose",
    "inclusion_probability",
    "protocol",
    "active_ms",
    "comment",
    "created_at",
]


def exported(study: Study, folder: Path) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    export_votes(study.store, folder)
    lines = [json.loads(x) for x in (folder / "votes.jsonl").read_text("utf-8").splitlines()]
    with (folder / "votes.csv").open(encoding="utf-8", newline="") as file:
        return lines, list(csv.DictReader(file))


def test_the_schema_is_pinned(new_study: MakeStudy, tmp_path: Path) -> None:
    study = new_study(1)
    ada = join(study, "Ada")
    cast(study, ada, screen_for(study, ada))
    lines, rows = exported(study, tmp_path / "out")
    assert list(COLUMNS) == GOLDEN_COLUMNS
    assert list(lines[0]) == GOLDEN_COLUMNS
    assert list(rows[0]) == GOLDEN_COLUMNS


def test_a_row_says_who_what_when_and_what_stood_where(
    new_study: MakeStudy, tmp_path: Path
) -> None:
    study = new_study(1)
    for name, choice in (("Ada", Choice.LEFT), ("Grace", Choice.BOTH_BAD)):
        rater = join(study, name)
        cast(study, rater, screen_for(study, rater), choice, comment=f"by {name}", active_ms=9)
    lines, rows = exported(study, tmp_path / "out")
    for line, picked in zip(lines, ("left", "both_bad"), strict=True):
        assert line["choice"] == picked
        models = (line["model_a"], line["model_b"])
        assert (line["shown_left"], line["shown_right"]) == (
            models if line["order_shown"] == "ab" else models[::-1]
        )
        if picked == "left":
            assert line["shown_left"] == {"a": models[0], "b": models[1]}[line["outcome"]]
        assert (line["active_ms"], line["category"]) == (9, "writing")
        assert line["created_at"].endswith("Z")
        assert len(line["rater"]) == 36
    assert [row["comment"] for row in rows] == ["by Ada", "by Grace"]
    text = (tmp_path / "out" / "votes.csv").read_text("utf-8")
    assert "by Ada" in text
    assert [name for name in seats.names(study.store).values() if f",{name}," in text] == []


def test_only_standing_votes_in_the_order_they_were_cast(
    new_study: MakeStudy, tmp_path: Path
) -> None:
    study = new_study(6)
    ada = join(study, "Ada")
    cast_ids = []
    for number in range(5):
        receipt = cast(study, ada, screen_for(study, ada), client_key=f"key number {number}")
        cast_ids.append(receipt.vote)
    ballots.undo(study.store, ada.id, study.settings.assignment)
    skip(study.store, screen_for(study, ada), "I cannot judge this topic", "")
    lines, rows = exported(study, tmp_path / "out")
    assert [line["vote_id"] for line in lines] == cast_ids[:-1]
    assert [row["vote_id"] for row in rows] == cast_ids[:-1]


NASTY = [
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "＝1",
    '=HYPERLINK("http://x","y")',
]
PLAIN = ['a "quoted", word', "two\nlines", "ünï 😀 שלום", "1-1", "\u202eevil", "x\u0000y"]


def test_formulas_are_inert_and_everything_else_is_exact(
    new_study: MakeStudy, tmp_path: Path
) -> None:
    study = new_study(1)
    texts = NASTY + PLAIN
    labels = [label_line(1, judge=f"expert_{n}", comment=text) for n, text in enumerate(texts)]
    read_in(study.store, write_lines(tmp_path / "l.jsonl", labels))
    lines, rows = exported(study, tmp_path / "out")
    assert [line["comment"] for line in lines] == texts
    assert [row["comment"] for row in rows] == ["'" + t for t in NASTY] + PLAIN


def test_imported_votes_without_an_order_claim_no_side(
    new_study: MakeStudy, tmp_path: Path
) -> None:
    study = new_study(1)
    read_in(study.store, write_lines(tmp_path / "l.jsonl", [label_line(1)]))
    (line,), (row,) = exported(study, tmp_path / "out")
    assert (line["order_shown"], line["shown_left"], line["choice"]) == ("unknown", None, None)
    assert row["choice"] == ""
    assert line["rater"] == "expert_1"


def test_an_empty_study_exports_headers(new_study: MakeStudy, tmp_path: Path) -> None:
    lines, rows = exported(new_study(0), tmp_path / "out")
    assert (lines, rows) == ([], [])
    assert (tmp_path / "out" / "votes.csv").read_text().startswith("vote_id,")


def test_an_interrupted_export_leaves_the_last_whole_one(
    new_study: MakeStudy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = new_study(3)
    ada = join(study, "Ada")
    cast(study, ada, screen_for(study, ada))
    export_votes(study.store, tmp_path)
    before = {p.name: p.read_bytes() for p in tmp_path.glob("votes.*")}
    cast(study, ada, screen_for(study, ada))
    real = vote_rows

    def interrupted(store: Store) -> Any:
        yield next(real(store))
        raise KeyboardInterrupt

    monkeypatch.setattr(export, "vote_rows", interrupted)
    with pytest.raises(KeyboardInterrupt):
        export_votes(study.store, tmp_path)
    assert {p.name: p.read_bytes() for p in tmp_path.glob("votes.*")} == before


BIG = """
INSERT INTO vote (id, client_key, screen, rater, layer, subject, pair, turn, dimension, status,
  outcome, order_shown, purpose, created_at)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
SELECT 'vote-' || i, 'key-' || i, NULL, (SELECT id FROM rater LIMIT 1), 'vote', 'pair',
  (SELECT id FROM pair LIMIT 1), 1, 'd' || i, 'ok', 'a', 'ab', 'estimation',
  '2026-11-29T10:00:00.000Z' FROM n
"""

MEASURE = """
import resource, sys
from pathlib import Path
from annotate.export import export_votes
from annotate.store import Store
store = Store.open(Path(sys.argv[1]))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
((_, count), _) = export_votes(store, Path(sys.argv[2]))
print(count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_100_000_votes_stream_with_bounded_memory(new_study: MakeStudy, tmp_path: Path) -> None:
    """Measured in a process of its own; a list of these rows takes over 100 MB."""
    study = new_study(1)
    join(study, "Ada")
    with study.store.write() as conn:
        conn.execute(BIG)
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(study.store.path), str(tmp_path / "out")],
        capture_output=True,
        text=True,
        check=True,
    )
    count, kilobytes = map(int, done.stdout.split())
    assert count == 100_000
    assert kilobytes < 40_000, f"{kilobytes:,} kB"
