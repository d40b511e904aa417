"""The methods paragraph of a paper, with every number filled in, and BibTeX of what it uses."""

from __future__ import annotations

from collections.abc import Iterator

from judge.reporting import cells
from judge.reporting.findings import Findings
from judge.reporting.layout import counted, escaped, percent, safe
from judge.reporting.sources import bibliography
from judge.reporting.topics.study import StudyFacts
from judge.reporting.values import Block, Report, RunFacts
from judge.stats.agreement import S1
from judge.stats.views import HUMAN_HUMAN


class _Cited:
    """Collects what a text cites, in the form that pandoc and most editors read."""

    def __init__(self) -> None:
        self.keys: list[str] = []

    def __call__(self, *keys: str) -> str:
        self.keys += keys
        return "[" + "; ".join(f"@{key}" for key in keys) + "]"


def methods_markdown(report: Report) -> str:
    """`methods.md`: paragraphs to copy, then the BibTeX of exactly what they cite."""
    cite = _Cited()
    paragraphs = [
        *([_study(report.study)] if report.study else []),
        *(_judge(run) for run in report.runs),
        _statistics(report, cite),
        *(part for found in report.findings for part in _results(report, found)),
    ]
    body = "\n\n".join(paragraphs)
    return safe(f"# Methods\n\n{body}\n\n```bibtex\n{bibliography(cite.keys)}```\n")


def _study(facts: StudyFacts) -> str:
    people = sum(facts.raters.values())
    groups = [f"{n} in group {escaped(name)}" for name, n in facts.raters.items() if name]
    among = f" ({', '.join(groups)})" if groups else ""
    questions = [f"{counted(n, 'question')} of {escaped(b)}" for b, n in facts.questions.items()]
    said = (
        f"{counted(people, 'rater')}{among} compared answers of"
        f" {counted(len(facts.models), 'model')} to {' and '.join(questions) or 'no question'},"
        " two answers at a time."
    )
    here = facts.votes.get("cast here", 0)
    imported = facts.votes.get("imported", 0)
    if here:
        said += (
            f" {here:,} votes were cast in Evenhand: the two answers side by side, without the"
            " names of their models, in an order balanced within pairs and raters and recorded"
            f" with each vote; {facts.overlap} raters were planned per pair."
        )
    if imported:
        said += (
            f" {imported:,} votes were imported; how these were shown to their raters is not known"
            " to this study."
        )
    for name in ("population", "recruitment", "pay", "ethics", "training"):
        if words := facts.human_subjects.get(name):
            said += f" {name.capitalize()}: {escaped(words).rstrip('.')}."
    return said


def _judge(run: RunFacts) -> str:
    name = escaped(run.name)
    if run.kind == "imported":
        return f"The verdicts of judge {name} were imported; its prompt and settings are not known."
    manifest = run.manifest
    orders = (
        " Each pair was judged in both orders; verdicts that differ between them count as ties."
        if run.mode == "pairwise"
        else ""
    )
    return (
        f"Judge {name} is the model {escaped(str(manifest.get('requested_model')))}"
        f" ({run.mode}; fingerprint {run.fingerprint[:12]}).{orders} A failed call is no verdict:"
        " it is excluded and counted."
    )


def _statistics(report: Report, cite: _Cited) -> str:
    return (
        "Agreement is counted per vote: a person's vote beside the judge's verdict on the same two"
        " answers and turn, in three categories with ties (S1), and on the rows where both name a"
        f" winner (S2) {cite('zheng2023judging')}. Cohen's kappa {cite('cohen1960coefficient')} is"
        " symmetrised over which model is called first; Krippendorff's alpha"
        f" {cite('krippendorff2018content')} and Gwet's AC1 {cite('gwet2008computing')} stand"
        f" beside it. Intervals are {100 * report.level:g} % percentile intervals of a cluster"
        f" bootstrap over questions ({report.resamples:,} resamples, seed {report.seed})"
        f" {cite('field2007bootstrapping')}; they are conditional on the raters. The human"
        " reference is matched: judge and second person on the same units, pairs of votes and"
        " rows, with the difference from one joint bootstrap. Excess is the judge's agreement"
        " minus that of a guess that reads nothing, on the same rows; within-pair kappa computes"
        f" chance per pair of models {cite('barlow1991comparison')}."
    )


def _results(report: Report, found: Findings) -> Iterator[str]:
    block = _block(report, found)
    if block is not None:
        yield _agreement(block, found)
    for one in found.excess.setups:
        line = one.best_line
        if line is not None and line.excess.value is not None:
            kappa = cells.coefficient(one.within_pair_kappa).text
            yield (
                f"On {one.setup} the best blind guess ({line.baseline}) agrees with people on"
                f" {cells.share(line.agreement).text} % of the same rows; the excess of the judge"
                f" is {cells.points(line.excess).text} percentage points, and its within-pair kappa"
                f" {kappa}."
            )
    for setup in found.reference.setups:
        gap = setup.pairs.difference
        if gap.value is not None:
            yield (
                f"On matched rows ({setup.setup}) judge {escaped(found.judge)} agrees with a person"
                f" on {cells.share(setup.pairs.judge_human).text} % and a second person on"
                f" {cells.share(setup.pairs.human_human).text} %: a difference of"
                f" {cells.points(gap).text} points."
            )


def _block(report: Report, found: Findings) -> Block | None:
    """The population's own tables: of the same dimension and group."""
    for part in report.dimensions:
        if part.dimension == found.dimension:
            for block in part.blocks:
                if block.simulated == found.simulated and block.group in (found.group, "all"):
                    return block
            return part.blocks[0] if part.blocks else None
    return None


def _agreement(block: Block, found: Findings) -> str:
    said = (
        f"On {escaped(found.dimension)} ({escaped(block.population)}: {block.counts.votes:,} votes"
        f" on {block.counts.units:,} units)"
    )
    for line in block.lines:
        if line.comparison != HUMAN_HUMAN and line.judge == found.judge and line.agreement.value:
            coverage = (
                f", on {percent(line.coverage.value)} % of the rows"
                if line.coverage is not None and line.coverage.value is not None
                else ""
            )
            said += (
                f"{',' if line.setup == S1 else ' and'} judge {escaped(found.judge)} agrees with"
                f" people on {cells.share(line.agreement).text} % ({line.setup}{coverage}; kappa"
                f" {cells.coefficient(line.kappa_symmetrised).text})"
            )
            if line.setup != S1:
                break
    return f"{said}."
