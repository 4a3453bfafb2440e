"""Validation sets: how they may be given, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sapwood import Dataset, SapwoodClassifier, SapwoodRegressor
from sapwood.boost.eval_sets import read_eval_sets
from sapwood.errors import InputError, InputTypeError, SchemaError

FEW = {"n_estimators": 4, "min_child_samples": 5}


def example(n: int = 100, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 2))
    return X, X[:, 0] ** 2 + X[:, 1]


def test_sets_are_named_by_how_they_are_given():
    a, b = ("X1", "y1"), ("X2", "y2")
    assert list(read_eval_sets(a, None)) == ["validation"]
    assert list(read_eval_sets([a], None)) == ["validation_0"]
    assert list(read_eval_sets((a, b), None)) == ["validation_0", "validation_1"]
    assert list(read_eval_sets({"test": a, 2: b}, None)) == ["test", "2"]
    assert read_eval_sets(None, None) == {}


def test_weights_follow_their_sets():
    a, b = ("X1", "y1"), ("X2", "y2")
    assert read_eval_sets(a, "w")["validation"] == ("X1", "y1", "w", None)
    assert [one[2] for one in read_eval_sets([a, b], ["w", None]).values()] == ["w", None]
    assert [one[2] for one in read_eval_sets({"a": a, "b": b}, {"b": "w"}).values()] == [None, "w"]


def test_a_third_entry_is_the_offset():
    assert read_eval_sets([("X", "y", "offset")], None)["validation_0"] == ("X", "y", None, "offset")


@pytest.mark.parametrize(
    "sets, weights, text",
    [
        (None, [1.0], "eval_sample_weight is not supported without eval_set"),
        ([("X", "y"), ("X", "y")], [[1.0]], "eval_sample_weight must be a list of length 2"),
        ({"a": ("X", "y")}, [1.0], "eval_sample_weight must be a dict with the names of eval_set"),
        ({"a": ("X", "y")}, {"b": [1.0]}, "eval_sample_weight names 'b', but eval_set has only a"),
        ([("X",)], None, "eval_set 'validation_0' must be a pair"),
        (
            np.zeros((3, 2)),
            None,
            "eval_set must be a pair .X, y., a list .* or a dict .*, got ndarray",
        ),
    ],
)
def test_what_is_no_set_is_refused(sets, weights, text):
    with pytest.raises((InputError, InputTypeError), match=text):
        read_eval_sets(sets, weights)


def test_every_set_is_measured():
    X, y = example()
    fitted = SapwoodRegressor(**FEW).fit(X, y, eval_set=[(X, y), example(seed=1), example(50, 2)])
    assert [len(metrics["rmse"]) for metrics in fitted.evals_result_.values()] == [4, 4, 4]


def test_measuring_changes_nothing():
    X, y = example()
    watched = SapwoodRegressor(**FEW).fit(X, y, eval_set=[(X, y), example(seed=1)])
    assert watched.model_.fingerprint() == SapwoodRegressor(**FEW).fit(X, y).model_.fingerprint()


def test_data_frames_and_datasets_are_read_by_name_and_as_they_are():
    X, y = example()
    frame = pd.DataFrame(X, columns=["a", "b"])
    fitted = SapwoodRegressor(**FEW).fit(frame, y, eval_set=[(frame[["b", "a"]], y), (Dataset(frame), y), (frame, y)])
    first, second, third = (metrics["rmse"] for metrics in fitted.evals_result_.values())
    assert first == second == third


def test_labels_are_those_of_training():
    X, y = example()
    labels = np.where(y > 1, "much", "little")
    fitted = SapwoodClassifier(**FEW).fit(X, labels, eval_set=(X[labels == "much"], labels[labels == "much"]))
    assert fitted.evals_result_["validation"]["log_loss"][-1] < 0.7


def test_an_unknown_label_is_named_with_its_set():
    X, y = example()
    labels = np.where(y > 1, "much", "little")
    other = np.where(np.arange(100) == 7, "some", labels)
    with pytest.raises(InputError, match=r"eval_set 'later': row 7 of y has the label 'some', which is none"):
        SapwoodClassifier(**FEW).fit(X, labels, eval_set={"later": (X, other)})


@pytest.mark.parametrize(
    "X_eval, y_eval, weight, text",
    [
        (np.zeros((3, 5)), np.zeros(3), None, "eval_set 'validation': X has 5 features"),
        (np.zeros((3, 2)), np.zeros(4), None, "eval_set 'validation': Found input variables with inconsistent numbers"),
        (np.zeros((2, 2)), [0.0, np.nan], None, "eval_set 'validation': y must be finite"),
        (
            np.zeros((2, 2)),
            [0.0, 1.0],
            [-1.0, 1.0],
            "eval_set 'validation': eval_sample_weight must not be negative",
        ),
    ],
)
def test_an_error_names_the_set(X_eval, y_eval, weight, text):
    X, y = example()
    with pytest.raises((InputError, SchemaError), match=text):
        SapwoodRegressor(**FEW).fit(X, y, eval_set=(X_eval, y_eval), eval_sample_weight=weight)


def test_a_target_out_of_the_range_of_the_loss_is_refused_with_its_set():
    X, y = example()
    with pytest.raises(InputError, match="eval_set 'validation': objective 'poisson': the target of row"):
        SapwoodRegressor(objective="poisson", **FEW).fit(X, np.abs(y), eval_set=(X, y - 5.0))
