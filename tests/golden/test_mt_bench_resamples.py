"""MT-Bench's votes resampled by copying rows, through scikit-learn and krippendorff.

Proof 2 of the report on real votes: 100 resamples, equal to 1e-12 to the matrix method.
"""

from __future__ import annotations

import krippendorff
import numpy as np
import pytest
from sklearn.metrics import accuracy_score, cohen_kappa_score

from judge.stats.agreement import pair_judgments, select_verdicts, select_votes
from judge.stats.intervals import cluster_weights, resampled_totals
from judge.stats.rows import Rows, judged_rows, question_index
from judge.stats.views import View, of_block
from tests.golden.test_mt_bench_agreement import pytestmark as pytestmark
from tests.golden.test_mt_bench_agreement import tidy_table

RESAMPLES = 100
SEED = 7
QUESTIONS = 80


@pytest.fixture(scope="module", params=["S1", "S2"])
def both(request: pytest.FixtureRequest) -> tuple[View, Rows]:
    """GPT-4 beside the experts, all turns: as the report's counts, and as rows."""
    judgments = pair_judgments(tidy_table())
    votes = select_votes(judgments, "overall", groups=["expert"], simulated=False)
    (judge,) = set(judgments.loc[judgments["source_kind"] == "judge", "source_id"])
    verdicts = select_verdicts(judgments, "overall", judge)
    wanted = ("judge-human", None, request.param)
    (view,) = (
        view
        for view in of_block(votes, {judge: verdicts})
        if (view.comparison, view.turn, view.setup) == wanted
    )
    questions = question_index(votes.rows["cluster"])
    assert len(questions) == QUESTIONS
    return view, judged_rows(votes, verdicts, request.param, questions)


def test_the_matrix_method_equals_copied_rows(both: tuple[View, Rows]) -> None:
    view, rows = both
    totals = resampled_totals(view.counts, resamples=RESAMPLES, seed=SEED)
    ours = {name: statistic(totals) for name, statistic in view.statistics.items()}
    weights = np.vstack(list(cluster_weights(QUESTIONS, resamples=RESAMPLES, seed=SEED)))
    everything = np.arange(len(rows.vote))
    for number, weight in enumerate(weights.astype(int)):
        at = np.repeat(everything, weight[rows.question])
        vote, verdict = rows.vote[at], rows.verdict[at]
        mirrored = np.concatenate([vote, 2 - vote]), np.concatenate([verdict, 2 - verdict])
        theirs = {
            "agreement": accuracy_score(vote, verdict),
            "kappa": cohen_kappa_score(vote, verdict),
            "kappa_symmetrised": cohen_kappa_score(*mirrored),
            "alpha": krippendorff.alpha(np.stack([vote, verdict]), level_of_measurement="nominal"),
        }
        for name, value in theirs.items():
            assert ours[name][number] == pytest.approx(value, abs=1e-12), name
