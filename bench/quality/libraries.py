"""Fit each library with its defaults on data frames with categorical columns.

Each function fits and returns a function that predicts: probabilities (rows, classes), or numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np

from bench.quality.tables import Rows

MAX_SCIKIT_LEARN_CATEGORIES = 255
Predictor = Callable[[Any], np.ndarray]
# Arguments are the rows, the seed and the number of threads.
Fit = Callable[[Rows, int, int], Predictor]


def fit_sapwood(rows: Rows, seed: int, threads: int, **params: Any) -> Predictor:
    """Fit Sapwood; ``params`` are a variant's."""
    from sapwood import SapwoodClassifier, SapwoodRegressor

    estimator = SapwoodRegressor if rows.task == "regression" else SapwoodClassifier
    model = estimator(categorical_features=list(rows.categories), n_jobs=threads, random_state=seed, **params)
    return _predictor(model.fit(rows.X, rows.y), rows.task)


def fit_lightgbm(rows: Rows, seed: int, threads: int) -> Predictor:
    """Fit LightGBM on columns of the category type."""
    import lightgbm

    coded = CategoryColumns(rows)
    estimator = lightgbm.LGBMRegressor if rows.task == "regression" else lightgbm.LGBMClassifier
    model = estimator(n_jobs=threads, random_state=seed, verbose=-1)
    return coded.then(_predictor(model.fit(coded(rows.X), rows.y), rows.task))


def fit_xgboost(rows: Rows, seed: int, threads: int) -> Predictor:
    """Fit XGBoost on columns of the category type."""
    import xgboost

    coded = CategoryColumns(rows)
    estimator = xgboost.XGBRegressor if rows.task == "regression" else xgboost.XGBClassifier
    model = estimator(n_jobs=threads, random_state=seed, enable_categorical=True)
    return coded.then(_predictor(model.fit(coded(rows.X), rows.y), rows.task))


def fit_scikit_learn(rows: Rows, seed: int, threads: int) -> Predictor:
    """Fit scikit-learn's histogram gradient boosting; columns of more than 255 categories are codes, its limit."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from threadpoolctl import threadpool_limits

    coded = CategoryColumns(rows, MAX_SCIKIT_LEARN_CATEGORIES)
    estimator = HistGradientBoostingRegressor if rows.task == "regression" else HistGradientBoostingClassifier
    with threadpool_limits(threads):
        model = estimator(random_state=seed).fit(coded(rows.X), rows.y)
    return coded.then(_predictor(model, rows.task))


def fit_catboost(rows: Rows, seed: int, threads: int) -> Predictor:
    """Fit CatBoost on strings."""
    import catboost

    estimator = catboost.CatBoostRegressor if rows.task == "regression" else catboost.CatBoostClassifier
    model = estimator(
        cat_features=list(rows.categories), thread_count=threads, random_seed=seed, verbose=False,
        allow_writing_files=False,
    )  # fmt: skip
    return _predictor(model.fit(rows.X, rows.y), rows.task)


def fit_chimeraboost(rows: Rows, seed: int, threads: int) -> Predictor:
    """Fit ChimeraBoost on strings."""
    import chimeraboost

    is_regression = rows.task == "regression"
    estimator = chimeraboost.ChimeraBoostRegressor if is_regression else chimeraboost.ChimeraBoostClassifier
    model = estimator(cat_features=list(rows.categories), thread_count=threads, random_state=seed)
    return _predictor(model.fit(rows.X, rows.y), rows.task)


class CategoryColumns:
    """Convert categorical columns to the category type with the categories of the training rows.

    Columns of more than ``limit`` categories become numbers: the codes.
    """

    def __init__(self, rows: Rows, limit: int | None = None) -> None:
        import pandas as pd

        self.types = {name: pd.CategoricalDtype(sorted(rows.X[name].unique())) for name in rows.categories}
        self.limit = limit

    def __call__(self, X: Any) -> Any:
        """Return the table with converted columns."""
        known = {name: X[name].where(X[name].isin(dtype.categories)) for name, dtype in self.types.items()}
        return X.assign(**{name: self._convert(known[name].astype(dtype)) for name, dtype in self.types.items()})

    def then(self, predict: Predictor) -> Predictor:
        """Return a function that converts and predicts."""
        return lambda X: predict(self(X))

    def _convert(self, column: Any) -> Any:
        if self.limit is None or len(column.cat.categories) <= self.limit:
            return column
        return column.cat.codes.replace(-1, np.nan).astype(np.float64)


def _predictor(model: Any, task: str) -> Predictor:
    return model.predict if task == "regression" else model.predict_proba


# Version of the package, and the function that fits.
PEERS: dict[str, tuple[str, Fit]] = {
    "lightgbm": ("lightgbm", fit_lightgbm),
    "xgboost": ("xgboost", fit_xgboost),
    "scikit-learn": ("scikit-learn", fit_scikit_learn),
    "catboost": ("catboost", fit_catboost),
    "chimeraboost": ("chimeraboost", fit_chimeraboost),
}

# Variants of Sapwood by name: parameters beside the defaults.
VARIANTS: dict[str, dict[str, Any]] = {
    "sapwood": {},
    "sapwood-fast": {"effort": "fast"},
    "sapwood-best": {"effort": "best"},
}


def peer_version(name: str) -> str | None:
    """Return the version of a peer, None if it is not installed."""
    package = PEERS[name][0]
    for distribution in (package, f"{package}-cpu"):
        try:
            return version(distribution)
        except ImportError:
            continue
    return None


def sapwood_variant(name: str, params: dict[str, Any] | None = None) -> Fit:
    """Return the function that fits a variant of Sapwood."""
    return partial(fit_sapwood, **(VARIANTS[name] if params is None else params))
