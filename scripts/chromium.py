"""Print the path of Chromium, installing Debian's package where that is possible.

The browser tests need a real browser; without one `make test` fails and says so.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def main() -> int:
    """Exit code 0 with the path on standard output, else 1 with advice on standard error."""
    path = os.environ.get("EVENHAND_CHROMIUM") or _found() or _installed()
    if path is None:
        print(
            "Chromium is missing and could not be installed (no root, or no apt-get): install it"
            " (Debian: apt install chromium) or set EVENHAND_CHROMIUM to a browser's path",
            file=sys.stderr,
        )
        return 1
    print(path)
    return 0


def _found() -> str | None:
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def _installed() -> str | None:
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return None
    print("Installing Chromium…", file=sys.stderr)
    quiet = {"stdout": subprocess.DEVNULL, "check": False}
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(["apt-get", "update", "-qq"], env=environment, **quiet)
    subprocess.run(["apt-get", "install", "-y", "-qq", "chromium"], env=environment, **quiet)
    return _found()


if __name__ == "__main__":
    sys.exit(main())
