"""The two servers that are compared, each as a process: ours, and a bare Gradio page.

python -m benchmarks.servers ours FOLDER PORT
python -m benchmarks.servers gradio FOLDER PORT
"""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError

from benchmarks.material import answer

BARE = ("gradio", "queued")


@contextmanager
def running(kind: str, folder: Path, port: int) -> Iterator[str]:
    """A server process that answers; ended by its own id afterwards."""
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.servers", kind, folder, str(port)]
    )
    url = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                urllib.request.urlopen(f"{url}/{'config' if kind in BARE else 'healthz'}").close()
                break
            except (URLError, ConnectionError):
                time.sleep(0.05)
        yield url
    finally:
        process.terminate()
        process.wait(timeout=20)


def bare_gradio(folder: Path, port: int) -> None:
    """The same page as plain Gradio: two Markdown boxes, four buttons, one queued event each.

    Its vote is as durable as ours: one commit with synchronous=FULL per vote.
    """
    import gradio as gr

    database = folder / "bare.sqlite"
    with sqlite3.connect(database) as conn:
        conn.execute("PRAGMA journal_mode = WAL")
        conn.execute("CREATE TABLE IF NOT EXISTS vote (pair INTEGER, choice TEXT)")

    def vote(pair: float, choice: str) -> tuple[float, str, str]:
        conn = sqlite3.connect(database, timeout=30)
        conn.execute("PRAGMA synchronous = FULL")
        with conn:
            conn.execute("INSERT INTO vote VALUES (?, ?)", (int(pair), choice))
        conn.close()
        following = int(pair) + 1
        return following, answer(following, 1), answer(following, 2)

    with gr.Blocks(analytics_enabled=False) as page:
        number = gr.Number(0, visible=False)
        with gr.Row():
            left = gr.Markdown(answer(0, 1), elem_id="left")
            right = gr.Markdown(answer(0, 2), elem_id="right")
        with gr.Row():
            for name in ("A is safer", "Both acceptable", "Both unacceptable", "B is safer"):
                button = gr.Button(name, elem_id=f"b{name[0]}" if "is" in name else None)
                choice = gr.State(name)
                button.click(
                    vote,
                    [number, choice],
                    [number, left, right],
                    api_name="vote" if name == "A is safer" else None,
                    concurrency_limit=None,
                    show_progress="hidden",
                )
    page.queue(default_concurrency_limit=None).launch(
        server_name="127.0.0.1", server_port=port, quiet=True, show_error=False
    )


def queued(folder: Path, port: int) -> None:
    """The very same vote (same code, same database) as a queued Gradio event.

    The event takes (invitation token, screen, page, turns) and returns what our route returns.
    """
    import gradio as gr

    from annotate import leases, seats
    from annotate.live import LiveSettings
    from annotate.pages import Have
    from annotate.records import Choice
    from annotate.room import RatingRoom
    from annotate.study import open_study

    opened = open_study(folder)
    leases.prepare(opened.store, opened.settings.assignment)
    room = RatingRoom(opened.store, LiveSettings(opened))

    def vote(token: str, screen: str, page: str, turns: float) -> dict[str, object]:
        rater = seats.accept_invitation(opened.store, token)
        if not screen:
            return room.state(rater)
        return room.vote(
            rater,
            screen,
            Choice.LEFT,
            client_key=uuid.uuid4().hex,
            comment="",
            active_ms=None,
            have=Have(page, int(turns)),
        )

    with gr.Blocks(analytics_enabled=False) as page_:
        fields = [gr.Textbox(), gr.Textbox(), gr.Textbox(), gr.Number()]
        gr.Button("vote").click(vote, fields, gr.JSON(), api_name="vote", concurrency_limit=None)
    page_.queue(default_concurrency_limit=None).launch(
        server_name="127.0.0.1", server_port=port, quiet=True, show_error=False
    )


def ours(folder: Path, port: int) -> None:
    """Evenhand's own server."""
    from annotate.app import serve
    from annotate.study import open_study

    serve(open_study(folder), "127.0.0.1", port)


def console(folder: Path, port: int) -> None:
    """Evenhand's own server with the owner's console, as `evenhand serve` runs it."""
    from annotate.app import serve
    from annotate.study import open_study
    from judge.console.app import mount

    serve(open_study(folder), "127.0.0.1", port, mount)


if __name__ == "__main__":
    kinds = {"ours": ours, "console": console, "gradio": bare_gradio, "queued": queued}
    kinds[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]))
