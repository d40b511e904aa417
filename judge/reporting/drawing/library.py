"""matplotlib as we need it: loaded and used without a trace outside, one thread at a time."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

_TURN = RLock()
"""matplotlib's settings and Python's warning filters are the process's, not the thread's."""


@contextmanager
def ready() -> Iterator[None]:
    """Our settings, and no one else's, while a picture is made."""
    with _TURN:
        if "matplotlib.font_manager" not in sys.modules:
            _load()
        import matplotlib

        from judge.reporting.drawing.style import SETTINGS

        with matplotlib.rc_context(), warnings.catch_warnings():
            # A name may hold any character; what no font can show becomes a box.
            warnings.filterwarnings("ignore", message=r"Glyph \d+ .* missing from font")
            matplotlib.rcdefaults()
            matplotlib.rcParams.update(SETTINGS)
            yield


def _load() -> None:
    """Import matplotlib with a directory of its own that goes away, and its own fonts only.

    Left alone it would make directories in the home of whoever runs us, look through every font
    of the machine (which takes seconds and makes pictures differ between machines), and complain
    on stderr where it may not write.
    """
    log = logging.getLogger("matplotlib")
    level = log.level
    with tempfile.TemporaryDirectory(prefix="evenhand-") as place:
        ours = {"MPLCONFIGDIR": place, "MPL_IGNORE_SYSTEM_FONTS": "1"}
        theirs = {name: os.environ.get(name) for name in ours}
        os.environ |= ours
        log.setLevel(logging.ERROR)
        try:
            import matplotlib.font_manager

            # Asked for once and then remembered; a matplotlibrc nearby would put it off till later.
            matplotlib.get_configdir()
            matplotlib.get_cachedir()
        finally:
            log.setLevel(level)
            for name, value in theirs.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value
