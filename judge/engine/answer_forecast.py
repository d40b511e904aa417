"""What answering would take, found without asking anything (`--dry-run`)."""

from __future__ import annotations

from dataclasses import astuple

from annotate.records import asked_turns, has_golden_context
from annotate.store import Store
from judge.ask.generation import messages
from judge.database.runs import RunStore
from judge.engine.answer_runner import AnswerSettings, askable, fingerprint, refuse_foreign
from judge.engine.answering import AnswerWork
from judge.engine.budget import Usage, likely
from judge.engine.forecast import Forecast


def answer_forecast(store: Store, settings: AnswerSettings) -> Forecast:
    """The turns that have no answer yet, with the range of their tokens.

    A later turn's prompt holds the replies before it, which are not known yet: between no
    token and the whole budget each.

    Raises:
        NothingComputable: no question has text.
        UsageError: a question cannot be put to a model, or the name is another's.
    """
    runs = RunStore(store)
    questions = askable(runs, settings)
    started = runs.live(fingerprint(settings), settings.endpoint_name)
    run_id = "" if started is None else started.id
    work = AnswerWork(runs, run_id, questions, settings.spec, settings.retry_failed)
    refuse_foreign(store, settings.model_name, work)
    low, high, planned, cached = Usage(), Usage(), 0, 0
    for question_id, question in questions.items():
        replies = work.replies(question_id)
        asked = asked_turns(question)
        planned, cached = planned + len(asked), cached + len(replies)
        unknown = 0
        for turn in (n for n in asked if n not in replies):
            chat = messages(question, replies, turn, settings.system)
            least, most = likely({"messages": chat, **settings.sampling})
            low += least
            high += most + Usage(unknown * most.reply, 0)
            unknown += not has_golden_context(question)
    price = settings.price
    return Forecast(
        model=settings.model,
        planned=planned,
        cached=cached,
        tokens=(low, high),
        usd=None if price is None else (price.of(*astuple(low)), price.of(*astuple(high))),
        price_source="" if price is None else price.source,
        warnings=(),
    )
