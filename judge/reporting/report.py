"""The agreement report as text for a terminal, as Markdown and as JSON.

Pure but for :func:`write`; no times, paths or versions inside, so that the same table gives
the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, fields
from itertools import groupby
from pathlib import Path
from string import ascii_lowercase

from judge.reporting import grade_pages, one_judge_pages
from judge.reporting.layout import (
    aligned,
    counted,
    escaped,
    markdown_table,
    percent,
    safe,
    tallied,
    widths_of,
    wrapped,
)
from judge.reporting.plain import plain
from judge.reporting.values import Block, DimensionReport, JudgeCounts, Line, Report, VoteCounts
from judge.stats.estimate import Estimate
from judge.stats.views import comparison_words, turn_words

SCHEMA = "evenhand.report/1"
TITLE = "Agreement report"

DEFINITIONS = {
    "S1": "all rows in three categories, A better, tie, B better; both_bad merged with tie",
    "S2": "only rows on which both sides name a winner; coverage is their share of S1's rows",
    "human–human": "all pairs of votes by different raters on one unit (pair of answers × turn); "
    "not the same units as the judge's rows, so no ceiling for the judge",
    "judge–human": "one row per vote, beside the judge's verdict on the same unit; "
    "failed or missing verdicts are left out and counted",
    "agree": "rows on which both judgments are the same, of all rows; takes no account of chance",
    "kappa*": "Cohen's kappa, symmetrised over which model is called A: 1 always the same, "
    "0 as chance would have it, below 0 less; on S2 it is 2p − 1",
    "alpha": "Krippendorff's alpha, nominal: 1, 0, below 0 as for kappa*; chance from pooled votes",
    "majority": "the outcome of more than half of the judges, ties of both kinds as one; "
    "otherwise the panel abstains, which is no verdict",
    **one_judge_pages.DEFINITIONS,
    **grade_pages.DEFINITIONS,
}

HEADINGS = ("turn", "setup", "agree", "percent", "kappa*", "alpha", "coverage")


def to_text(report: Report) -> str:
    """For a terminal, at most 100 columns wide where names allow."""
    out = [TITLE, "=" * len(TITLE), _settings(report)]
    for fact in _run_facts(report):
        out += wrapped(fact, first="", rest="  ")
    out.append("")
    for part in report.dimensions:
        heading = f"Dimension: {part.dimension}"
        out += [heading, "-" * len(heading)]
        out += [f"  {line}" for line in _dimension_facts(part)]
        for block in part.blocks:
            out += ["", *_block_text(block)]
        for line in _panel_facts(part):
            out += ["", *wrapped(line, first="  ", rest="    ")]
        for block in part.side_by_side:
            out += ["", *_block_text(block)]
        for figures in part.figures:
            out += ["", *one_judge_pages.text_lines(figures)]
        out.append("")
    for table in report.grades:
        out += [*grade_pages.text_lines(table), ""]
    out.append("How to read")
    width = max(map(len, DEFINITIONS)) + 2
    for word, meaning in DEFINITIONS.items():
        out += wrapped(meaning, first=f"  {word:<{width}}", rest=" " * (width + 2))
    return safe("\n".join(out) + "\n")


def to_markdown(report: Report) -> str:
    """For a page or a repository; one table per population."""
    out = [f"# {TITLE}", "", _settings(report), ""]
    if facts := [f"- {escaped(fact)}" for fact in _run_facts(report)]:
        out += [*facts, ""]
    for part in report.dimensions:
        out += [f"## Dimension: {escaped(part.dimension)}", ""]
        out += [f"- {escaped(fact)}" for fact in _dimension_facts(part)]
        for block in part.blocks:
            out += _block_markdown(block)
        for line in _panel_facts(part):
            out += ["", f"**{escaped(line)}**"]
        for block in part.side_by_side:
            out += _block_markdown(block)
        for figures in part.figures:
            out += ["", *one_judge_pages.markdown_lines(figures)]
        out.append("")
    if report.grades:
        out += ["## Grades", ""]
    for table in report.grades:
        out += [*grade_pages.markdown_lines(table), ""]
    out += ["## How to read", ""]
    out += [f"- **{escaped(word)}**: {meaning}" for word, meaning in DEFINITIONS.items()]
    return safe("\n".join(out) + "\n")


def to_json(report: Report) -> str:
    """Everything, every estimate in full; sorted keys, no nan, same report same bytes."""
    value = {
        "schema": SCHEMA,
        "title": TITLE,
        "settings": {
            "level": report.level,
            "resamples": report.resamples,
            "seed": report.seed,
            "resampled": "questions",
        },
        "definitions": DEFINITIONS,
        "dimensions": [_dimension_json(part) for part in report.dimensions],
        "analysis_plan": report.plan,
        "runs": [plain(run) for run in report.runs],
        "grades": [grade_pages.to_json(table) for table in report.grades],
    }
    return json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def write(report: Report, out_dir: Path) -> list[Path]:
    """Write report.md and report.json into a folder, which is made if need be."""
    out_dir.mkdir(parents=True, exist_ok=True)
    written = []
    for name, render in _WRITTEN.items():
        path = out_dir / name
        path.write_bytes(render(report).encode("utf-8", "replace"))
        written.append(path)
    return written


_WRITTEN: Mapping[str, Callable[[Report], str]] = {
    "report.md": to_markdown,
    "report.json": to_json,
}


def _settings(report: Report) -> str:
    return (
        f"{100 * report.level:g} % intervals: cluster bootstrap by question,"
        f" {report.resamples:,} resamples, seed {report.seed}"
    )


def _run_facts(report: Report) -> Iterator[str]:
    """Whether a plan was kept, and which judge is behind which name."""
    if report.plan:
        yield report.plan
    for run in report.runs:
        if run.kind == "imported":
            yield f"judge {run.name}: verdicts from a file, no manifest"
        else:
            yield (
                f"judge {run.name}: {run.mode}, model {run.manifest.get('requested_model')} at"
                f" {run.manifest.get('endpoint')}, fingerprint {run.fingerprint[:12]}"
                f" (evenhand judge show)"
            )


def _dimension_facts(part: DimensionReport) -> list[str]:
    facts = []
    for judge in part.judges:
        reasons = [f"{n} {reason}" for reason, n in judge.tie_reasons.items()]
        parts = [
            f"judge {judge.judge}: {counted(judge.verdicts, 'pair verdict')}",
            f"{judge.usable} usable",
            counted(judge.ties, "tie") + (f" ({', '.join(reasons)})" if reasons else ""),
            *([f"{judge.both_bad} both bad"] if judge.both_bad else []),
            *(f"{n} {status}" for status, n in judge.failed.items()),
        ]
        facts.append(", ".join(parts))
    for name, found in part.stability:
        facts.append(f"judge {name}, {grade_pages.stability_words(found)}")
    return facts + list(part.notes)


def _panel_facts(part: DimensionReport) -> Iterator[str]:
    """What the judges have in common, as the heading of the comparison."""
    if part.panel is not None:
        panel = part.panel
        yield (
            f"Side by side, on the {counted(panel.units, 'unit')} that all of"
            f" {', '.join(panel.judges)} judged ({panel.left_out} left out);"
            f" the majority abstains on {panel.abstained}"
        )


def _heading(block: Block) -> str:
    return block.population[0].upper() + block.population[1:]


def _facts(block: Block) -> list[str]:
    c = block.counts
    facts = [
        f"{counted(c.questions, 'question')}, {counted(c.pairs, 'pair')},"
        f" {counted(c.units, 'unit')} (pair × turn), {c.units_with_two_votes} of them with two"
        " or more votes",
        f"{counted(c.raters, 'rater')}, {counted(c.votes, 'vote')}:"
        f" {counted(c.ties, 'tie')}, {c.both_bad} both bad",
    ]
    if c.excluded:
        facts.append(f"votes not used: {tallied(c.excluded)}")
    return facts + list(block.notes)


def _block_text(block: Block) -> Iterator[str]:
    yield from wrapped(_heading(block), first="  ", rest="    ")
    for fact in _facts(block):
        yield from wrapped(fact, first="    ", rest="      ")
    undefined, marks = _undefined_comparisons(block), _marks(block)
    shown = [line for line in block.lines if (line.comparison, line.judge) not in undefined]
    rows = [_cells(line, marks) for line in shown]
    widths = widths_of(HEADINGS, rows)
    if rows:
        yield ""
        yield "    " + aligned(HEADINGS, widths, words=2)
    for key, lines in groupby(block.lines, key=lambda line: (line.comparison, line.judge)):
        if key in undefined:
            yield from wrapped(undefined[key], first="  ", rest="    ")
            continue
        yield f"  {comparison_words(*key, simulated=block.simulated)}"
        yield from (f"    {aligned(_cells(line, marks), widths, words=2)}" for line in lines)
    for remark in _remarks(block):
        yield from wrapped(remark, first="    ", rest="      ")


def _block_markdown(block: Block) -> Iterator[str]:
    yield from ("", f"### {escaped(_heading(block))}", "")
    yield from (f"- {escaped(line)}" for line in _facts(block))
    undefined, marks = _undefined_comparisons(block), _marks(block)
    yield from (f"- {escaped(line)}" for line in undefined.values())
    rows = [
        (
            comparison_words(line.comparison, line.judge, simulated=block.simulated),
            *_cells(line, marks),
        )
        for line in block.lines
        if (line.comparison, line.judge) not in undefined
    ]
    if rows:
        yield from ("", *markdown_table(("comparison", *HEADINGS), rows, words=3))
    if remarks := _remarks(block):
        yield from ("", *(f"- {escaped(remark)}" for remark in remarks))


def _undefined_comparisons(block: Block) -> dict[tuple[str, str], str]:
    """Comparisons without a single figure, said in words instead of a table of dashes."""
    result = {}
    for key, group in groupby(block.lines, key=lambda line: (line.comparison, line.judge)):
        lines = list(group)
        if all(line.agreement.value is None for line in lines):
            first = lines[0].agreement
            named = comparison_words(*key, simulated=block.simulated)
            words = f"{named}: undefined: {first.reason}"
            if first.excluded:
                words += f" ({tallied(first.excluded)})"
            result[key] = words
    return result


def _cells(line: Line, marks: Mapping[str, str]) -> tuple[str, ...]:
    agreement = line.agreement
    return (
        {None: "all", 0: "whole"}.get(line.turn, str(line.turn)),
        line.setup,
        f"{agreement.numerator}/{agreement.denominator}",
        _figure(agreement, percent, marks),
        _figure(line.kappa_symmetrised, _coefficient, marks),
        _figure(line.alpha, _coefficient, marks),
        _coverage(line),
    )


def _figure(estimate: Estimate, words: Callable[[float], str], marks: Mapping[str, str]) -> str:
    if estimate.value is None:
        return f"undefined ({marks[estimate.reason]})"
    if estimate.low is None or estimate.high is None:
        return f"{words(estimate.value)} [– {marks[estimate.reason]}]"
    return f"{words(estimate.value)} [{words(estimate.low)}, {words(estimate.high)}]"


def _coverage(line: Line) -> str:
    if line.coverage is None:
        return ""
    return "–" if line.coverage.value is None else f"{percent(line.coverage.value)} %"


def _marks(block: Block) -> dict[str, str]:
    """A letter for each reason why a shown figure or its interval is missing."""
    undefined = _undefined_comparisons(block)
    reasons: dict[str, None] = {}
    for line in block.lines:
        if (line.comparison, line.judge) not in undefined:
            for estimate in (line.agreement, line.kappa_symmetrised, line.alpha):
                if estimate.reason:
                    reasons.setdefault(estimate.reason)
    return {reason: ascii_lowercase[i % 26] * (i // 26 + 1) for i, reason in enumerate(reasons)}


def _remarks(block: Block) -> list[str]:
    """What the letters mean, and which votes entered no row."""
    remarks = [f"({mark}) {reason}" for reason, mark in _marks(block).items()]
    for line in block.lines:
        # Of each comparison the first line of S1 covers the most turns.
        first = line.setup == "S1" and line.turn == block.lines[0].turn
        if first and line.agreement.value is not None and line.agreement.excluded:
            named = comparison_words(line.comparison, line.judge, simulated=block.simulated)
            left_out = tallied(line.agreement.excluded)
            remarks.append(f"votes in no row of {named}, {turn_words(line.turn)}: {left_out}")
    return remarks


def _dimension_json(part: DimensionReport) -> dict[str, object]:
    return {
        "dimension": part.dimension,
        "notes": list(part.notes),
        "judges": [_counts_json(judge) for judge in part.judges],
        "blocks": [_block_json(block) for block in part.blocks],
        "figures": [one_judge_pages.to_json(figures) for figures in part.figures],
        "stability": [{"judge": name, **plain(found)} for name, found in part.stability],
        "panel": plain(part.panel),
        "side_by_side": [_block_json(block) for block in part.side_by_side],
    }


def _block_json(block: Block) -> dict[str, object]:
    return {
        "population": block.population,
        "group": block.group,
        "simulated": block.simulated,
        "counts": _counts_json(block.counts),
        "notes": list(block.notes),
        "lines": [_line_json(line) for line in block.lines],
    }


def _counts_json(counts: VoteCounts | JudgeCounts) -> dict[str, object]:
    return asdict(counts)


def _line_json(line: Line) -> dict[str, object]:
    result: dict[str, object] = {}
    for field in fields(line):
        value = getattr(line, field.name)
        result[field.name] = value.to_json() if isinstance(value, Estimate) else value
    return result | {"turns": turn_words(line.turn)}


def _coefficient(value: float) -> str:
    """Without the leading zero, so that two intervals fit beside each other."""
    return (
        f"{round(value, 3) + 0.0:.3f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.3f}"
    )
