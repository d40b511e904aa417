"""Make the virtual environment; says what is missing, and installs it where it may.

Runs before anything is installed, so it uses the standard library only.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

MINIMUM = (3, 11)


def main(folder: str) -> int:
    """Exit code 0 when `folder` holds a working environment."""
    if sys.version_info < MINIMUM:
        found = ".".join(map(str, sys.version_info[:3]))
        print(f"Python {found} found, 3.11 or newer needed: make demo PYTHON=python3.12")
        return 1
    if _made(folder):
        return 0
    package = f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"
    if os.geteuid() == 0 and shutil.which("apt-get"):
        print(f"Installing {package}…")
        subprocess.run(["apt-get", "update", "-qq"], check=False)
        subprocess.run(["apt-get", "install", "-y", "-qq", package], check=False)
        if _made(folder):
            return 0
    print(f"This Python cannot make virtual environments; install its part: apt install {package}")
    return 1


def _made(folder: str) -> bool:
    done = subprocess.run(
        [sys.executable, "-m", "venv", folder], check=False, capture_output=True, text=True
    )
    if done.returncode:
        shutil.rmtree(folder, ignore_errors=True)
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
