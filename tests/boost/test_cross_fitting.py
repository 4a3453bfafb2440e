"""Cross-fitting: rows are predicted by the models that were trained without them."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood.boost.candidate_training import CandidateTask
from sapwood.boost.cross_fitting import cross_fit
from sapwood.boost.fit_arguments import FitArguments
from sapwood.boost.learning_task import read_task

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
Y = X[:, 0] + RNG.normal(size=120)
PARTS = [np.arange(120) % 3 != k for k in range(3)]  # each row is in two of three


@pytest.fixture(scope="module")
def task_and_rows():
    params = {"effort": "fast", "n_estimators": 4, "early_stopping_rounds": 4, "n_jobs": 1}
    return read_task(FitArguments(params, X, Y, caller="fit"))


def test_scores_are_means_over_the_models_without_the_row(task_and_rows):
    task, rows = task_and_rows
    fitted = cross_fit(CandidateTask("mean", task), rows, PARTS, 0.0)
    singles = [cross_fit(CandidateTask("mean", task), rows, [part], 0.0) for part in PARTS]
    expected = sum(np.nan_to_num(one.scores) for one in singles) / 2
    np.testing.assert_allclose(fitted.scores, expected, rtol=1e-12)
    mean = sum(one.model.predict(X) for one in singles) / 3
    np.testing.assert_allclose(fitted.model.predict(X), mean, rtol=1e-12)
    assert fitted.is_complete


def test_rows_of_no_part_have_no_score(task_and_rows):
    task, rows = task_and_rows
    fitted = cross_fit(CandidateTask("mean", task), rows, PARTS[:1], 0.0)
    assert np.array_equal(np.isnan(fitted.scores[0]), ~PARTS[0])
