"""Let a model answer the study's questions: turn by turn, resumable, every reply kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from annotate import library
from annotate.errors import NothingComputable, UsageError
from annotate.records import Answer, Question, digest
from annotate.store import Store
from judge.ask.generation import MT_BENCH_TEMPERATURES, OTHER_TEMPERATURE, problem
from judge.database.runs import RunStore
from judge.engine.answering import AnswerSpec, AnswerWork, questions_of
from judge.engine.call_settings import CallSettings, require, versions
from judge.engine.progress import Progress, Silent
from judge.engine.run_lock import alone
from judge.engine.runner import drive
from judge.engine.session import Session

ANSWER_TOKENS = 1024
"""The budget of one reply, as in MT-Bench's own generation."""
MODE = "answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSettings(CallSettings):
    """Everything a model's answers depend on; checked when made.

    `label` is the model's name in the study (by default the endpoint's). `temperature` None
    takes MT-Bench's by category. `system` is said before each dialogue.
    """

    temperature: float | None = None
    seed: int | None = None
    label: str = ""
    limit: int | None = None
    benchmark: str = ""
    system: str = ""

    def __post_init__(self) -> None:
        """Refuse what no run could use.

        Raises:
            UsageError: names the setting, its value and what was expected.
        """
        # No zero-argument super(): `slots` makes another class than the one it is bound to.
        CallSettings.__post_init__(self)
        require(self.limit is None or self.limit > 0, "limit", self.limit, "more than 0")
        require(len(self.model_name) <= 500, "label", self.label, "500 characters at most")

    @property
    def model_name(self) -> str:
        """The model's name in the study."""
        return self.label or self.model

    @property
    def sampling(self) -> dict[str, Any]:
        """The part of every request's body that depends neither on question nor category."""
        return self.sampled(None, self.max_tokens or ANSWER_TOKENS)

    @property
    def spec(self) -> AnswerSpec:
        """What these settings put into every request."""
        sampling = self.sampling
        return AnswerSpec(self.endpoint_name, self.model, self.temperature, sampling, self.system)


@dataclass(frozen=True, slots=True)
class AnswerSummary:
    """What a run did, and what the study holds of it.

    `dialogues` are whole: all their turns are answered; `incomplete` ones are kept and go
    on with the next start. `truncated` turns were cut off at their budget.
    """

    run_id: str
    name: str
    model: str
    state: str
    planned: int
    cached: int
    calls: int
    statuses: Mapping[str, int]
    dialogues: int
    incomplete: int
    pairs_added: int
    prompt_tokens: int
    completion_tokens: int
    tokens_unknown: int
    usd: float | None
    seconds: float
    warnings: tuple[str, ...] = field(default=())


def answer(
    store: Store, settings: AnswerSettings, progress: Progress | None = None
) -> AnswerSummary:
    """Let the model answer every question with text, and put whole dialogues into the study.

    A run with the same settings is continued: no committed reply is asked for again.

    Raises:
        NothingComputable: no question has text.
        UsageError: a question cannot be put to a model, or the study has other answers
            under this model's name.
        ServiceError: the endpoint is unreachable or refuses every call; what was answered
            is saved.
    """
    shown: Progress = progress or Silent()
    runs = RunStore(store)
    questions = askable(runs, settings)
    before = runs.live(fingerprint(settings), settings.endpoint_name)
    refuse_foreign(
        store,
        settings.model_name,
        AnswerWork(runs, "" if before is None else before.id, questions_of(runs), settings.spec),
    )
    started = runs.start_run(
        model=settings.model,
        endpoint=settings.endpoint_name,
        fingerprint=fingerprint(settings),
        manifest=manifest(settings, questions),
        name=settings.name or f"answers of {settings.model_name}",
        mode=MODE,
    )
    work = AnswerWork(runs, started.id, questions, settings.spec, settings.retry_failed)
    state, added = "failed", 0
    with alone(store.path, started):
        work.register()
        session = Session(runs, work, settings, shown)
        try:
            session.begin()
            drive(session)
            state = session.state
        finally:
            # Whatever ended the run, dialogues that are whole belong to the study.
            whole = work.answers(settings.model_name)
            added = keep(store, whole, started.id)
            runs.finish_run(started.id, state)
            shown.finish()
    return AnswerSummary(
        run_id=started.id,
        name=started.name,
        model=settings.model_name,
        state=state,
        planned=session.tally.planned,
        cached=session.tally.cached,
        calls=session.tally.calls,
        statuses=work.statuses(),
        dialogues=len(whole),
        incomplete=len(questions) - len(whole),
        pairs_added=added,
        prompt_tokens=session.tally.prompt_tokens,
        completion_tokens=session.tally.completion_tokens,
        tokens_unknown=session.tally.tokens_unknown,
        usd=session.usd,
        seconds=session.seconds,
        warnings=tuple(session.warnings()),
    )


def askable(runs: RunStore, settings: AnswerSettings) -> dict[str, Question]:
    """The questions of a run, all of which can be put to a model.

    Raises:
        NothingComputable: there is none.
        UsageError: one cannot be.
    """
    found = questions_of(runs, settings.limit, settings.benchmark)
    if not found:
        where = f" of benchmark {settings.benchmark}" if settings.benchmark else ""
        raise NothingComputable(
            f"{runs.store.path}: no question{where} with text; import a question file first"
        )
    bad = [(q.key, why) for q in found.values() if (why := problem(q))]
    if bad:
        key, why = bad[0]
        more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
        raise UsageError(
            f"{key.benchmark} question {key.question_id}: {why}; nothing was asked{more}"
        )
    return found


def fingerprint(settings: AnswerSettings) -> str:
    """SHA-256 of what makes two runs give answers of the same model."""
    return digest(_model(settings))


def manifest(settings: AnswerSettings, questions: Mapping[str, Question]) -> dict[str, Any]:
    """Everything that defines this start of a run; no secret is in it."""
    asked = [
        [key, [[[m.role, m.content] for m in turn] for turn in question.turns or ()]]
        for key, question in questions.items()
    ]
    return {
        **_model(settings),
        "fingerprint": fingerprint(settings),
        "endpoint": settings.endpoint_name,
        "endpoints": settings.shares(),
        "endpoint_details": dict(settings.endpoint_details),
        "data_digest": digest(asked),
        "units": len(questions),
        "limit": settings.limit,
        "benchmark": settings.benchmark,
        "versions": versions(),
    }


def _model(settings: AnswerSettings) -> dict[str, Any]:
    by_category = {**MT_BENCH_TEMPERATURES, "(other)": OTHER_TEMPERATURE}
    return {
        "mode": MODE,
        "requested_model": settings.model,
        "model_name": settings.model_name,
        "temperature": by_category if settings.temperature is None else settings.temperature,
        "sampling": settings.sampling,
        "system": settings.system,
    }


def refuse_foreign(store: Store, name: str, work: AnswerWork) -> None:
    """One name is one model: answers from elsewhere must not mix with generated ones.

    Raises:
        UsageError: the study has answers under this name that this run did not make.
    """
    ours = {answer.key: answer.hash for answer in work.answers(name)}
    for key, hashes in library.answers_of(store, name).items():
        if hashes != {ours.get(key)}:
            raise UsageError(
                f"model {name}: the study has an answer of it to {key.benchmark} question"
                f" {key.question_id} that this run did not make (imported, or made with other"
                " settings); give these another name with --as"
            )


def keep(store: Store, answers: list[Answer], run_id: str) -> int:
    """Put whole dialogues into the study and pair them with everyone's; returns new pairs."""
    with store.write() as conn:
        by_benchmark = sorted(answers, key=lambda a: a.key.benchmark)
        for benchmark, group in groupby(by_benchmark, key=lambda a: a.key.benchmark):
            library.add_answers(conn, benchmark, answers[0].model, list(group))
        ours = {answer.id for answer in answers}
        added = library.build_pairs(
            conn, store.study_id, lambda one, other: one.id in ours or other.id in ours
        )
        if added:
            body = {"answers": len(answers), "pairs": added}
            store.log(conn, "answers_generated", run_id, body)
    return added
