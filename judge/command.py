"""`evenhand judge`: settings from study.toml and options, a run, and what it came to."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from annotate.errors import UsageError
from annotate.study import SETTINGS_NAME, Study

from .endpoints import Endpoint
from .forecast import Forecast, forecast
from .local import local_endpoint
from .manifests import differences, flat
from .parse import PARSER_VERSION
from .prices import FREE, Price, price_of
from .progress import progress_for
from .runner import run
from .settings import HOW_TO_PRICE, JudgeSettings
from .store import VerdictStore
from .tally import RunSummary


def run_judge(
    study: Study,
    *,
    local: bool,
    base_urls: tuple[str, ...],
    proxy: str | None,
    ca_file: str | None,
    model: str | None,
    dimensions: tuple[str, ...],
    limit: int | None,
    concurrency: int | None,
    retry_failed: bool,
    dry_run: bool,
    max_usd: float | None,
    max_tokens: int | None,
    rpm: int | None,
    tpm: int | None,
    output: str | None,
    name: str,
) -> str:
    """Run the judge and say what happened, or with `dry_run` what would.

    Raises:
        UsageError: no endpoint is named, or an option does not fit.
        ServiceError: no call came back usable.
    """
    chosen = study.settings.judge
    if local and (base_urls or model or proxy or ca_file):
        raise UsageError(
            "--local brings its own endpoint: no --base-url, --model, --proxy or --ca-file"
        )
    with ExitStack() as stack:
        endpoint = stack.enter_context(local_endpoint()) if local else None
        endpoints = (Endpoint(endpoint.base_url),) if endpoint else _endpoints(study, base_urls)
        named = endpoint.model if endpoint else model or chosen.model
        if not endpoints or not named:
            raise UsageError(
                "no endpoint: give --base-url and --model, set them in study.toml [judge],"
                " or use --local for the small offline model"
            )
        settings = JudgeSettings(
            "",
            named,
            endpoints=endpoints,
            proxy=proxy or chosen.proxy,
            ca_file=ca_file or _beside(study, chosen.ca_file),
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
            output=output or chosen.output,
            name=name,
            price=FREE if local else price_of(named, _own_prices(study)),
            rpm=rpm or chosen.rpm,
            tpm=tpm or chosen.tpm,
            cap_usd=max_usd,
            cap_tokens=max_tokens,
        )
        if endpoint:
            settings = endpoint.settings(settings)
        if dry_run:
            return forecast_text(forecast(study.store, settings))
        return summary_text(run(study.store, settings, progress_for()))


def show_run(study: Study, name: str) -> str:
    """A run: its row, its manifest, what it came to."""
    verdicts = VerdictStore(study.store)
    found = verdicts.find(name)
    lines = [
        f"judge {found.name}: {found.state} ({found.kind}, {found.id})",
        f"  started {found.created_at}, ended {found.finished_at or 'not yet'}",
        f"  replies: {_counts(verdicts.counts(found.id))}",
        f"  pair verdicts: {_counts(verdicts.pair_counts(found.id))}",
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
        f"  pair verdicts: {_counts(summary.pair_verdicts)}",
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


def _endpoints(study: Study, base_urls: tuple[str, ...]) -> tuple[Endpoint, ...]:
    """Where calls go: as the options say, else as study.toml does; empty when neither does."""
    chosen = study.settings.judge
    if base_urls or not chosen.endpoints:
        urls = base_urls or ((chosen.base_url,) if chosen.base_url else ())
        return tuple(Endpoint(url, api_key_env=chosen.api_key_env) for url in urls)
    if chosen.base_url:
        raise UsageError(
            f"{study.folder / SETTINGS_NAME}: [judge] has base_url and [[judge.endpoints]];"
            " keep one of them"
        )
    return tuple(
        Endpoint(row.base_url, row.weight, row.api_key_env or chosen.api_key_env)
        for row in chosen.endpoints
    )


def _beside(study: Study, path: str) -> str:
    """A path of study.toml: relative ones start at the study's folder."""
    return str(study.folder / path) if path else ""


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
