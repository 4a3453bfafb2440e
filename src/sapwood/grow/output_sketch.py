"""The sketch of several outputs by which the splits of trees with vector leaves are searched."""

from __future__ import annotations

import math

import numpy as np

from sapwood.kernels import layout
from sapwood.kernels.histogram.output_sketch import BLOCK, project_outputs
from sapwood.native.threads.team import Team
from sapwood.params.declaration import TreeParams


def count_directions(params: TreeParams, n_outputs: int) -> int:
    """Return the number of directions that splits are searched for in place of the outputs, 0: the outputs."""
    n_directions = params.sketch_outputs or 0
    return n_directions if n_directions < n_outputs else 0


class OutputSketch:
    """Projects the gradient pairs of all outputs on random directions, others for every tree.

    References
    ----------
    Iosipoi and Vakhrushev (2022), SketchBoost: fast gradient boosted decision tree for multioutput problems.
    """

    def __init__(self, n_directions: int, n_rows: int, team: Team) -> None:
        self._team = team
        self._work = np.empty((team.size, n_directions + 1, BLOCK))
        self._pairs = np.empty((n_directions, 2 * n_rows), dtype=np.float32)

    def project(self, gradients: layout.Gradients, key: layout.RandomKey) -> layout.Gradients:
        """Return the projected gradients of the same rows, which the next call overwrites."""
        n_directions, n = len(self._pairs), gradients.pairs.shape[1]
        out = self._pairs.reshape(-1)[: n_directions * n].reshape(n_directions, n)
        factor = 1.0 / math.sqrt(n_directions)
        self._team.run(project_outputs, gradients.pairs, key, factor, self._work, out)
        return gradients._replace(pairs=out)
