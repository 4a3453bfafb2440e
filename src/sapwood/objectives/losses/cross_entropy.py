"""Cross-entropy of probabilities."""

from __future__ import annotations

import numpy as np

from sapwood.objectives.base import Objective, reject_targets
from sapwood.objectives.losses.logistic import Logistic
from sapwood.objectives.registry import register


@register
class CrossEntropy(Logistic):
    """log(1 + e^F) - y F: logistic loss for targets y that are probabilities from 0 to 1.

    Logit link: the prediction is a probability. For regression of proportions and soft labels.

    Examples
    --------
    >>> import numpy as np
    >>> from sapwood import SapwoodRegressor
    >>> from sapwood.objectives import CrossEntropy
    >>> SapwoodRegressor(objective=CrossEntropy())
    SapwoodRegressor(objective=CrossEntropy())
    >>> CrossEntropy().loss(np.array([0.5]), np.array([[0.0]])).round(3)  # y = 0.5, F = 0
    array([0.693])
    """

    name = "cross_entropy"
    aliases = ("xentropy",)
    task = "regression"
    supported_tasks = frozenset({"regression"})
    default_metric = "cross_entropy"

    def check_target(self, y: np.ndarray) -> None:
        """Reject targets below 0 or above 1."""
        is_bad = ~((y >= 0.0) & (y <= 1.0))
        reject_targets(self.name, y, is_bad, "a probability from 0 to 1", "rescale it or use 'squared'")

    def for_classes(self, n_classes: int) -> Objective:
        """Raise a ParameterError: the targets are numbers."""
        return Objective.for_classes(self, n_classes)
