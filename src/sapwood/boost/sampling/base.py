"""What every way of drawing rows is given, and what it returns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sapwood.boost.target import Target
from sapwood.data.ranks import Ranks
from sapwood.kernels import sample
from sapwood.kernels.random import ROWS
from sapwood.native.team import Team
from sapwood.params import BoostParams


class Drawn(NamedTuple):
    """The places of the rows drawn, ascending u32 (None: all), and the weights (rows,) of all rows, empty if equal."""

    rows: np.ndarray | None
    weight: np.ndarray


@dataclass(frozen=True, eq=False)
class Pool:
    """The rows to draw from: their original numbers, targets and weights; ``task`` is that of the loss."""

    row_ids: np.ndarray
    target: Target
    task: str
    seed: int
    team: Team
    ranks: Ranks | None = None

    @property
    def n_rows(self) -> int:
        """How many there are."""
        return len(self.row_ids)

    @property
    def weight(self) -> np.ndarray:
        """The weights of the rows, empty if all weigh the same."""
        return np.empty(0) if self.target.weight is None else self.target.weight


class Sampler(ABC):
    """Draws rows, round by round. What it draws depends on the rows' original numbers, never on threads."""

    def __init__(self, choice: Any, params: BoostParams, pool: Pool) -> None:
        self.choice = choice
        self.params = params
        self.pool = pool
        self._ids = pool.row_ids
        self._hashes = np.empty(pool.n_rows, dtype=np.uint64)
        self._states = np.empty(pool.n_rows, dtype=np.uint8)
        self._rows = np.empty(pool.n_rows, dtype=np.uint32)
        self._weight = np.empty(pool.n_rows)

    @abstractmethod
    def draw(self, pairs: np.ndarray, round: int) -> Drawn:
        """Draw the rows of a round, given the unweighted gradient pairs (outputs, rows, 2).

        The arrays returned are overwritten by the next draw.
        """

    def _draw_hashes(self, round: int) -> np.ndarray:
        """The random bits of the rows for a round."""
        self.pool.team.run(sample.hash_for_round, self.pool.seed, ROWS, round, self._ids, self._hashes)
        return self._hashes

    def _taken(self) -> np.ndarray:
        """The rows whose state says so; the row of the least hash if none does."""
        counts = np.zeros(self.pool.team.size, dtype=np.int64)
        self.pool.team.run(sample.list_taken, self._states, counts, self._rows)
        n_taken = int(counts.sum())
        if self._is_last_hope(n_taken):
            row = self._rows[0] = np.argmin(self._hashes)
            self._weight[row] = self.pool.weight[row] if len(self.pool.weight) else 1.0
            n_taken = 1
        return self._rows[:n_taken]

    def _is_last_hope(self, n_taken: int) -> bool:
        """Tell whether no row was taken, at any rank, and this one has the row of the least hash."""
        ranks = self.pool.ranks
        if ranks is None or not ranks.share_rows:
            return n_taken == 0
        if int(ranks.reducer.sum(np.array([n_taken], dtype=np.int64))[0]) > 0:
            return False
        least = np.concatenate(ranks.reducer.gather(self._hashes.min(keepdims=True)))
        return int(np.argmin(least)) == ranks.reducer.rank
