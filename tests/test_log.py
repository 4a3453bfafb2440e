"""What Sapwood says through ``logging``."""

from __future__ import annotations

import logging
import subprocess
import sys

import numpy as np

from sapwood import SapwoodRegressor

X = np.arange(40.0)[:, None]


def test_training_tells_its_begin_and_end_to_whoever_listens(caplog):
    with caplog.at_level(logging.INFO, logger="sapwood"):
        SapwoodRegressor(n_estimators=2).fit(X, X[:, 0])
    begin, end = (record.getMessage() for record in caplog.records)
    assert begin == "training begins: 40 rows, 1 features, 1 output(s), objective squared, 1 thread(s)"
    assert end == "training ended after 2 rounds: n_estimators"


def test_every_round_is_told_at_the_level_of_debugging(caplog):
    with caplog.at_level(logging.DEBUG, logger="sapwood"):
        SapwoodRegressor(n_estimators=2).fit(X, X[:, 0], eval_set=(X, X[:, 0]))
    rounds = [record.getMessage() for record in caplog.records if record.levelno == logging.DEBUG]
    assert ["1/2" in rounds[0], "2/2" in rounds[1]] == [True, True]
    assert "validation rmse" in rounds[0]


def test_nothing_is_said_unless_asked_for():
    code = "import sapwood; sapwood.SapwoodRegressor(n_estimators=2).fit([[1.0], [2.0]], [1.0, 2.0])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")
