"""Constraints on features, and the features that trees may use, as arrays."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.data.categories.combination_codes import parts
from sapwood.data.categories.plan import column_number, values_by_column
from sapwood.data.tables.schema import Schema
from sapwood.errors import ParameterError
from sapwood.kernels.numeric.random import TREE_COLUMNS, draw_many
from sapwood.kernels.split.column_sampler import weigh_hashes
from sapwood.lazy_dataclass import dataclass
from sapwood.params.declaration import TreeParams
from sapwood.params.validators import number

ALL = slice(None)
MAX_COLUMN_WEIGHT = 1e9
DIRECTIONS = {1: 1, -1: -1, 0: 0, "increasing": 1, "decreasing": -1, "none": 0}


def check_constraints(params: TreeParams, schema: Schema) -> None:
    """Raise a ParameterError if constraints name a column or a direction that does not exist."""
    monotone_directions(params.monotone_constraints, schema)
    interaction_groups(params.interaction_constraints, schema)
    feature_weights(params.feature_weights, schema)


def column_directions(spec: Any, dataset: BinnedDataset) -> np.ndarray:
    """Return the monotone direction of every column that trees are grown on."""
    directions = monotone_directions(spec, dataset.user_schema)
    if dataset.transformer is None:
        return directions
    return np.array([directions[sources[0]] for sources in dataset.transformer.sources], dtype=np.int64)


def column_groups(spec: Any, dataset: BinnedDataset) -> np.ndarray:
    """Return the interaction groups of the columns that trees are grown on.

    A combination of columns is in the groups that contain all of them.
    """
    groups = interaction_groups(spec, dataset.user_schema)
    if dataset.transformer is None:
        return groups
    columns = [groups[:, list(sources)].all(axis=1) for sources in dataset.transformer.sources]
    return np.ascontiguousarray(np.array(columns, dtype=np.uint8).T.reshape(len(groups), len(columns)))


def column_extensions(dataset: BinnedDataset) -> tuple[np.ndarray, np.ndarray]:
    """Return which columns become usable below a split on each column (columns, columns), and which are from the root.

    A combination that grows inside trees becomes usable by a split on a column of all its sources but one. There are no
    extensions without such combinations.
    """
    grown, n_columns = dataset.tree_combinations, dataset.n_features
    if dataset.transformer is None or not grown:
        return np.empty((0, 0), dtype=np.uint8), np.ones(n_columns, dtype=np.uint8)
    columns_of: dict[tuple[int, ...], list[int]] = {}
    for k, sources in enumerate(dataset.transformer.sources):
        columns_of.setdefault(sources, []).append(k)
    extends, usable = np.zeros((n_columns, n_columns), dtype=np.uint8), np.ones(n_columns, dtype=np.uint8)
    for sources in grown:
        usable[columns_of[sources]] = 0
        for part in parts(sources):
            extends[np.ix_(columns_of.get(part, []), columns_of[sources])] = 1
    return extends, usable


def monotone_directions(spec: Any, schema: Schema) -> np.ndarray:
    """Return the monotone direction of every feature: 1 increasing, -1 decreasing, 0 none."""
    directions = np.zeros(schema.n_features, dtype=np.int64)
    for feature, value in values_by_column(spec, schema, "monotone_constraints"):
        if not isinstance(value, Hashable) or value not in DIRECTIONS:
            raise ParameterError(
                f"monotone_constraints: {value!r} for {_column_label(feature, schema)} is not a direction; "
                "allowed are 1 (increasing), -1 (decreasing) and 0 (free)"
            )
        directions[feature] = DIRECTIONS[value]
    return directions


def interaction_groups(spec: Any, schema: Schema) -> np.ndarray:
    """Return the groups of features that may appear together on a path (groups, features).

    A feature that is in no group gets a group of its own.
    """
    if spec is None:
        return np.zeros((0, schema.n_features), dtype=np.uint8)
    groups = []
    if isinstance(spec, Mapping):
        raise ParameterError(
            "interaction_constraints must be a list of groups of columns, got a dict: [[0, 1], [2, 3]]"
        )
    for members in spec:
        if isinstance(members, str) or not isinstance(members, Iterable):
            raise ParameterError(
                f"interaction_constraints must be a list of groups of columns, as in [[0, 1], [2, 3]]; {members!r} is "
                "not a group"
            )
        group = np.zeros(schema.n_features, dtype=np.uint8)
        group[[column_number(key, schema, "interaction_constraints") for key in members]] = 1
        groups.append(group)
    is_grouped = np.any(groups, axis=0) if groups else np.zeros(schema.n_features, dtype=bool)
    for feature in np.flatnonzero(~is_grouped):
        groups.append(np.eye(1, schema.n_features, int(feature), dtype=np.uint8)[0])
    return np.ascontiguousarray(groups, dtype=np.uint8)


def fraction_count(fraction: float, n: int) -> int:
    """Return the number of features that is a fraction of n, rounded: at least one."""
    return max(1, math.floor(fraction * n + 0.5))


@dataclass(frozen=True, eq=False)
class ColumnWeights:
    """Weights with which the columns of trees are sampled; None if they are equal."""

    n_columns: int
    weights: np.ndarray | None = None

    @property
    def is_zero(self) -> np.ndarray:
        """Whether a column is never drawn."""
        return np.zeros(self.n_columns, dtype=bool) if self.weights is None else self.weights == 0.0

    @property
    def n_positive(self) -> int:
        """Number of columns that may be drawn."""
        return self.n_columns - int(self.is_zero.sum())

    def inverse(self, order: np.ndarray | slice = ALL) -> np.ndarray:
        """Return the smallest positive weight over that of each column, 1 for those never drawn; empty if equal."""
        if self.weights is None:
            return np.empty(0)
        smallest = self.weights[self.weights > 0.0].min()
        return (smallest / np.where(self.weights > 0.0, self.weights, smallest))[order]


def column_weights(spec: Any, dataset: BinnedDataset) -> ColumnWeights:
    """Return the weights of the columns that trees are grown on; a combination has the smallest of its columns."""
    n_columns = dataset.n_features
    if spec is None:
        return ColumnWeights(n_columns)
    weights = feature_weights(spec, dataset.user_schema)
    if dataset.transformer is not None:
        weights = np.array([weights[list(sources)].min() for sources in dataset.transformer.sources])
    return ColumnWeights(n_columns, weights)


def feature_weights(spec: Any, schema: Schema) -> np.ndarray:
    """Return the weight of every feature in column sampling, 1 for those that a dict does not name."""
    weights = np.ones(schema.n_features)
    for feature, value in values_by_column(spec, schema, "feature_weights"):
        label = f"feature_weights of {_column_label(feature, schema)}"
        weights[feature] = number(0, MAX_COLUMN_WEIGHT).check(label, value)
    if not weights.any():
        raise ParameterError("feature_weights are 0 for every column: give at least one a weight above 0")
    return weights


def sample_tree_features(
    fraction: float, n_features: int, seed: int, round: int, weights: ColumnWeights | None = None
) -> np.ndarray:
    """Return 1 for each feature that a tree may use: a fraction of them, by the smallest hashes."""
    allowed = np.ones(n_features, dtype=np.uint8)
    if fraction < 1.0:
        hashes = np.empty(n_features, dtype=np.uint64)
        draw_many(seed, TREE_COLUMNS, round, _feature_numbers(n_features), hashes)
        n_positive = n_features
        if weights is not None and weights.weights is not None:
            weigh_hashes(hashes, weights.inverse())
            hashes[weights.is_zero] = np.iinfo(np.uint64).max
            n_positive = weights.n_positive
        allowed[np.argsort(hashes, kind="stable")[fraction_count(fraction, n_positive) :]] = 0
    return allowed


@lru_cache(maxsize=4)
def _feature_numbers(n_features: int) -> np.ndarray:
    return np.arange(n_features, dtype=np.uint64)


def _column_label(feature: int, schema: Schema) -> str:
    return repr(schema.names[feature]) if schema.names else f"column {feature}"
