"""Hypothesis strategies for the project's records."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from annotate.records import (
    Answer,
    Choice,
    Label,
    Order,
    Outcome,
    Pair,
    QuestionKey,
    SourceKind,
    assistant_turns,
)

choices = st.sampled_from(Choice)
orders = st.sampled_from([Order.AB, Order.BA])
outcomes = st.sampled_from(Outcome)
# Every character that a file can bring: lone surrogates are refused by the readers.
texts = st.text(st.characters(codec="utf-8"), max_size=40)
names = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=12)
keys = st.builds(QuestionKey, names, names)


@st.composite
def pairs(draw: st.DrawFn) -> Pair:
    """A pair of two different answers to one question."""
    key = draw(keys)
    replies = st.none() | st.lists(st.none() | texts, min_size=1, max_size=3).map(assistant_turns)
    one = Answer(key, draw(names), draw(replies))
    other = draw(
        st.builds(Answer, st.just(key), names, replies).filter(
            lambda x: (x.model, x.hash) != (one.model, one.hash)
        )
    )
    return Pair.of(one, other)


@st.composite
def labels(draw: st.DrawFn) -> Label:
    """A person's or judge's label, its models in either order."""
    return Label(
        key=draw(keys),
        model_a=draw(names),
        model_b=draw(names),
        turn=draw(st.integers(0, 3)),
        dimension=draw(names),
        source_kind=draw(st.sampled_from(SourceKind)),
        source_id=draw(names),
        value=draw(st.none() | outcomes),
        order=draw(st.sampled_from(Order)),
        comment=draw(texts),
    )


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
