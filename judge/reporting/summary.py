"""The agreement report as values: per dimension and population, who agrees with whom.

`judge.reporting.report` renders it. Room is kept for what comes later (matched reference, blind
baselines, simultaneous bands): they are further estimates on a `Line` or further lines, from
the same resampled totals.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from annotate.errors import NothingComputable, UsageError
from annotate.records import Layer, Outcome, SourceKind, Status
from judge.reporting.findings import findings
from judge.reporting.layout import tallied
from judge.reporting.scope import Material, Settings, choose, population_words, scopes
from judge.reporting.topics import harm_labels
from judge.reporting.topics.study import StudyFacts
from judge.reporting.values import (
    Block,
    DimensionReport,
    JudgeCounts,
    Line,
    Report,
    RunFacts,
    VoteCounts,
)
from judge.stats import views
from judge.stats.agreement import S1, Votes, pair_judgments, select_verdicts, select_votes, tally
from judge.stats.bands import INDICATIVE_BELOW
from judge.stats.coefficients import FloatArray
from judge.stats.estimate import Estimate
from judge.stats.grades import Questions, grade_tables
from judge.stats.intervals import percentile_interval, resampled_totals
from judge.stats.one_judge import judge_figures
from judge.stats.panel import Panel, panel_of
from judge.stats.replicates import Stability, stability
from judge.stats.views import View

FEWEST_RESAMPLES = 100


def agreement_report(
    table: pd.DataFrame,
    *,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 7,
    questions: Questions | None = None,
    runs: Sequence[RunFacts] = (),
    plan: str = "",
    judgments: pd.DataFrame | None = None,
) -> Report:
    """Everything that votes and verdicts say about agreement, from one tidy table.

    Args:
        table: DESIGN §2's columns (see `judge.stats.agreement.COLUMNS`); row order is irrelevant.
        level: confidence level, in (0, 1).
        resamples: bootstrap resamples, ≥ 100.
        seed: same seed and table, same report. Each block starts from the seed, so further
            judges or groups do not move the figures of the others.
        questions: turns of each question, by (benchmark, question_id); without it a question
            has as many as were graded.
        runs: what the judges of the table were.
        plan: what `analysis_plan.kept` says, to be printed with the settings.
        judgments: `pair_judgments` of the table, where they are known already.

    Raises:
        UsageError: a setting is out of range.
        DataError: the table is not what it should be.
        NothingComputable: no vote of anyone can be used, and no judge has said anything.
    """
    if not 0 < level < 1:
        raise UsageError(f"level {level}: expected a number between 0 and 1, e.g. 0.95")
    if resamples < FEWEST_RESAMPLES:
        raise UsageError(f"resamples {resamples}: expected at least {FEWEST_RESAMPLES}")
    judgments = pair_judgments(table) if judgments is None else judgments
    settings = Report((), level, resamples, seed)
    found = sorted(set(judgments["dimension"]))
    dimensions = tuple(_dimension(judgments, dimension, settings) for dimension in found)
    grades = grade_tables(table, questions or {}, level=level, resamples=resamples, seed=seed)
    if not grades and not any(part.blocks or part.figures for part in dimensions):
        verdicts = int((judgments["source_kind"] == SourceKind.JUDGE).sum())
        raise NothingComputable(
            "no usable vote about a pair: the table's judgments about pairs are"
            f" {verdicts} of a judge and {len(judgments) - verdicts} of raters;"
            " agreement needs votes: collect some with `evenhand serve`, or import them"
        )
    return replace(settings, dimensions=dimensions, grades=grades, runs=tuple(runs), plan=plan)


def full_report(
    material: Material,
    study: StudyFacts | None = None,
    *,
    settings: Settings | None = None,
    groups: Sequence[str] = (),
    judges: Sequence[str] = (),
    by: Sequence[str] = (),
    questions: Questions | None = None,
    runs: Sequence[RunFacts] = (),
    plan: str = "",
) -> Report:
    """:func:`agreement_report` with what each agreement is worth, and what was studied.

    Args:
        material: of the study.
        study: its facts, for the report's head.
        settings: level, resamples and seed.
        groups: rater groups that count; none named is all.
        judges: judges that count, by name or by the start of it; none named is all.
        by: breakdowns, see `judge.reporting.topics.breakdown`.
        questions: as for :func:`agreement_report`.
        runs: likewise.
        plan: likewise.

    Raises:
        UsageError: a setting is out of range, or a group, judge or breakdown is not known.
        DataError: the table is not what it should be.
        NothingComputable: nothing can be said.
    """
    settings = settings or Settings()
    chosen, words = choose(material, groups, judges)
    report = agreement_report(
        chosen.everything,
        level=settings.level,
        resamples=settings.resamples,
        seed=settings.seed,
        questions=questions,
        runs=[run for run in runs if not judges or run.name in _judges(chosen.judgments)],
        plan=plan,
        judgments=chosen.judgments,
    )
    found = tuple(findings(scope, by) for scope in scopes(chosen, settings, groups=groups or None))
    harm = harm_labels.found(chosen.everything, settings)
    return replace(report, study=study, findings=found, harm=harm, chosen=words)


def _dimension(judgments: pd.DataFrame, dimension: str, settings: Report) -> DimensionReport:
    mine = judgments["dimension"] == dimension
    here = judgments if mine.all() else judgments[mine]  # a copy of a million votes is large
    judges = sorted(set(here.loc[here["source_kind"] == SourceKind.JUDGE, "source_id"]))
    verdicts = {judge: select_verdicts(here, dimension, judge) for judge in judges}
    blocks = tuple(
        _block(votes, group, simulated, verdicts, dimension, settings)
        for votes, group, simulated in _populations(here, dimension)
    )
    notes = []
    if not blocks:
        left_out = select_votes(here, dimension, groups=None, simulated=False).excluded
        why = f" ({tallied(left_out)})" if left_out else ""
        notes.append(f"no usable votes on this dimension, so no agreement{why}")
    if not judges:
        notes.append("no judge has verdicts on this dimension")
    counted = tuple(
        _judge_counts(judge if turns else f"{judge}, whole dialogues", part)
        for judge, rows in verdicts.items()
        for turns in (True, False)
        if len(part := rows[(rows["turn"] > 0) == turns])
    )
    figures = tuple(
        part
        for judge, rows in verdicts.items()
        for part in judge_figures(
            rows,
            judge,
            dimension,
            level=settings.level,
            resamples=settings.resamples,
            seed=settings.seed,
        )
    )
    # Dialogue and turn judgments never pool: judges are compared on turns, or else on dialogues.
    on_turns = {judge: rows[rows["turn"] > 0] for judge, rows in verdicts.items()}
    panel = panel_of({j: r for j, r in on_turns.items() if len(r)}) or panel_of(
        {j: r for j, r in ((j, r[r["turn"] == 0]) for j, r in verdicts.items()) if len(r)}
    )
    return DimensionReport(
        dimension,
        counted,
        blocks,
        tuple(notes),
        figures,
        stability=tuple(_stability(here, judges)),
        panel=panel.counts if panel else None,
        side_by_side=_side_by_side(here, dimension, panel, settings) if panel else (),
    )


def _stability(here: pd.DataFrame, judges: list[str]) -> Iterator[tuple[str, Stability]]:
    """Judges that were asked several times; failures are no outcome and flip nothing."""
    for judge in judges:
        rows = here[(here["source_kind"] == SourceKind.JUDGE) & (here["source_id"] == judge)]
        repeated = rows.groupby(["unit_id", "turn"])["occurrence"].transform("max") > 1
        if repeated.any():
            usable = (rows["status"] == Status.OK) & (rows["value"] != "")
            asked = rows[repeated].assign(value=rows["value"].where(usable))
            groups = asked.groupby(["unit_id", "turn"])["value"].agg(lambda v: list(v.dropna()))
            yield judge, stability(groups.tolist())


def _side_by_side(
    here: pd.DataFrame, dimension: str, panel: Panel, settings: Report
) -> tuple[Block, ...]:
    """Each population's votes on the panel's units, beside every judge and the majority."""
    first = panel.majority
    common = pd.MultiIndex.from_frame(first[["unit_id", "turn"]])
    among = here[pd.MultiIndex.from_frame(here[["unit_id", "turn"]]).isin(common)]
    return tuple(
        _block(votes, group, simulated, panel.verdicts, dimension, settings)
        for votes, group, simulated in _populations(among, dimension)
    )


def _populations(here: pd.DataFrame, dimension: str) -> Iterator[tuple[Votes, str, bool]]:
    """People first: all of them, then each group when there are several; simulated apart."""
    for simulated in (False, True):
        everyone = select_votes(here, dimension, groups=None, simulated=simulated)
        groups = sorted(set(everyone.rows["rater_group"]))
        if len(groups) == 1:
            yield everyone, groups[0], simulated
        elif groups:
            yield everyone, "all", simulated
            for group in groups:
                votes = select_votes(here, dimension, groups=[group], simulated=simulated)
                yield votes, group, simulated


def _block(
    votes: Votes,
    group: str,
    simulated: bool,
    verdicts: Mapping[str, pd.DataFrame],
    dimension: str,
    settings: Report,
) -> Block:
    population = population_words(votes, group, simulated=simulated)
    made = views.of_block(votes, verdicts)
    # Both setups of a comparison read the same counts: each array is resampled once.
    arrays = {id(view.counts): view.counts for view in made}
    stacked = np.hstack(list(arrays.values()))
    totals = resampled_totals(stacked, resamples=settings.resamples, seed=settings.seed)
    ends = np.cumsum([counts.shape[1] for counts in arrays.values()])
    draws = dict(zip(arrays, np.split(totals, ends[:-1], axis=1), strict=True))
    lines = []
    for view in made:
        where = f"{population}; dimension {dimension}; {view.words()}"
        estimates = _estimates(view, draws[id(view.counts)], where, settings.level)
        lines.append(
            Line(
                comparison=view.comparison,
                judge=view.judge,
                turn=view.turn,
                setup=view.setup,
                agreement=estimates["agreement"],
                kappa_symmetrised=estimates["kappa_symmetrised"],
                kappa=estimates["kappa"],
                alpha=estimates["alpha"],
                ac1=estimates["ac1"],
                coverage=estimates.get("coverage"),
                confusion=view.confusion(),
            )
        )
    counts = _vote_counts(votes)
    return Block(population, group, simulated, counts, _notes(votes, counts, lines), tuple(lines))


def _estimates(view: View, draws: FloatArray, where: str, level: float) -> dict[str, Estimate]:
    """All statistics of a view, points from its counts, intervals from the same draws."""
    totals = view.counts.sum(0)
    n, clusters = view.rows(), view.clusters()
    result = {}
    for name, statistic in view.statistics.items():
        value = float(statistic(totals))
        share = view.share(name)
        estimate = Estimate(
            name=name,
            value=None if np.isnan(value) else value,
            reason=view.why_undefined(name) if np.isnan(value) else "",
            population=where,
            n=n,
            clusters=clusters,
            level=level,
            excluded=view.excluded,
            numerator=share[0] if share else None,
            denominator=share[1] if share else None,
        )
        if estimate.value is not None:
            interval = percentile_interval(statistic(draws), clusters=clusters, level=level)
            estimate = replace(
                estimate,
                low=interval.low,
                high=interval.high,
                method=interval.method,
                reason=interval.reason,
            )
        result[name] = estimate
    return result


def _vote_counts(votes: Votes) -> VoteCounts:
    rows = votes.rows
    sizes = rows.groupby(["unit_id", "turn"]).size()
    return VoteCounts(
        questions=rows["cluster"].nunique(),
        pairs=rows["unit_id"].nunique(),
        units=len(sizes),
        units_with_two_votes=int((sizes >= 2).sum()),
        raters=rows["source_id"].nunique(),
        votes=len(rows),
        ties=int((rows["value"] == Outcome.TIE).sum()),
        both_bad=int((rows["value"] == Outcome.BOTH_BAD).sum()),
        excluded=votes.excluded,
    )


def _judge_counts(judge: str, rows: pd.DataFrame) -> JudgeCounts:
    usable = rows[rows["failure"] == ""]
    ties = usable[usable["value"] == Outcome.TIE]
    return JudgeCounts(
        judge=judge,
        verdicts=len(rows),
        usable=len(usable),
        ties=len(ties),
        both_bad=int((usable["value"] == Outcome.BOTH_BAD).sum()),
        tie_reasons=tally(ties.loc[ties["reason"] != "", "reason"]),
        failed=tally(rows.loc[rows["failure"] != "", "failure"]),
    )


def _notes(votes: Votes, counts: VoteCounts, lines: list[Line]) -> tuple[str, ...]:
    notes = []
    simulated = bool((votes.rows["layer"] == Layer.SIMULATED).any())
    if simulated:
        notes.append("simulated: a program made these votes; never quote them as people's")
    if counts.questions < INDICATIVE_BELOW:
        few = f"{counts.questions} question{'' if counts.questions == 1 else 's'}"
        notes.append(f"indicative: {few}, fewer than {INDICATIVE_BELOW}")
    else:
        thin: dict[str, list[str]] = {}
        for line in lines:
            if line.setup == S1 and 0 < line.agreement.clusters < INDICATIVE_BELOW:
                words = views.comparison_words(line.comparison, line.judge, simulated=simulated)
                thin.setdefault(words, []).append(views.turn_words(line.turn))
        notes.extend(
            f"indicative: {words} has fewer than {INDICATIVE_BELOW} questions ({', '.join(turns)})"
            for words, turns in thin.items()
        )
    raters = f"these {counts.raters} raters" if counts.raters > 1 else "this one rater"
    notes.append(f"intervals resample questions, not raters: conditional on {raters}")
    if counts.both_bad:
        notes.append(f"S1 counts {counts.both_bad} both_bad votes as ties; S2 drops both")
    protocols = sorted(set(votes.rows["protocol"]) - {""})  # imported votes have none
    if len(protocols) > 1:
        notes.append(f"votes under {len(protocols)} protocol versions are pooled")
    if len(set(votes.rows["inclusion_probability"]) - {""}) > 1:
        notes.append("pairs were drawn with unequal probabilities; figures here are unweighted")
    return tuple(notes)


def _judges(judgments: pd.DataFrame) -> set[str]:
    return set(judgments.loc[judgments["source_kind"] == SourceKind.JUDGE, "source_id"])
