"""Early stopping: the best round so far, and the reasons for which training ends."""

from __future__ import annotations

import math

from sapwood.errors import TrainingError
from sapwood.lazy_dataclass import dataclass

# Reasons for which training ends, the values of ``stopped_``.
ALL_ROUNDS, EARLY_STOPPING, TIME_LIMIT = "n_estimators", "early_stopping", "time_limit"
INTERRUPTED, CALLBACK, ONE_CLASS = "interrupted", "callback", "one_class"


@dataclass
class BestRound:
    """The best value of a metric so far and the number of rounds after which it was reached.

    ``patience`` is the number of rounds without improvement after which training stops; None never stops it. A change
    of at most ``min_delta``, or ``min_relative_delta`` of the best value, is no improvement.
    """

    greater_is_better: bool
    patience: int | None = None
    min_delta: float = 0.0
    min_relative_delta: float = 0.0
    round: int = 0
    score: float | None = None

    def update(self, n_rounds: int, score: float, name: str) -> None:
        """Compare the value after ``n_rounds`` rounds with the best one; errors call the metric ``name``."""
        if self.patience is not None and math.isnan(score):
            raise TrainingError(
                f"{name} is not a number after round {n_rounds}, so early stopping cannot use it: some metrics need "
                "rows of every class in the validation set; choose another eval_metric or another validation set"
            )
        if self.score is None or math.isnan(self.score) or self._is_better(score, self.score):
            self.round, self.score = n_rounds, score

    def should_stop(self, n_rounds: int) -> bool:
        """Return whether the metric has not improved for ``patience`` rounds."""
        return self.patience is not None and self.score is not None and n_rounds - self.round >= self.patience

    def _is_better(self, score: float, other: float) -> bool:
        change = score - other if self.greater_is_better else other - score
        relative = self.min_relative_delta * abs(other) if math.isfinite(other) else 0.0
        return change > max(self.min_delta, relative)
