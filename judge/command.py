"""`evenhand judge`: settings from study.toml and options, a run, and what it came to."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from annotate.errors import UsageError
from annotate.study import Study

from .local import local_endpoint
from .progress import progress_for
from .runner import run
from .session import RunSummary
from .settings import JudgeSettings


def run_judge(
    study: Study,
    *,
    local: bool,
    base_url: str | None,
    model: str | None,
    dimensions: tuple[str, ...],
    limit: int | None,
    concurrency: int | None,
    retry_failed: bool,
    name: str,
) -> str:
    """Run the judge and say what happened.

    Raises:
        UsageError: no endpoint is named, or an option does not fit.
        ServiceError: no call came back usable.
    """
    chosen = study.settings.judge
    if local and (base_url or model):
        raise UsageError("--local brings its own endpoint: no --base-url, no --model")
    with ExitStack() as stack:
        endpoint = stack.enter_context(local_endpoint()) if local else None
        url = endpoint.base_url if endpoint else base_url or chosen.base_url
        named = endpoint.model if endpoint else model or chosen.model
        if not url or not named:
            raise UsageError(
                "no endpoint: give --base-url and --model, set them in study.toml [judge],"
                " or use --local for the small offline model"
            )
        settings = JudgeSettings(
            url,
            named,
            api_key_env=chosen.api_key_env,
            dimensions=dimensions or tuple(d.name for d in study.settings.protocol.dimensions),
            limit=limit,
            temperature=chosen.temperature,
            # The small model answers in one tag; explanations only send it astray.
            max_tokens=None if local else chosen.max_tokens,
            explain=False if local else chosen.explain,
            concurrency=concurrency or chosen.concurrency,
            attempts=chosen.attempts,
            timeout_seconds=chosen.timeout_seconds,
            retry_failed=retry_failed,
            seed=chosen.seed,
            name=name,
        )
        if endpoint:
            settings = endpoint.settings(settings)
        return summary_text(run(study.store, settings, progress_for()))


def summary_text(summary: RunSummary) -> str:
    """A run in a few lines."""
    lines = [
        f"judge {summary.name}: {summary.state}",
        f"  requests: {summary.planned:,} planned, {summary.cached:,} answered before,"
        f" {summary.calls:,} calls made in {summary.seconds:.1f} s",
        f"  replies: {_counts(summary.statuses)}",
        f"  pair verdicts: {_counts(summary.pair_verdicts)}",
        f"  tokens: {summary.prompt_tokens:,} in, {summary.completion_tokens:,} out"
        + (f", unknown for {summary.tokens_unknown:,} calls" if summary.tokens_unknown else ""),
    ]
    lines += [f"  warning: {warning}" for warning in summary.warnings[:20]]
    return "\n".join(lines) + "\n"


def _counts(counts: Any) -> str:
    return ", ".join(f"{n:,} {name}" for name, n in sorted(counts.items())) or "none"
