"""Players of Shapley values: the user's columns, and the combinations of columns that trees split on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sapwood.model.model import Model


@dataclass(frozen=True, eq=False)
class Players:
    """The player that each column of the trees belongs to, and the user's columns among which its value is divided.

    A numeric column is a player, and so is a categorical column together with all columns computed from it; columns
    that no tree uses have none (−1). A combination is a player of its own; its value is divided equally among its
    columns ``share_feature[k]``, k from ``share_start[p]`` to ``share_start[p + 1]``.
    """

    of_column: np.ndarray
    share_start: np.ndarray
    share_feature: np.ndarray

    @classmethod
    def of(cls, model: Model) -> Players:
        """Return the players of a model."""
        sources = [(f,) for f in range(model.n_features)] if model.transformer is None else model.transformer.sources
        number: dict[tuple[int, ...], int] = {}
        of_column = np.full(len(sources), -1, dtype=np.int64)
        for column in np.flatnonzero(model.ensemble.used_features(len(sources))):
            of_column[column] = number.setdefault(tuple(sorted(set(sources[column]))), len(number))
        share_start = np.cumsum([0, *map(len, number)])
        share_feature = np.array([f for columns in number for f in columns], dtype=np.int64)
        return cls(of_column, share_start.astype(np.int64), share_feature)

    @property
    def n_players(self) -> int:
        """Number of players."""
        return len(self.share_start) - 1
