"""Shapley values of predictions: trees as paths, workspaces, and kernel calls short enough for Ctrl-C."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sapwood.data.tables.table import Table
from sapwood.explain.players import Players
from sapwood.explain.quadrature import quadrature_table
from sapwood.kernels.explain import linear_leaves, path_records, tree_paths, tree_shap
from sapwood.model.ensemble import Ensemble
from sapwood.model.linear_leaves import LeafCoefficients
from sapwood.model.predict.batch_predictor import row_ranges
from sapwood.model.predict.bitsets import BitsetTransformer
from sapwood.model.predict.node_index import NodeIndex
from sapwood.native.threads.team import current_team

# Approximate time of one split, point and row, and the duration of one kernel call.
SPLIT_NANOSECONDS, CALL_NANOSECONDS = 2.0, 50_000_000


@dataclass(frozen=True, eq=False)
class PackedPaths:
    """The splits of trees prepared for Shapley values, and the number of levels of the deepest tree."""

    paths: tree_paths.TreePaths
    leaves: linear_leaves.LinearPaths
    n_levels: int

    def workspace(self, n_players: int, members: int, with_pairs: bool) -> path_records.ShapWorkspace:
        """Return the arrays that a team works on."""
        rows, n_points, n_paired = path_records.BLOCK, self.paths.points.shape[1], n_players if with_pairs else 0
        return path_records.ShapWorkspace(
            pairs=np.empty((members, n_paired, n_paired, rows)),
            active=np.empty((members, self.n_levels, self.n_levels), dtype=np.int64),
            blocks=np.empty((members, len(self.paths.features), rows)),
            phi=np.empty((members, n_players, rows)),
            records=np.empty((members, self.n_levels * path_records.record_size(n_points))),
            path=np.empty((members, self.n_levels), dtype=np.int64),
        )

    def rows_per_call(self, n_outputs: int, members: int) -> int:
        """Return the number of rows that a team should explain in one kernel call."""
        n_splits = np.diff(self.paths.tree_start)
        width = n_outputs if self.paths.values.shape[1] > 1 else 1
        cost = SPLIT_NANOSECONDS * width * float((n_splits * self.paths.n_points).sum()) + 1.0
        blocks = max(1, int(CALL_NANOSECONDS / (path_records.BLOCK * cost)))
        return members * path_records.BLOCK * blocks


def pack_paths(
    nodes: NodeIndex, players: Players, cover: np.ndarray, bitsets: BitsetTransformer | None = None
) -> PackedPaths:
    """List the splits of all trees; ``cover`` is the weight of each node."""
    ensemble = nodes.ensemble
    n_splits, n_levels = int(nodes.inner.sum()), int(ensemble.node_depths().max(initial=0)) + 2
    splits = np.empty((n_splits, tree_paths.N_SPLIT_COLUMNS), dtype=np.int64)
    fractions, numbers = np.empty((n_splits, 2)), np.empty(n_splits, dtype=np.int64)
    tree_start, n_distinct = np.empty(ensemble.n_trees + 1, np.int64), np.empty(ensemble.n_trees, np.int64)
    tree_paths.list_paths(
        ensemble.tree_start, ensemble.feature, ensemble.left, cover, players.of_column,
        np.empty((n_levels, 6), np.int64), np.empty((n_levels, 2)), splits, fractions, numbers, tree_start, n_distinct,
    )  # fmt: skip
    coefficients = ensemble.leaf_coefficients
    columns = nodes.column[numbers]
    if coefficients is not None:
        columns = np.concatenate([columns, coefficient_columns(coefficients, bitsets)])
    features, slots = np.unique(columns, return_inverse=True)
    slots = slots.reshape(-1)
    splits[:, tree_paths.SLOT] = slots[:n_splits]
    splits[:, tree_paths.BIT] = nodes.bit[numbers]
    splits[:, tree_paths.MISSING_LEFT] = ensemble.missing_left[numbers]
    # A linear leaf raises the degree of the integrand by one.
    n_points = np.maximum(1, (n_distinct + (1 if coefficients is None else 2)) // 2)
    points, weights = quadrature_table(int(n_points.max(initial=1)))
    factors = np.empty(int((np.diff(tree_start) * n_points).sum()) * tree_paths.N_FACTORS)
    tree_paths.list_factors(tree_start, n_points, points, splits, fractions, factors)
    paths = tree_paths.TreePaths(
        tree_start, ensemble.tree_output, n_points, splits, ensemble.threshold[numbers], fractions, factors,
        ensemble.value, features.astype(np.int64), points, weights,
    )  # fmt: skip
    leaves = _linear_paths(ensemble, paths, players, slots[n_splits:], n_levels)
    return PackedPaths(paths, leaves, n_levels)


def follow_background_row(packed: PackedPaths, row: np.ndarray) -> PackedPaths:
    """Return the paths with the way of one row of tree features as the cover: all of it goes where the row goes."""
    paths = packed.paths
    values = row[paths.features][paths.splits[:, tree_paths.SLOT]]
    missing_left = paths.splits[:, tree_paths.MISSING_LEFT] == 1
    goes_left = np.where(np.isnan(values), missing_left, values <= paths.thresholds)
    bit = paths.splits[:, tree_paths.BIT]
    is_right = (values.view(np.uint64) >> np.maximum(bit, 0).astype(np.uint64)) & np.uint64(1)
    goes_left = np.where(bit >= 0, is_right == 0, goes_left)
    splits, fractions = paths.splits.copy(), np.empty_like(paths.fractions)
    fractions[:, tree_paths.GOES_LEFT] = goes_left
    tree_paths.list_remains(paths.tree_start, splits, fractions, np.empty(packed.n_levels, dtype=np.int64))
    factors = np.empty_like(paths.factors)
    tree_paths.list_factors(paths.tree_start, paths.n_points, paths.points, splits, fractions, factors)
    return replace(packed, paths=paths._replace(splits=splits, fractions=fractions, factors=factors))


def coefficient_columns(coefficients: LeafCoefficients, bitsets: BitsetTransformer | None) -> np.ndarray:
    """Return the column of the table of each coefficient of linear leaves."""
    return coefficients.feature if bitsets is None else bitsets.column[coefficients.feature]


def _linear_paths(
    ensemble: Ensemble, paths: tree_paths.TreePaths, players: Players, slots: np.ndarray, n_levels: int
) -> linear_leaves.LinearPaths:
    coefficients = ensemble.leaf_coefficients
    integers, floats = np.empty(0, dtype=np.int64), np.empty(0)
    if coefficients is None:
        return linear_leaves.LinearPaths(
            integers, integers, floats, integers, integers, integers, integers, floats, floats, floats
        )
    player = players.of_column[coefficients.feature]
    level, edge = np.zeros(coefficients.n_nodes, np.int64), np.zeros(len(coefficients), np.int64)
    remains = np.ones(len(coefficients))
    tree_paths.list_leaf_edges(
        paths.tree_start, paths.splits, paths.fractions, coefficients.start, player, np.empty(n_levels, np.int64),
        level, edge, remains,
    )  # fmt: skip
    return linear_leaves.LinearPaths(
        ensemble.tree_start[:-1], coefficients.start, coefficients.intercept, level, slots.astype(np.int64), player,
        edge, remains, coefficients.centre, coefficients.slope,
    )  # fmt: skip


def add_shap_values(
    packed: PackedPaths, players: Players, table: Table, out: np.ndarray, n_jobs: int | None = None
) -> None:
    """Add the Shapley values of all rows of a table of tree features to ``out`` (rows, features, outputs).

    If ``out`` is (rows, features, features, outputs), interaction values are added.
    """
    if players.n_players == 0:
        return
    paths = packed.paths
    if table.is_sparse:  # a block of it takes little memory with the columns that trees use alone
        table = table.select(paths.features.tolist())
        paths = paths._replace(features=np.arange(len(paths.features), dtype=np.int64))
    team = current_team(n_jobs, table.n_rows * len(paths.splits))
    kernel = tree_shap.explain_rows if out.ndim == 3 else tree_shap.explain_row_pairs
    work = packed.workspace(players.n_players, team.size, out.ndim == 4)
    shares = (players.share_start, players.share_feature)
    for rows in row_ranges(table, packed.rows_per_call(out.shape[-1], team.size)):
        bounds = np.array([rows.begin, rows.end, rows.offset], dtype=np.int64)
        team.run(kernel, *rows.memory, paths, packed.leaves, *shares, work, bounds, out)
