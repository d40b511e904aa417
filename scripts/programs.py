"""Print the path of a program that the tests need, installing Debian's package if possible.

    python scripts/programs.py chromium|pdflatex

The browser tests need a real browser, and the report's tables are compiled: without one of
the two `make test` says so.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass


@dataclass(frozen=True)
class Program:
    """What it may be called, and which packages bring it."""

    names: tuple[str, ...]
    packages: tuple[str, ...]
    variable: str
    """Environment variable with its path, if it is somewhere else."""
    options: tuple[str, ...] = ()
    """Of apt-get install."""


PROGRAMS = {
    "chromium": Program(
        ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"),
        ("chromium",),
        "EVENHAND_CHROMIUM",
    ),
    # The second package brings booktabs; what TeX Live recommends beside it is large.
    "pdflatex": Program(
        ("pdflatex",),
        ("texlive-latex-base", "texlive-latex-recommended"),
        "EVENHAND_PDFLATEX",
        ("--no-install-recommends",),
    ),
}


def main(arguments: list[str]) -> int:
    """Exit code 0 with the path on standard output, 1 or 2 with advice on standard error."""
    if len(arguments) != 1 or arguments[0] not in PROGRAMS:
        print(f"found {arguments}, expected one of {', '.join(PROGRAMS)}", file=sys.stderr)
        return 2
    program = PROGRAMS[arguments[0]]
    path = os.environ.get(program.variable) or _found(program) or _installed(program)
    if path is None:
        print(
            f"{arguments[0]} is missing and could not be installed (no root, or no apt-get):"
            f" install it (Debian: apt install {' '.join(program.packages)}) or set"
            f" {program.variable} to its path",
            file=sys.stderr,
        )
        return 1
    print(path)
    return 0


def _found(program: Program) -> str | None:
    return next((path for name in program.names if (path := shutil.which(name))), None)


def _installed(program: Program) -> str | None:
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return None
    print(f"Installing {' '.join(program.packages)}…", file=sys.stderr)
    quiet = {"stdout": subprocess.DEVNULL, "check": False}
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    install = ["apt-get", "install", "-y", "-qq", *program.options, *program.packages]
    subprocess.run(["apt-get", "update", "-qq"], env=environment, **quiet)
    subprocess.run(install, env=environment, **quiet)
    return _found(program)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
