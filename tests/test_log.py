"""What Sapwood says through ``logging``."""

from __future__ import annotations

import logging
import subprocess
import sys

import numpy as np
import pandas as pd

from sapwood import SapwoodRegressor

X = np.arange(40.0)[:, None]


def test_training_tells_its_begin_and_end_to_whoever_listens(caplog):
    with caplog.at_level(logging.INFO, logger="sapwood"):
        SapwoodRegressor(n_estimators=2).fit(X, X[:, 0])
    *_, begin, end = (record.getMessage() for record in caplog.records)
    chosen = "objective squared, 2 rounds, 1 thread(s) (small table), wide histograms (fewer than 2048 rows)"
    assert begin == f"training begins: 40 rows, 1 features, 1 output(s), {chosen}"
    assert end == "training ended after 2 rounds: n_estimators"


def test_what_was_chosen_is_told_with_the_reason(caplog):
    table = pd.DataFrame({"number": np.arange(400.0), "city": ["Rome", "Oslo", "Lima", "Bern"] * 100})
    settings = {"n_estimators": 3, "early_stopping_rounds": 2, "refit": True, "max_leaves": "auto"}
    with caplog.at_level(logging.INFO, logger="sapwood"):
        SapwoodRegressor(preset="xgboost", **settings).fit(table, table["number"])
    told = "\n".join(record.getMessage() for record in caplog.records)
    for line in (
        "parameters set by the user: preset='xgboost', n_estimators=3, early_stopping_rounds=2, refit=True",
        "parameters from preset 'xgboost': growth='levelwise', max_leaves=64, max_depth=6,",
        "parameters derived from the data and other parameters: effort='fast', objective='squared'",
        "validation: 40 rows are set aside, by validation_fraction or for early stopping",
        "column city is encoded by partition: 4 levels, which leaves can divide",
        "early stopping watches rmse of validation for 2 rounds",
        "rmse of validation was best after round 3",
        "refit on all rows for 3 rounds",
    ):
        assert line in told, told


def test_the_validation_sets_and_the_format_of_histograms_are_told(caplog):
    many = np.arange(5000.0)[:, None]
    with caplog.at_level(logging.INFO, logger="sapwood"):
        SapwoodRegressor(n_estimators=1).fit(many, many[:, 0], eval_set={"new": (X, X[:, 0])})
        SapwoodRegressor(n_estimators=1, precision="wide").fit(many, many[:, 0])
        SapwoodRegressor(n_estimators=1, split_search="exact").fit(many, many[:, 0])
    told = "\n".join(record.getMessage() for record in caplog.records)
    assert "validation sets: new (40 rows)" in told
    assert "packed histograms (at least 2048 rows)" in told
    assert "wide histograms as asked" in told
    assert "exact split search" in told


def test_every_round_is_told_at_the_level_of_debugging(caplog):
    with caplog.at_level(logging.DEBUG, logger="sapwood"):
        SapwoodRegressor(n_estimators=2).fit(X, X[:, 0], eval_set=(X, X[:, 0]))
    rounds = [record.getMessage() for record in caplog.records if record.levelno == logging.DEBUG]
    assert ["1/2" in rounds[0], "2/2" in rounds[1]] == [True, True]
    assert "validation rmse" in rounds[0]


def test_nothing_is_said_unless_asked_for():
    code = "import sapwood; sapwood.SapwoodRegressor(n_estimators=2).fit([[x] for x in range(50)], range(50))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")
