"""The sample study: made once, then gone on with."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from annotate import seats
from annotate.errors import DataError
from annotate.importer import import_paths
from annotate.library import counts
from annotate.study import SETTINGS_NAME, init, open_study
from judge.database.verdict_import import verdict_sink

TITLE = "Evenhand sample study"


def ensure_demo(folder: Path) -> bool:
    """Make the sample study if it is not there; returns whether it was made.

    An interrupted start is completed by the next: importing twice adds nothing.
    """
    known = (folder / SETTINGS_NAME).exists()
    study = open_study(folder) if known else init(folder, TITLE)
    if known and counts(study.store)["pairs"]:
        study.close()
        return False
    account = import_paths(
        study.store, [sample_path()], verdict_sink(study.store), benchmark="sample"
    )
    if account.refused:
        raise DataError(f"the sample study is damaged: {account.refused[0]}")
    seats.invite(study.store, "you")
    study.close()
    return True


def sample_path() -> Path:
    """The sample study's files: in the package when installed, in data/ in a checkout."""
    packaged = Path(str(resources.files("judge").joinpath("sample")))
    if packaged.is_dir():
        return packaged
    checkout = Path(__file__).resolve().parents[2] / "data" / "sample"
    if checkout.is_dir():
        return checkout
    raise DataError("the sample study is not installed; reinstall evenhand")
