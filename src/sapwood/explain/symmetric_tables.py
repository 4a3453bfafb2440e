"""Tables of the Shapley values of symmetric trees."""

from __future__ import annotations

import numpy as np

from sapwood.data.tables.table import Table
from sapwood.explain.players import Players
from sapwood.explain.tree_shap import PackedPaths
from sapwood.kernels.explain import path_records, symmetric_tables, tree_paths
from sapwood.model.predict.batch_predictor import row_ranges
from sapwood.model.predict.node_index import NodeIndex
from sapwood.model.predict.tree_packing import find_symmetric
from sapwood.native.threads.team import current_team

# Trees of a greater depth have more leaves than most tables have rows.
MAX_DEPTH = 8
ROWS_PER_CALL = 16_384


def choose_trees(nodes: NodeIndex) -> np.ndarray:
    """Return which trees have tables: symmetric ones of limited depth with constant leaves."""
    if nodes.ensemble.leaf_coefficients is not None:
        return np.zeros(nodes.ensemble.n_trees, dtype=bool)
    return find_symmetric(nodes) & (np.diff(nodes.ensemble.tree_start) < 2 << MAX_DEPTH)


def select_trees(packed: PackedPaths, chosen: np.ndarray) -> PackedPaths:
    """Return the paths of some trees."""
    paths = packed.paths
    n_splits = np.diff(paths.tree_start)
    kept = np.repeat(chosen, n_splits)
    tree_start = np.concatenate([[0], np.cumsum(n_splits[chosen])])
    arrays = {name: getattr(paths, name)[kept] for name in ("splits", "thresholds", "fractions")}
    arrays |= {"tree_output": paths.tree_output[chosen], "n_points": paths.n_points[chosen]}
    return PackedPaths(paths._replace(tree_start=tree_start, **arrays), packed.leaves, packed.n_levels)


def compute_tables(packed: PackedPaths) -> symmetric_tables.SymmetricTables:
    """Compute the Shapley values of all leaves of symmetric trees."""
    paths, n_trees = packed.paths, len(packed.paths.tree_output)
    tree = np.repeat(np.arange(n_trees), np.diff(paths.tree_start))
    # The leftmost split of each depth: the first of its level in depth-first order.
    depth = paths.splits[:, tree_paths.LEVEL]
    _, first = np.unique(tree * packed.n_levels + depth, return_index=True)
    split_start = np.concatenate([[0], np.cumsum(np.bincount(tree[first], minlength=n_trees))])
    keys, local = np.unique(tree * (1 << 40) + paths.splits[:, tree_paths.PLAYER], return_inverse=True)
    player_start = np.searchsorted(keys, np.arange(n_trees + 1) * (1 << 40))
    width = paths.values.shape[1]
    sizes = width * np.diff(player_start) << np.diff(split_start)
    tables = symmetric_tables.SymmetricTables(
        split_start, paths.splits[first, tree_paths.SLOT], paths.thresholds[first],
        paths.splits[first, tree_paths.MISSING_LEFT], player_start, keys % (1 << 40),
        np.concatenate([[0], np.cumsum(sizes)])[:-1],
        np.full(n_trees, -1) if width > 1 else paths.tree_output.astype(np.int64), paths.features, np.empty(0),
    )  # fmt: skip
    splits = paths.splits.copy()
    splits[:, tree_paths.SLOT], splits[:, tree_paths.MISSING_LEFT] = depth, 0
    splits[:, tree_paths.PLAYER] = local.reshape(-1) - player_start[tree]
    outcomes = paths._replace(
        splits=splits, thresholds=np.full(len(splits), 0.5), features=np.arange(packed.n_levels, dtype=np.int64)
    )
    team = current_team(None, 64 * len(splits))
    work = PackedPaths(outcomes, packed.leaves, packed.n_levels).workspace(packed.n_levels, team.size, False)
    table = np.empty(int(sizes.sum()))
    team.run(symmetric_tables.fill_tables, outcomes, packed.leaves, work, tables, table)
    return tables._replace(table=table)


def add_table_values(
    tables: symmetric_tables.SymmetricTables, players: Players, table: Table, out: np.ndarray, n_jobs: int | None
) -> None:
    """Add the Shapley values of all rows of a table of tree features to ``out`` (rows, features, outputs)."""
    if table.is_sparse:
        table = table.select(tables.features.tolist())
        tables = tables._replace(features=np.arange(len(tables.features), dtype=np.int64))
    team = current_team(n_jobs, table.n_rows * len(tables.slot))
    rows, size = path_records.BLOCK, team.size
    work = (
        np.empty((size, len(tables.features), rows)),
        np.empty((size, out.shape[2] * players.n_players, rows)),
        np.empty((size, rows), dtype=np.int64),
    )
    shares = (players.share_start, players.share_feature)
    for block in row_ranges(table, ROWS_PER_CALL):
        bounds = np.array([block.begin, block.end, block.offset], dtype=np.int64)
        team.run(symmetric_tables.add_table_values, *block.memory, tables, *shares, *work, bounds, out)
