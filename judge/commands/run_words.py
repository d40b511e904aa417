"""Runs in words, for the command line and the console."""

from __future__ import annotations

from collections.abc import Mapping

from judge.engine.answer_runner import AnswerSummary
from judge.engine.call_settings import HOW_TO_PRICE
from judge.engine.forecast import Forecast
from judge.engine.tally import RunSummary
from judge.reporting.failure_words import failure_lines

WARNINGS_SHOWN = 20


def summary_text(summary: RunSummary) -> str:
    """A judge's run in a few lines."""
    lines = [
        f"judge {summary.name}: {summary.state}",
        *_calls(summary),
        f"  replies: {counted(summary.statuses)}",
        f"  verdicts: {counted(summary.judgments)}",
        *failure_lines(summary.failures),
        *_cost(summary),
    ]
    lines += [f"  warning: {warning}" for warning in summary.warnings[:WARNINGS_SHOWN]]
    return "\n".join(lines) + "\n"


def useless(summary: RunSummary) -> str:
    """Why a run that made calls has not one usable verdict, "" if it has (or made none)."""
    if not summary.calls or summary.statuses.get("ok"):
        return ""
    return (
        f"no reply of run {summary.name} could be used ({counted(summary.statuses)}); see them in"
        " the console or with judge show, correct the prompt, model or output form, and ask again"
        " with --retry-failed"
    )


def answer_text(summary: AnswerSummary) -> str:
    """A model's answering in a few lines."""
    lines = [
        f"{summary.name}: {summary.state}",
        *_calls(summary),
        f"  replies: {counted(summary.statuses)}",
        f"  dialogues: {summary.dialogues:,} whole, {summary.incomplete:,} not;"
        f" {summary.pairs_added:,} pairs made with model {summary.model}",
        *_cost(summary),
    ]
    if cut := summary.statuses.get("truncated"):
        lines.append(f"  warning: {cut:,} replies were cut off at their budget and count as said")
    lines += [f"  warning: {warning}" for warning in summary.warnings[:WARNINGS_SHOWN]]
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
        least, most = (dollars(value) for value in found.usd)
        lines.append(f"  price: {least} to {most} ({found.price_source})")
    lines += [f"  warning: {warning}" for warning in found.warnings[:WARNINGS_SHOWN]]
    return "\n".join(lines) + "\n"


def dollars(value: float) -> str:
    """Dollars and cents, with more places where they would read 0.00."""
    return f"${value:,.2f}" if value >= 1 or not value else f"${value:.4f}"


def counted(counts: Mapping[str, int]) -> str:
    """Counts by name in one line."""
    return ", ".join(f"{n:,} {name}" for name, n in sorted(counts.items())) or "none"


def _calls(summary: RunSummary | AnswerSummary) -> list[str]:
    return [
        f"  requests: {summary.planned:,} planned, {summary.cached:,} answered before,"
        f" {summary.calls:,} calls made in {summary.seconds:.1f} s"
    ]


def _cost(summary: RunSummary | AnswerSummary) -> list[str]:
    unknown = summary.tokens_unknown
    lines = [
        f"  tokens: {summary.prompt_tokens:,} in, {summary.completion_tokens:,} out"
        + (f", unknown for {unknown:,} calls" if unknown else "")
    ]
    if summary.usd:
        lines.append(f"  price: {dollars(summary.usd)} for the run so far")
    return lines
