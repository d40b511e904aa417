"""`evenhand judge`: settings from study.toml and options, a run, and what it came to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from annotate.errors import UsageError
from annotate.study import Study, open_study
from judge.ask.fastchat_prompts import FastChatPrompt
from judge.ask.modes import Mode
from judge.ask.parse import PARSER_VERSION
from judge.bulk.batch_export import BatchExport, export_batch
from judge.bulk.batch_ingest import Ingested, ingest_batch
from judge.bulk.merge import Merged, merge
from judge.bulk.ray_runner import run_ray
from judge.commands.calling import CallOptions, called
from judge.commands.run_words import counted, forecast_text, summary_text, useless
from judge.database.store import VerdictStore
from judge.engine.anchor_runner import checks
from judge.engine.attack_runner import AttackReport, attack
from judge.engine.forecast import forecast
from judge.engine.manifests import differences, flat
from judge.engine.plan import Turns
from judge.engine.progress import progress_for
from judge.engine.prompt_files import prompts_for
from judge.engine.runner import run
from judge.engine.settings import JudgeSettings
from judge.engine.units import References
from judge.reporting.failure_words import failure_lines

PROBLEMS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """The options that say what a judge is asked (`cli_options`)."""

    mode: str = "pairwise"
    dimensions: tuple[str, ...] = ()
    prompts: tuple[Path, ...] = ()
    limit: int | None = None
    baseline: str = ""
    shard: str | None = None
    turns: Turns = "each"
    references: References = "auto"
    replicates: int = 1
    output: str | None = None
    name: str = ""

    @classmethod
    def take(cls, options: dict[str, Any]) -> PlanOptions:
        """Out of a command's options; the others stay."""
        return cls(**{f.name: options.pop(f.name) for f in fields(cls)})


@dataclass(frozen=True, slots=True)
class RayOptions:
    """The options of a run on a cluster (`evenhand judge run`)."""

    ray: bool = False
    ray_address: str | None = None
    ray_actors: int | None = None

    @classmethod
    def take(cls, options: dict[str, Any]) -> RayOptions:
        """Out of a command's options; the others stay.

        Raises:
            UsageError: there is a cluster to be used, but not to be run on.
        """
        found = cls(**{f.name: options.pop(f.name) for f in fields(cls)})
        if not found.ray and (found.ray_address or found.ray_actors):
            raise UsageError("--ray-address and --ray-actors belong to --ray; add it")
        return found


@contextmanager
def judge_settings(study: Study, calls: CallOptions, plan: PlanOptions) -> Iterator[JudgeSettings]:
    """A judge's settings, with its endpoint served while it is the offline model.

    Raises:
        UsageError: no endpoint is named, or an option does not fit.
    """
    chosen = study.settings.judge
    asked = prompts_for(study.settings.protocol, Mode(plan.mode), plan.dimensions, plan.prompts)
    own_words = any(isinstance(prompt, FastChatPrompt) for prompt in asked)
    with called(study, calls) as (local, endpoint):
        settings = JudgeSettings(
            **endpoint,
            mode=Mode(plan.mode),
            dimensions=tuple(prompt.dimension for prompt in asked),
            prompts=asked,
            limit=plan.limit,
            baseline=plan.baseline,
            shard=_shard(plan.shard),
            turns=plan.turns,
            references=plan.references,
            replicates=plan.replicates,
            temperature=chosen.temperature,
            # The small model answers in one tag; explanations only send it astray.
            max_tokens=None if local else chosen.max_tokens,
            # FastChat's templates ask for an explanation in their own words.
            explain=own_words or (chosen.explain and not local),
            seed=chosen.seed,
            output=plan.output or ("tag" if own_words else chosen.output),
            name=plan.name,
        )
        yield local.settings(settings) if local else settings


def run_judge(
    study: Study,
    calls: CallOptions,
    plan: PlanOptions,
    cluster: RayOptions,
    *,
    again: bool = False,
) -> tuple[str, str]:
    """Run the judge: what happened (with `dry_run`: what would), and why it is of no use, or "".

    Raises:
        ServiceError: no call came back at all.
    """
    if calls.local and cluster.ray_address:
        raise UsageError("--local serves this machine only: no --ray-address")
    with judge_settings(study, calls, plan) as settings:
        if calls.dry_run:
            return forecast_text(forecast(study.store, settings)), ""
        chosen = replace(settings, again=again)
        if cluster.ray:
            actors, address = cluster.ray_actors, cluster.ray_address
            found = run_ray(study.store, chosen, progress_for(), actors=actors, address=address)
        else:
            found = run(study.store, chosen, progress_for())
        return summary_text(found), useless(found)


def attack_judge(
    study: Study, calls: CallOptions, plan: PlanOptions, attacks: Sequence[str]
) -> str:
    """Judge padded answers against the originals, and say how often it fell for them."""
    if calls.dry_run:
        raise UsageError("an attack has no --dry-run; it makes 2 calls per answer, turn and attack")
    with judge_settings(study, calls, plan) as settings:
        return attack_text(attack(study, settings, attacks, progress_for()))


def export_requests(
    study: Study, calls: CallOptions, plan: PlanOptions, folder: Path, *, again: bool
) -> str:
    """Write what has no reply yet into batch files."""
    if calls.local or calls.local_model or calls.dry_run:
        raise UsageError("a batch file is for a service: no --local, no --dry-run")
    with judge_settings(study, calls, plan) as settings:
        return export_text(export_batch(study.store, settings, folder, again=again))


def ingest_answers(study: Study, files: Sequence[Path]) -> str:
    """Read a batch service's answers; lines that are none are listed."""
    return ingest_text(ingest_batch(study.store, files))


def merge_studies(study: Study, others: Sequence[Path]) -> str:
    """Bring the calls of workers on copies of the study into it."""
    lines = []
    for folder in others:
        if folder.resolve() == study.folder.resolve():
            raise UsageError(f"{folder}: is the study itself; give the workers' copies")
        other = open_study(folder)
        try:
            lines.append(merge_text(folder, merge(study.store, other.store)))
        finally:
            other.close()
    return "".join(lines)


def show_run(study: Study, name: str) -> str:
    """A run: its row, its manifest, what it came to."""
    verdicts = VerdictStore(study.store)
    found = verdicts.find(name)
    lines = [
        f"judge {found.name}: {found.state} ({found.kind}, {found.mode}, {found.id})",
        f"  started {found.created_at}, ended {found.finished_at or 'not yet'}",
        f"  replies: {counted(verdicts.counts(found.id))}",
        f"  verdicts: {counted(verdicts.judgment_counts(found.id))}",
        *failure_lines(verdicts.failures(found)),
    ]
    lines += [f"  anchor check {at}: {words}" for at, words in checks(verdicts, found.id)]
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


def attack_text(report: AttackReport) -> str:
    """How often a judge fell for answers that are only longer."""
    lines = [summary_text(report.summary).rstrip(), "padded answers against the originals:"]
    for found in report.results:
        share = "–" if found.fooled_share is None else f"{100 * found.fooled_share:.1f} %"
        lines.append(
            f"  {found.attack}: fooled {found.fooled:,} of {found.judged:,} ({share}),"
            f" resisted {found.resisted:,}, inconsistent {found.inconsistent:,}"
            + (f"; failed {found.failed:,}" if found.failed else "")
        )
    return "\n".join(lines) + "\n"


def export_text(found: BatchExport) -> str:
    """What was written for a batch service."""
    lines = [f"Wrote {path}: {count:,} requests" for path, count in found.files]
    lines.append(
        f"{found.planned:,} requests planned, {found.answered:,} answered before,"
        f" {found.outstanding:,} in files not read back yet"
    )
    if found.outstanding:
        lines.append(
            "  read their answers with: evenhand judge ingest-batch; or write them --again"
        )
    return "\n".join(lines) + "\n"


def ingest_text(found: Ingested) -> str:
    """What became of a batch service's lines."""
    refused = [problem for problem in found.problems if not problem.warning]
    lines = [
        f"{found.lines:,} lines: {found.replies:,} replies, {found.failures:,} failures,"
        f" {found.known:,} known before, {found.late:,} too late, {len(refused):,} not taken"
    ]
    lines += [f"  NOT TAKEN {problem}" for problem in refused[:PROBLEMS_SHOWN]]
    if len(refused) > PROBLEMS_SHOWN:
        lines.append(f"  … and {len(refused) - PROBLEMS_SHOWN:,} more of these")
    notes = [problem for problem in found.problems if problem.warning]
    lines += [f"  note {problem}" for problem in notes[:PROBLEMS_SHOWN]]
    lines += [
        f"  the service rejects parameter {name}: {fate}" for name, fate in found.rejected.items()
    ]
    return "\n".join(lines) + "\n"


def merge_text(folder: Path, found: Merged) -> str:
    """What one copy of a study brought."""
    words = f"{folder}: {found.calls:,} calls, {found.verdicts:,} verdicts added"
    if found.answers:
        words += f", {found.answers:,} answers"
    if found.foreign:
        words += f"; {found.foreign:,} items are about pairs or answers that are not here"
    return words + "\n"


def _shard(text: str | None) -> tuple[int, int] | None:
    """`2/4` as numbers.

    Raises:
        UsageError: it is written in another way.
    """
    if text is None:
        return None
    found = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text)
    if not found:
        raise UsageError(f"--shard {text}: expected K/N, such as 2/4")
    return int(found.group(1)), int(found.group(2))
