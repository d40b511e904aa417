"""Settings of a running server: an edited study.toml counts from the next screen on."""

from __future__ import annotations

import threading

from . import leaks, tasks
from .errors import EvenhandError
from .study import SETTINGS_NAME, Settings, Study, apply_settings, load_settings


class LiveSettings:
    """The study's settings, read again when the file changed.

    A file that cannot be used leaves the last good settings in force and says why in
    `error`, which the owner's console shows: raters must not meet a half-typed edit.
    """

    def __init__(self, study: Study) -> None:
        self._study = study
        self._path = study.folder / SETTINGS_NAME
        self._lock = threading.Lock()
        self._current = study.settings
        self._stamp = self._mark()
        self.error = ""

    def _mark(self) -> tuple[int, int] | None:
        try:
            stat = self._path.stat()
        except OSError:
            return None
        return stat.st_mtime_ns, stat.st_size

    def get(self) -> Settings:
        """The settings in force now."""
        mark = self._mark()
        if mark == self._stamp:
            return self._current
        with self._lock:
            if mark != self._stamp:
                try:
                    fresh = load_settings(self._study.folder)
                    apply_settings(self._study.store, fresh)
                    before = self._current.assignment
                    if fresh.assignment.identity_leaks != before.identity_leaks:
                        leaks.apply_policy(self._study.store, fresh.assignment)
                    labelling = fresh.protocol.answer_forms != self._current.protocol.answer_forms
                    if (
                        fresh.assignment.overlap > before.overlap
                        or fresh.assignment.answers != before.answers
                        or labelling
                    ):
                        tasks.prepare(self._study.store, fresh)
                    self._current, self.error = fresh, ""
                except (EvenhandError, OSError) as error:
                    self.error = str(error)
                self._stamp = mark
            return self._current
