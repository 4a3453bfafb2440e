"""When training ends, and which round was the best."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sapwood.errors import TrainingError

# Why training ended.
ALL_ROUNDS, EARLY, TIME = "n_estimators", "early_stopping", "time_limit"
INTERRUPTED, CALLBACK = "interrupted", "callback"


@dataclass
class BestRound:
    """The best value that a metric has had, and after how many rounds."""

    greater_is_better: bool
    patience: int | None = None
    round: int = 0
    score: float | None = None

    def update(self, done: int, score: float, name: str) -> None:
        """Note the value after ``done`` rounds; ``name`` says what it is of."""
        if self.patience is not None and math.isnan(score):
            raise TrainingError(
                f"{name} is not a number after round {done}, so it cannot tell when to stop: a metric may need rows of "
                "every class in the validation set; choose another eval_metric or another validation set"
            )
        if self.score is None or math.isnan(self.score) or self._is_better(score, self.score):
            self.round, self.score = done, score

    def is_stale(self, done: int) -> bool:
        """Tell whether there has been no better value for too long."""
        return self.patience is not None and self.score is not None and done - self.round >= self.patience

    def _is_better(self, score: float, other: float) -> bool:
        return score > other if self.greater_is_better else score < other
