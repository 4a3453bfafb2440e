"""The trees of a checkpoint are checked before they are added to scores."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood import SapwoodRegressor
from sapwood.boost.checkpoint.log import CheckpointLog
from sapwood.errors import CheckpointError
from sapwood.kernels import layout

X = np.column_stack([np.arange(300.0) % 17, np.arange(300.0) % 7])
Y = X[:, 0] * X[:, 1]
FAULTS = {
    "feature": (layout.NODE_FEATURE, 2, "a split is on a feature outside 0 to 1"),
    "huge feature": (layout.NODE_FEATURE, 2**40, "a split is on a feature outside 0 to 1"),
    "child before its parent": (layout.NODE_LEFT, 0, "a child lies outside its tree or before its parent"),
    "child outside": (layout.NODE_LEFT, 2**62, "a child lies outside its tree or before its parent"),
    "bin": (layout.NODE_BIN, 10_000, "a split is at a bin that its feature does not have"),
}


def write_stopped_checkpoint(path, change, **settings):
    """Write the checkpoint of a fit that was stopped after three rounds, with changed arrays of trees."""
    made = SapwoodRegressor(n_estimators=6, checkpoint=path, checkpoint_every=0, time_limit=1e9, **settings)
    made.fit(X, Y)
    log = CheckpointLog(str(path))
    first, *rest = log.segments
    log.close()
    path.unlink()
    log = CheckpointLog(str(path))
    log.append(first.text, first.arrays)
    for segment in rest[:3]:
        arrays = {name: array.copy() for name, array in segment.arrays.items()}
        change(arrays)
        log.append(segment.text, arrays)
    log.close()
    return made


@pytest.mark.parametrize("settings", [{}, {"split_search": "exact"}, {"leaf_model": "linear"}], ids=str)
def test_trees_as_they_were_written_are_accepted(tmp_path, settings):
    made = write_stopped_checkpoint(tmp_path / "log", lambda arrays: None, **settings)
    expected = made.model_.fingerprint()
    assert made.fit(X, Y).model_.fingerprint() == expected


@pytest.mark.parametrize("name", FAULTS)
def test_an_index_out_of_range_is_refused(tmp_path, name):
    column, value, message = FAULTS[name]

    def change(arrays):
        arrays["integers"][0, column] = value

    made = write_stopped_checkpoint(tmp_path / "log", change)
    with pytest.raises(CheckpointError, match=f"{message}: delete the file to train from scratch"):
        made.fit(X, Y)


def test_an_output_that_does_not_exist_is_refused(tmp_path):
    def change(arrays):
        arrays["output"][0] = 5

    made = write_stopped_checkpoint(tmp_path / "log", change)
    with pytest.raises(CheckpointError, match="a tree adds to an output outside 0 to 0"):
        made.fit(X, Y)


def test_values_that_are_not_finite_are_refused(tmp_path):
    def change(arrays):
        arrays["value"][0] = np.inf

    made = write_stopped_checkpoint(tmp_path / "log", change)
    with pytest.raises(CheckpointError, match="a leaf value is not finite"):
        made.fit(X, Y)


def test_coefficients_of_features_that_do_not_exist_are_refused(tmp_path):
    def change(arrays):
        arrays["leaf_coefficients.feature"][0] = 2

    made = write_stopped_checkpoint(tmp_path / "log", change, leaf_model="linear")
    with pytest.raises(CheckpointError, match="a leaf coefficient is of a feature outside 0 to 1"):
        made.fit(X, Y)
