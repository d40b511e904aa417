"""Nothing that a score or a decision rests on was edited in the database."""

from __future__ import annotations

from annotate.errors import DataError
from annotate.store import Store
from annotate.verify import verify
from judge.database import calibration_chain, derivation


def unedited(store: Store, key: bytes | None) -> None:
    """People's labels, the plans that drew them, calibrations, attempts and verdicts hold.

    Args:
        store: of the study.
        key: that artefacts are signed with, if any.

    Raises:
        DataError: something is not as it was written.
    """
    with store.snapshot() as conn:
        found = [*verify(store).breaks, *calibration_chain.breaks(conn, key)]
    found += derivation.breaks(store)
    if found:
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        raise DataError(
            f"{found[0]}{more}; expected a study as it was written; evenhand verify names every"
            " break; restore a backup"
        )
