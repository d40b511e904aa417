"""The help of every command as Markdown, for the README (kept fresh by cog)."""

from __future__ import annotations

from collections.abc import Iterator

import click
from click.testing import CliRunner

from judge.cli import main

WIDTH = 88


def help_pages() -> str:
    """One folded block per command, in the order of `evenhand --help`."""
    return "\n".join(_page(path) for path in command_paths(main, ()))


def command_paths(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The path of every command, groups before what they hold."""
    yield path
    if isinstance(command, click.Group):
        for name in sorted(command.commands):
            yield from command_paths(command.commands[name], (*path, name))


def help_of(path: tuple[str, ...]) -> str:
    """What `evenhand … --help` prints."""
    runner = CliRunner()
    result = runner.invoke(main, [*path, "--help"], prog_name="evenhand", terminal_width=WIDTH)
    if result.exit_code:
        raise RuntimeError(f"evenhand {' '.join(path)} --help failed: {result.output}")
    return result.output.rstrip()


def _page(path: tuple[str, ...]) -> str:
    title = " ".join(("evenhand", *path))
    head = f"<details><summary><code>{title}</code></summary>"
    return f"{head}\n\n```\n{help_of(path)}\n```\n\n</details>\n"
