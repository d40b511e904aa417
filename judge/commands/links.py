"""The links of a running study, and where it runs."""

from __future__ import annotations

import os
import shutil
import sys
import webbrowser
from pathlib import Path

import click

from annotate import seats
from annotate.study import Study


def announce(study: Study, url: str, named: str | None, open_browser: bool) -> None:
    """Print the owner's and the raters' links once the server listens."""
    owner = f"{url}/owner/{seats.owner_token(study.store)}"
    if named:
        seats.invite(study.store, named)
    click.echo(f"\n  {study.settings.study.title} is at {url}\n")
    click.echo(f"  Owner's console: {owner}")
    for name, link in rater_links(study, url):
        click.echo(f"  Rater {name}: {link}")
    if named:
        click.echo(
            "\n  Try the offline judge beside it:"
            f" {_command()} judge {study.folder} --local --limit 2"
            f"\n  See the agreement so far:        {_command()} report {study.folder}"
        )
    click.echo("\n  Stop with Ctrl-C; every vote is saved as it is cast.\n")
    if open_browser and _has_browser():
        webbrowser.open(owner)


def rater_links(study: Study, url: str) -> list[tuple[str, str]]:
    """(name, link) of every invited rater, in order of invitation."""
    rows = study.store.conn.execute(
        "SELECT r.id, p.name FROM rater r JOIN rater_person p ON p.rater = r.id"
        " WHERE r.kind = 'invited' ORDER BY r.seat"
    ).fetchall()
    return [
        (name, f"{url}/invite/{seats.invitation_token(study.store, rater)}") for rater, name in rows
    ]


def _command() -> str:
    """How to call this program from here: `make demo` has it in an environment of its own."""
    here = Path(sys.argv[0])
    return "evenhand" if shutil.which("evenhand") or here.stem != "evenhand" else str(here)


def _has_browser() -> bool:
    """A desktop to open a page on; over SSH or in CI there is none."""
    if os.environ.get("CI") or not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return False
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True
