"""The one tidy table that every statistic takes: people's votes and judges' verdicts."""

from __future__ import annotations

from itertools import chain

import pandas as pd

from annotate import ballots
from annotate.store import Store

from .store import VerdictStore


def tidy(store: Store) -> pd.DataFrame:
    """Judgments of everyone, one row each, with the columns of DESIGN §2.

    `order` is one screen's (`ab`, `ba`, `unknown`); a pair verdict has none, and says in
    `orders` whether both are behind it.

    Votes and verdicts are read in one snapshot, so a running study gives one moment.
    """
    verdicts = VerdictStore(store)
    with store.snapshot():
        rows = list(chain(ballots.judgments(store), verdicts.judgments()))
    return pd.DataFrame(rows, columns=[*ballots.JUDGMENT_COLUMNS, "orders", "reason"])
