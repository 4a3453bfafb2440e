"""Bins chosen once and used again."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_predict

from sapwood import Dataset, SapwoodClassifier, SapwoodRegressor
from sapwood.data.binning.bin_mapper import BinMapper
from sapwood.errors import ParameterError

FEW = {"n_estimators": 8, "min_child_samples": 5}


def example(n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 3))
    X[random.random(X.shape) < 0.1] = np.nan
    return X, np.nan_to_num(X[:, 0]) + np.sin(3 * np.nan_to_num(X[:, 1]))


@pytest.mark.parametrize("max_bins", [255, 16, 300])
def test_it_gives_the_model_of_the_table(max_bins):
    X, y = example()
    plain = SapwoodRegressor(max_bins=max_bins, **FEW).fit(X, y)
    binned = SapwoodRegressor(max_bins=max_bins, **FEW).fit(Dataset(X, max_bins=max_bins), y)
    assert binned.model_.fingerprint() == plain.model_.fingerprint()


def test_bins_are_not_chosen_again(monkeypatch):
    X, y = example()
    data = Dataset(X)
    monkeypatch.setattr(BinMapper, "fit", None)
    for max_leaves in (4, 8):
        SapwoodRegressor(max_leaves=max_leaves, early_stopping_rounds=3, refit=True, **FEW).fit(data, y)


def test_weights_of_zero_are_left_out_of_training():
    X, y = example()
    weight = np.where(np.arange(400) < 200, 1.0, 0.0)
    binned = SapwoodRegressor(**FEW).fit(Dataset(X, sample_weight=weight), y, sample_weight=weight)
    plain = SapwoodRegressor(**FEW).fit(X, y, sample_weight=weight)
    assert binned.model_.fingerprint() == plain.model_.fingerprint()


def test_names_come_along_and_predictions_take_it():
    X, y = example()
    frame = pd.DataFrame(X, columns=list("abc"))
    fitted = SapwoodRegressor(**FEW).fit(Dataset(frame), y)
    assert list(fitted.feature_names_in_) == ["a", "b", "c"]
    assert np.array_equal(fitted.predict(Dataset(frame)), fitted.predict(frame))
    assert np.array_equal(fitted.apply(Dataset(frame)), fitted.apply(frame))


def test_another_number_of_bins_is_refused():
    X, y = example()
    with pytest.raises(ParameterError, match="max_bins=63 is not supported with a Dataset made with max_bins=16"):
        SapwoodRegressor(max_bins=63).fit(Dataset(X, max_bins=16), y)


def test_bins_left_unset_are_those_of_the_dataset():
    X, y = example()
    fitted = SapwoodRegressor(n_estimators=30, max_leaves=31, min_child_samples=1).fit(Dataset(X, max_bins=3), y)
    for feature in range(3):
        used = fitted.model_.ensemble.threshold[fitted.model_.ensemble.feature == feature]
        assert len(np.unique(used[np.isfinite(used)])) <= 2


ROWS = {"list": [5, 3, 3, 0], "slice": slice(10, 50, 2), "mask": np.arange(400) % 7 == 0}


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
def test_rows_have_the_bins_of_the_whole(rows):
    X, _ = example()
    data = Dataset(X)
    part = data[rows]
    assert part.shape == X[rows].shape and len(part) == len(X[rows])
    assert np.array_equal(part.bins.columns, data.bins.columns[:, rows])
    assert np.array_equal(part.X, X[rows], equal_nan=True)


def test_one_number_is_no_rows():
    with pytest.raises(ParameterError, match="a Dataset is indexed by rows"):
        Dataset(example()[0])[3]


def test_it_says_what_it_is():
    assert repr(Dataset(example()[0], max_bins=16)) == "<sapwood.Dataset: 400 rows, 3 features, at most 16 bins>"


def test_a_grid_search_reuses_the_bins(monkeypatch):
    X, y = example()
    data = Dataset(X)
    monkeypatch.setattr(BinMapper, "fit", None)
    search = GridSearchCV(SapwoodRegressor(**FEW), {"max_leaves": [3, 8]}, cv=3).fit(data, y)
    assert search.best_params_ == {"max_leaves": 8}


def test_cross_validation_of_scikit_learn_takes_it():
    X, y = example()
    labels = y > 0
    probability = cross_val_predict(SapwoodClassifier(**FEW), Dataset(X), labels, cv=3, method="predict_proba")
    assert np.mean((probability[:, 1] > 0.5) == labels) > 0.8


def test_data_are_read_without_scikit_learn():
    """A fresh process reads, bins and indexes data with NumPy alone."""
    script = (
        "import importlib, pkgutil, sys\n"
        "import numpy as np\n"
        "import sapwood, sapwood.data\n"
        "for module in pkgutil.walk_packages(sapwood.data.__path__, 'sapwood.data.'):\n"
        "    importlib.import_module(module.name)\n"
        "sapwood.Dataset(np.eye(9))[[1, 2]]\n"
        "print([name for name in ('sklearn', 'scipy', 'pandas') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
