"""Expected scores of rows when only some of their features are known, by the cover of the trees."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sapwood.data.tables.table import Table
from sapwood.explain.cover import left_fractions, node_cover
from sapwood.explain.players import Players
from sapwood.explain.tree_shap import coefficient_columns
from sapwood.kernels.explain import conditional_scores
from sapwood.model.model import Model
from sapwood.model.predict.batch_predictor import row_ranges
from sapwood.model.predict.node_index import NodeIndex
from sapwood.native.threads.team import current_team

ROWS_PER_CALL = 4096


class ConditionalScores:
    """Computes the expected scores of a model given some of the user's columns (path-dependent, as Shapley values)."""

    def __init__(self, model: Model) -> None:
        self.model, self.players = model, Players.of(model)
        nodes = NodeIndex(model.ensemble, model.bitsets)
        self._levels = len(nodes.levels) + 2
        self._trees = _cover_trees(model, nodes, self.players)

    def without(self, table: Table, feature: int, n_jobs: int | None = None) -> np.ndarray:
        """Return the scores (outputs, rows) with one column unknown; ``table`` has the features of the trees."""
        return self.given(table, [f for f in range(self.model.n_features) if f != feature], n_jobs)

    def given(self, table: Table, features: Iterable[int], n_jobs: int | None = None) -> np.ndarray:
        """Return the scores (outputs, rows) given some columns; combinations with an unknown column are unknown."""
        known, players = set(features), self.players
        is_known = np.array(
            [
                known.issuperset(players.share_feature[players.share_start[p] : players.share_start[p + 1]].tolist())
                for p in range(players.n_players)
            ],
            dtype=np.uint8,
        )
        out = np.repeat(self.model.base_scores[:, None], table.n_rows, axis=1)
        team = current_team(n_jobs, table.n_rows * self.model.ensemble.n_nodes)
        work = np.empty((team.size, self._levels), np.int64), np.empty((team.size, self._levels))
        for rows in row_ranges(table, ROWS_PER_CALL):
            bounds = np.array([rows.begin, rows.end, rows.offset], dtype=np.int64)
            team.run(conditional_scores.add_conditional_scores, *rows.memory, self._trees, is_known, *work, bounds, out)
        return out


def _cover_trees(model: Model, nodes: NodeIndex, players: Players) -> conditional_scores.CoverTrees:
    ensemble, cover = model.ensemble, node_cover(model.ensemble)
    goes_left = np.zeros(ensemble.n_nodes)
    for level in nodes.levels:
        goes_left[level] = left_fractions(cover[nodes.left[level]], cover[nodes.left[level] + 1])
    integers, floats = np.empty(0, dtype=np.int64), np.empty(0)
    linear = (integers, floats, integers, integers, floats, floats)
    coefficients = ensemble.leaf_coefficients
    if coefficients is not None:
        columns = coefficient_columns(coefficients, model.bitsets).astype(np.int64)
        owner = players.of_column[coefficients.feature]
        linear = (
            coefficients.start, coefficients.intercept, columns, owner, coefficients.centre, coefficients.slope
        )  # fmt: skip
    player = np.where(nodes.inner, players.of_column[ensemble.feature], -1)
    return conditional_scores.CoverTrees(
        ensemble.tree_start, ensemble.tree_output, nodes.column.astype(np.int64), nodes.bit, player,
        nodes.left.astype(np.int64), ensemble.threshold, ensemble.missing_left, goes_left, ensemble.value, *linear,
    )  # fmt: skip
