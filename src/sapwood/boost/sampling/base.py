"""What every way of drawing rows is given, and what it returns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sapwood.boost.sampling.select import Crowd
from sapwood.boost.target import Target
from sapwood.data.ranks import Ranks
from sapwood.kernels import sample
from sapwood.kernels.random import ROWS
from sapwood.native.kernel import Kernel
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
    def crowd(self) -> Crowd:
        """Who looks at them."""
        return Crowd(self.team, self.ranks)

    @property
    def n_everywhere(self) -> int:
        """How many there are at all ranks."""
        return self.n_rows if self.ranks is None else self.ranks.n_rows

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
        self._rows = np.empty(pool.n_rows, dtype=np.uint32)
        self._spare = np.empty(pool.n_rows, dtype=np.uint32)
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

    def _listed(self, take: Kernel, *args: Any) -> Drawn:
        """Run a kernel that lists rows as its last arguments say; the row of the least hash if it lists none."""
        counts = np.zeros(self.pool.team.size, dtype=np.int64)
        self.pool.team.run(take, *args, counts, self._spare, self._rows)
        return Drawn(self._some(int(counts.sum())), self._weight)

    def _some(self, n_taken: int) -> np.ndarray:
        """So many of the rows listed; the row of the least hash if there are none."""
        if self._is_last_hope(n_taken):
            row = self._rows[0] = np.argmin(self._hashes)
            self._weight[row] = self.pool.weight[row] if len(self.pool.weight) else 1.0
            n_taken = 1
        return self._rows[:n_taken]

    def _is_last_hope(self, n_taken: int) -> bool:
        """Tell whether no row was taken, at any rank, and this one has the row of the least hash."""
        ranks, crowd = self.pool.ranks, self.pool.crowd
        if crowd.count(n_taken) > 0:
            return False
        if ranks is None or not crowd.is_spread:
            return True
        least = np.concatenate(ranks.reducer.gather(self._hashes.min(keepdims=True)))
        return int(np.argmin(least)) == ranks.reducer.rank
