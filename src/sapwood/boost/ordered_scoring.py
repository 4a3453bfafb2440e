"""Ordered scoring: the gradient pairs by which splits are scored in ordered boosting.

While a split is scored, the rows that follow a prefix of the permutation, up to the end of the next prefix, take the
leaf values that the model of the prefix would have: those of the rows of the prefix, at its own scores.
"""

from __future__ import annotations

import numpy as np

from sapwood.boost.leaf_refit import LeafRefit
from sapwood.grow.workspace import count_scored_outputs

PAIR = np.dtype(np.uint64)  # a gradient pair, two float32, is copied as one word


class ScoredPairs:
    """Gathers the pairs (outputs, rows, 2) that a tree of ``width`` outputs is grown on, in the order of growers."""

    def __init__(self, n_rows: int, width: int, n_prefixes: int) -> None:
        self._width = width
        self._n_prefixes = n_prefixes
        self._pairs = np.zeros((count_scored_outputs(width, self._n_prefixes), n_rows, 2), dtype=np.float32)
        self._last_refit: LeafRefit | None = None

    def gather(self, pairs: np.ndarray, refit: LeafRefit, output: int) -> np.ndarray:
        """Return the pairs of the outputs, then those of the prefixes at the scores of the supporting models.

        ``output`` is the first of the outputs. The array is overwritten by the next call.
        """
        models, width = refit.models, self._width
        if refit is not self._last_refit:  # other rows are in the prefixes
            self._pairs[width:] = 0.0
            self._last_refit = refit
        self._pairs[:width] = pairs
        planes = iter(self._pairs[width:].view(PAIR)[:, :, 0])
        for own_pairs in refit.pairs[output : output + width].view(PAIR)[:, :, 0]:
            for m in range(models.n_models - self._n_prefixes, models.n_models):
                first, end = models.start[m : m + 2].tolist()
                behind = first + int(models.n_train[m])
                for part in (slice(first, behind), slice(behind, end)):
                    next(planes)[models.rows[part]] = own_pairs[part]
        return self._pairs
