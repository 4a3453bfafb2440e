"""Write a model file of each kind to ``tests/golden`` with its predictions; run it when the version of files is raised.

Files that are there stay as they are: they stand for the versions that wrote them.
"""

from __future__ import annotations

import json
from pathlib import Path
from unittest import mock

import numpy as np

from sapwood import Crossing, SapwoodClassifier, SapwoodRegressor
from sapwood.boost.intervals import MODEL_PARAMS
from sapwood.model.model import Model
from sapwood.params.options import Dart

MODELS = Path(__file__).parent
COVERAGES = (0.5, 0.8, 0.9)
SOURCE = np.random.default_rng(20)


def numbers(n: int) -> np.ndarray:
    X = np.round(SOURCE.normal(size=(n, 3)), 2)
    X[SOURCE.uniform(size=X.shape) < 0.1] = np.nan
    return X


def linear() -> tuple[Model, np.ndarray]:
    X = numbers(400)
    model = SapwoodRegressor(n_estimators=3, max_leaves=4, leaf_model="linear").fit(X, np.nan_to_num(X[:, 0] + X[:, 1]))
    return model.model_, X[:12]


def categories() -> tuple[Model, np.ndarray]:
    levels = np.array(["oak", "elm", "ash", "yew", None, *(f"tree {k}" for k in range(30))], dtype=object)
    X = np.stack([levels[SOURCE.integers(0, 35, 400)], SOURCE.choice(["wet", "dry"], 400)], axis=1).astype(object)
    y = np.where(np.isin(X[:, 0], ["oak", "ash"]), "hard", np.where(X[:, 1] == "wet", "soft", "none"))
    model = SapwoodClassifier(n_estimators=3, max_leaves=4).fit(X, y).model_
    return model, np.concatenate([X[:12], [["never seen", "dry"], [None, None]]])


def dart() -> tuple[Model, np.ndarray]:
    X = numbers(400)
    model = SapwoodRegressor(n_estimators=6, max_leaves=4, boosting=Dart(drop=0.5)).fit(X, np.nan_to_num(X[:, 0]))
    return model.model_, X[:12]


def zeros() -> tuple[Model, np.ndarray]:
    X = numbers(400)
    X[SOURCE.uniform(size=X.shape) < 0.3] = 0.0
    y = np.nan_to_num(X[:, 0]) + (X[:, 1] == 0.0)
    model = SapwoodRegressor(n_estimators=3, max_leaves=4, zero_as_missing=True).fit(X, y).model_
    return model, np.concatenate([X[:12], [[-0.0, 0.0, np.nan]]])


def sets() -> tuple[Model, np.ndarray]:
    levels = np.array(["oak", "elm", None, *(f"tree {k}" for k in range(300))], dtype=object)
    codes = SOURCE.integers(0, 303, 4000)
    X = np.stack([levels[codes], levels[SOURCE.integers(0, 5, 4000)]], axis=1)
    model = SapwoodRegressor(n_estimators=3, max_leaves=40, category_encoding="partition").fit(X, (codes % 7) * 1.0)
    return model.model_, np.concatenate([X[:12], [["never seen", "oak"], [None, None]]])


def crossed_numbers() -> tuple[Model, np.ndarray]:
    X = numbers(800).astype(object)
    X[:, 1] = SOURCE.choice(["oak", "elm", "ash", None], 800)
    y = np.array([(name in ("oak", "ash")) ^ (amount > 0) for amount, name, _ in X], dtype=np.float64)
    params = {"category_encoding": "ordered", "max_combination": Crossing(1, number_levels=6)}
    model = SapwoodRegressor(n_estimators=3, max_leaves=4, **params).fit(X, y).model_
    return model, np.concatenate([X[:12], [[0.5, "never seen", 1.0], [None, None, None]]])


def numeric_crosses() -> tuple[Model, np.ndarray]:
    X = numbers(2000).astype(object)
    tree = SOURCE.choice(["oak", "elm", "ash", "yew", None], 2000)
    height = {"oak": 9.0, "elm": 3.0, "ash": -5.0, "yew": 1.0, None: 0.0}
    first, second = X[:, 0].astype(float), X[:, 1].astype(float) + np.array([height[name] for name in tree])
    X = np.stack([X[:, 0], second, X[:, 2], tree], axis=1).astype(object)
    centred = second - np.array([height[name] for name in tree])
    y = np.nan_to_num(np.sign(first * X[:, 2].astype(float)) + 2.0 * (centred > 0.3))
    model = SapwoodRegressor(n_estimators=3, max_leaves=8, learning_rate=0.5, numeric_crosses=True).fit(X, y).model_
    return model, np.concatenate([X[:12], [[0.5, 9.5, 1.0, "never seen"], [None, None, None, None]]])


def intervals() -> tuple[Model, np.ndarray]:
    X = numbers(200)
    y = np.nan_to_num(X[:, 0] + np.abs(X[:, 1]) * SOURCE.normal(size=200))
    with mock.patch.dict(MODEL_PARAMS, n_estimators=3, max_leaves=4):  # of thirty models, for a small file
        model = SapwoodRegressor(n_estimators=3, max_leaves=4, intervals=0.8).fit(X, y).model_
    return model, X[:12]


def keep(name: str, about: str, model: Model, rows: np.ndarray) -> None:
    path = MODELS / f"{name}.sapwood"
    if path.exists():
        return
    model.save(path)
    plain = [[None if value is None or value != value else value for value in row] for row in rows.tolist()]
    expected = {
        "about": about,
        "rows": plain,
        "raw": model.predict_raw(rows).tolist(),
        "prediction": model.predict_response(rows).tolist(),
        "leaves": model.leaf_indices(rows).tolist(),
        "classes": None if model.classes is None else model.classes.tolist(),
        "fingerprint": model.fingerprint(),
        "importance": model.importance("total_gain").tolist(),
    }
    if model.intervals is not None:
        expected["intervals"] = {str(c): model.predict_interval(rows, c).tolist() for c in COVERAGES}
    path.with_suffix(".json").write_text(json.dumps(expected) + "\n")


if __name__ == "__main__":
    keep("v2-linear", "linear leaves", *linear())
    keep("v2-categories", "category columns, levels missing and never seen", *categories())
    keep("v3-dart", "rounds rescaled by DART", *dart())
    keep("v4-zeros", "zeros that count as missing", *zeros())
    keep("v5-sets", "sets of levels, in trees with more than 32 leaves", *sets())
    keep("v6-crossed-numbers", "numbers cut into levels and crossed with categories", *crossed_numbers())
    keep("v7-numeric-crosses", "a product of columns and a number centred by a category", *numeric_crosses())
    keep("v8-intervals", "prediction intervals whose excess has units", *intervals())
