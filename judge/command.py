"""`evenhand judge`: settings from study.toml and options, a run, and what it came to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from annotate.errors import UsageError
from annotate.study import Study

from .call_settings import HOW_TO_PRICE
from .fastchat_prompts import FastChatPrompt
from .forecast import Forecast, forecast
from .local import local_endpoint
from .manifests import differences, flat
from .modes import Mode
from .parse import PARSER_VERSION
from .plan import Turns
from .prices import FREE, Price, price_of
from .progress import progress_for
from .prompt_files import prompts_for
from .runner import run
from .settings import JudgeSettings
from .store import VerdictStore
from .tally import RunSummary
from .units import References


def run_judge(study: Study, *, dry_run: bool, **options: Any) -> str:
    """Run the judge and say what happened, or with `dry_run` what would.

    The other options are those of :func:`settings_for`.

    Raises:
        UsageError: no endpoint is named, or an option does not fit.
        ServiceError: no call came back usable.
    """
    with settings_for(study, **options) as settings:
        if dry_run:
            return forecast_text(forecast(study.store, settings))
        return summary_text(run(study.store, settings, progress_for()))


@contextmanager
def settings_for(
    study: Study,
    *,
    local: bool,
    base_url: str | None,
    model: str | None,
    mode: str,
    dimensions: tuple[str, ...],
    prompts: tuple[Path, ...],
    limit: int | None,
    baseline: str,
    turns: Turns,
    references: References,
    replicates: int,
    concurrency: int | None,
    retry_failed: bool,
    max_usd: float | None,
    max_tokens: int | None,
    rpm: int | None,
    tpm: int | None,
    output: str | None,
    name: str,
) -> Iterator[JudgeSettings]:
    """The judge of study.toml and these options; a local endpoint serves while it is open.

    Raises:
        UsageError: no endpoint is named, or an option does not fit.
        ServiceError: the local model cannot be served.
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
        asked = prompts_for(study.settings.protocol, Mode(mode), dimensions, prompts)
        own_words = any(isinstance(prompt, FastChatPrompt) for prompt in asked)
        settings = JudgeSettings(
            url,
            named,
            api_key_env=chosen.api_key_env,
            mode=Mode(mode),
            dimensions=tuple(prompt.dimension for prompt in asked),
            prompts=asked,
            limit=limit,
            baseline=baseline,
            turns=turns,
            references=references,
            replicates=replicates,
            temperature=chosen.temperature,
            # The small model answers in one tag; explanations only send it astray.
            max_tokens=None if local else chosen.max_tokens,
            # FastChat's templates ask for an explanation in their own words.
            explain=own_words or (chosen.explain and not local),
            concurrency=concurrency or chosen.concurrency,
            attempts=chosen.attempts,
            timeout_seconds=chosen.timeout_seconds,
            retry_failed=retry_failed,
            seed=chosen.seed,
            output=output or ("tag" if own_words else chosen.output),
            name=name,
            price=FREE if local else price_of(named, _own_prices(study)),
            rpm=rpm or chosen.rpm,
            tpm=tpm or chosen.tpm,
            cap_usd=max_usd,
            cap_tokens=max_tokens,
        )
        if endpoint:
            settings = endpoint.settings(settings)
        yield settings


def show_run(study: Study, name: str) -> str:
    """A run: its row, its manifest, what it came to."""
    verdicts = VerdictStore(study.store)
    found = verdicts.find(name)
    lines = [
        f"judge {found.name}: {found.state} ({found.kind}, {found.id})",
        f"  started {found.created_at}, ended {found.finished_at or 'not yet'}",
        f"  replies: {_counts(verdicts.counts(found.id))}",
        f"  verdicts: {_counts(verdicts.judgment_counts(found.id))}",
    ]
    lines += [f"  {path} = {value}" for path, value in flat(found.manifest) if path]
    return "\n".join(lines) + "\n"


def diff_runs(study: Study, left: str, right: str) -> str:
    """What two manifests do not share."""
    verdicts = VerdictStore(study.store)
    a, b = verdicts.find(left), verdicts.find(right)
    found = differences(a.manifest, b.manifest)
    if not found:
        return "The manifests say the same.\n"
    lines = [f"{d.path}: {d.left} → {d.right}" for d in found]
    return "\n".join([f"{a.name} → {b.name}", *lines]) + "\n"


def reparse_replies(study: Study) -> str:
    """Derive every verdict again."""
    changed = VerdictStore(study.store).reparse()
    return f"Read every stored reply again ({PARSER_VERSION}): {changed:,} verdicts changed.\n"


def summary_text(summary: RunSummary) -> str:
    """A run in a few lines."""
    lines = [
        f"judge {summary.name}: {summary.state}",
        f"  requests: {summary.planned:,} planned, {summary.cached:,} answered before,"
        f" {summary.calls:,} calls made in {summary.seconds:.1f} s",
        f"  replies: {_counts(summary.statuses)}",
        f"  verdicts: {_counts(summary.judgments)}",
        f"  tokens: {summary.prompt_tokens:,} in, {summary.completion_tokens:,} out"
        + (f", unknown for {summary.tokens_unknown:,} calls" if summary.tokens_unknown else ""),
    ]
    if summary.usd:
        lines.append(f"  price: {_usd(summary.usd)} for the run so far")
    lines += [f"  warning: {warning}" for warning in summary.warnings[:20]]
    return "\n".join(lines) + "\n"


def forecast_text(found: Forecast) -> str:
    """A dry run in a few lines."""
    low, high = found.tokens
    lines = [
        "dry run: nothing was asked",
        f"  requests: {found.planned:,} planned, {found.cached:,} answered before,"
        f" {found.calls:,} calls to make (retries come on top)",
        f"  tokens: {low.prompt:,} to {high.prompt:,} in, {low.reply:,} to {high.reply:,} out",
    ]
    if found.usd is None:
        lines.append(f"  price: unknown for {found.model}; {HOW_TO_PRICE}")
    else:
        least, most = (_usd(value) for value in found.usd)
        lines.append(f"  price: {least} to {most} ({found.price_source})")
    lines += [f"  warning: {warning}" for warning in found.warnings[:20]]
    return "\n".join(lines) + "\n"


def _own_prices(study: Study) -> dict[str, Price]:
    """The study's own table."""
    return {
        pattern: Price(row.input, row.output, f"study.toml: {pattern}")
        for pattern, row in study.settings.judge.prices.items()
    }


def _usd(value: float) -> str:
    """Dollars and cents, with more places where they would read 0.00."""
    return f"${value:,.2f}" if value >= 1 or not value else f"${value:.4f}"


def _counts(counts: Any) -> str:
    return ", ".join(f"{n:,} {name}" for name, n in sorted(counts.items())) or "none"
