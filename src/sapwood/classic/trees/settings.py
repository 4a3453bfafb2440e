"""Settings of a grower, resolved from the parameters of an estimator and the number of rows."""

from __future__ import annotations

from sapwood.kernels.split.impurity import ABSOLUTE_ERROR, ENTROPY, GINI, SQUARED_ERROR
from sapwood.lazy_dataclass import dataclass

GAIN_RATIO = "gain_ratio"
CRITERIA = {
    "gini": GINI,
    "entropy": ENTROPY,
    GAIN_RATIO: ENTROPY,
    "squared_error": SQUARED_ERROR,
    "absolute_error": ABSOLUTE_ERROR,
}


@dataclass(frozen=True)
class GrowSettings:
    """What decides a tree besides its rows.

    ``n_classes`` is 0 for regression. ``min_weight`` is the smallest weight of a child, ``max_features`` the number of
    columns that are searched in a node. ``is_multiway`` makes one child per category, ``is_fractional`` divides rows
    with a missing value among all children, ``is_oblique`` tries linear combinations of columns.
    """

    criterion: str
    n_classes: int
    max_depth: int
    min_samples_split: int
    min_samples_leaf: int
    min_weight: float
    min_impurity_decrease: float
    max_leaf_nodes: int | None
    max_features: int
    is_multiway: bool
    is_fractional: bool
    is_oblique: bool
    seed: int

    @property
    def impurity(self) -> int:
        """Number of the impurity in kernels."""
        return CRITERIA[self.criterion]

    @property
    def n_sums(self) -> int:
        """Number of sums that an impurity is computed from."""
        return max(self.n_classes, 1)
