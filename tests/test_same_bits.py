"""N2: the same model, bit for bit, whatever threads, processes and containers were used."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sapwood import Dart, Goss, Partition, SapwoodClassifier, SapwoodRegressor, Symmetric, Uniform
from tests.processes import PYTHONPATH

NAMES = [f"c{k}" for k in range(8)]
COMMON = {"n_estimators": 8, "max_leaves": 20}
SETTINGS = {
    "packed": {"precision": "packed"},
    "wide": {"precision": "wide"},
    "all rules": {"reg_alpha": 0.1, "max_delta_step": 0.5, "monotone_constraints": [1, 0, 0, 0, -1, 0, 0, 0]},
    "level by level": {"growth": "levelwise", "max_depth": 4},
    "symmetric": {"growth": "symmetric", "max_depth": 4},
    "linear leaves": {"leaf_model": "linear", "max_delta_step": 2.0},
    "linear leaves of drawn rows": {"leaf_model": "linear", "subsample": 0.5, "growth": "symmetric", "max_depth": 4},
    "many bins": {"max_bins": 1000},
    "dart": {"boosting": Dart(0.3, skip=0.0, weighted=True), "subsample": 0.7},
    "forest": {"boosting": "forest", "colsample_bynode": 0.5},
    "ordered": {"boosting": "ordered", "subsample": 0.8},
    "ordered, plainly scored": {"boosting": "ordered", "ordered_scoring": False, "sampling": "mvs"},
    "ordered, cosine": {"boosting": "ordered", "growth": Symmetric("cosine"), "max_depth": 4},
    "ordered, symmetric, leaf steps": {"boosting": "ordered", "growth": "symmetric", "max_depth": 4, "leaf_steps": 2},
    "replay": {"refit": "replay", "early_stopping_rounds": 3, "sampling": "mvs"},
    "replay of linear leaves": {"refit": "replay", "early_stopping_rounds": 3, "leaf_model": "linear"},
    "numeric crosses": {"numeric_crosses": True},
    "noise": {"random_strength": 2.0},
    "random thresholds": {"split_search": "random", "min_child_samples": 60},
    "feature weights": {"colsample_bynode": 0.5, "colsample_bylevel": 0.8, "feature_weights": {0: 3.0, 5: 0.5}},
    "goss": {"sampling": Goss(full_rounds=2)},
    "mvs": {"sampling": "mvs"},
    "bayesian": {"sampling": "bayesian", "max_leaves": 40},
    "replacement": {"sampling": Uniform(replacement=True), "max_leaves": 40},
    "drawn rows and columns": {"subsample": 0.5, "colsample_bytree": 0.8, "colsample_bynode": 0.5},
}


def make_table(n_rows: int = 12_000) -> tuple[np.ndarray, np.ndarray]:
    """Values that are also float32, some of them missing; enough rows that members share out the work."""
    source = np.random.default_rng(42)
    X = source.normal(size=(n_rows, len(NAMES))).astype(np.float32).astype(np.float64)
    X[source.uniform(size=X.shape) < 0.05] = np.nan
    signal = np.nan_to_num(X)
    return X, signal[:, 0] * 3 + signal[:, 1] * signal[:, 2] - signal[:, 4] + source.normal(size=n_rows)


def fingerprint(X, y, **settings) -> str:
    return SapwoodRegressor(**COMMON | settings).fit(X, y).model_.fingerprint()


@pytest.fixture(scope="module")
def table():
    return make_table()


@pytest.fixture(scope="module")
def expected(table):
    """The models of one thread."""
    os.environ["SAPWOOD_TEAM"] = "1"
    try:
        return {name: fingerprint(*table, **settings) for name, settings in SETTINGS.items()}
    finally:
        del os.environ["SAPWOOD_TEAM"]


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("members", [2, 3, 8])
def test_any_number_of_threads_trains_the_same_model(monkeypatch, table, expected, members, name):
    """N2."""
    monkeypatch.setenv("SAPWOOD_TEAM", str(members))
    assert fingerprint(*table, **SETTINGS[name]) == expected[name]


@pytest.mark.parametrize("members", [1, 3, 8])
def test_any_number_of_threads_trains_the_same_classifier(monkeypatch, table, members):
    """N2, with several outputs and weights."""
    X, y = table
    labels = np.digitize(y, [-2.0, 2.0])
    weight = np.random.default_rng(1).uniform(0.1, 2.0, len(y))
    found = []
    for size in (1, members):
        monkeypatch.setenv("SAPWOOD_TEAM", str(size))
        model = SapwoodClassifier(n_estimators=4).fit(X, labels, sample_weight=weight)
        found.append(model.model_.fingerprint())
    assert found[0] == found[1]


@pytest.mark.parametrize("guard", [{}, {"min_level_rows": 10, "min_group_rows": 100}, {"max_single": 255}], ids=str)
def test_any_number_of_threads_divides_levels_the_same_way(monkeypatch, table, guard):
    """N2, with columns of three, about twenty and more than a hundred levels."""
    X, y = table
    levels = np.column_stack([X[:, :5], np.clip(np.rint(X[:, 5]), -1, 1), np.rint(3 * X[:, 6]), np.rint(30 * X[:, 7])])
    found = []
    for size in (1, 2, 3, 8):
        monkeypatch.setenv("SAPWOOD_TEAM", str(size))
        params = COMMON | {"categorical_features": [5, 6, 7], "category_encoding": Partition(**guard)}
        fitted = SapwoodRegressor(**params).fit(levels, y + np.nan_to_num(X[:, 5:]).sum(axis=1))
        found.append(fitted.model_.fingerprint())
    assert len(set(found)) == 1


@pytest.mark.parametrize("n_jobs", [1, 2, -1])
def test_n_jobs_does_not_change_the_model(table, expected, n_jobs):
    assert fingerprint(*table, **SETTINGS["packed"], n_jobs=n_jobs) == expected["packed"]


def test_the_same_fit_again_gives_the_same_model(table, expected):
    assert [fingerprint(*table, **SETTINGS["packed"]) for _ in range(2)] == [expected["packed"]] * 2


def test_another_seed_gives_another_model_where_chance_has_a_part(table, expected):
    name = "drawn rows and columns"
    assert fingerprint(*table, **SETTINGS[name], random_state=1) != expected[name]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_trains_the_same_model(monkeypatch, table, expected):
    """N2: the threads of the parent are not there in the child; it makes its own."""
    monkeypatch.setenv("SAPWOOD_TEAM", "3")
    assert fingerprint(*table, **SETTINGS["packed"]) == expected["packed"]
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python warns of forking a process with threads
        child = os.fork()
    if child == 0:
        try:
            os.write(writer, fingerprint(*table, **SETTINGS["packed"]).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer:
        assert answer.read() == expected["packed"]
    os.waitpid(child, 0)


def test_a_fresh_process_with_another_hash_seed_trains_the_same_model(expected):
    script = "from tests import test_same_bits as t; print(t.fingerprint(*t.make_table(), **t.SETTINGS['packed']))"
    environment = os.environ | {"PYTHONHASHSEED": "123", "PYTHONPATH": PYTHONPATH}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.stdout.strip() == expected["packed"], done.stderr


# --- containers -------------------------------------------------------------------------------------------------------


CONTAINERS = {
    "fortran": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "float32 fortran": lambda X: np.asfortranarray(X.astype(np.float32)),
    "a view with gaps": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "pandas float32": lambda X: pd.DataFrame(X.astype(np.float32), columns=NAMES),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
    "polars with nulls": lambda X: pl.DataFrame(X, schema=NAMES).fill_nan(None),
    "arrow": lambda X: pa.table({name: X[:, k] for k, name in enumerate(NAMES)}),
    "arrow with nulls": lambda X: pa.table({n: pa.array(X[:, k], from_pandas=True) for k, n in enumerate(NAMES)}),
    "lists": lambda X: X.tolist(),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_the_container_of_the_table_does_not_matter(table, expected, name):
    """N2: the same numbers give the same model, wherever they lie."""
    X, y = table
    assert fingerprint(CONTAINERS[name](X), y, **SETTINGS["packed"]) == expected["packed"]


@pytest.mark.parametrize("make", [pd.Series, pl.Series, pa.array, list])
def test_the_container_of_the_target_does_not_matter(table, expected, make):
    X, y = table
    assert fingerprint(X, make(y), **SETTINGS["packed"]) == expected["packed"]


def test_predictions_do_not_depend_on_threads_or_containers(monkeypatch, table):
    X, y = table
    model = SapwoodRegressor(**COMMON).fit(X, y).model_
    answers = []
    for members in ("1", "3", "8"):
        monkeypatch.setenv("SAPWOOD_TEAM", members)
        for form in (X, np.asfortranarray(X), X.astype(np.float32), pl.DataFrame(X, schema=NAMES)):
            answers.append(model.predict(form).tobytes())
    assert len(set(answers)) == 1
