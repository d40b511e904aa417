"""How an endpoint is called: what judging and answering have in common."""

from __future__ import annotations

import math
import platform
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any
from urllib.parse import urlsplit

from annotate.errors import UsageError
from judge.engine.endpoints import Endpoint
from judge.engine.network import load_authorities, require_url, shown
from judge.engine.prices import Price

HOW_TO_PRICE = 'write it into study.toml: [judge.prices."MODEL"] input = … output = …'
"""What to do about an unknown price."""


NAME_LIMIT = 200


@dataclass(frozen=True, slots=True)
class CallSettings:
    """The endpoint, the model, and how hard it may be asked; checked when made.

    `endpoints` serve the same model beside each other (then `base_url` is ""); without
    them there is the one at `base_url`, with the key in `api_key_env`.
    `proxy` "" means the environment's, `ca_file` is trusted beside the system's certificates.
    `endpoint` names the endpoint in keys and manifests when its URL changes from start
    to start (the local model); by default it is the URL without credentials and query.
    `concurrency` is the most calls at once, `rpm` and `tpm` the requests and tokens a minute.
    `cap_usd` and `cap_tokens` hold over all starts of a run; dollars need a `price`.
    `max_tokens_param` "" picks the name that the endpoint takes.
    """

    base_url: str
    model: str
    api_key_env: str = "OPENAI_API_KEY"
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
        beside = not (self.endpoints and self.base_url)
        require(beside, "base_url", shown(self.base_url), "none beside endpoints")
        names = [endpoint.name for endpoint in self.all_endpoints]
        require(len(set(names)) == len(names), "endpoints", names, "each one once")
        if self.proxy:
            secret_from = "them in https_proxy or http_proxy of the environment"
            require_url("proxy", self.proxy, secret_from=secret_from)
        if self.ca_file:
            load_authorities(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), self.ca_file)
        require(bool(self.model), "model", self.model, "a model name")
        for name in ("model", "name"):
            value = getattr(self, name)
            fine = value.isprintable() and len(value) <= NAME_LIMIT
            require(fine, name, value[:40], f"at most {NAME_LIMIT} printable characters")
        for name in ("concurrency", "attempts", "timeout_seconds"):
            require(_counts(getattr(self, name)), name, getattr(self, name), "more than 0")
        for name in ("max_tokens", "rpm", "tpm"):
            value = getattr(self, name)
            require(value is None or _counts(value), name, value, "more than 0")
        for name in ("cap_usd", "cap_tokens"):
            value = getattr(self, name)
            expected = "a number more than 0; leave it out for no cap"
            require(value is None or _counts(value), name, value, expected)
        backoff, heat = self.backoff_seconds, self.temperature
        require(0 <= backoff < math.inf, "backoff_seconds", backoff, "0 or more")
        require(heat is None or math.isfinite(heat), "temperature", heat, "a number")
        priced = self.cap_usd is None or self.price is not None
        require(priced, "cap_usd", self.cap_usd, f"a known price of {self.model}; {HOW_TO_PRICE}")
        taken = {"model", "messages"} & set(self.extra_body)
        require(not taken, "extra_body", sorted(taken), "other fields than these")

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

    def shares(self) -> list[dict[str, Any]]:
        """Who may be asked how much, in the order of names; the local model's port is no name."""
        if self.endpoint:
            return [{"name": self.endpoint, "weight": 1.0}]
        known = sorted(self.all_endpoints, key=lambda endpoint: endpoint.name)
        return [{"name": endpoint.name, "weight": endpoint.weight} for endpoint in known]

    def sampled(self, temperature: float | None, limit: int) -> dict[str, Any]:
        """The part of a request's body that is not model or messages."""
        # 0 and 0.0 are one temperature but two texts, and a request is known by its text.
        heat = None if temperature is None else float(temperature)
        wanted = {"temperature": heat, self._limit_name: limit, "seed": self.seed}
        return {k: v for k, v in wanted.items() if v is not None} | dict(self.extra_body)

    @property
    def _limit_name(self) -> str:
        """OpenAI's own endpoint has renamed the parameter; others know the old name."""
        if self.max_tokens_param:
            return self.max_tokens_param
        hosts = {urlsplit(endpoint.base_url).hostname for endpoint in self.all_endpoints}
        return "max_completion_tokens" if "api.openai.com" in hosts else "max_tokens"


def require(holds: bool, name: str, value: object, expected: str) -> None:
    """Refuse a setting.

    Raises:
        UsageError: it does not hold.
    """
    if not holds:
        raise UsageError(f"judge setting {name} is {value!r}; expected {expected}")


def _counts(value: float) -> bool:
    """Whether something can be had so often; endless and no number are neither."""
    return 0 < value < math.inf


def versions() -> dict[str, str]:
    """The versions of what makes and sends requests."""
    return {
        "evenhand": _version("evenhand"),
        "openai": _version("openai"),
        "python": platform.python_version(),
    }


def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "unknown"
