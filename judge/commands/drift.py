"""Does the judge still say what it said? Stored verdicts asked again, with an endpoint at hand."""

from __future__ import annotations

from dataclasses import replace

from annotate.errors import UsageError
from annotate.study import Study
from judge.ask.modes import Mode
from judge.commands.calling import CallOptions
from judge.commands.judge_command import PlanOptions, judge_settings
from judge.database.runs import Run
from judge.database.store import VerdictStore
from judge.engine.anchor_runner import recheck_anchors
from judge.engine.runner import drive
from judge.reporting.topics.production import Drift

NO_ENDPOINT = "no endpoint: give --base-url, or --local for the offline model"


def check_drift(study: Study, run: Run, since: str, calls: CallOptions) -> Drift:
    """Ask again for up to 50 of a run's verdicts from before `since`; they change no judgment.

    Raises:
        UsageError: another model than the run's is named, or the run is busy.
    """
    if run.kind != "live" or run.mode not in set(Mode):
        return Drift(None, "the verdicts were imported, so nothing can be asked again")
    if calls.dry_run:
        return Drift(None, "--dry-run asks nothing")
    if not _reachable(study, calls):
        return Drift(None, NO_ENDPOINT)
    if not calls.local and not calls.local_model and not calls.model:
        calls = replace(calls, model=run.requested_model)
    with judge_settings(study, calls, PlanOptions(mode=run.mode)) as settings:
        if settings.model != run.requested_model:
            raise UsageError(
                f"run {run.name}: model {run.requested_model}, but {settings.model} would be asked"
                " for drift; expected the same model"
            )
        found = recheck_anchors(VerdictStore(study.store), run, settings, drive, until=since)
    if found is None:
        return Drift(None, "the run has no usable verdict to ask again for")
    young = "All of these are younger than the calibration: a drift before them cannot show."
    return Drift(found.check, "" if found.old else young)


def _reachable(study: Study, calls: CallOptions) -> bool:
    chosen = study.settings.judge
    return bool(
        calls.local or calls.local_model or calls.base_urls or chosen.base_url or chosen.endpoints
    )
