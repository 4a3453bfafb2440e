"""Cross-validation: honest predictions, scores and histories."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, ShuffleSplit

import sapwood
from sapwood import Dataset, SapwoodClassifier, SapwoodRegressor
from sapwood.data.binning.bin_mapper import BinMapper
from sapwood.errors import InputError, InputTypeError
from sapwood.metrics.registry import resolve_metric
from sapwood.objectives import Quantile

FEW = {"n_estimators": 10, "min_child_samples": 5, "learning_rate": 0.3}


def example(n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 3))
    return X, X[:, 0] + np.sin(3 * X[:, 1]) + random.normal(scale=0.3, size=n)


def test_predictions_are_those_of_models_that_have_not_seen_the_row():
    X, y = example()
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))
    found = sapwood.cv(SapwoodRegressor(**FEW), X, y, cv=folds)
    for (train, test), fitted, rows in zip(folds, found.estimators, found.held_out, strict=True):
        expected = SapwoodRegressor(**FEW).fit(X[train], y[train])
        assert np.array_equal(rows, test)
        assert fitted.model_.fingerprint() == expected.model_.fingerprint()
        assert np.array_equal(found.predictions[test], expected.predict(X[test]))


def test_scores_are_those_of_the_rows_held_out():
    X, y = example()
    weight = np.linspace(0.5, 1.5, len(y))
    found = sapwood.cv(SapwoodRegressor(eval_metric=["mae", "rmse"], **FEW), X, y, cv=4, sample_weight=weight)
    assert {name: len(values) for name, values in found.scores.items()} == {"mae": 4, "rmse": 4}
    for k, rows in enumerate(found.held_out):
        expected = resolve_metric("mae")(y[rows], found.predictions[rows], weight[rows])
        assert found.scores["mae"][k] == pytest.approx(expected)


def test_the_history_is_the_mean_over_the_folds():
    X, y = example()
    found = sapwood.cv(SapwoodRegressor(n_estimators=60, learning_rate=0.5), X, y, cv=3)
    every = [fitted.evals_result_["held_out"]["rmse"] for fitted in found.estimators]
    assert np.allclose(found.history["rmse"], np.mean(every, axis=0))
    assert found.best_iteration == int(np.argmin(found.history["rmse"])) + 1 < 60


def test_classes_get_probabilities_and_folds_alike():
    X, y = example()
    labels = np.where(y > 1.5, "rare", "common")
    found = sapwood.cv(SapwoodClassifier(eval_metric="auc", **FEW), X, labels, cv=5)
    assert found.predictions.shape == (300, 2)
    assert np.allclose(found.predictions.sum(axis=1), 1.0)
    counts = [np.sum(labels[rows] == "rare") for rows in found.held_out]
    assert max(counts) - min(counts) <= 1
    assert found.best_iteration == int(np.argmax(found.history["auc"])) + 1


def test_groups_are_held_out_whole():
    X, y = example()
    groups = np.repeat([f"group {k}" for k in range(30)], 10)
    found = sapwood.cv(SapwoodRegressor(**FEW), X, y, cv=3, groups=groups)
    parts = [set(groups[rows]) for rows in found.held_out]
    assert not (parts[0] & parts[1] or parts[0] & parts[2] or parts[1] & parts[2])


def test_rows_held_out_never_tell_when_to_stop():
    """Early stopping splits off rows of the fold's own: the fold's model does not change with the targets held out."""
    X, y = example()
    made = SapwoodRegressor(early_stopping_rounds=3, n_estimators=200, learning_rate=0.5)
    folds = list(KFold(3).split(X))
    first = sapwood.cv(made, X, y, cv=folds).estimators[0]
    other = y.copy()
    other[folds[0][1]] = -other[folds[0][1]]
    second = sapwood.cv(made, X, other, cv=folds).estimators[0]
    assert first.model_.fingerprint() == second.model_.fingerprint()
    assert first.stopped_ == "early_stopping"
    assert list(first.evals_result_) == ["validation", "held_out"]


def test_bins_do_not_know_the_rows_held_out():
    X, y = example()
    folds = list(KFold(3).split(X))
    first = sapwood.cv(SapwoodRegressor(max_bins=8, **FEW), X, y, cv=folds).estimators[0]
    far = X.copy()
    far[folds[0][1]] += 100.0
    second = sapwood.cv(SapwoodRegressor(max_bins=8, **FEW), far, y, cv=folds).estimators[0]
    assert first.model_.fingerprint() == second.model_.fingerprint()


def test_a_dataset_brings_its_bins(monkeypatch):
    X, y = example()
    data = Dataset(X)
    monkeypatch.setattr(BinMapper, "fit", None)
    assert sapwood.cv(SapwoodRegressor(**FEW), data, y, cv=3).predictions.shape == (300,)


def test_rows_held_out_twice_are_averaged_and_those_never_are_missing():
    X, y = example()
    found = sapwood.cv(SapwoodRegressor(**FEW), X, y, cv=ShuffleSplit(3, test_size=0.3, random_state=0))
    times = np.bincount(np.concatenate(found.held_out), minlength=300)
    assert np.array_equal(np.isnan(found.predictions), times == 0)
    row = int(np.argmax(times == 2))
    who = [k for k, rows in enumerate(found.held_out) if row in rows]
    expected = np.mean([found.estimators[k].predict(X[row : row + 1])[0] for k in who])
    assert found.predictions[row] == pytest.approx(expected)


def test_data_frames_keep_their_names():
    X, y = example()
    found = sapwood.cv(SapwoodRegressor(**FEW), pd.DataFrame(X, columns=list("abc")), pd.Series(y), cv=3)
    assert list(found.estimators[0].feature_names_in_) == ["a", "b", "c"]


def test_several_outputs_have_a_column_each():
    X, y = example()
    found = sapwood.cv(SapwoodRegressor(objective=Quantile([0.1, 0.9]), **FEW), X, y, cv=3)
    assert found.predictions.shape == (300, 2)


def test_the_estimator_given_stays_unfitted():
    X, y = example()
    made = SapwoodRegressor(**FEW)
    sapwood.cv(made, X, y, cv=3)
    assert not hasattr(made, "model_")


def test_it_says_how_it_went():
    assert repr(sapwood.cv(SapwoodRegressor(**FEW), *example(), cv=3)).startswith("<sapwood.cv: 3 folds, rmse 0.")


def test_other_estimators_are_sent_to_scikit_learn():
    with pytest.raises(InputTypeError, match="got LinearRegression: for other estimators and pipelines use sklearn"):
        sapwood.cv(LinearRegression(), *example())


def test_a_class_that_is_held_out_whole_is_named():
    X, _ = example(20)
    labels = np.array(["a"] * 10 + ["b"] * 9 + ["c"])
    with pytest.raises(InputError, match=r"fold \d holds out all rows of class 'c'"):
        sapwood.cv(SapwoodClassifier(**FEW), X, labels, cv=3)


@pytest.mark.parametrize("folds, text", [(1, "cv must be at least 2 folds"), (301, "301 folds cannot be made of 300")])
def test_a_number_of_folds_that_cannot_be_is_refused(folds, text):
    with pytest.raises(InputError, match=text):
        sapwood.cv(SapwoodRegressor(), *example(), cv=folds)
