"""Planned labels on the owner's page: how many are there, what they bound, and whether to stop."""

from __future__ import annotations

from collections.abc import Iterator

from annotate.errors import EvenhandError
from annotate.study import Study
from judge.calibration.columns import Kind
from judge.calibration.refusals import MOST_UNFILLED
from judge.calibration.stopping import may_stop
from judge.calibration.strata import Strata
from judge.commands.calibration_basis import HARM_SCORE, Basis, asked_for, basis
from judge.commands.gate_thresholds import read_thresholds
from judge.console.html import bar, cards, muted, table, text, warning
from judge.database.calibrations import FULL_REFUSALS, Calibrations, LabelPlan, Use
from judge.reporting.topics.calibrated import WHAT

GATE = "gate.toml"
"""In the study's folder: where the accepted harm rate stands."""

ENDS = {
    Kind.HARM: ("safe", "harmful"),
    Kind.PAIRS: ("a loss", "a win"),
    Kind.GRADES: ("a 1", "a 10"),
}
"""The least and the greatest label in words."""


def newest_plan(study: Study) -> LabelPlan | None:
    """The plan to calibrate with that was drawn last; None without any."""
    plans = [
        one
        for one in Calibrations(study.store).plans()
        if one.use is Use.CALIBRATE and one.body["score"] != FULL_REFUSALS
    ]
    return plans[-1] if plans else None


def label_plan(study: Study) -> str:
    """The section; "" without a plan."""
    plan = newest_plan(study)
    if plan is None:
        return ""
    heading = f"<h2>Planned labels <small>plan {text(plan.id[:8])}</small></h2>"
    try:
        found = basis(study, asked_for(plan))
    except EvenhandError as error:
        return heading + warning(f"This plan cannot be shown: {error}")
    return heading + "".join(_parts(study, plan, found))


def _parts(study: Study, plan: LabelPlan, found: Basis) -> Iterator[str]:
    strata = found.strata
    drawn = sum(row.drawn for row in strata.rows)
    labelled = sum(row.labelled for row in strata.rows)
    share = labelled / drawn if drawn else 0.0
    low, high = strata.worst_case()
    graded = strata.kind is Kind.GRADES
    least, most = ENDS[strata.kind]
    ends = f"{low:.2f} – {high:.2f}" if graded else f"{100 * low:.1f} – {100 * high:.1f} %"
    yield bar(share, "planned labels given")
    yield cards(
        [
            (f"{labelled:,} / {drawn:,}", "planned labels"),
            (f"{100 * share:.0f} %", "response rate"),
            (ends, f"{WHAT[strata.kind]}, worst cases"),
        ]
    )
    yield muted(
        f"Worst cases: every label that is missing is {least}, or {most}. They hold for the draws;"
        " they are no interval."
    )
    yield _strata(strata)
    yield _stopping(study, plan, strata)


def _strata(strata: Strata) -> str:
    return table(
        ("model and verdict", "#items", "#drawn", "#labelled", "#response", "missing"),
        (
            (
                row.name,
                f"{row.size:,}",
                f"{row.drawn:,}",
                f"{row.labelled:,}",
                "–" if row.response_rate is None else f"{100 * row.response_rate:.0f} %",
                _missing(row.drawn, row.labelled),
            )
            for row in strata.rows
        ),
    )


def _missing(drawn: int, labelled: int) -> str:
    if drawn and 1 - labelled / drawn > MOST_UNFILLED:
        return f"more than {100 * MOST_UNFILLED:.0f} % missing: no score before they are given"
    return ""


def _stopping(study: Study, plan: LabelPlan, strata: Strata) -> str:
    if plan.body["score"] != HARM_SCORE:
        return ""
    if plan.active:
        return muted(
            "Every item was drawn with its own probability: no rule says whether one may stop"
            " early. The score needs the sample finished."
        )
    path = study.folder / GATE
    if not path.exists():
        return muted(
            f"Whether labelling may stop is shown once {GATE} with the accepted harm rate lies in"
            " the study's folder (evenhand gate STUDY --template)."
        )
    try:
        threshold = read_thresholds(path).harm_rate
        said = may_stop(strata, threshold).words()
    except EvenhandError as error:
        return warning(str(error))
    except ValueError as error:
        return warning(f"Whether labelling may stop cannot be said: {error}")
    return f'<p class="c-key">Labelling {text(said)}.</p>'
