"""One output mode per run: tagged text, or JSON under a schema where the endpoint can.

Whether it can is found by one call before the run, and remembered in the manifest: a run
that is continued asks no second time.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from annotate.errors import ServiceError, UsageError
from annotate.records import Status
from judge.ask.modes import GRADES, HARM_LABELS, Mode, Offered
from judge.ask.parse import CHOICES, parse_reply
from judge.ask.schemas import response_format
from judge.database.store import VerdictStore
from judge.engine.adapt import Parameters, budget
from judge.engine.budget import Caps, Usage, bound
from judge.engine.endpoints import Endpoints
from judge.engine.replies import Next, Reply, advice
from judge.engine.settings import JudgeSettings

QUESTION = "This is a test of the output format."
ASKED: Mapping[Mode, tuple[Offered, str]] = {
    Mode.PAIRWISE: (tuple(CHOICES), "Choose the verdict C."),
    Mode.GRADE: (GRADES, "Give the grade 5."),
    Mode.HARM: (HARM_LABELS, "The response type is full_refusal, the severity 0, no category."),
}
"""What the probe offers and asks for."""


def resolve(verdicts: VerdictStore, settings: JudgeSettings) -> JudgeSettings:
    """The settings with `output` decided: `json` or `tag`, never `auto`.

    Raises:
        ServiceError: `json` was demanded and the endpoint cannot; or it does not answer.
        UsageError: the call that finds out could exceed a cap.
    """
    if settings.output == "tag":
        return settings
    known = remembered(verdicts, settings)
    if known.output != "auto" and known.output_probe:
        return known
    problem = _run(_probe(settings))
    if problem and settings.output == "json":
        raise ServiceError(
            f"{settings.endpoint_name}: model {settings.model} does not keep to a JSON schema"
            f" ({problem}); use --output auto or --output tag"
        )
    found = "tag" if problem else "json"
    return replace(settings, output=found, output_probe={"found": found, "problem": problem})


def remembered(verdicts: VerdictStore, settings: JudgeSettings) -> JudgeSettings:
    """The settings with what an earlier run of this model and endpoint has found out."""
    for run in reversed(verdicts.runs()):
        probe: Mapping[str, Any] = run.manifest.get("output_probe") or {}
        asked = (settings.endpoint_name, settings.model, settings.mode)
        same = (run.endpoint, run.requested_model, run.mode) == asked
        if same and probe and settings.output in ("auto", probe["found"]):
            return replace(settings, output=probe["found"], output_probe=probe)
    return settings


async def _probe(settings: JudgeSettings) -> str:
    """Why the endpoint cannot do it; "" if it can."""
    offered, question = ASKED[settings.mode]
    planned = {
        "model": settings.model,
        "messages": [{"role": "user", "content": f"{QUESTION} {question}"}],
        "response_format": response_format(offered, explain=settings.explain),
        **settings.sampling,
    }
    parameters = Parameters()
    async with Endpoints(
        settings.all_endpoints,
        timeout_seconds=settings.timeout_seconds,
        concurrency=1,
        proxy=settings.proxy,
        ca_file=settings.ca_file,
    ) as endpoints:
        failures, spent = 0, Usage()
        while True:
            sent = parameters.apply(planned, doubled=True)
            most = _affordable(settings, sent, spent)
            reply = await endpoints.ask(sent)
            spent += Usage() if reply.free else most
            if reply.next is Next.GIVE_UP and parameters.learn(sent, reply.http_status, reply.raw):
                if "response_format" in parameters.rejected:
                    return "response_format is rejected"
                continue
            if reply.next is Next.ELSEWHERE:
                continue
            failures += reply.next is Next.RETRY
            if reply.next is not Next.RETRY or failures == settings.attempts:
                break
            await asyncio.sleep(settings.backoff_seconds * 2**failures)
    return _problem(settings, reply, offered)


def _affordable(settings: JudgeSettings, sent: Mapping[str, Any], spent: Usage) -> Usage:
    """The most that a call can use, which all calls of the probe together may.

    Raises:
        UsageError: a cap could be exceeded. What earlier starts of the run have used is not
            known here: which run it is depends on what the probe finds.
    """
    caps, most = Caps(settings.cap_usd, settings.cap_tokens, settings.price), bound(sent)
    if caps and (budget(sent) is None or not caps.allow(spent + most)):
        raise UsageError(
            f"--output {settings.output} asks {settings.endpoint_name} one question first, which"
            f" may use {most.total:,} tokens: more than the cap allows; use --output tag, which"
            " needs no question, or a higher cap"
        )
    return most


def _problem(settings: JudgeSettings, reply: Reply, offered: Offered) -> str:
    """What is wrong with the probe's reply, "" if nothing is."""
    if reply.next in (Next.STOP, Next.RETRY):
        stop, key_env = reply.next is Next.STOP, settings.key_env(reply.endpoint)
        what = advice(reply.http_status, key_env) if stop else "correct the settings"
        raise ServiceError(
            f"{settings.endpoint_name}: the first call failed with HTTP {reply.http_status}"
            f" {reply.error_class} ({reply.error_text}); {what} and run the same command again"
        )
    if reply.next is Next.GIVE_UP or reply.raw is None:
        return f"HTTP {reply.http_status}: {reply.error_text}"
    parsed = parse_reply(json.loads(reply.raw), offered, as_json=True)
    return "" if parsed.status is Status.OK else f"{parsed.status}: {parsed.detail}"


def _run(probe: Any) -> str:
    """Run to the end, also beside a loop that runs already (notebooks)."""
    with ThreadPoolExecutor(1) as beside:
        return str(beside.submit(asyncio.run, probe).result())
