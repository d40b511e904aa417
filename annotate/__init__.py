"""People: pairs in, votes out. Nothing here can import a judge's verdict.

For notebooks: the functions that the commands call, loaded when first used.

>>> import annotate
>>> study = annotate.open_study(Path("harm-study"))          # doctest: +SKIP
>>> annotate.import_paths(study.store, [Path("mt_bench")], judge.verdict_sink(study.store))
...                                                          # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .ballots import judgments
    from .export import export_votes
    from .importer import Account, import_paths
    from .library import pairs
    from .seats import invitation_token, invite
    from .study import Study, init, open_study
    from .verify import verify

_HOMES = {
    "Account": "importer",
    "Study": "study",
    "export_votes": "export",
    "import_paths": "importer",
    "init": "study",
    "invitation_token": "seats",
    "invite": "seats",
    "judgments": "ballots",
    "open_study": "study",
    "pairs": "library",
    "verify": "verify",
}

__all__ = [
    "Account",
    "Study",
    "export_votes",
    "import_paths",
    "init",
    "invitation_token",
    "invite",
    "judgments",
    "open_study",
    "pairs",
    "verify",
]


def __getattr__(name: str) -> object:
    """Load a public name from its module on first use (`--help` must not pay for it)."""
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
