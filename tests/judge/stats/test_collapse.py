"""Collapse diagnostics: what is a sign, what is none, how models compare, and how long it takes."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from scipy.stats import fisher_exact

from judge.stats.bounded import Resampling
from judge.stats.collapse import Said, Sign, collapses, signs_of, text_signs

HOW = Resampling(resamples=200)
MT_BENCH = Path(__file__).parents[4] / "shared" / "data" / "mt_bench" / "model_answer"
GOLDEN = Path(__file__).parents[4] / "shared" / "data" / "golden.json"

PROSE = (
    "A kettle is filled with fresh water and put on the stove. While it heats, the leaves are"
    " weighed into a warm pot. When the water sings, it is poured over them in one go. After"
    " four minutes the tea goes through a strainer into thin cups, and milk is passed round."
    " Some guests add sugar first, others swear that this spoils everything that went before."
    " Nobody has yet been persuaded by the other side, and the discussion keeps the pot company"
    " until it is cold; then a second kettle is filled, and with it a second round of arguments."
    " By the third the sun is down, and those who came for one cup ask what there is for dinner."
)
TABLE = "| a | b |\n|---|---|\n" + "\n".join(f"| row {i} | {i * i} |" for i in range(12))


@pytest.mark.parametrize(
    ("text", "signs"),
    [
        (PROSE, set()),
        ("Yes.", set()),
        (TABLE, set()),
        ("A lovely idea! 🎉 Let us start with the cake 🎂 and then think of music 🎵.", set()),
        ("🇩🇪 and 🇫🇷 share a border, as every schoolchild in both of them learns.", set()),
        ("", {Sign.EMPTY}),
        (" \n\t ", {Sign.EMPTY}),
        (PROSE + " I am sorry to say so, my dear friend." * 4,
         {Sign.SENTENCES, Sign.TAIL_LOOP}),
        (PROSE + " and so on and so forth" * 4, {Sign.TAIL_LOOP}),
        (PROSE + "\n" + "=" * 90, {Sign.TAIL_LOOP}),
        (f"{PROSE} {PROSE}", {Sign.NGRAMS}),
        (" ".join(f"Room {i} has number {i} on door {i}." for i in range(60)),
         {Sign.COMPRESSIBLE}),
        (PROSE + " Cheers 🎉🎉🎉🎊🎊🎉", {Sign.EMOJI}),
        (PROSE + " Cheers 🎉🎉🎉🎊🎊", set()),
        ("👩‍👩‍👧 ❤️ 👍🏽 🇩🇪 👩‍🚀 😀 hello to all of you, wherever you may be tonight", {Sign.EMOJI}),
        ("好的。" * 40, {Sign.NGRAMS, Sign.TAIL_LOOP}),
    ],
    ids=lambda value: repr(value)[:40] if isinstance(value, str) else "",
)  # fmt: skip
def test_what_a_text_shows(text: str, signs: set[Sign]) -> None:
    assert text_signs(text) == signs


def test_a_closer_is_one_that_many_answers_share() -> None:
    def said(closers: list[str], times: int = 1) -> list[Said]:
        return [
            Said("m", f"q{i // times}", 1, f"Answer number {i} is this one. {last}")
            for i, last in enumerate(closers)
        ]

    def closed(rows: list[Said]) -> int:
        return sum(Sign.CLOSER in one for one in signs_of(rows))

    hope, other = "I hope that this helps!", "That is number {} for you, good luck."
    others = [other.format(i) for i in range(30)]
    assert closed(said([hope] * 4 + others)) == 4
    assert closed(said([hope] * 3 + others)) == 0
    assert closed(said([hope] * 4 + others + ["Goodbye and good luck."] * 11)) == 11  # 4 of 45
    assert closed(said([hope] * 8, times=4)) == 0  # of two questions only
    refusals = [Said("m", f"q{i}", 1, "I cannot help you with that.") for i in range(50)]
    assert closed(refusals) == 0  # the only sentence of an answer closes nothing


def test_shares_are_tested_against_the_baseline_and_drop_no_answer() -> None:
    def model(name: str, empty: int, whole: int) -> list[Said]:
        texts = [""] * empty + [f"Number {i} stands alone." for i in range(whole)]
        return [Said(name, f"q{i}", 1, text) for i, text in enumerate(texts)]

    rows = [*model("base", 1, 39), *model("worse", 9, 31), *model("alike", 1, 39)]
    alike, base, worse = collapses(rows, "base", HOW)
    assert [(one.answers, one.flagged.hits) for one in (alike, base, worse)] == [
        (40, 1),
        (40, 1),
        (40, 9),
    ]
    assert base.p is None
    assert worse.p == pytest.approx(2 * fisher_exact([[9, 31], [1, 39]]).pvalue)  # Holm: of two
    assert alike.p == 1
    assert worse.examples[0] == ("q0", 1, (Sign.EMPTY,))
    assert worse.signs[Sign.EMPTY] == 9
    assert all(one.p is None for one in collapses(rows, "", HOW))


@pytest.mark.parametrize(
    "piece",
    ["a", "ab ", "The quick brown fox jumps. ", "😀", "好的。", " ", "x" * 999 + "\n"],
    ids=repr,
)
def test_long_answers_take_linear_time(piece: str) -> None:
    """200,000 characters: twice the text at most three times the CPU time, and seconds at most."""

    def cpu(size: int) -> float:
        text = ("y" + piece * (size // len(piece) + 1))[:size]
        times = []
        for _ in range(3):
            start = time.process_time()
            text_signs(text)
            times.append(time.process_time() - start)
        return min(times)

    half, whole = cpu(100_000), cpu(200_000)
    assert whole < 3 * half + 0.05
    assert whole < 2


def test_mt_bench_gpt_4_shows_nothing_and_llama_loops() -> None:
    """The guide of golden.json (0 and 26 of 160), with tolerance: it is no exact target."""
    if not MT_BENCH.is_dir():
        pytest.skip(f"{MT_BENCH} is missing: collapse diagnostics on real answers NOT checked")
    guide = json.loads(GOLDEN.read_text("utf-8"))["collapse_flags_of_160_answers"]
    rows = [
        Said(name, str(line["question_id"]), at, text or "")
        for name in ("gpt-4", "llama-13b")
        for line in map(json.loads, (MT_BENCH / f"{name}.jsonl").read_text("utf-8").splitlines())
        for at, text in enumerate(line["choices"][0]["turns"], 1)
    ]
    gpt, llama = collapses(rows, "gpt-4", HOW)
    assert (gpt.answers, llama.answers) == (160, 160)
    assert gpt.flagged.hits == guide["gpt-4"] == 0
    assert abs(llama.flagged.hits - guide["llama-13b"]) <= 5
    assert llama.signs[Sign.EMPTY] == 1  # question 127 has a really empty turn
    assert llama.p is not None
    assert llama.p < 1e-6
