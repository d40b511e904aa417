"""`evenhand serve` as the process it is."""

from __future__ import annotations

import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from tests.browser import study


@dataclass
class Server:
    """A study being served; `url` is where it says it listens."""

    folder: Path
    port: int = 0
    root_path: str = ""
    url: str = ""
    printed: str = ""
    _process: subprocess.Popen[str] | None = None
    _errors: IO[str] = field(default_factory=lambda: TemporaryFile("w+"))  # noqa: SIM115

    def start(self) -> Server:
        """Start, and return once the links are printed."""
        command = [sys.executable, "-m", "judge.cli", "serve", str(self.folder), "--no-open"]
        command += ["--port", str(self.port), "--root-path", self.root_path]
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=self._errors, text=True
        )
        assert self._process.stdout is not None
        self.printed = ""
        for line in self._process.stdout:
            self.printed += line
            if " is at http" in line:
                self.url = line.split(" is at ")[1].strip().removesuffix(self.root_path)
                self.port = int(self.url.rsplit(":", 1)[1])
            if "Stop with Ctrl-C" in line:
                return self
        self._process.wait()
        self._process.stdout.close()
        raise AssertionError(f"the server did not start:\n{self.printed}{self.errors()}")

    def kill(self) -> None:
        """Kill -9: nothing gets a chance to clean up."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Ask it to stop, as Ctrl-C does."""
        self._end(signal.SIGINT)

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(how)
        try:
            process.wait(15)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
            if process.stdout is not None:
                process.stdout.close()

    def errors(self) -> str:
        """What the server complained about so far."""
        self._errors.seek(0)
        return self._errors.read()

    def close(self) -> None:
        """Stop and forget."""
        self.stop()
        self._errors.close()

    def invited(self, name: str) -> str:
        """A rater's link."""
        return self.url + study.invite(self.folder, name)

    @property
    def owner(self) -> str:
        """The owner's link."""
        return self.url + study.owner_path(self.folder)
