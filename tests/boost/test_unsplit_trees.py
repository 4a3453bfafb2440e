from __future__ import annotations

import warnings

import numpy as np
import pytest

from sapwood import SapwoodClassifier, SapwoodRegressor, train
from sapwood.errors import NoSplitWarning, SapwoodWarning

X = np.random.default_rng(0).normal(size=(100, 2))
CASES = {
    "30 rows": (
        lambda: SapwoodRegressor(n_estimators=3).fit(X[:30], X[:30, 0]),
        r"30 rows cannot be divided into two leaves of at least min_child_samples=20 rows; set it to at most 15",
    ),
    "a single row": (lambda: SapwoodRegressor(n_estimators=3).fit(X[:1], [1.0]), r"1 rows cannot.*train on more rows"),
    "constant columns": (
        lambda: SapwoodClassifier(n_estimators=3).fit(np.ones((100, 2)), X[:, 0] > 0),
        r"every column is constant, or missing throughout; check X",
    ),
    "missing columns": (
        lambda: SapwoodRegressor(n_estimators=3).fit(np.full((100, 2), np.nan), X[:, 0]), "every column is constant"
    ),
    "a constant target": (
        lambda: SapwoodRegressor(n_estimators=3).fit(X, np.full(100, 2.5)), r"all targets are 2\.5; check y"
    ),
    "a gain out of reach": (
        lambda: SapwoodRegressor(n_estimators=3, min_split_gain=1e9).fit(X, X[:, 0]),
        r"no split of 100 rows .* improves the loss with .*min_split_gain=1000000000\.0; lower these",
    ),
    "leaves too heavy": (
        lambda: SapwoodClassifier(n_estimators=3, min_child_weight=50.0).fit(X, X[:, 0] > 0), r"min_child_weight=50\.0"
    ),
    "sapwood.train": (lambda: train({"n_estimators": 2}, X[:30], X[:30, 0]), r"min_child_samples=20"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_fit_without_splits_warns_once_and_says_why(case):
    fit, message = CASES[case]
    with pytest.warns(NoSplitWarning, match=message) as caught:
        fit()
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_the_warning_is_one_of_those_of_the_package():
    assert issubclass(NoSplitWarning, SapwoodWarning)
    assert issubclass(NoSplitWarning, UserWarning)


@pytest.mark.parametrize(
    "fit",
    [
        lambda: SapwoodRegressor(n_estimators=3).fit(X, X[:, 0]),
        lambda: SapwoodRegressor(n_estimators=3, min_child_samples=15).fit(X[:30], X[:30, 0]),
        lambda: SapwoodRegressor(n_estimators=2).fit(
            np.where(np.arange(100) % 2, np.nan, 1.0)[:, None], np.arange(100) % 2
        ),
    ],
    ids=["many rows", "small leaves", "missing or not"],
)
def test_other_fits_are_quiet(fit):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit()


def test_a_continued_model_that_adds_no_split_warns():
    first = SapwoodRegressor(n_estimators=3).fit(X, X[:, 0])
    with pytest.warns(NoSplitWarning, match="30 rows"):
        SapwoodRegressor(n_estimators=3).fit(X[:30], X[:30, 0], init_model=first)
