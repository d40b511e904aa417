"""The methods paragraph of a paper, with every number filled in, and BibTeX of what it uses."""

from __future__ import annotations

from collections.abc import Iterator

from judge.reporting import cells
from judge.reporting.findings import Findings
from judge.reporting.layout import counted, escaped, percent, safe
from judge.reporting.sources import bibliography
from judge.reporting.topics.reference import ReferenceSetup
from judge.reporting.topics.study import StudyFacts
from judge.reporting.values import Line, Report, RunFacts
from judge.reporting.wordings import people
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
        *([f"Counted here: {escaped(report.chosen)}."] if report.chosen else []),
        *(_judge(run) for run in report.runs),
        _statistics(report, cite),
        *(part for found in report.findings for part in _results(report, found)),
    ]
    body = "\n\n".join(paragraphs)
    return safe(f"# Methods\n\n{body}\n\n```bibtex\n{bibliography(cite.keys)}```\n")


def _study(facts: StudyFacts) -> str:
    raters = sum(facts.raters.values())
    groups = [f"{n} in group {escaped(name)}" for name, n in facts.raters.items() if name]
    among = f" ({', '.join(groups)})" if groups else ""
    questions = [f"{counted(n, 'question')} of {escaped(b)}" for b, n in facts.questions.items()]
    answers = (
        f"answers of {counted(len(facts.models), 'model')} to"
        f" {' and '.join(questions) or 'no question'}"
    )
    said = (
        f"{counted(raters, 'rater')}{among} compared {answers}, two answers at a time."
        if raters
        else f"No person compared the {answers}."
    )
    here = facts.votes.get("cast here", 0)
    imported = facts.votes.get("imported", 0)
    simulated = facts.votes.get("simulated", 0)
    if here:
        said += (
            f" {_votes(here)} cast in Evenhand: the two answers side by side, without the"
            " names of their models, in an order balanced within pairs and raters and recorded"
            f" with each vote; {facts.overlap} raters were planned per pair."
        )
    if imported:
        said += (
            f" {_votes(imported)} imported; how these were shown to their raters is not known"
            " to this study."
        )
    if simulated:
        said += f" {_votes(simulated)} made by a program, and are no person's."
    for name in ("population", "recruitment", "pay", "ethics", "training"):
        if words := facts.human_subjects.get(name):
            said += f" {name.capitalize()}: {escaped(words).rstrip('.')}."
    return said


def _votes(n: int) -> str:
    return f"{n:,} vote was" if n == 1 else f"{n:,} votes were"


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
    """What was computed: of measures that this report has no figure of, not a word."""
    said = []
    if report.findings:
        said.append(
            "Agreement is counted per vote: a vote beside the judge's verdict on the same two"
            " answers and turn, in three categories with ties (S1), and on the rows where both"
            f" name a winner (S2) {cite('zheng2023judging')}."
        )
    if any(part.blocks for part in report.dimensions):
        said.append(
            f"Cohen's kappa {cite('cohen1960coefficient')} is symmetrised over which model is"
            f" called first; Krippendorff's alpha {cite('krippendorff2018content')} and Gwet's AC1"
            f" {cite('gwet2008computing')} stand beside it."
        )
    said.append(
        f"Intervals are {100 * report.level:g} % percentile intervals of a cluster bootstrap over"
        f" questions ({report.resamples:,} resamples, seed {report.seed})"
        f" {cite('field2007bootstrapping')}; where nothing else is said, they are conditional on"
        " the raters."
    )
    if any(one.pairs.difference.value is not None for one in _references(report)):
        said.append(
            "The human reference is matched: judge and second rater on the same units, pairs of"
            " votes and rows, with the difference from one joint bootstrap, its interval corrected"
            f" for bias and acceleration {cite('efron1987better')}."
        )
    if report.findings:
        said.append(
            "Excess is the judge's agreement minus that of a guess that reads nothing, on the same"
            " rows; within-pair kappa computes chance per pair of models"
            f" {cite('barlow1991comparison')}."
        )
    return " ".join(said)


def _references(report: Report) -> Iterator[ReferenceSetup]:
    return (setup for found in report.findings for setup in found.reference.setups)


def _results(report: Report, found: Findings) -> Iterator[str]:
    """One population's figures beside one judge; votes of a program are never called people's."""
    where = f"{escaped(found.dimension)} ({escaped(found.population)})"
    judge = f"judge {escaped(found.judge)}"
    who = people(found.simulated)
    person = "simulated rater" if found.simulated else "person"
    lines = _lines(report, found)
    if not lines:
        reason = found.excess.setups[0].agreement.reason
        yield f"On {where}, how far {judge} agrees with {who} is undefined: {escaped(reason)}."
        return
    yield f"On {where}, {judge} agrees with {who} {' and '.join(map(_agreement, lines))}."
    for one in found.excess.setups:
        line = one.best_line
        if line is not None and line.excess.value is not None:
            kappa = (
                f", and its within-pair kappa {cells.coefficient(one.within_pair_kappa).text}"
                if one.within_pair_kappa.value is not None
                else ""
            )
            yield (
                f"On {one.setup} the best blind guess ({line.baseline}) agrees with {who} on"
                f" {cells.share(line.agreement).text} % of the same rows; the excess of {judge}"
                f" is {cells.points(line.excess).text} percentage points{kappa}."
            )
    for setup in found.reference.setups:
        gap = setup.pairs.difference
        if gap.value is not None:
            yield (
                f"On matched rows ({setup.setup}) {judge} agrees with a {person}"
                f" on {cells.share(setup.pairs.judge_human).text} % and a second {person} on"
                f" {cells.share(setup.pairs.human_human).text} %: a difference of"
                f" {cells.points(gap).text} points."
            )


def _lines(report: Report, found: Findings) -> list[Line]:
    """Agreement of a scope in each setup that has any: of all its turns, or of its dialogues."""
    blocks = (
        block
        for part in report.dimensions
        if part.dimension == found.dimension
        for block in part.blocks
        if block.simulated == found.simulated  # the first of these is everyone's
    )
    block = next(blocks, None)
    first: dict[str, Line] = {}
    for line in block.lines if block else ():
        mine = line.comparison != HUMAN_HUMAN and line.judge == found.judge
        if mine and (line.turn == 0) == found.whole_dialogues:
            first.setdefault(line.setup, line)
    return [line for line in first.values() if line.agreement.value is not None]


def _agreement(line: Line) -> str:
    """`on 63.0 [58.1, 68.0] % of 2,668 votes (S1; kappa …)`."""
    coverage = (
        f", {percent(line.coverage.value)} % of the rows"
        if line.coverage is not None and line.coverage.value is not None
        else ""
    )
    return (
        f"on {cells.share(line.agreement).text} % of {line.agreement.denominator or 0:,}"
        f" {'vote' if line.agreement.denominator == 1 else 'votes'} ({line.setup}{coverage}; kappa"
        f" {cells.coefficient(line.kappa_symmetrised).text})"
    )
