"""Boosting with supporting models, which share the structure of the trees but have leaf values of their own.

Where the target statistics of categories come from several permutations of the rows, every permutation that trees are
grown on has a supporting model, whose scores give the gradients.

In ordered boosting, the gradient of a row comes from a model that was not fitted to this row. Each supporting model is
fitted to a prefix of the permuted rows, twice as long as that of the model before. The gradient of a row is computed at
the scores of the model with the longest prefix that ends before the row.
"""

from __future__ import annotations

import numpy as np

from sapwood.boost.boosters.plain import Booster, DatasetView, TrainingState
from sapwood.boost.leaf_refit import LeafRefit, RefitSettings, SupportingModels
from sapwood.boost.ordered_scoring import ScoredPairs
from sapwood.boost.prefixes import count_prefixes, prefix_sizes
from sapwood.boost.score_update import find_nodes
from sapwood.boost.target import Target
from sapwood.grow.grown_tree import FittedTree


class OrderedBooster(Booster):
    """Computes gradients at the scores of supporting models, for each permutation that trees are grown on."""

    def __init__(self, state: TrainingState, settings: RefitSettings, is_ordered: bool) -> None:
        super().__init__(state)
        self.views = state.permuted_views or (DatasetView(state.dataset, state.scores),)
        make_models = make_prefix_models if is_ordered else make_single_model
        self.refits = [LeafRefit(make_models(view, state.target), settings) for view in self.views]
        self.gradient_sources = [find_gradient_sources(refit.models) for refit in self.refits]
        n_rows, n_prefixes = state.dataset.n_rows, count_prefixes(state.params.boost, state.dataset)
        self._scored = ScoredPairs(n_rows, state.builder.width, n_prefixes) if n_prefixes > 0 else None

    def begin_round(self, round: int) -> None:
        """Compute the gradients of all supporting models."""
        if self.updates_scores:
            for refit in self.refits:
                refit.begin_round(self.state.params.boost.tree_rate_of(round))

    def compute_pairs(self, round: int, out: np.ndarray) -> None:
        """Copy the gradient pair of each row from its supporting model to ``out``."""
        k = self._view_number(round)
        refit, source = self.refits[k], self.gradient_sources[k]
        if refit.models.n_models == 1:
            np.copyto(out, refit.pairs)
            return
        for output, pairs in enumerate(refit.pairs):
            np.take(pairs, source, axis=0, out=out[output])

    def scored_pairs(self, pairs: np.ndarray, round: int, output: int) -> np.ndarray:
        """Return the pairs of a tree, with those of the supporting models if splits are scored by them."""
        if self._scored is None:
            return pairs
        return self._scored.gather(pairs, self.refits[self._view_number(round)], output)

    def _view_number(self, round: int) -> int:
        """Return the number, among the supporting models, of the permutation that the trees of a round are grown on."""
        return max(0, self.state.permutation_of(round) - 1)

    def add_tree(self, tree: FittedTree, round: int, on_all_rows: bool = False) -> None:
        """Add a tree with the leaf values of each supporting model to its scores."""
        state = self.state
        if self.updates_scores:
            for view, refit in zip(self.views, self.refits, strict=True):
                nodes = tree.nodes if view.dataset is state.dataset else None
                if nodes is None:
                    nodes = find_nodes(view.dataset, tree.grown, state.team)
                refit.add_tree(tree.grown, nodes, tree.output)
            state.add_to_view(
                tree, DatasetView(state.dataset, state.scores), on_all_rows and state.permutation_of(round) == 0
            )
            state.add_to_eval_sets(tree)
        state.append(tree, round)


def make_single_model(view: DatasetView, target: Target) -> SupportingModels:
    """Return one supporting model, fitted to all rows."""
    return SupportingModels.single(target, view.scores.copy())


def make_prefix_models(view: DatasetView, target: Target) -> SupportingModels:
    """Return the supporting models of ordered boosting.

    Each has copies of the rows of its prefix, to which it is fitted, and of those up to the end of the next prefix,
    whose gradients it gives.
    """
    order = view.dataset.permutation
    assert order is not None
    sizes = prefix_sizes(order.n_rows)
    n_train = [order.count_first(size) for size in sizes]
    ends = [*n_train[1:], len(order.permutation)]
    rows = np.concatenate([order.permutation[:end] for end in ends]).astype(np.uint32)
    weight = None if target.weight is None else target.weight[rows]
    start = np.concatenate([[0], np.cumsum(ends)])
    scores = np.ascontiguousarray(view.scores[:, rows])
    return SupportingModels(rows, start, np.array(n_train), Target(target.y[rows], weight), scores)


def find_gradient_sources(models: SupportingModels) -> np.ndarray:
    """Return the copy of each row whose gradient is used: that of the model with the longest prefix before the row."""
    if models.n_models == 1:
        return models.rows
    sources = np.empty(models.start[-1] - models.start[-2], dtype=np.int64)
    for first, end, n_train in zip(models.start[:-1], models.start[1:], models.n_train, strict=True):
        unseen = np.arange(first + n_train, end)
        sources[models.rows[unseen]] = unseen
    return sources
