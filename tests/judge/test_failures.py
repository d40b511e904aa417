"""Judgments without a value: rates by model and category, differences, bounds."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotate import library
from annotate.records import Answer, Question, QuestionKey, assistant_turns, user_turns
from annotate.store import Store
from judge.ask.modes import Mode
from judge.commands.run_words import summary_text
from judge.database.store import VerdictStore
from judge.engine.runner import run
from judge.reporting.failure_words import failure_lines
from judge.stats.failures import SCALES, Failures, Judged, failures
from judge.stats.fisher import Stratum, exact_p, holm
from tests.judge.fake_endpoint import Body, FakeEndpoint, Scripted, completion, error
from tests.judge.study import make_study, settings

WIN, GRADE = SCALES[Mode.PAIRWISE], SCALES[Mode.GRADE]
margins = st.builds(
    lambda units, failed, group: (units, min(failed, units), min(group, units)),
    st.integers(2, 5),
    st.integers(0, 5),
    st.integers(0, 5),
)


def test_the_lady_tasting_tea() -> None:
    """Fisher (1935): three of four cups right; 2 × 17 of the 70 ways are as far off."""
    assert exact_p([Stratum(8, 4, 4, 3)]) == pytest.approx(34 / 70)
    assert exact_p([Stratum(8, 4, 4, 4)]) == pytest.approx(2 / 70)


@given(st.lists(margins, min_size=1, max_size=3), st.data())
def test_the_exact_p_is_what_counting_every_arrangement_gives(
    strata: list[tuple[int, int, int]], data: st.DataObject
) -> None:
    made = []
    for units, failed, group in strata:
        least, most = max(0, group + failed - units), min(group, failed)
        made.append(Stratum(units, failed, group, data.draw(st.integers(least, most))))
    telling = [s for s in made if s.informative]
    found = exact_p(made)
    if not telling:
        assert found is None
        return
    ways: dict[int, int] = {}
    choices = (itertools.combinations(range(s.units), s.failed) for s in telling)
    for arrangement in itertools.product(*(list(c) for c in choices)):
        hits = sum(
            sum(unit < s.group for unit in chosen)
            for s, chosen in zip(telling, arrangement, strict=True)
        )
        ways[hits] = ways.get(hits, 0) + 1
    seen = ways[sum(s.hit for s in telling)]
    share = sum(n for n in ways.values() if n <= seen) / sum(ways.values())
    assert found == pytest.approx(share)


def test_holm_by_hand() -> None:
    # Sorted .01 .03 .04, times 3 2 1 = .03 .06 .04, made increasing: .03 .06 .06.
    assert holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert holm([]) == []


def grades(bad: str, questions: int, *, category: str = "writing") -> Iterator[Judged]:
    """Three models' answers graded 6; the judge cannot grade those of `bad`."""
    for number in range(questions):
        for model in ("alder", "birch", "cedar"):
            failed = model == bad
            yield Judged(
                "overall",
                False,
                f"{category} {number}",
                category,
                f"{model} {number}",
                (model,),
                () if failed else (6.0,),
                "filtered" if failed else "",
            )


def test_a_model_on_which_the_judge_fails_more_is_named() -> None:
    (found,) = failures(grades("birch", 10), GRADE)
    assert (found.judged, found.failed, dict(found.reasons)) == (30, 10, {"filtered": 10})
    assert [(rate.name, rate.failed, rate.judged) for rate in found.models] == [
        ("birch", 10, 10),
        ("alder", 0, 10),
        ("cedar", 0, 10),
    ]
    birch, alder, _cedar = found.models
    assert (birch.value, birch.low, birch.high) == (None, 1.0, 10.0)
    assert (alder.value, alder.low, alder.high) == (6.0, 6.0, 6.0)
    # Chance hits birch, of three, ten times out of ten: 3^-10, the rarest case; times 3 models.
    first = found.differences[0]
    assert (first.kind, first.name, first.other_failed, first.other_judged) == (
        "model",
        "birch",
        0,
        20,
    )
    assert first.p == pytest.approx(3 * 3**-10)


def test_failures_everywhere_alike_are_no_difference() -> None:
    one_each = [
        *grades("alder", 4, category="x"),
        *grades("birch", 4, category="y"),
        *grades("cedar", 4, category="z"),
    ]
    (found,) = failures(one_each, GRADE)
    assert found.failed == 12
    assert found.differences == ()


def test_a_category_on_which_the_judge_fails_more_is_named() -> None:
    rows = [*grades("nobody", 8, category="math"), *grades("birch", 8, category="news")]
    (found,) = failures(rows, GRADE)
    assert [(rate.name, rate.failed, rate.judged) for rate in found.categories] == [
        ("news", 8, 24),
        ("math", 0, 24),
    ]
    kinds = {(d.kind, d.name): d for d in found.differences}
    # One arrangement of 8 failing questions among 16 in this category, one in the other.
    assert kinds["category", "news"].p == pytest.approx(2 * 2 / 12870)
    text = "\n".join(failure_lines([found]))
    assert "fails more on category news (8 of 24 (33.3 %)) than on others (0 of 24 (0.0 %)" in text


def test_the_turns_of_one_dialogue_are_no_further_evidence() -> None:
    once = list(grades("birch", 5))
    twice = [row for row in once for _turn in (1, 2)]
    (single,), (double,) = failures(once, GRADE), failures(twice, GRADE)
    assert [d.p for d in single.differences] == pytest.approx([3 * 3**-5])
    assert [d.p for d in double.differences] == [d.p for d in single.differences]


def pair(number: int, a: str, b: str, worth: float | None) -> Judged:
    given = () if worth is None else (worth, 1 - worth)
    reason = "filtered" if worth is None else ""
    return Judged("overall", False, "q", "c", str(number), (a, b), given, reason)


def test_bounds_of_a_win_share_are_all_lost_and_all_won() -> None:
    rows = [
        pair(1, "alder", "birch", 1.0),
        pair(2, "alder", "birch", 0.5),
        pair(3, "alder", "birch", None),
        pair(4, "alder", "birch", 0.0),
    ]
    (found,) = failures(rows, WIN)
    alder = next(rate for rate in found.models if rate.name == "alder")
    assert alder.value == pytest.approx(1.5 / 3)
    assert (alder.low, alder.high) == (1.5 / 4, 2.5 / 4)
    assert "alder 0.500 (0.375 to 0.625)" in "\n".join(failure_lines([found]))


@given(st.lists(st.sampled_from([1.0, 0.5, 0.0, None]), min_size=1, max_size=12))
def test_wherever_the_failed_went_the_figure_is_within_its_bounds(worths: list[float]) -> None:
    found = failures([pair(n, "alder", "birch", w) for n, w in enumerate(worths)], WIN)
    assert bool(found) == (None in worths)
    for went in (0.0, 0.5, 1.0):
        share = sum(went if w is None else w for w in worths) / len(worths)
        for result in found:
            alder = next(rate for rate in result.models if rate.name == "alder")
            assert alder.low is not None
            assert alder.high is not None
            assert alder.low - 1e-9 <= share <= alder.high + 1e-9


def test_without_failures_there_is_nothing_to_say() -> None:
    assert failures([pair(1, "alder", "birch", 1.0)], WIN) == ()
    assert list(failure_lines([])) == []


def test_dimensions_and_dialogues_never_mix() -> None:
    rows = [
        Judged(d, whole, "q", "c", "u", ("alder",), (), "timeout")
        for d in ("harmlessness", "overall")
        for whole in (False, True)
    ]
    found = failures(rows, GRADE)
    assert [(f.dimension, f.dialogue, f.failed) for f in found] == [
        ("harmlessness", False, 1),
        ("harmlessness", True, 1),
        ("overall", False, 1),
        ("overall", True, 1),
    ]


def three_models(folder: Path, questions: int) -> Store:
    """Ten questions in two categories; every answer of birch in `news` is hard to judge."""
    store = Store.create(folder / "evenhand.sqlite", "test")
    with store.write() as conn:
        for number in range(questions):
            key = QuestionKey("bench", str(number))
            category = "news" if number % 2 else "math"
            library.add_question(conn, Question(key, category, user_turns([f"Q{number}?"])))
        for model in ("alder", "birch", "cedar"):
            answers = []
            for number in range(questions):
                hard = "difficult " if number % 2 and model == "birch" else ""
                said = assistant_turns([f"{hard}{model} on {number}"])
                answers.append(Answer(QuestionKey("bench", str(number)), model, said))
            library.add_answers(conn, "bench", model, answers)
        library.build_pairs(conn, "fixed")
    return store


def filters_the_difficult(body: Body, _number: int) -> Scripted:
    text = json.dumps(body["messages"])
    return error(400, "content_filter") if "difficult" in text else completion("[[A]]")


def test_filtered_calls_are_counted_by_model_with_bounds_in_summary_and_show(
    tmp_path: Path,
) -> None:
    """alpaca_eval #227, #430; compl-ai #20: filtered, no retry, counted per model, bounds shown."""
    store = three_models(tmp_path, 12)
    with FakeEndpoint(filters_the_difficult) as endpoint:
        summary = run(store, settings(endpoint.base_url))
        assert set(endpoint.hits.values()) == {1}
    verdicts = VerdictStore(store)
    (found,) = summary.failures
    assert (found.dimension, found.failed, found.judged) == ("harmlessness", 12, 36)
    assert dict(found.reasons) == {"filtered": 12}
    assert [(r.name, r.failed, r.judged) for r in found.models] == [
        ("birch", 12, 24),
        ("alder", 6, 24),
        ("cedar", 6, 24),
    ]
    # An always-A judge ties every pair, so that birch has half of 12, and 12 that failed.
    assert (found.models[0].value, found.models[0].low, found.models[0].high) == (0.5, 0.25, 0.75)
    assert verdicts.failures(verdicts.runs()[0]) == summary.failures
    shown = summary_text(summary)
    assert "failed on harmlessness: 12 of 36 (33.3 %): 12 filtered" in shown
    assert "birch 0.500 (0.250 to 0.750)" in shown
    store.close()


def test_a_run_warns_when_failures_differ_between_models_and_categories(tmp_path: Path) -> None:
    """FastChat #2074; evals #1712; inspect_ai #4026; flexeval; UiPath/skills #2997.

    Failures are statuses: excluded, counted by model and category, and told when they differ.
    """
    store = three_models(tmp_path, 12)
    with FakeEndpoint(filters_the_difficult) as endpoint:
        summary = run(store, settings(endpoint.base_url))
    store.close()
    (found,) = summary.failures
    assert [(r.name, r.failed, r.judged) for r in found.categories] == [
        ("news", 12, 18),
        ("math", 0, 18),
    ]
    told = {(d.kind, d.name) for d in found.differences}
    assert {("model", "birch"), ("category", "news")} <= told
    shown = summary_text(summary)
    assert "warning: harmlessness: the judge fails more on model birch (12 of 24 (50.0 %))" in shown
    assert "warning: harmlessness: the judge fails more on category news" in shown


@pytest.mark.parametrize(
    ("mode", "reply", "value", "low", "high"),
    [
        (Mode.GRADE, "[[7]]", 7.0, 4.0, 8.5),
        (
            Mode.HARM,
            "[[type=full_compliance severity=3 categories=none specificity=3 convincingness=3]]",
            1.0,
            0.5,
            1.0,
        ),
    ],
)
def test_answers_have_bounds_too(
    tmp_path: Path, mode: Mode, reply: str, value: float, low: float, high: float
) -> None:
    store = make_study(tmp_path, 2, models=("alder",))

    def script(body: Body, _number: int) -> Scripted:
        return completion(reply if "Question 1" in json.dumps(body) else "hm")

    dimension = "harm" if mode is Mode.HARM else "overall"
    with FakeEndpoint(script) as endpoint:
        summary = run(store, settings(endpoint.base_url, mode=mode, dimensions=(dimension,)))
    store.close()
    (found,) = summary.failures
    assert isinstance(found, Failures)
    (alder,) = found.models
    assert (alder.judged, alder.failed) == (2, 1)
    assert (alder.value, alder.low, alder.high) == (value, low, high)
