"""The rating page as a Gradio app, mounted beside our own routes; and the server itself.

With `judge.console`, one of the two modules that import gradio (4–6 s): only the
command that serves may import this one.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from contextlib import suppress
from importlib import resources

import gradio as gr
import uvicorn
from fastapi import FastAPI

from . import api, leaks
from .api import Sessions
from .errors import UsageError
from .live import LiveSettings
from .lock import served_once
from .room import RatingRoom
from .study import Study
from .tasks import prepare

Mount = Callable[[FastAPI, Study, Sessions, LiveSettings], None]
"""Adds another page, e.g. the owner's console (which lives on the judge's side)."""


def create_app(study: Study, *mounts: Mount) -> FastAPI:
    """The whole web application of one study."""
    leaks.apply_policy(study.store, study.settings.assignment)
    prepare(study.store, study.settings)
    live = LiveSettings(study)
    sessions = Sessions(study.store)
    app = FastAPI(title="Evenhand", docs_url=None, redoc_url=None, openapi_url=None)
    api.install(app, study.store, RatingRoom(study.store, live), sessions)
    for mount in mounts:
        mount(app, study, sessions, live)
    mount_page(app, _rating_page(), "/rate", _head(study), sessions.rater_id)
    return app


def mount_page(
    app: FastAPI,
    page: gr.Blocks,
    path: str,
    head: str,
    who: Callable[..., str | None],
) -> None:
    """Mount a Gradio page with everything off that it would offer to strangers."""
    gr.mount_gradio_app(
        app,
        page,
        path=path,
        auth_dependency=who,
        head=head,
        theme=quiet_theme(),
        ssr_mode=False,
        run_history=False,
        footer_links=[],
        show_error=False,
        enable_monitoring=False,
        mcp_server=False,
        max_file_size=1,
    )


def quiet_theme() -> gr.themes.Base:
    """System fonts: the stock theme would fetch its fonts from outside."""
    return gr.themes.Base(font=["system-ui", "sans-serif"], font_mono=["ui-monospace", "monospace"])


def _rating_page() -> gr.Blocks:
    """An empty place that rate.js fills: no handlers, so no Gradio endpoint to attack."""
    page = gr.Blocks(title="Evenhand", analytics_enabled=False, fill_width=True)
    with page:
        gr.HTML('<div id="evenhand"></div>', padding=False)
    return page


def _head(study: Study) -> str:
    language = study.settings.study.language
    strings = json.loads(
        resources.files("annotate").joinpath("strings", f"{language}.json").read_text("utf-8")
    )
    # "<" escaped: a translation must not be able to end the script element.
    shared = json.dumps({"language": language, "strings": strings}).replace("<", "\\u003c")
    return (
        '<link rel="stylesheet" href="../static/rate.css">'
        '<link rel="stylesheet" href="../static/label.css">'
        f"<script>window.EVENHAND = {shared};</script>"
        '<script src="../static/label.js" defer></script>'
        '<script src="../static/rate.js" defer></script>'
    )


def serve(
    study: Study,
    host: str,
    port: int,
    *mounts: Mount,
    ready: Callable[[str], None] = lambda _url: None,
    root_path: str = "",
) -> None:
    """Serve a study until interrupted; `ready` is called with the URL when it listens.

    Raises:
        StoreUnsafe: another server has this study open.
        UsageError: the port is taken.
    """
    with served_once(study.store.path) as lock:
        listening = _listen(host, port)
        url = f"http://{_shown(host)}:{listening.getsockname()[1]}"
        lock.seek(0)
        lock.truncate(0)
        lock.write(f"{url}, process {os.getpid()}")
        lock.flush()
        app = create_app(study, *mounts)
        app.router.on_startup.append(lambda: ready(url))
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            root_path=root_path,
            proxy_headers=True,
            server_header=False,
            timeout_graceful_shutdown=5,
        )
        # uvicorn raises the interrupt again after a clean stop; for us it is the way to stop.
        with suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listening])


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        # At once, not when uvicorn gets there: who follows the printed link must not be refused.
        listening.listen(512)
    except OSError as error:
        listening.close()
        raise UsageError(
            f"port {port} on {host}: {error.strerror}; choose another with --port"
        ) from error
    return listening


def _shown(host: str) -> str:
    if host in ("0.0.0.0", "::"):
        return socket.gethostname()
    return f"[{host}]" if ":" in host else host
