"""What a judge is: its settings, the fingerprint that tells it from others, the manifest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

from annotate.records import HARMLESSNESS, digest
from judge.ask.fastchat_prompts import FastChatPrompt
from judge.ask.modes import Mode
from judge.ask.parse import PARSER_VERSION
from judge.ask.prompt import JudgePrompt, load
from judge.ask.verdicts import AGGREGATION
from judge.engine.call_settings import CallSettings, require, versions
from judge.engine.plan import ORDER_PLAN, PlanSpec, Turns
from judge.engine.preflight import Preflight
from judge.engine.units import References
from judge.stats.anchor import ANCHORS

VERDICT_TOKENS = 32
HARM_TOKENS = 160
EXPLAIN_TOKENS = 512
OUTPUTS = ("tag", "json", "auto")


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSettings(CallSettings):
    """Everything a judge's run depends on; checked when made.

    `max_tokens` None means enough for a verdict (with `explain`: for an explanation).
    `prompts` replaces the shipped prompts of `dimensions`, one for one. `baseline` names the
    model that every pair must have (pairwise only). `turns` judges each turn that was asked,
    only the last, or the dialogue as a whole. `references` shows reference solutions where
    there are any, demands them, or shows none. `shard` (k, n) is the k-th of n parts of the
    plan, for workers on copies of the study (`judge.bulk.merge` brings them together).
    `again` also asks what stands in batch files that were not read back yet.
    `anchors` stored verdicts are asked for again when the endpoint serves another fingerprint.
    `output` is `tag`, `json` (under a schema) or `auto`: json where the endpoint can; a run
    writes what it found out about that into `output_probe`.
    """

    mode: Mode = Mode.PAIRWISE
    dimensions: tuple[str, ...] = (HARMLESSNESS,)
    prompts: tuple[JudgePrompt, ...] = ()
    limit: int | None = None
    baseline: str = ""
    turns: Turns = "each"
    references: References = "auto"
    replicates: int = 1
    shard: tuple[int, int] | None = None
    explain: bool = False
    output: str = "tag"
    output_probe: Mapping[str, Any] = field(default_factory=dict)
    anchors: int = ANCHORS
    again: bool = False

    def __post_init__(self) -> None:
        """Refuse what no run could use.

        Raises:
            UsageError: names the setting, its value and what was expected.
        """
        # No zero-argument super(): `slots` makes another class than the one it is bound to.
        CallSettings.__post_init__(self)
        require(bool(self.dimensions), "dimensions", self.dimensions, "one or more")
        require(self.output in OUTPUTS, "output", self.output, f"one of {', '.join(OUTPUTS)}")
        unique = len(set(self.dimensions)) == len(self.dimensions)
        require(unique, "dimensions", self.dimensions, "each one once")
        for name, known in (("turns", get_args(Turns)), ("references", get_args(References))):
            value = getattr(self, name)
            require(value in known, name, value, f"one of {', '.join(known)}")
        require(self.limit is None or self.limit > 0, "limit", self.limit, "more than 0")
        require(self.anchors >= 0, "anchors", self.anchors, "0 or more")
        require(self.replicates > 0, "replicates", self.replicates, "1 or more")
        part, parts = self.shard or (1, 1)
        require(1 <= part <= parts, "shard", f"{part}/{parts}", "K/N with 1 ≤ K ≤ N")
        paired = self.mode is Mode.PAIRWISE or not self.baseline
        require(paired, "baseline", self.baseline, f"none: {self.mode} is about single answers")
        foreign = sorted({p.mode for p in self.asked} - {self.mode})
        require(not foreign, "prompts", foreign, f"prompts for {self.mode}")
        if self.output != "tag":
            fixed = [p.id for p in self.asked if isinstance(p, FastChatPrompt)]
            require(not fixed, "output", self.output, f"tag: {', '.join(fixed)} asks for tags")

    @property
    def asked(self) -> tuple[JudgePrompt, ...]:
        """What is asked, in the order of the plan."""
        return self.prompts or tuple(load(name, self.mode) for name in self.dimensions)

    @property
    def reply_tokens(self) -> int:
        """The most tokens of a reply."""
        if self.max_tokens:
            return self.max_tokens
        needed = HARM_TOKENS if self.mode is Mode.HARM else VERDICT_TOKENS
        return EXPLAIN_TOKENS + needed - VERDICT_TOKENS if self.explain else needed

    @property
    def sampling(self) -> dict[str, Any]:
        """The part of a request's body that is not model or messages."""
        return self.sampled(self.temperature, self.reply_tokens)


def fingerprint(settings: JudgeSettings) -> str:
    """SHA-256 of what makes two runs the same judge: model, prompts, sampling, rule."""
    return digest(_judge(settings))


def manifest(settings: JudgeSettings, found: Preflight) -> dict[str, Any]:
    """Everything that defines this start of a run; no secret is in it."""
    return {
        **_judge(settings),
        "fingerprint": fingerprint(settings),
        "endpoint": settings.endpoint_name,
        "endpoints": settings.shares(),
        "endpoint_details": dict(settings.endpoint_details),
        "data_digest": found.data_digest,
        "output_probe": dict(settings.output_probe),
        "references": dict(found.references),
        "units": found.units,
        "limit": settings.limit,
        "baseline": settings.baseline,
        "turns": settings.turns,
        "replicates": settings.replicates,
        "order_plan": ORDER_PLAN if settings.mode is Mode.PAIRWISE else "single",
        "parser": PARSER_VERSION,
        "versions": versions(),
    }


def _judge(settings: JudgeSettings) -> dict[str, Any]:
    """What the fingerprint is taken over."""
    prompts = sorted(settings.asked, key=lambda p: p.dimension)
    form = "json schema" if settings.output == "json" else "tag"
    return {
        "requested_model": settings.model,
        "mode": settings.mode,
        "prompts": [
            {"id": p.id, "version": p.version, "dimension": p.dimension, "hash": p.hash}
            for p in prompts
        ],
        "sampling": settings.sampling,
        "output_mode": form + (" with explanation" if settings.explain else ""),
        "reference_policy": settings.references,
        "aggregation": AGGREGATION if settings.mode is Mode.PAIRWISE else "none",
    }


def plan_spec(settings: JudgeSettings) -> PlanSpec:
    """What these settings put into every request."""
    return PlanSpec(
        endpoint=settings.endpoint_name,
        model=settings.model,
        prompts=settings.asked,
        sampling=settings.sampling,
        explain=settings.explain,
        as_json=settings.output == "json",
        replicates=settings.replicates,
        turns=settings.turns,
    )
