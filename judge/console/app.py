"""The owner's console: a Gradio page of three tabs, and the events that wire it together.

It lives on the judge's side because it shows verdicts; the rating page cannot import it. What
the tabs say and do is in `console_*.py`, without a page; this is the only module here that
imports gradio.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import astuple
from typing import Any

import gradio as gr
from fastapi import FastAPI

from annotate import library
from annotate.api import OWNER, Sessions
from annotate.app import mount_page
from annotate.errors import EvenhandError
from annotate.live import LiveSettings
from annotate.study import Study
from judge.ask.modes import Mode
from judge.console import form
from judge.console.html import muted
from judge.console.overview import Overview
from judge.console.panel import forecast_panel, problem_panel, run_panel, runs_table
from judge.console.run import DRAIN_SECONDS, Judging, Phase, Snapshot
from judge.console.transcripts import FILTERS, Shown, browse
from judge.database.places import Which, judged_runs
from judge.engine.forecast import forecast

REFRESH_SECONDS = 20
WATCH_SECONDS = 1
"""How often a page asks how far a run is, while one goes on."""
TO_LIST = "() => document.querySelector('#console-list')?.scrollIntoView({block: 'start'})"
TO_STOP = "() => document.querySelector('#judge-stop')?.focus()"
QUIET: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}


def mount(app: FastAPI, study: Study, sessions: Sessions, live: LiveSettings) -> None:
    """Add the console at /console, for the owner's session only."""
    console = Console(study, live)
    head = '<link rel="stylesheet" href="../static/console.css">'
    mount_page(app, console.page(), "/console", head, sessions.owner)
    app.router.on_shutdown.append(console.close)


def owned(handler: Callable[..., Any]) -> Callable[..., Any]:
    """An event of the owner's session only.

    The guard in front of every console path refuses others already; an event can also be called
    by its number, so it asks again who is there.
    """

    def event(request: gr.Request, *values: Any) -> Any:
        if request.username != OWNER:
            raise PermissionError("an event of the console without the owner's session")
        return handler(*values)

    return event


class Console:
    """What the page's events need; nothing in it belongs to one browser."""

    def __init__(self, study: Study, live: LiveSettings) -> None:
        self._study, self._live = study, live
        self._overview = Overview(study, live)
        self.judging = Judging(study.store)

    def close(self) -> None:
        """The server ends, and with it a run that goes on."""
        if self.judging.snapshot().active:
            words = f"Stopping the judge; its calls in flight get {DRAIN_SECONDS:.0f} s…"
            print(words, file=sys.stderr, flush=True)
        self.judging.close()

    def page(self) -> gr.Blocks:
        """The whole page."""
        page = gr.Blocks(title="Evenhand console", analytics_enabled=False)
        with page:
            head = _html(elem_id="console-head")
            with gr.Tabs():
                with gr.Tab("Overview"):
                    shown = _html()
                    refresh = gr.Button("Refresh", size="sm", scale=0, min_width=120)
                with gr.Tab("Judge"):
                    status, prefilled = self._judge_tab()
                with gr.Tab("Transcripts") as tab:
                    self._transcripts_tab(tab)
            timer = gr.Timer(REFRESH_SECONDS)
            for trigger in (page.load, timer.tick, refresh.click):
                trigger(owned(self._all), None, [head, shown, *status], **QUIET)
            page.load(owned(self._prefill), None, prefilled, **QUIET)
        return page

    # Overview

    def _all(self) -> list[Any]:
        now = self.judging.snapshot()
        overview = self._overview.html(judging=now.active)
        return [self._overview.head(), overview, *self._status(now)]

    # Judge

    def _judge_tab(self) -> tuple[list[Any], list[Any]]:
        """The tab; returns what a run's state changes, and what study.toml fills in."""
        with gr.Column(elem_id="console-judge"):
            panel = _html()
            stop = gr.Button("Stop", visible=False, scale=0, min_width=160, elem_id="judge-stop")
            with gr.Column(elem_id="judge-form") as box:
                fields, key = self._fields()
                with gr.Row(elem_classes="c-actions"):
                    ask = gr.Button("What would it take?", scale=0, min_width=220)
                    run = gr.Button("Run", variant="primary", scale=0, min_width=160)
            answer = _html()
            runs = _html()
            watch = gr.Timer(WATCH_SECONDS, active=False)
        status = [panel, stop, box, runs, watch]
        asked = ask.click(owned(self._counting), None, answer, **QUIET)
        asked.then(owned(self._forecast), fields, answer, **QUIET)
        began = run.click(owned(self._run), fields, [answer, *status], **QUIET)
        began.then(None, None, None, js=TO_STOP)
        stop.click(owned(self._stop), None, status, **QUIET)
        watch.tick(owned(self._watched), None, status, **QUIET)
        return status, [*fields, key]

    def _fields(self) -> tuple[list[Any], Any]:
        """The form, in the order of `form.Form`; and what is said of the key."""
        kinds = [("Endpoint", form.ENDPOINT), ("Offline model", form.LOCAL)]
        modes = [(words, mode.value) for words, mode in form.MODES.items()]
        with gr.Row():
            kind = gr.Radio(kinds, label="Judge", scale=2, min_width=240)
            url = gr.Textbox(
                label="Base URL", placeholder="https://…/v1", max_lines=1, scale=3, min_width=260
            )
            model = gr.Textbox(label="Model", max_lines=1, scale=2, min_width=160)
        key = _html()
        mode = gr.Radio(modes, label="What it does")
        dimensions = gr.CheckboxGroup([], label="Dimensions")
        with gr.Row():
            limit = gr.Number(label="Only the first N", placeholder="all", minimum=1, min_width=110)
            baseline = gr.Dropdown([], label="Only pairs with", min_width=150)
            replicates = gr.Number(label="Times each", minimum=1, min_width=90)
            usd = gr.Number(label="Stop before $", placeholder="no cap", min_width=110)
            tokens = gr.Number(label="Stop before tokens", placeholder="no cap", min_width=130)
        with gr.Accordion("More", open=False):
            with gr.Row():
                turns = gr.Radio(["each", "last", "dialogue"], label="Turns")
                references = gr.Radio(["auto", "required", "none"], label="Reference solutions")
            with gr.Row():
                retry = gr.Checkbox(label="Ask again where a reply was unusable")
                name = gr.Textbox(label="Name of the run in reports", max_lines=1)
        kind.change(owned(self._kind), kind, [url, model, key, usd], **QUIET)
        mode.change(owned(self._mode), mode, [dimensions, baseline], **QUIET)
        return [kind, url, model, mode, dimensions, limit, baseline, replicates, usd, tokens,
                turns, references, retry, name], key  # fmt: skip

    def _prefill(self) -> list[Any]:
        settings = self._live.get()
        values: list[Any] = list(astuple(form.prefilled(settings)))
        values[4] = gr.update(choices=form.dimensions(settings), value=list(values[4]))
        models = library.model_names(self._study.store)
        values[6] = gr.update(choices=[("any model", ""), *((m, m) for m in models)], value="")
        return [*values, muted(form.key_words(settings.judge))]

    def _kind(self, kind: str) -> list[Any]:
        return [_present(kind == form.ENDPOINT) for _ in range(4)]

    def _mode(self, mode: str) -> list[Any]:
        return [_present(mode != Mode.HARM), _present(mode == Mode.PAIRWISE)]

    def _status(self, now: Snapshot) -> list[Any]:
        stopping = now.phase is Phase.STOPPING
        runs = "" if now.active else runs_table(judged_runs(self._study.store))
        return [
            run_panel(now),
            gr.update(
                visible=now.active,
                interactive=not stopping,
                value="Stopping…" if stopping else "Stop",
            ),
            _present(not now.active),
            runs,
            gr.update(active=now.active),
        ]

    def _watched(self) -> list[Any]:
        return self._status(self.judging.snapshot())

    def _counting(self) -> str:
        return '<p class="c-empty" role="status">Planning every request…</p>'

    def _forecast(self, *values: Any) -> str:
        try:
            wanted = form.Form.of(values)
            with form.opener(self._study, self._live.get(), wanted)() as settings:
                return forecast_panel(forecast(self._study.store, settings), wanted.title())
        except EvenhandError as error:
            return problem_panel(str(error))

    def _run(self, *values: Any) -> list[Any]:
        problem = ""
        try:
            wanted = form.Form.of(values)
            opener = form.opener(self._study, self._live.get(), wanted)
            self.judging.start(wanted.title(), opener)
        except EvenhandError as error:
            problem = problem_panel(str(error))
        return [problem, *self._status(self.judging.snapshot())]

    def _stop(self) -> list[Any]:
        self.judging.stop()
        return self._status(self.judging.snapshot())

    # Transcripts

    def _transcripts_tab(self, tab: gr.Tab) -> None:
        with gr.Row(elem_id="console-filters"):
            run = gr.Dropdown([], label="Run", scale=2, min_width=200)
            which = gr.Radio(
                [(words, value.value) for words, value in FILTERS.items()],
                value=Which.ALL.value,
                label="Show",
                scale=4,
                min_width=320,
            )
            question = gr.Textbox(label="Question", placeholder="any id", max_lines=1, min_width=80)
        where = _html(elem_id="console-list")
        shown = _html()
        with gr.Row(elem_classes="c-actions"):
            back = gr.Button("Previous", scale=0, min_width=110, interactive=False)
            number = gr.Number(1, label="Page", show_label=False, scale=0, min_width=90)
            on = gr.Button("Next", scale=0, min_width=110, interactive=False)
        asked, answered = [run, which, question, number], [shown, where, number, back, on]
        tab.select(owned(self._arrive), [run, which, question, number], [run, *answered], **QUIET)
        for trigger in (run.input, which.input, question.submit):
            trigger(owned(self._first), asked, answered, **QUIET)
        for button, step in ((back, -1), (on, 1)):
            turned = button.click(owned(self._turner(step)), asked, answered, **QUIET)
            turned.then(None, None, None, js=TO_LIST)
        number.submit(owned(self._turner(0)), asked, answered, **QUIET)

    def _arrive(self, run: str | None, which: str, question: str, number: Any) -> list[Any]:
        """The tab was opened: the runs of now, and the page that was open."""
        runs = [r for r, _n in judged_runs(self._study.store)]
        known = [r.id for r in runs]
        chosen = run if run in known else (known[-1] if known else None)
        choices = [(f"{r.name} ({r.mode}, {r.state})", r.id) for r in reversed(runs)]
        shown = self._turner(0)(chosen, which, question, number)
        return [gr.update(choices=choices, value=chosen), *shown]

    def _first(self, run: str | None, which: str, question: str, _number: Any) -> list[Any]:
        return self._turner(0)(run, which, question, 1)

    def _turner(self, step: int) -> Callable[..., list[Any]]:
        def turned(run: Any, which: Any, question: Any, number: Any) -> list[Any]:
            wanted = int(number) if isinstance(number, int | float) and 0 < number < 1e9 else 1
            try:
                shown = browse(
                    self._study.store,
                    self._live.get().protocol,
                    run,
                    Which(which),
                    wanted + step,
                    str(question or "").strip(),
                )
            except (EvenhandError, ValueError) as error:
                shown = Shown(problem_panel(str(error)))
            return [
                shown.html,
                muted(shown.position),
                shown.number,
                gr.update(interactive=shown.number > 1),
                gr.update(interactive=shown.number < shown.pages),
            ]

        return turned


def _present(shown: bool) -> Any:
    """Shown or not, but kept in the page: an empty number that is made anew reads 0."""
    return gr.update(visible=True if shown else "hidden")


def _html(elem_id: str | None = None) -> gr.HTML:
    """A place for HTML of ours, in our own style."""
    return gr.HTML(elem_id=elem_id, elem_classes="c", apply_default_css=False, padding=False)
