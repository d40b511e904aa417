"""The study that is measured: one-turn pairs, one dimension, answers of a usual length."""

from __future__ import annotations

import json
from pathlib import Path

from annotate import leases, seats
from annotate.importer import import_paths
from annotate.study import SETTINGS_NAME, Study, init, open_study

PARAGRAPH = (
    "The harbour wakes before the town does. Crates are stacked in rows, gulls walk between"
    " them, and somebody is always looking for a rope that was **there a minute ago**."
)


def answer(pair: int, side: int) -> str:
    """About 1,200 characters of Markdown, different for every pair and side."""
    lines = "\n".join(f"- point {n} of reply {pair}-{side}" for n in range(5))
    return f"Reply {pair}-{side}.\n\n{PARAGRAPH}\n\n{lines}\n\n" + f"{PARAGRAPH}\n\n" * 4


def study(folder: Path, pairs: int, raters: int) -> tuple[Study, list[str]]:
    """A served study's data, and every rater's invitation path."""
    init(folder, "Benchmark").close()
    settings = (folder / SETTINGS_NAME).read_text("utf-8")
    head, _, rest = settings.partition('[[protocol.dimensions]]\nname = "helpfulness"')
    settings = head + "[assignment]" + rest.partition("\n[assignment]")[2]
    (folder / SETTINGS_NAME).write_text(
        settings.replace("overlap = 2 ", f"overlap = {raters} "), "utf-8"
    )
    source = folder / "pairs.jsonl"
    with source.open("w", encoding="utf-8") as lines:
        for pair in range(pairs):
            record = {
                "question_id": f"q{pair}",
                "turns": [f"Question {pair}: what is a harbour like in the morning?"],
                "answer_a": {"model": "m1", "turns": [answer(pair, 1)]},
                "answer_b": {"model": "m2", "turns": [answer(pair, 2)]},
            }
            lines.write(json.dumps(record) + "\n")
    opened = open_study(folder)
    import_paths(opened.store, [source], lambda _labels: [])
    leases.prepare(opened.store, opened.settings.assignment)
    links = []
    for number in range(raters):
        rater = seats.invite(opened.store, f"rater {number}")
        seats.give_consent(opened.store, rater.id, opened.settings.protocol.id, True)
        links.append(f"/invite/{seats.invitation_token(opened.store, rater.id)}")
    return opened, links
