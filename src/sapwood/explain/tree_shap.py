"""Shapley values of predictions: trees as paths, workspaces, and kernel calls short enough for Ctrl-C."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sapwood.data.tables.table import Table
from sapwood.explain.players import Players
from sapwood.explain.quadrature import quadrature_table
from sapwood.kernels.explain import tree_paths, tree_shap
from sapwood.model.ensemble import Ensemble
from sapwood.model.predict.batch_predictor import row_ranges
from sapwood.model.predict.node_index import NodeIndex
from sapwood.native.threads.team import current_team

# Approximate time of one split, point and row, and the duration of one kernel call.
SPLIT_NANOSECONDS, CALL_NANOSECONDS = 2.0, 50_000_000


@dataclass(frozen=True, eq=False)
class PackedPaths:
    """The splits of trees prepared for Shapley values, and the number of levels of the deepest tree."""

    paths: tree_paths.TreePaths
    n_levels: int

    def workspace(self, n_players: int, members: int) -> tree_shap.ShapWorkspace:
        """Return the arrays that a team works on."""
        rows, n_points = tree_shap.BLOCK, self.paths.points.shape[1]
        return tree_shap.ShapWorkspace(
            blocks=np.empty((members, len(self.paths.features), rows)),
            phi=np.empty((members, n_players, rows)),
            edges=np.empty((members, 3, self.n_levels, rows)),
            products=np.empty((members, self.n_levels, n_points, rows)),
            sums=np.empty((members, self.n_levels, 2, n_points, rows)),
            path=np.empty((members, self.n_levels), dtype=np.int64),
        )

    def rows_per_call(self, n_outputs: int, members: int) -> int:
        """Return the number of rows that a team should explain in one kernel call."""
        n_splits = np.diff(self.paths.tree_start)
        width = n_outputs if self.paths.values.shape[1] > 1 else 1
        cost = SPLIT_NANOSECONDS * width * float((n_splits * self.paths.n_points).sum()) + 1.0
        blocks = max(1, int(CALL_NANOSECONDS / (tree_shap.BLOCK * cost)))
        return members * tree_shap.BLOCK * blocks


def pack_paths(nodes: NodeIndex, players: Players, cover: np.ndarray) -> PackedPaths:
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
    features, slots = np.unique(nodes.column[numbers], return_inverse=True)
    splits[:, tree_paths.SLOT] = slots.reshape(-1)
    splits[:, tree_paths.BIT] = nodes.bit[numbers]
    splits[:, tree_paths.MISSING_LEFT] = ensemble.missing_left[numbers]
    n_points = np.maximum(1, (n_distinct + 1) // 2)
    points, weights = quadrature_table(int(n_points.max(initial=1)))
    paths = tree_paths.TreePaths(
        tree_start, ensemble.tree_output, n_points, splits, ensemble.threshold[numbers], fractions, ensemble.value,
        features.astype(np.int64), points, weights,
    )  # fmt: skip
    return PackedPaths(paths, n_levels)


def add_shap_values(
    packed: PackedPaths, players: Players, table: Table, out: np.ndarray, n_jobs: int | None = None
) -> None:
    """Add the Shapley values of all rows of a table of tree features to ``out`` (rows, features, outputs)."""
    if len(packed.paths.splits) == 0:
        return
    paths = packed.paths
    if table.is_sparse:  # a block of it takes little memory with the columns that trees use alone
        table = table.select(paths.features.tolist())
        paths = paths._replace(features=np.arange(len(paths.features), dtype=np.int64))
    team = current_team(n_jobs, table.n_rows * len(paths.splits))
    work = packed.workspace(players.n_players, team.size)
    shares = (players.share_start, players.share_feature)
    for rows in row_ranges(table, packed.rows_per_call(out.shape[2], team.size)):
        bounds = np.array([rows.begin, rows.end, rows.offset], dtype=np.int64)
        team.run(tree_shap.explain_rows, *rows.memory, paths, *shares, work, bounds, out)


def node_cover(ensemble: Ensemble, kind: str = "weight") -> np.ndarray:
    """Return the weight of each node by which expectations are taken: ``weight``, ``count`` or ``hessian``.

    Trees without weights have counts instead, and without counts hessians.
    """
    cover = _statistic(ensemble, kind)
    for other in ("count", "hessian"):
        is_empty = ~(cover[ensemble.tree_start[:-1]] > 0.0) if ensemble.n_trees else np.empty(0, bool)
        if is_empty.any():
            cover = np.where(is_empty[ensemble.tree_of_node()], _statistic(ensemble, other), cover)
    return np.ascontiguousarray(cover)


def _statistic(ensemble: Ensemble, kind: str) -> np.ndarray:
    values = np.asarray(getattr(ensemble, kind), dtype=np.float64)
    return values if values.ndim == 1 else values.sum(axis=1)


def expected_values(nodes: NodeIndex, cover: np.ndarray) -> np.ndarray:
    """Return the mean of all trees (outputs,), weighted by cover at every split."""
    ensemble = nodes.ensemble
    means = np.array(ensemble.value)
    for level in reversed(nodes.levels):
        left = nodes.left[level]
        total = cover[left] + cover[left + 1]
        goes_left = np.divide(cover[left], total, out=np.full(len(level), 0.5), where=total > 0.0)[:, None]
        means[level] = goes_left * means[left] + (1.0 - goes_left) * means[left + 1]
    totals = np.zeros(ensemble.n_outputs)
    for root, output in zip(ensemble.tree_start[:-1], ensemble.tree_output, strict=True):
        totals[output : output + ensemble.width] += means[root]
    return totals
