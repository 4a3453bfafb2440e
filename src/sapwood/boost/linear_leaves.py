"""Linear leaves: each leaf predicts with a ridge regression on the numeric features of its path."""

from __future__ import annotations

import dataclasses

import numpy as np

from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.data.categories.numeric_cross import RATIO
from sapwood.data.tables.table import Block
from sapwood.distributed.workers import Workers
from sapwood.grow.grown_tree import GrownTree
from sapwood.kernels.layout import GrowParams
from sapwood.kernels.leaves import linear
from sapwood.lazy_dataclass import dataclass
from sapwood.model.linear_leaves import LeafCoefficients
from sapwood.model.tree import LEAF
from sapwood.native.threads.team import Team
from sapwood.params.declaration import Params
from sapwood.params.options import linear_of

# Maximum number of features of a leaf; of a longer path, those nearest to the leaf are used.
MAX_TERMS = 64


@dataclass(frozen=True, eq=False)
class LinearLeaves:
    """Fits the linear models of a tree's leaves to the rows that it was grown on, those of all ``workers``."""

    values: Block
    penalty: float
    is_number: np.ndarray
    team: Team
    workers: Workers

    @classmethod
    def of(cls, params: Params, dataset: BinnedDataset, team: Team) -> LinearLeaves | None:
        """Return the linear leaves that ``leaf_model`` asks for; None for constant leaves."""
        option = linear_of(params.tree.leaf_model)
        if option is None:
            return None
        assert dataset.raw_values is not None
        is_number = np.array([kind == "number" for kind in dataset.schema.kinds])
        if dataset.transformer is not None:  # ratios have no bound: rows with a divisor near 0 would decide the slope
            is_number &= [getattr(c, "kind", None) != RATIO for c in dataset.transformer.columns]
        return cls(dataset.raw_values, option.penalty, is_number, team, dataset.workers)

    def on(self, dataset: BinnedDataset) -> LinearLeaves:
        """Return the linear leaves for the rows of another dataset."""
        assert dataset.raw_values is not None
        return dataclasses.replace(self, values=dataset.raw_values)

    def fitted(
        self,
        grown: GrownTree,
        scale: np.ndarray,
        grow_params: GrowParams,
        pairs: np.ndarray,
        weight: np.ndarray,
        learning_rate: float,
    ) -> GrownTree:
        """Return the tree with linear leaves, with shrinkage.

        ``pairs`` (rows, 2) are those that it was grown on, ``scale`` the scales at which G and H are summed.
        """
        terms = find_leaf_terms(grown, self.is_number)
        values = (self.values.values, self.values.row_stride, self.values.column_stride)
        members, n_terms = self.team.members, len(terms.feature)
        max_terms = int(np.diff(terms.start).max())
        scratch = np.empty((members, max_terms * (max_terms + 5) // 2))
        bounds = np.empty((members, n_terms, 2))
        self.team.run(linear.bound_terms, *values, grown.leaf_rows, terms, scratch, bounds)
        low, high = self.workers.max(np.stack([-bounds[:, :, 0].min(axis=0), bounds[:, :, 1].max(axis=0)]))
        unit = centre_and_scale(-low, high)
        sums = np.empty((members, terms.sums_start[-1]), dtype=np.int64)
        self.team.run(linear.sum_terms, *values, grown.leaf_rows, terms, pairs, weight, scale, unit, scratch, sums)
        intercept, slopes = np.empty(len(grown.leaf_node)), np.empty((n_terms, 2))
        total = self.workers.sum(sums.sum(axis=0))
        self.team.run(
            linear.solve_terms, terms, total, scale, unit, grow_params, self.penalty, scratch, intercept,
            slopes,
        )  # fmt: skip
        coefficients = _coefficients_by_node(grown, terms, intercept, slopes)
        return dataclasses.replace(grown, leaf_coefficients=coefficients.scaled(learning_rate))


def find_leaf_terms(grown: GrownTree, is_number: np.ndarray) -> linear.LeafTerms:
    """Return the numeric features on the path to each leaf."""
    path_of: list[tuple[int, ...]] = [()] * len(grown.feature)
    for node in np.flatnonzero(grown.feature != LEAF):
        feature, path = int(grown.feature[node]), path_of[node]
        if is_number[feature]:
            path = (feature, *(other for other in path if other != feature))[:MAX_TERMS]
        path_of[grown.left[node]] = path_of[grown.left[node] + 1] = path
    features = [sorted(path_of[node]) for node in grown.leaf_node]
    n_terms = np.array([len(of_leaf) for of_leaf in features])
    return linear.LeafTerms(
        span=grown.leaf_ranges,
        start=np.concatenate([[0], np.cumsum(n_terms)]).astype(np.int64),
        feature=np.array([feature for of_leaf in features for feature in of_leaf], dtype=np.int64),
        sums_start=np.concatenate([[0], np.cumsum(linear.HEAD + n_terms * (n_terms + 5) // 2)]).astype(np.int64),
    )


def centre_and_scale(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the centre of each range and 1 / half its length, the latter 0 if the range is empty or too wide."""
    with np.errstate(invalid="ignore"):
        middle, half = 0.5 * low + 0.5 * high, 0.5 * high - 0.5 * low
    usable = (half > linear.MIN_RANGE) & (half < linear.MAX_RANGE)
    scale = np.divide(1.0, half, out=np.zeros_like(half), where=usable)
    return np.stack([np.where(usable, middle, 0.0), scale], axis=1)


def _coefficients_by_node(
    grown: GrownTree, terms: linear.LeafTerms, intercept: np.ndarray, slopes: np.ndarray
) -> LeafCoefficients:
    """Return the intercepts and the slopes that are not 0, by node; ``slopes`` are (term, centre and slope)."""
    node_of_term = np.repeat(grown.leaf_node, np.diff(terms.start))
    kept = (slopes[:, 1] != 0.0) & np.isfinite(slopes).all(axis=1)
    order = np.flatnonzero(kept)[np.argsort(node_of_term[kept], kind="stable")]
    n_terms = np.bincount(node_of_term[order], minlength=len(grown.feature))
    intercept_of_node = grown.value[:, 0].copy()
    is_linear = n_terms[grown.leaf_node] > 0
    intercept_of_node[grown.leaf_node[is_linear]] = intercept[is_linear]
    return LeafCoefficients(
        start=np.concatenate([[0], np.cumsum(n_terms)]),
        intercept=intercept_of_node,
        feature=terms.feature[order],
        centre=slopes[order, 0],
        slope=slopes[order, 1],
    )
