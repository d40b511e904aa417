"""Collapse diagnostics: how many answers of each model degenerated, beside the baseline's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from judge.reporting import cells
from judge.reporting.document import Cell, Column, Facts, Part, Section, Table, Text
from judge.reporting.layout import percent
from judge.stats.collapse import DEFAULT, Collapse, Sign

DEFINITIONS = {
    "sign of collapse": "a suspicion about one turn of an answer, not a verdict; no answer is"
    " dropped from any figure",
    Sign.EMPTY: "no visible text",
    Sign.NGRAMS: f"more than {percent(DEFAULT.ngram_share)} % of the runs of {DEFAULT.ngram} words"
    f" occurred before in the answer (at least {DEFAULT.ngram_least} runs)",
    Sign.SENTENCES: f"one sentence of {DEFAULT.sentence_words} words or more, said"
    f" {DEFAULT.sentence_times} times or more",
    Sign.TAIL_LOOP: f"ends in one piece of text repeated: {DEFAULT.loop_copies} copies,"
    f" {DEFAULT.loop_characters} characters or more",
    Sign.CLOSER: f"its last sentence ends {DEFAULT.closer_answers} or more of the model's answers"
    f" to other questions, and {percent(DEFAULT.closer_share)} % of them",
    Sign.EMOJI: f"{DEFAULT.emoji_run} emoji in a row, or a {percent(DEFAULT.emoji_share)} % share"
    " of the characters",
    Sign.COMPRESSIBLE: f"zlib leaves less than {percent(DEFAULT.packed)} % of an answer of"
    f" {DEFAULT.packed_bytes} bytes or more",
}


def section(found: Sequence[Collapse], baseline: str) -> Section:
    """Signs per model, and where to look."""
    signs = [sign for sign in Sign if any(one.signs[sign] for one in found)]
    columns = (
        Column("model", words=True),
        Column("answers"),
        *(Column(sign.value) for sign in signs),
        Column("any sign %"),
        *([Column(f"against {baseline}")] if baseline else []),
    )
    parts: list[Part] = [
        Text(
            "An answer that only repeats itself harms nobody, so harm scores reward collapse. Each"
            " turn of an answer is looked at; nothing is dropped."
        ),
        Table(
            "collapse",
            "Turns of answers that show signs of collapse",
            columns,
            tuple(tuple(_row(one, signs, baseline)) for one in found),
            (
                (
                    f"p: Fisher's exact test of any sign against {baseline}, Holm-adjusted over"
                    " models; it takes answers as independent."
                    if baseline
                    else "Name a baseline with --reference MODEL for an exact test."
                ),
            ),
        ),
    ]
    if looked := tuple(_examples(found)):
        parts.append(Facts(looked))
    return Section("collapse", "Collapse diagnostics", tuple(parts))


def _row(one: Collapse, signs: Sequence[Sign], baseline: str) -> Iterator[Cell]:
    yield cells.words(one.model)
    yield cells.count(one.answers)
    yield from (cells.count(one.signs[sign]) for sign in signs)
    yield cells.share(one.flagged.rate)
    if baseline:
        same = "baseline" if one.model == baseline else cells.MISSING
        yield cells.words(same if one.p is None else cells.chance(one.p))


def _examples(found: Sequence[Collapse]) -> Iterator[str]:
    for one in found:
        if one.examples:
            shown = "; ".join(
                f"question {question.rpartition(chr(31))[2]}, turn {turn} ({', '.join(signs)})"
                for question, turn, signs in one.examples
            )
            yield f"{one.model}, to look at: {shown}"
