"""Growing a tree works in buffers of garbage and touches nothing around them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.data.tables.table import read_table
from sapwood.grow.histogram import HistogramGrower
from sapwood.kernels import layout
from sapwood.native.threads.team import Team
from sapwood.params.declaration import TreeParams
from tests.grow.small_tables import COLUMNS
from tests.guarded import Guards

# What a grower prepares once; everything else it must write before it reads.
PREPARED = {
    "_bins": ("tiles", "bins_u8", "bins_u16"),
    "_features": layout.FeatureMeta._fields,
    "_column_sampler": layout.ColumnSampler._fields,
    "_candidates": ("limits",),
}


def in_garbage(grower: HistogramGrower) -> Guards:
    """Give a grower arrays of garbage between canaries."""
    guards = Guards()

    def other(value: Any, is_prepared: bool) -> Any:
        if not isinstance(value, np.ndarray):
            return value
        return guards.copy(value) if is_prepared else guards.array(value.shape, value.dtype.type)

    made: dict[int, Any] = {}  # what has two names remains one
    for name, value in list(vars(grower).items()):
        if hasattr(value, "_fields"):
            kept = PREPARED.get(name, ())
            if id(value) not in made:
                fields = {field: other(getattr(value, field), field in kept) for field in value._fields}
                made[id(value)] = type(value)(**fields)
            setattr(grower, name, made[id(value)])
        elif isinstance(value, tuple):
            setattr(grower, name, tuple(other(item, False) for item in value))
    buffers = grower._row_buffers
    rows = buffers.all_rows
    grower._row_buffers = type(buffers)(type(rows)(*(other(array, False) for array in rows)))
    return guards


CASES: dict[str, dict[str, Any]] = {
    "leafwise": {},
    "levelwise": {"growth": "levelwise", "max_depth": 4},
    "symmetric": {"growth": "symmetric", "max_depth": 4, "max_leaves": 16},
    "all case": {"reg_alpha": 0.05, "max_delta_step": 0.5, "min_split_gain": 0.01},
    "constraints": {"monotone_constraints": [1, 0, -1, 0, 0, 0], "interaction_constraints": [[0, 1], [2, 3, 4]]},
    "columns": {"colsample_bytree": 0.8, "colsample_bylevel": 0.8, "colsample_bynode": 0.7},
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("precision", ["packed", "wide"])
@pytest.mark.parametrize(("members", "n_values"), [(1, 40), (3, 40), (3, 700)])
def test_a_tree_does_not_depend_on_what_was_in_memory_and_leaves_the_rest_alone(case, precision, members, n_values):
    """700 values take bins of two bytes."""
    source = np.random.default_rng(2)
    n = 6000
    X = source.integers(0, n_values, (n, 6)).astype(float)
    X[source.uniform(size=X.shape) < 0.1] = np.nan
    pairs = np.stack([source.normal(size=n), source.uniform(0.1, 1.0, n)], axis=1).astype(np.float32)[None]
    weight = source.uniform(0.5, 2.0, n)
    dataset = BinnedDataset.build(read_table(X), max_bins=1000)
    params = TreeParams(**{"max_leaves": 20, "min_child_samples": 25, "precision": precision} | CASES[case])
    clean = HistogramGrower(dataset, 1, params, 5, Team(1)).grow(pairs, weight, 3)
    assert len(clean.feature) > 10
    grower = HistogramGrower(dataset, 1, params, 5, Team(members))
    guards = in_garbage(grower)
    for rows in (np.arange(0, n, 2, dtype=np.uint32), None):  # a smaller tree first leaves garbage of its own
        dirty = grower.grow(pairs, weight, 3, rows)
        guards.check()
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(dirty, name), getattr(clean, name), err_msg=name)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("min_rows", [1, 25])
@pytest.mark.parametrize("members", [1, 3])
def test_a_tree_on_sparse_features_does_not_depend_on_what_was_in_memory(case, min_rows, members):
    """Cells of features that cannot be split any more hold anything."""
    source = np.random.default_rng(3)
    n, n_features = 6000, 60
    X = source.integers(1, 5, (n, n_features)) * (source.uniform(size=(n, n_features)) < np.geomspace(0.2, 2e-3, 60))
    gradient = X[:, :20].mean() - X[:, :20].mean(axis=1) + 0.1 * source.normal(size=n)
    pairs = np.stack([gradient, source.uniform(0.1, 1.0, n)], axis=1)
    pairs = pairs.astype(np.float32)[None]
    dataset = BinnedDataset.build(read_table(csr_matrix(X.astype(float))), max_bins=255)
    assert dataset.sparse_bins is not None
    tree_params = {name: value for name, value in CASES[case].items() if not name.endswith("constraints")}
    params = TreeParams(**{"max_leaves": 20, "min_child_samples": min_rows} | tree_params)
    clean = HistogramGrower(dataset, 1, params, 5, Team(1)).grow(pairs, np.empty(0), 3)
    assert len(clean.feature) > 10
    grower = HistogramGrower(dataset, 1, params, 5, Team(members))
    guards = in_garbage(grower)
    for rows in (np.arange(0, n, 2, dtype=np.uint32), None):
        dirty = grower.grow(pairs, np.empty(0), 3, rows)
        guards.check()
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(dirty, name), getattr(clean, name), err_msg=name)
