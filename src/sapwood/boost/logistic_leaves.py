"""The leaves of trees for the logistic loss of all rows, fitted in one call."""

from __future__ import annotations

import numpy as np

from sapwood.boost.target import Target
from sapwood.grow.grown_tree import GrownTree
from sapwood.kernels.layout import GrowParams
from sapwood.kernels.leaves.logistic import BLOCK, fit_logistic
from sapwood.native.runtime.kernel import CallCache
from sapwood.native.threads.team import Team


class LogisticLeaves:
    """Takes Newton steps from the scores of rows. What it returns is overwritten by the next tree."""

    def __init__(self, target: Target, scores: np.ndarray, scale: float, team: Team) -> None:
        self._rows = target.y, scores, np.empty(0) if target.weight is None else target.weight
        self._scale = scale
        self._team = team
        self._run = CallCache(team.run)
        self._room = np.empty((team.size, 2, BLOCK))
        self._make_room(1)

    def _make_room(self, n_nodes: int) -> None:
        self._partial = np.empty((self._team.size, 4 * n_nodes), dtype=np.int64)
        self._sums, self._values = np.empty((n_nodes, 4)), np.empty((n_nodes, 3))

    def fit(
        self,
        grown: GrownTree,
        node_of_row: np.ndarray,
        pairs: np.ndarray,
        n_steps: int,
        penalty: np.ndarray,
        rules: GrowParams,
    ) -> tuple[np.ndarray, np.ndarray]:
        """G, H, weight and count of every node, and its value before shrinkage; ``penalty`` is added to λ by node."""
        if len(self._values) != len(grown.feature):
            self._make_room(len(grown.feature))
        self._run(
            fit_logistic, node_of_row, *self._rows, pairs, n_steps, self._scale, penalty, grown.left, rules, self._room,
            self._partial, self._sums, self._values,
        )  # fmt: skip
        return self._sums, self._values[:, :1]
