"""Run kernels and small fits in this process's mode and print what came out, as JSON: one digest per case.

``python fit_report.py [case ...]`` runs some of the cases, all by default.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import sys
from collections.abc import Callable, Sequence
from unittest.mock import patch

import numpy as np
import scipy.sparse

from sapwood import (
    Bayesian,
    Crossing,
    Dart,
    Goss,
    Mvs,
    Ordered,
    Partition,
    SapwoodClassifier,
    SapwoodRegressor,
    Symmetric,
    Uniform,
    distributed,
)
from sapwood.kernels.histogram import gradient_scales
from sapwood.kernels.numeric import elementwise, random
from sapwood.model.model import Model

CASES: dict[str, Callable[[], str]] = {}
SMALL = {"n_estimators": 5, "max_leaves": 8, "min_child_samples": 3, "learning_rate": 0.3}


def case(function: Callable[[], str]) -> Callable[[], str]:
    CASES[function.__name__] = function
    return function


def digest(*arrays: np.ndarray) -> str:
    return hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()


def digest_of(model: Model) -> str:
    """Every array of the trees, also those that decide no prediction."""
    arrays = (getattr(model.ensemble, field.name) for field in dataclasses.fields(model.ensemble))
    return digest(*(array for array in arrays if isinstance(array, np.ndarray)), model.base_scores)


def table(n_rows: int = 150, n_features: int = 4) -> tuple[np.ndarray, np.ndarray]:
    source = np.random.default_rng(7)
    X = source.normal(size=(n_rows, n_features)).round(1)
    X[source.uniform(size=X.shape) < 0.1] = np.nan
    signal = np.nan_to_num(X)
    return X, signal[:, 0] * 2 + np.sin(3 * signal[:, 1]) + source.normal(size=n_rows)


@case
def draws() -> str:
    ids = np.arange(1000, dtype=np.uint64) * np.uint64(0x123456789ABCDEF)
    out = np.empty_like(ids)
    random.draw_many(2**62 + 5, random.ROUNDING, 3, ids, out)
    return digest(out)


@case
def exponentials() -> str:
    x = np.linspace(-50.0, 50.0, 999)
    out = [np.empty_like(x) for _ in range(2)]
    elementwise.exp_values(x, out[0])
    elementwise.log_values(np.abs(x), out[1])
    return digest(*out)


@case
def scales() -> str:
    out = np.empty(1)
    found = []
    for bound in (1e-300, 1e-3, 1.0, 12345.6, 1e200):
        gradient_scales.find_scale(gradient_scales.PACKED_GRADIENT_LIMIT, bound, 1000, out)
        found.append(out[0])
    return digest(np.array(found))


@case
def wide_fit() -> str:
    X, y = table()
    return digest_of(SapwoodRegressor(precision="wide", **SMALL).fit(X, y).model_)


@case
def packed_fit() -> str:
    X, y = table()
    weight = np.random.default_rng(1).uniform(0.1, 3.0, len(y))
    return digest_of(SapwoodRegressor(precision="packed", **SMALL).fit(X, y, sample_weight=weight).model_)


@case
def classifier_fit() -> str:
    X, y = table()
    return digest_of(SapwoodClassifier(precision="packed", reg_alpha=0.1, **SMALL).fit(X, y > 0).model_)


@case
def fit_of_many_bins() -> str:
    """More than 255 bins take two bytes each."""
    X = np.random.default_rng(3).normal(size=(320, 2))
    return digest_of(SapwoodRegressor(max_bins=400, n_estimators=2, max_leaves=6).fit(X, X[:, 0] * X[:, 1]).model_)


@case
def fit_with_constraints() -> str:
    """Monotone and interaction constraints, drawn columns and rows, level by level."""
    X, y = table()
    settings = {"monotone_constraints": [1, 0, -1, 0], "interaction_constraints": [[0, 1], [1, 2, 3]]}
    drawn = {"colsample_bytree": 0.8, "colsample_bynode": 0.7, "subsample": 0.8, "growth": "levelwise"}
    return digest_of(SapwoodRegressor(precision="packed", **SMALL, **settings, **drawn).fit(X, y).model_)


def _sampled(sampling: object) -> str:
    X, y = table()
    return digest_of(SapwoodRegressor(sampling=sampling, **SMALL).fit(X, y).model_)


@case
def fit_by_goss() -> str:
    return _sampled(Goss(0.3, 0.2, full_rounds=1))


@case
def fit_by_mvs() -> str:
    return _sampled(Mvs())


@case
def fit_by_bayesian_weights() -> str:
    return _sampled(Bayesian(0.7))


@case
def fit_of_rows_drawn_again() -> str:
    return _sampled(Uniform(replacement=True))


def _sparse(**params: object) -> str:
    X, y = table(300, 12)
    X[:, 1:] *= np.random.default_rng(4).uniform(size=(300, 11)) < 0.15
    return digest_of(SapwoodRegressor(**SMALL | params).fit(scipy.sparse.csr_matrix(X), y).model_)


@case
def fit_of_a_sparse_table() -> str:
    return _sparse(precision="packed")


@case
def fit_of_listed_columns() -> str:
    """Columns as lists, of all rows and of some."""
    with patch("sapwood.data.binning.sparse_bins.MAX_TILED_COLUMNS", 0):
        return _sparse(precision="packed", min_child_samples=9) + _sparse(sampling="mvs", boosting="dart")


@case
def fit_on_one_worker() -> str:
    """Step by step, as workers of a distributed fit grow trees."""

    class Lonely(distributed.Reducer):
        def exchange(self, parts: Sequence[bytes]) -> Sequence[bytes]:
            return parts

    X, y = table()
    prints = []
    for settings in ({"precision": "packed"}, {"sampling": Goss(0.3, 0.2, full_rounds=1), "colsample_bynode": 0.6}):
        made = SapwoodRegressor(**SMALL | settings, monotone_constraints=[1, 0, 0, 0])
        prints.append(digest_of(distributed.fit(made, X, y, Lonely(0, 1)).model_))
    return " ".join(prints)


@case
def fit_with_dropouts() -> str:
    X, y = table()
    return digest_of(SapwoodRegressor(boosting=Dart(0.4, skip=0.0), **SMALL).fit(X, y).model_)


@case
def fit_of_a_forest() -> str:
    X, y = table()
    return digest_of(SapwoodRegressor(boosting="forest", n_estimators=3, max_leaves=8).fit(X, y).model_)


@case
def symmetric_fit() -> str:
    X, y = table()
    return digest_of(
        SapwoodRegressor(n_estimators=3, growth="symmetric", max_depth=3, precision="packed").fit(X, y).model_
    )


@case
def linear_fit() -> str:
    """Linear leaves, on values of four and eight bytes."""
    X, y = table()
    weight = np.random.default_rng(1).uniform(0.1, 3.0, len(y))
    fits = [
        SapwoodRegressor(leaf_model="linear", max_delta_step=2.0, **SMALL).fit(values, y, sample_weight=weight)
        for values in (X, X.astype(np.float32))
    ]
    return digest(*(fitted.predict(X) for fitted in fits))


@case
def category_fit() -> str:
    """Sets of levels, statistics in several orders, crossed columns, ordered boosting, leaf steps and noise."""
    X, y = table()
    codes = np.random.default_rng(2).integers(0, 9, (len(y), 3))
    mixed = np.column_stack([X.astype(object), *(np.array(list("abcdefghi"), dtype=object)[line] for line in codes.T)])
    orders = {"category_encoding": [Ordered(permutations=2), "frequency"], "max_combination": 2}
    fits = [
        SapwoodRegressor(**SMALL | params).fit(mixed, y + codes[:, 0])
        for params in (
            {"category_encoding": "partition", "leaf_steps": 2},
            {"category_encoding": Partition(min_level_rows=3, min_group_rows=9), "precision": "packed"},
            {"category_encoding": Partition(max_single=9), "precision": "packed"},
            orders,
            {"category_encoding": "leave_one_out"},
            {"category_encoding": "ordered", "max_combination": Crossing(3, number_levels=5)},
            orders | {"boosting": "ordered", "random_strength": 1.0},
        )
    ]
    two = SapwoodClassifier(preset="catboost", n_estimators=2, max_depth=2).fit(mixed, codes.sum(axis=1) > 12)
    return digest(*(fitted.predict(mixed) for fitted in fits), two.predict_proba(mixed))


@case
def ordered_scoring_fit() -> str:
    """Both formats of cells, with vector code (λ) and without, numbers and sets of categories."""
    X, y = table()
    mixed = np.column_stack([X, np.random.default_rng(3).integers(0, 6, (len(X), 2))])
    fits = [
        SapwoodRegressor(boosting="ordered", categorical_features=[4, 5], **SMALL | params).fit(mixed, y).model_
        for params in (
            {"precision": "packed", "reg_lambda": 1.0, "category_encoding": "partition"},
            {"precision": "wide", "reg_lambda": 1.0, "category_encoding": "one_hot"},
            {"precision": "packed", "reg_lambda": 0.0, "subsample": 0.8},
        )
    ]
    return digest(*(fit.predict(mixed) for fit in fits))


@case
def ordered_symmetric_fit() -> str:
    X, y = table()
    fits = [
        SapwoodRegressor(
            boosting="ordered",
            growth=Symmetric(score),
            precision=precision,
            reg_lambda=penalty,
            n_estimators=3,
            max_depth=3,
        ).fit(X, y)
        for score in ("l2", "cosine")
        for precision, penalty in (("packed", 1.0), ("wide", 0.0))
    ]
    return digest(*(fit.predict(X) for fit in fits))


@case
def tree_combinations_fit() -> str:
    codes = np.random.default_rng(8).integers(0, 4, (200, 4))
    y = (codes[:, 0] + codes[:, 1] * codes[:, 2]) % 3
    with patch.multiple("sapwood.data.categories.combinations", MAX_PAIRS=1, MAX_LARGER=0):
        fits = [
            SapwoodRegressor(
                categorical_features=list(range(4)),
                category_encoding="ordered",
                max_combination=3,
                growth=growth,
                tree_combinations=True,
                **SMALL,
            ).fit(codes, y)
            for growth in ("leafwise", "levelwise")
        ]
    return digest(*(fit.predict(codes) for fit in fits))


@case
def exact_fit() -> str:
    X, y = table()
    return digest_of(SapwoodRegressor(split_search="exact", **SMALL).fit(X, y).model_)


@case
def fit_of_classes() -> str:
    X, y = table()
    return digest_of(SapwoodClassifier(n_estimators=2, max_leaves=4).fit(X, np.digitize(y, [-1.0, 1.0])).model_)


if __name__ == "__main__":
    print(json.dumps({name: CASES[name]() for name in sys.argv[1:] or CASES}))
