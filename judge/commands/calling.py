"""Where calls go, as a command's options and study.toml say."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from annotate.errors import UsageError
from annotate.study import SETTINGS_NAME, Study
from judge.engine.endpoints import Endpoint
from judge.engine.local import LocalEndpoint, local_endpoint
from judge.engine.prices import FREE, Price, price_of

NO_ENDPOINT = (
    "no endpoint: give --base-url and --model, set them in study.toml [judge],"
    " or use --local for the small offline model"
)


@dataclass(frozen=True, slots=True)
class CallOptions:
    """The options that every command with an endpoint has (`cli_options`)."""

    local: bool = False
    local_model: Path | None = None
    base_urls: tuple[str, ...] = ()
    model: str | None = None
    proxy: str | None = None
    ca_file: str | None = None
    concurrency: int | None = None
    rpm: int | None = None
    tpm: int | None = None
    retry_failed: bool = False
    dry_run: bool = False
    max_usd: float | None = None
    max_tokens: int | None = None
    """A cap on the tokens of a run, not of a reply."""

    @classmethod
    def take(cls, options: dict[str, Any]) -> CallOptions:
        """Out of a command's options; the others stay."""
        return cls(**{f.name: options.pop(f.name) for f in fields(cls)})


@contextmanager
def called(
    study: Study, options: CallOptions
) -> Iterator[tuple[LocalEndpoint | None, dict[str, Any]]]:
    """The offline model while it is served (None for any other), and settings for calls.

    Raises:
        UsageError: no endpoint is named, or options do not go together.
        ServiceError: the offline model cannot be served.
    """
    if not options.local and not options.local_model:
        yield None, _settings(study, options, None)
        return
    if options.base_urls or options.model or options.proxy or options.ca_file:
        raise UsageError(
            "--local brings its own endpoint: no --base-url, --model, --proxy or --ca-file"
        )
    with local_endpoint(options.local_model) as local:
        yield local, _settings(study, options, local)


def _settings(study: Study, options: CallOptions, local: LocalEndpoint | None) -> dict[str, Any]:
    chosen = study.settings.judge
    endpoints = (Endpoint(local.base_url),) if local else _endpoints(study, options.base_urls)
    model = local.model if local else options.model or chosen.model
    if not endpoints or not model:
        raise UsageError(NO_ENDPOINT)
    return {
        "base_url": "",
        "model": model,
        "endpoints": endpoints,
        "proxy": options.proxy or chosen.proxy,
        "ca_file": options.ca_file or _beside(study, chosen.ca_file),
        "concurrency": options.concurrency or chosen.concurrency,
        "attempts": chosen.attempts,
        "timeout_seconds": chosen.timeout_seconds,
        "retry_failed": options.retry_failed,
        "price": FREE if local else price_of(model, _own_prices(study)),
        "rpm": options.rpm or chosen.rpm,
        "tpm": options.tpm or chosen.tpm,
        "cap_usd": options.max_usd,
        "cap_tokens": options.max_tokens,
    }


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
