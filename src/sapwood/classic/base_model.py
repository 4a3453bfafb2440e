"""Base models of an ensemble: table and target by scikit-learn's conventions, seeds, tags."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags
from sklearn.utils.validation import validate_data

from sapwood.boost.fit_arguments import CLASSIFICATION, REGRESSION
from sapwood.boost.learning_task import read_target
from sapwood.errors import InputError
from sapwood.estimators.base import warn_of_column_vector
from sapwood.kernels.numeric.random import BASE_MODEL, draw_many


def checked_table(estimator: BaseEstimator, X: Any, reset: bool) -> Any:
    """Check X by scikit-learn's conventions; data frames stay as they are, for base models that take them."""
    if hasattr(X, "columns"):
        return validate_data(estimator, X, reset=reset, skip_check_array=True)
    return validate_data(estimator, X, reset=reset, accept_sparse="csr", ensure_all_finite=False, dtype=None)


def read_labels(estimator: BaseEstimator, n_rows: int, y: Any, min_classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Return the class numbers of a target and the classes; by default there must be two at least."""
    codes, classes = _read(estimator, n_rows, y, CLASSIFICATION)
    assert classes is not None
    if len(classes) < min_classes:
        raise InputError(f"y has one class, {classes[0]!r}: a classifier needs at least two classes")
    return codes, classes


def read_numbers(estimator: BaseEstimator, n_rows: int, y: Any) -> np.ndarray:
    """Return the target of a regressor as float64."""
    return _read(estimator, n_rows, y, REGRESSION)[0]


def _read(estimator: BaseEstimator, n_rows: int, y: Any, task: str) -> tuple[np.ndarray, np.ndarray | None]:
    if y is None:
        raise InputError(f"{type(estimator).__name__} requires y to be passed, but the target y is None")
    warn_of_column_vector(y)
    return read_target(task, y, n_rows)


def set_seed(model: Any, seed: int, round: int, output: int = 0) -> Any:
    """Set the ``random_state`` of a base model that has none, by the seed of the ensemble; return the model."""
    if model.get_params().get("random_state", 0) is None:
        bits = np.empty(1, dtype=np.uint64)
        draw_many(seed, BASE_MODEL, round, np.array([output], dtype=np.uint64), bits)
        model.set_params(random_state=int(bits[0] >> np.uint64(33)))
    return model


def copy_input_tags(tags: Any, base: Any) -> Any:
    """Set the tags of an ensemble to the inputs that its base model takes; return the tags."""
    of_base = get_tags(base).input_tags
    tags.input_tags.sparse, tags.input_tags.allow_nan = of_base.sparse, of_base.allow_nan
    return tags
