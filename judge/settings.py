"""What a judge is: its settings, the fingerprint that tells it from others, the manifest."""

from __future__ import annotations

import platform
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any
from urllib.parse import urlsplit

from annotate.errors import UsageError
from annotate.records import HARMLESSNESS, digest

from .endpoints import Endpoint
from .network import load_authorities, require_url
from .parse import PARSER_VERSION
from .plan import ORDER_PLAN, PlanSpec, Preflight
from .prices import Price
from .prompt import load
from .verdicts import AGGREGATION

VERDICT_TOKENS = 32
EXPLAIN_TOKENS = 512
OUTPUTS = ("tag", "json", "auto")
HOW_TO_PRICE = 'write it into study.toml: [judge.prices."MODEL"] input = … output = …'
"""What to do about an unknown price."""


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """Everything a run depends on; checked when made.

    `endpoints` serve the same model beside each other (then `base_url` is ""); without
    them there is the one at `base_url`, with the key in `api_key_env`.
    `proxy` "" means the environment's, `ca_file` is trusted beside the system's certificates.
    `endpoint` names the endpoint in keys and manifests when its URL changes from start
    to start (the local model); by default it is the URL without credentials and query.
    `max_tokens` None means enough for a verdict (with `explain`: for an explanation).
    `concurrency` is the most calls at once, `rpm` and `tpm` the requests and tokens a minute.
    `cap_usd` and `cap_tokens` hold over all starts of a run; dollars need a `price`.
    `output` is `tag`, `json` (under a schema) or `auto`: json where the endpoint can; a run
    writes what it found out about that into `output_probe`.
    `max_tokens_param` "" picks the name that the endpoint takes.
    """

    base_url: str
    model: str
    api_key_env: str = "OPENAI_API_KEY"
    dimensions: tuple[str, ...] = (HARMLESSNESS,)
    limit: int | None = None
    temperature: float | None = 0.0
    max_tokens: int | None = None
    max_tokens_param: str = ""
    concurrency: int = 8
    attempts: int = 4
    timeout_seconds: float = 60.0
    backoff_seconds: float = 0.5
    retry_failed: bool = False
    seed: int | None = 0
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    explain: bool = False
    output: str = "tag"
    output_probe: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""
    endpoint: str = ""
    endpoint_details: Mapping[str, Any] = field(default_factory=dict)
    price: Price | None = None
    rpm: int | None = None
    tpm: int | None = None
    cap_usd: float | None = None
    cap_tokens: int | None = None
    endpoints: tuple[Endpoint, ...] = ()
    proxy: str = ""
    ca_file: str = ""

    def __post_init__(self) -> None:
        """Refuse what no run could use.

        Raises:
            UsageError: names the setting, its value and what was expected.
        """
        _require(
            not (self.endpoints and self.base_url),
            "base_url",
            self.base_url,
            "none beside endpoints",
        )
        names = [endpoint.name for endpoint in self.all_endpoints]
        _require(len(set(names)) == len(names), "endpoints", names, "each one once")
        if self.proxy:
            secret_from = "them in https_proxy or http_proxy of the environment"
            require_url("proxy", self.proxy, secret_from=secret_from)
        if self.ca_file:
            load_authorities(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), self.ca_file)
        _require(bool(self.model), "model", self.model, "a model name")
        _require(bool(self.dimensions), "dimensions", self.dimensions, "one or more")
        _require(self.output in OUTPUTS, "output", self.output, f"one of {', '.join(OUTPUTS)}")
        unique = len(set(self.dimensions)) == len(self.dimensions)
        _require(unique, "dimensions", self.dimensions, "each one once")
        for name in ("concurrency", "attempts", "timeout_seconds"):
            _require(getattr(self, name) > 0, name, getattr(self, name), "more than 0")
        for name in ("limit", "max_tokens", "rpm", "tpm", "cap_usd", "cap_tokens"):
            value = getattr(self, name)
            _require(value is None or value > 0, name, value, "more than 0")
        _require(self.backoff_seconds >= 0, "backoff_seconds", self.backoff_seconds, "0 or more")
        priced = self.cap_usd is None or self.price is not None
        _require(priced, "cap_usd", self.cap_usd, f"a known price of {self.model}; {HOW_TO_PRICE}")
        taken = {"model", "messages"} & set(self.extra_body)
        _require(not taken, "extra_body", sorted(taken), "other fields than these")

    @property
    def all_endpoints(self) -> tuple[Endpoint, ...]:
        """Where calls go."""
        return self.endpoints or (Endpoint(self.base_url, api_key_env=self.api_key_env),)

    @property
    def endpoint_name(self) -> str:
        """The endpoint as stored: no credentials, no query; several by name, in order."""
        return self.endpoint or " + ".join(sorted(e.name for e in self.all_endpoints))

    def key_env(self, name: str | None) -> str:
        """The variable with the key of the endpoint of that name (the first by default)."""
        found = (e.api_key_env for e in self.all_endpoints if e.name == name)
        return next(found, self.all_endpoints[0].api_key_env)

    @property
    def sampling(self) -> dict[str, Any]:
        """The part of a request's body that is not model or messages."""
        limit = self.max_tokens or (EXPLAIN_TOKENS if self.explain else VERDICT_TOKENS)
        wanted = {"temperature": self.temperature, self._limit_name: limit, "seed": self.seed}
        return {k: v for k, v in wanted.items() if v is not None} | dict(self.extra_body)

    @property
    def _limit_name(self) -> str:
        """OpenAI's own endpoint has renamed the parameter; others know the old name."""
        if self.max_tokens_param:
            return self.max_tokens_param
        hosts = {urlsplit(endpoint.base_url).hostname for endpoint in self.all_endpoints}
        return "max_completion_tokens" if "api.openai.com" in hosts else "max_tokens"


def fingerprint(settings: JudgeSettings) -> str:
    """SHA-256 of what makes two runs the same judge: model, prompts, sampling, rule."""
    return digest(_judge(settings))


def manifest(settings: JudgeSettings, found: Preflight) -> dict[str, Any]:
    """Everything that defines this start of a run; no secret is in it."""
    return {
        **_judge(settings),
        "fingerprint": fingerprint(settings),
        "endpoint": settings.endpoint_name,
        "endpoints": _shares(settings),
        "endpoint_details": dict(settings.endpoint_details),
        "data_digest": found.data_digest,
        "output_probe": dict(settings.output_probe),
        "pairs": found.pairs,
        "limit": settings.limit,
        "order_plan": ORDER_PLAN,
        "parser": PARSER_VERSION,
        "versions": {
            "evenhand": _version("evenhand"),
            "openai": _version("openai"),
            "python": platform.python_version(),
        },
    }


def _shares(settings: JudgeSettings) -> list[dict[str, Any]]:
    """Who may be asked how much, in the order of names; the local model's port is no name."""
    if settings.endpoint:
        return [{"name": settings.endpoint, "weight": 1.0}]
    known = sorted(settings.all_endpoints, key=lambda endpoint: endpoint.name)
    return [{"name": endpoint.name, "weight": endpoint.weight} for endpoint in known]


def _judge(settings: JudgeSettings) -> dict[str, Any]:
    """What the fingerprint is taken over."""
    prompts = [load(dimension) for dimension in sorted(settings.dimensions)]
    form = "json schema" if settings.output == "json" else "tag"
    return {
        "requested_model": settings.model,
        "prompts": [
            {"id": p.id, "version": p.version, "dimension": p.dimension, "hash": p.hash}
            for p in prompts
        ],
        "sampling": settings.sampling,
        "output_mode": form + (" with explanation" if settings.explain else ""),
        "aggregation": AGGREGATION,
    }


def plan_spec(settings: JudgeSettings) -> PlanSpec:
    """What these settings put into every request."""
    return PlanSpec(
        endpoint=settings.endpoint_name,
        model=settings.model,
        prompts=tuple(load(dimension) for dimension in settings.dimensions),
        sampling=settings.sampling,
        explain=settings.explain,
        as_json=settings.output == "json",
    )


def _require(holds: bool, name: str, value: object, expected: str) -> None:
    if not holds:
        raise UsageError(f"judge setting {name} is {value!r}; expected {expected}")


def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "unknown"
