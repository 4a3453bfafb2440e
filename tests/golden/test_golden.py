"""Files written by every earlier version open and predict as they did."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import sapwood
from sapwood.model.io.serialize import VERSION
from sapwood.model.model import Model

FILES = sorted(Path(__file__).parent.glob("v*.sapwood"))


def rows_of(known: dict, model: Model) -> np.ndarray:
    """The rows as an array: categories, or numbers, "inf" among them."""
    if model.transformer is not None:
        return np.array(known["rows"], dtype=object)
    return np.array([[np.nan if value is None else float(value) for value in row] for row in known["rows"]])


@pytest.fixture(params=FILES, ids=lambda path: path.stem)
def case(request) -> tuple[Model, dict, np.ndarray]:
    known = json.loads(request.param.with_suffix(".json").read_text())
    model = sapwood.load(request.param)
    return model, known, rows_of(known, model)


def test_files_of_every_version_are_kept():
    first = {"v1-binary", "v1-classes", "v1-deep", "v1-linear", "v1-vector"}
    later = {
        "v2-linear", "v2-categories", "v3-dart", "v4-zeros", "v5-sets", "v6-crossed-numbers", "v7-numeric-crosses",
        "v7-intervals", "v8-intervals",
    }  # fmt: skip
    assert {path.stem for path in FILES} >= first | later
    assert {int(path.stem[1 : path.stem.index("-")]) for path in FILES} == set(range(1, VERSION + 1))


def test_old_files_predict_as_they_did(case):
    model, known, rows = case
    np.testing.assert_array_equal(model.predict_raw(rows), known["raw"])
    np.testing.assert_array_equal(model.predict_response(rows), known["prediction"])


def test_old_files_have_the_intervals_that_they_had(case):
    model, known, rows = case
    assert ("intervals" in known) == (model.intervals is not None)
    for coverage, bounds in known.get("intervals", {}).items():
        np.testing.assert_array_equal(model.predict_interval(rows, float(coverage)), bounds)


def test_old_files_find_the_same_leaves(case):
    model, known, rows = case
    np.testing.assert_array_equal(model.leaf_indices(rows), known["leaves"])


def test_old_files_keep_their_labels_and_their_fingerprint(case):
    model, known, _ = case
    assert model.fingerprint() == known["fingerprint"]
    assert (None if model.classes is None else model.classes.tolist()) == known["classes"]


def test_old_files_keep_their_gains(case):
    model, known, _ = case
    np.testing.assert_array_equal(model.importance("total_gain"), known["importance"])


def test_an_old_file_saved_again_is_the_same_model(case, tmp_path):
    model, known, _ = case
    model.save(tmp_path / "again.sapwood")
    assert sapwood.load(tmp_path / "again.sapwood").fingerprint() == known["fingerprint"]
