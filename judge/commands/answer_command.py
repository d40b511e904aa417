"""What `evenhand answer` does: settings, a run, and the study made ready for raters."""

from __future__ import annotations

from annotate import leaks, tasks
from annotate.study import Study
from judge.commands.calling import CallOptions, called
from judge.commands.run_words import answer_text, forecast_text
from judge.engine.answer_forecast import answer_forecast
from judge.engine.answer_runner import AnswerSettings, answer
from judge.engine.progress import progress_for


def run_answer(
    study: Study,
    calls: CallOptions,
    *,
    label: str,
    limit: int | None,
    benchmark: str,
    temperature: float | None,
    reply_tokens: int | None,
    system: str,
    seed: int | None,
) -> str:
    """Let the model answer and say what happened, or with `dry_run` what would.

    Raises:
        UsageError: no endpoint is named, or an option does not fit.
        ServiceError: no call came back usable.
    """
    with called(study, calls) as (local, endpoint):
        settings = AnswerSettings(
            **endpoint,
            label=label,
            limit=limit,
            benchmark=benchmark,
            temperature=temperature,
            max_tokens=reply_tokens,
            system=system,
            seed=seed,
        )
        if local:
            settings = local.answering(settings)
        if calls.dry_run:
            return forecast_text(answer_forecast(study.store, settings))
        summary = answer(study.store, settings, progress_for())
        # New pairs are for raters as well.
        leaks.apply_policy(study.store, study.settings.assignment)
        tasks.prepare(study.store, study.settings)
        return answer_text(summary)
