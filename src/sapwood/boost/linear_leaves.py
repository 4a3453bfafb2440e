"""Leaves that answer by a linear model of the features on the way to them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.data.tables.table import Block
from sapwood.grow.grower import Grower
from sapwood.grow.grown_tree import GrownTree
from sapwood.kernels.leaves import linear
from sapwood.model.linear_leaves import LeafCoefficients
from sapwood.model.tree import LEAF
from sapwood.native.threads.team import Team
from sapwood.params.declaration import Params
from sapwood.params.options import linear_of

# Features of a leaf's model at most: of a longer way, those nearest to the leaf.
MOST_TERMS = 64


@dataclass(frozen=True, eq=False)
class LinearLeaves:
    """Fits the models of a tree's leaves to the rows it was grown on."""

    values: Block
    penalty: float
    learning_rate: float
    is_number: np.ndarray
    team: Team

    @classmethod
    def of(cls, params: Params, dataset: BinnedDataset, team: Team) -> LinearLeaves | None:
        """What the parameters ask for, None for constant leaves."""
        wanted = linear_of(params.tree.leaf_model)
        if wanted is None:
            return None
        assert dataset.raw_values is not None
        is_number = np.array([kind == "number" for kind in dataset.schema.kinds])
        return cls(dataset.raw_values, wanted.penalty, params.boost.learning_rate, is_number, team)

    def on(self, dataset: BinnedDataset) -> LinearLeaves:
        """The same for the rows of this dataset."""
        assert dataset.raw_values is not None
        return dataclasses.replace(self, values=dataset.raw_values)

    def fitted(self, grown: GrownTree, grower: Grower, pairs: np.ndarray, weight: np.ndarray) -> GrownTree:
        """The tree with linear leaves, shrinkage included; ``pairs`` (rows, 2) are those that it was grown on."""
        terms = leaf_terms(grown, self.is_number)
        place = (self.values.values, self.values.row_stride, self.values.column_stride)
        members, n_terms = self.team.size, len(terms.feature)
        most = int(np.diff(terms.start).max())
        work = np.empty((members, most * (most + 5) // 2))
        bounds = np.empty((members, n_terms, 2))
        self.team.run(linear.bound_terms, *place, grown.order, terms, work, bounds)
        unit = units(bounds[:, :, 0].min(axis=0), bounds[:, :, 1].max(axis=0))
        sums = np.empty((members, terms.place[-1]), dtype=np.int64)
        scale = grower.scales.exact[0]
        self.team.run(linear.sum_terms, *place, grown.order, terms, pairs, weight, scale, unit, work, sums)
        intercept, found = np.empty(len(grown.leaf_node)), np.empty((n_terms, 2))
        total = sums.sum(axis=0)
        self.team.run(
            linear.solve_terms, terms, total, scale, unit, grower.rules(), self.penalty, work, intercept, found
        )  # fmt: skip
        made = _by_node(grown, terms, intercept, found)
        return dataclasses.replace(grown, leaf_coefficients=made.scaled(self.learning_rate))


def leaf_terms(grown: GrownTree, is_number: np.ndarray) -> linear.LeafTerms:
    """The numeric features on the way to each leaf."""
    above: list[tuple[int, ...]] = [()] * len(grown.feature)
    for node in np.flatnonzero(grown.feature != LEAF):
        feature, path = int(grown.feature[node]), above[node]
        if is_number[feature]:
            path = (feature, *(other for other in path if other != feature))[:MOST_TERMS]
        above[grown.left[node]] = above[grown.left[node] + 1] = path
    features = [sorted(above[node]) for node in grown.leaf_node]
    n_terms = np.array([len(one) for one in features])
    return linear.LeafTerms(
        span=grown.span,
        start=np.concatenate([[0], np.cumsum(n_terms)]).astype(np.int64),
        feature=np.array([feature for one in features for feature in one], dtype=np.int64),
        place=np.concatenate([[0], np.cumsum(linear.HEAD + n_terms * (n_terms + 5) // 2)]).astype(np.int64),
    )


def units(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The middle of each range and 1 / half its length, 0 for a range of no length or beyond bounds."""
    with np.errstate(invalid="ignore"):
        middle, half = 0.5 * low + 0.5 * high, 0.5 * high - 0.5 * low
    usable = (half > linear.MIN_RANGE) & (half < linear.MAX_RANGE)
    scale = np.divide(1.0, half, out=np.zeros_like(half), where=usable)
    return np.stack([np.where(usable, middle, 0.0), scale], axis=1)


def _by_node(grown: GrownTree, terms: linear.LeafTerms, intercept: np.ndarray, found: np.ndarray) -> LeafCoefficients:
    """The slopes that are not 0, node by node."""
    node_of_term = np.repeat(grown.leaf_node, np.diff(terms.start))
    kept = (found[:, 1] != 0.0) & np.isfinite(found).all(axis=1)
    order = np.flatnonzero(kept)[np.argsort(node_of_term[kept], kind="stable")]
    n_terms = np.bincount(node_of_term[order], minlength=len(grown.feature))
    everywhere = grown.value[:, 0].copy()
    linear_leaf = n_terms[grown.leaf_node] > 0
    everywhere[grown.leaf_node[linear_leaf]] = intercept[linear_leaf]
    return LeafCoefficients(
        start=np.concatenate([[0], np.cumsum(n_terms)]),
        intercept=everywhere,
        feature=terms.feature[order],
        centre=found[order, 0],
        slope=found[order, 1],
    )
