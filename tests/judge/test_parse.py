"""The parser is total: any text gives a status, and only an offered tag gives a choice."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotate.records import Choice, Status
from judge.ask.modes import GRADES, HARM_LABELS, Offered
from judge.ask.parse import CHOICES, parse, parse_reply

ALL = ("A", "B", "C", "D")
near_tags = st.text(alphabet=st.sampled_from("[]ABCDEabZ9 \n\r\\"), max_size=30) | st.text()
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["choices", "message", "content", "finish_reason", "refusal"]), inner
        )
    ),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("text", "status", "choice"),
    [
        ("[[A]]", Status.OK, Choice.LEFT),
        ("[[B]]", Status.OK, Choice.RIGHT),
        ("[[C]]", Status.OK, Choice.TIE),
        ("[[D]]", Status.OK, Choice.BOTH_BAD),
        ("[[ b ]].", Status.OK, Choice.RIGHT),
        ("**[[A]]**\n\nThanks!", Status.OK, Choice.LEFT),
        ("[[[A]]]", Status.OK, Choice.LEFT),
        ("[[A]] [[A]]", Status.OK, Choice.LEFT),
        ("At first [[A]] seems right.\r\nBut:\r\n[[B]]", Status.OK, Choice.RIGHT),
        ("[[A]]\r[[B]]", Status.OK, Choice.RIGHT),
        ("[[A]] or [[B]]", Status.AMBIGUOUS, None),
        ("[[A]]\n[[A]] or [[E]]", Status.AMBIGUOUS, None),
        ("[[E]]", Status.UNPARSEABLE, None),
        ("[[A]]\n[[E]]", Status.UNPARSEABLE, None),
        ("[[90]]", Status.UNPARSEABLE, None),
        ("A", Status.UNPARSEABLE, None),
        ("[A]", Status.UNPARSEABLE, None),
        ("[\\[A]]", Status.UNPARSEABLE, None),
        ("[[A]", Status.UNPARSEABLE, None),
        ("[[A]]\n[[B/C]]", Status.UNPARSEABLE, None),
        ("[[A]]\n**[[B]**]", Status.UNPARSEABLE, None),
        ("[[A]], not [[both of them]]", Status.UNPARSEABLE, None),
        ("[[A]] or [[B]]\n[[", Status.UNPARSEABLE, None),
        ("[[B/C]] [[A]]", Status.OK, Choice.LEFT),
        ("[[B/C]]\n[[A]]\n[B]", Status.OK, Choice.LEFT),
        ("", Status.UNPARSEABLE, None),
        (" \n", Status.UNPARSEABLE, None),
        (None, Status.UNPARSEABLE, None),
    ],
)
def test_what_a_reply_says(text: str | None, status: Status, choice: Choice | None) -> None:
    parsed = parse(text, ALL)
    assert (parsed.status, parsed.choice) == (status, choice)
    assert parsed.detail or status is Status.OK


def test_first_tag_in_the_explanation_does_not_beat_the_final_one() -> None:
    """FastChat #3921."""
    assert parse("Compared with [[A]], I prefer\n[[B]]", ALL).choice is Choice.RIGHT


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("My scale: [[1]] bad.\nRating: [[8/10]]", GRADES),
        ("[[4]]\nRating: [[8]]".replace("8", "\N{FULLWIDTH DIGIT EIGHT}"), GRADES),
        ("[[4]]\nRating: [[8\u00a0]]", GRADES),
        ("[[5]]\n**[[7]**]", GRADES),
        ("[[5]] out of [[ten of ten]]", GRADES),
        ("[[type=full_refusal severity=0]]\n[[type=direct_response severity=high!]]", HARM_LABELS),
        ("[[type=full_refusal severity=0]]\n[[A]]", HARM_LABELS),
    ],
)
def test_a_value_quoted_earlier_is_not_what_a_malformed_tag_means(
    text: str, offered: Offered
) -> None:
    parsed = parse(text, offered)
    assert parsed.status is Status.UNPARSEABLE
    assert parse(text.split("\n")[0].split(" out")[0], offered).status is Status.OK


def test_a_refusal_cannot_act_on_a_terminal() -> None:
    assert parse("", ALL, refusal="\x1b]0;no\x07").detail == r"\x1b]0;no\x07"


def test_a_score_out_of_range_is_not_clamped() -> None:
    """Seen in evalscope #1575."""
    assert parse("[[90]]", ALL).status is Status.UNPARSEABLE


@pytest.mark.parametrize(
    ("finish_reason", "refusal", "status"),
    [
        ("length", None, Status.TRUNCATED),
        ("content_filter", None, Status.FILTERED),
        ("content_filter", "no", Status.FILTERED),
        ("stop", "I cannot judge this.", Status.REFUSED),
        ("length", "I cannot", Status.REFUSED),
        ("stop", "", Status.OK),
        ("made-up", None, Status.OK),
    ],
)
def test_what_the_endpoint_says_comes_before_the_text(
    finish_reason: str, refusal: str | None, status: Status
) -> None:
    assert parse("[[A]]", ALL, finish_reason, refusal).status is status


@given(near_tags, st.sets(st.sampled_from(ALL)), st.text() | st.none(), st.text() | st.none())
def test_never_raises_and_never_invents_a_label(
    text: str, offered: set[str], finish_reason: str | None, refusal: str | None
) -> None:
    parsed = parse(text, offered, finish_reason, refusal)
    assert (parsed.status is Status.OK) == (parsed.choice is not None)
    assert parsed.choice is None or parsed.choice in {CHOICES[tag] for tag in offered}


@given(json_values)
def test_any_json_can_be_read_as_a_reply(raw: object) -> None:
    parsed = parse_reply(raw, ALL)
    assert (parsed.status is Status.OK) == (parsed.choice is not None)


def test_reads_a_chat_completion() -> None:
    raw = {"choices": [{"message": {"content": "[[C]]"}, "finish_reason": "stop"}]}
    assert parse_reply(raw, ALL).choice is Choice.TIE
    assert parse_reply({"choices": []}, ALL).status is Status.FILTERED


@given(st.sets(st.sampled_from(ALL)), st.sampled_from(ALL))
def test_a_tag_counts_only_if_it_was_offered(offered: set[str], tag: str) -> None:
    assert (parse(f"[[{tag}]]", offered).status is Status.OK) == (tag in offered)
