"""Where boosting starts from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sapwood.model.ensemble import Ensemble


@dataclass(frozen=True, eq=False)
class InitialScores:
    """Constants (outputs,) that the model keeps, trees that come first, and the scores (outputs, rows) of the rows.

    ``scores`` hold whatever the model cannot say by itself, such as an offset per row; None means the constants.
    """

    base_scores: np.ndarray
    ensemble: Ensemble | None = None
    scores: np.ndarray | None = None

    @property
    def n_rounds(self) -> int:
        """Rounds that the first trees took."""
        return 0 if self.ensemble is None else self.ensemble.n_rounds

    def first_scores(self, n_rows: int) -> np.ndarray:
        """The scores before the first new tree; the caller may write into them."""
        return constant_scores(self.base_scores, n_rows) if self.scores is None else self.scores.copy()

    def joined(self, ensemble: Ensemble) -> Ensemble:
        """The first trees, then new ones."""
        return ensemble if self.ensemble is None else self.ensemble.concatenate(ensemble)


def constant_scores(constants: np.ndarray, n_rows: int) -> np.ndarray:
    """The same scores for every row."""
    return np.repeat(constants[:, None], n_rows, axis=1)
