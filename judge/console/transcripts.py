"""Transcripts as HTML that cannot act: what was asked, what came, what people said beside it.

Text of models and questions goes through `annotate.display`, as on the rating page; replies
and prompts are shown character by character.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from annotate.display import plain_needed, render_prompt, render_turn
from annotate.errors import UsageError
from annotate.library import StoredAnswer, StoredPair
from annotate.records import Answer, Layer, Order, Status, Subject, Turn, whole_text
from annotate.store import Store
from annotate.study import ProtocolSection
from judge.ask.modes import Mode
from judge.console.calls import call_card
from judge.console.html import count, empty, muted, text
from judge.console.words import (
    HOW,
    Words,
    first_words,
    judgment,
    label,
    majority,
    where,
    who,
)
from judge.database.places import Place, Which, judged_runs, page
from judge.database.runs import Run
from judge.database.transcripts import Call, ShownVote, calls, unit_of, votes

PAGE_SIZE = 10
FILTERS: Mapping[str, Which] = {
    "All": Which.ALL,
    "Judge against people": Which.AGAINST,
    "Changed with the order": Which.INCONSISTENT,
    "No verdict": Which.FAILED,
}
"""The filters in the page's words."""
MEANS = {
    Which.AGAINST: "hold in both orders, and are not what most votes say",
    Which.INCONSISTENT: "changed with the order",
    Which.FAILED: "lack a usable reply",
}
NOTHING = {
    Which.ALL: "This run has no judgments yet.",
    Which.AGAINST: "Nowhere does the judge say something else than most people's votes.",
    Which.INCONSISTENT: "No verdict changed with the order.",
    Which.FAILED: "Every call brought a verdict.",
}


@dataclass(frozen=True, slots=True)
class Shown:
    """What the tab shows: page `number` of `pages`, and where that is in words."""

    html: str
    position: str = ""
    number: int = 1
    pages: int = 1


def browse(
    store: Store,
    protocol: ProtocolSection,
    run_id: object,
    which: Which,
    number: int,
    question_id: str = "",
) -> Shown:
    """Page `number` (from 1) of a run's judgments; the last one if there are fewer.

    Raises:
        UsageError: there are runs, and this is none of them.
    """
    runs = {run.id: run for run, _number in judged_runs(store)}
    if not runs:
        return Shown(empty("The judge has not run yet: start it under Judge."))
    if not isinstance(run_id, str) or run_id not in runs:
        raise UsageError("run: not one of this study's; choose another")
    run = runs[run_id]
    offset = (max(1, number) - 1) * PAGE_SIZE
    found = page(store, run, which, offset, PAGE_SIZE, question_id)
    pages = max(1, -(-found.total // PAGE_SIZE))
    if number > pages:
        return browse(store, protocol, run_id, which, pages, question_id)
    if not found.places:
        return Shown(empty(_nothing(run, which, question_id)))
    words = Words(protocol)
    items = "".join(_item(store, words, run, place) for place in found.places)
    last = offset + len(found.places)
    position = f"{offset + 1:,}–{last:,} of {count(found.total, 'judgment')}"
    if which in MEANS:
        position += f" that {MEANS[which]}"
    if pages > 1:
        position += f", page {max(1, number):,} of {pages:,}"
    return Shown(f'<div class="c-list">{items}</div>', position, max(1, number), pages)


def _nothing(run: Run, which: Which, question_id: str) -> str:
    if which is Which.AGAINST and Mode(run.mode).subject is Subject.ANSWER:
        return "Only pairs can be held against people's votes; this run is about single answers."
    return f"No question “{question_id}” among these." if question_id else NOTHING[which]


def _item(store: Store, words: Words, run: Run, place: Place) -> str:
    """One judgment: a line that opens."""
    said = votes(store, place)
    unit = unit_of(store, place)
    line = (
        f'<span class="t-what"><b>{text(first_words(unit) or place.question_id)}</b>'
        f"<small>{text(where(place))}</small></span>"
        f'<span class="t-judge"><small>judge</small>{judgment(words, place)}</span>'
        f'<span class="t-people"><small>{who(said)}</small>{text(majority(words, place, said))}'
        "</span>"
    )
    kept = calls(store, run.id, place)
    body = (
        f"{_conversation(place, unit)}{_verdict(words, place)}"
        f'<div class="t-sides t-{len(kept) or 1}">{_orders(words, place, kept, run)}'
        f"{_people(words, place, said)}</div>"
    )
    return f'<details class="t-item"><summary>{line}</summary>{body}</details>'


def _conversation(place: Place, unit: StoredPair | StoredAnswer | None) -> str:
    """The turns up to the one judged, answers side by side."""
    if unit is None or unit.question.turns is None:
        return muted("The texts of this pair were never imported: only its labels are known.")
    asked = unit.question.turns
    answers = (unit.a, unit.b) if isinstance(unit, StoredPair) else (unit.answer,)
    last = place.turn or len(asked)
    shown = [*asked[:last], *(turn for a in answers for turn in (a.turns or ())[:last])]
    plain = plain_needed([message.content for turn in shown for message in turn])
    parts = []
    for number, turn in enumerate(asked[:last], start=1):
        body = _turn(place, number, turn, answers, plain)
        if last == 1:
            parts.append(body)
            continue
        opened = " open" if place.turn in (0, number) else ""
        parts.append(f'<details class="t-turn"{opened}><summary>Turn {number}</summary>{body}'
                     "</details>")  # fmt: skip
    return "".join(parts)


def _turn(place: Place, number: int, asked: Turn, answers: Sequence[Answer], plain: bool) -> str:
    prompt = render_prompt(asked, first=number == 1, plain=plain)
    prompt = prompt.replace('data-t="given_reply"></span>', ">given with the question</span>")
    prompt = prompt.replace(
        'data-t="given_instead"></span>', ">the conversation goes on from</span>"
    )
    boxes = []
    for name, answer in zip(place.models, answers, strict=True):
        turns = answer.turns or ()
        reply = render_turn(turns[number - 1] if number <= len(turns) else (), plain=plain)
        boxes.append(
            f'<div class="t-answer"><h4>{text(name)}</h4><div class="t-scroll c-text" tabindex="0"'
            f' role="region" aria-label="Answer of {text(name)}">{whole_text(reply)}</div></div>'
        )
    return (
        f'<div class="t-prompt c-text">{whole_text(prompt)}</div>'
        f'<div class="t-answers t-{len(boxes)}">{"".join(boxes)}</div>'
    )


def _orders(words: Words, place: Place, kept: Sequence[Call], run: Run) -> str:
    if not kept:
        what = "Imported from a file: no transcript, only the verdict."
        if run.kind != "imported":
            what = "Nothing was asked about this yet."
        judged = f"<p>{judgment(words, place)}</p>"
        return f'<article class="t-card"><h4>The judge</h4>{judged}{muted(what)}</article>'
    return "".join(call_card(words, place, call) for call in kept)


def _verdict(words: Words, place: Place) -> str:
    """The pair's verdict and how it came about."""
    if place.subject is Subject.ANSWER or place.status != Status.OK:
        return f'<p class="t-verdict">Judge: <b>{judgment(words, place)}</b></p>'
    said, how = words.outcome(place.outcome, place), HOW.get(place.reason, place.reason)
    return f'<p class="t-verdict">Judge: <b>{text(said)}</b>, {text(how)}.</p>'


def _people(words: Words, place: Place, said: Sequence[ShownVote]) -> str:
    """The votes beside the judge's orders."""
    head = f'<article class="t-card t-votes"><h4>{text(who(said).capitalize())}</h4>'
    if not said:
        return f"{head}{muted('Nobody has voted on this.')}</article>"
    rows = "".join(f"<li>{_vote(words, place, vote)}</li>" for vote in said)
    return f"{head}<ul>{rows}</ul></article>"


def _vote(words: Words, place: Place, vote: ShownVote) -> str:
    value = (
        words.outcome(vote.outcome, place)
        if place.subject is Subject.PAIR
        else label(vote.grade, vote.harm)
    )
    about = [vote.rater, vote.group if vote.group != vote.layer else ""]
    if vote.layer is not Layer.VOTE:
        about.append("simulated, no person" if vote.layer is Layer.SIMULATED else vote.layer.value)
    if vote.order in (Order.AB, Order.BA) and place.subject is Subject.PAIR:
        about.append(f"{place.models[vote.order == Order.BA]} on the left")
    comment = f"<q dir=auto>{text(vote.comment)}</q>" if vote.comment else ""
    if vote.occurrence > 1:
        about.append("asked again")
    line = " · ".join(part for part in about if part)
    return f"<b>{text(value)}</b><small>{text(line)}</small>{comment}"
