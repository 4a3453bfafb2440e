"""Boosting with helpers: models that share the structure of the trees, but have leaf values of their own.

Where statistics of categories come from several orders of the rows, every order that trees are grown on has a helper
(C5): its scores are what such trees leave to do there.

Ordered boosting (C6): the gradient of a row comes from a model that never saw it. Each helper learns from a first part
of the rows in their order, twice as long as that of the one before. A row's gradient is taken at the scores of the
helper with the longest part that ends before the row.
"""

from __future__ import annotations

import numpy as np

from sapwood.boost.boosters.plain import Booster, DatasetView, TrainingState
from sapwood.boost.leaf_refit import LeafRefit, RefitSettings, SupportingModels
from sapwood.boost.score_update import find_nodes
from sapwood.boost.target import Target
from sapwood.grow.grown_tree import FittedTree

FIRST_PART = 64  # the first helper learns from so many parts of the rows less one


class OrderedBooster(Booster):
    """Keeps the scores of the helpers, for each order of rows that trees are grown on."""

    def __init__(self, field: TrainingState, rules: RefitSettings, is_ordered: bool) -> None:
        super().__init__(field)
        self.views = field.others or (DatasetView(field.dataset, field.scores),)
        make, place = (make_copies, own_copies) if is_ordered else (every_row, only_copies)
        self.fits = [LeafRefit(make(view, field.target), rules) for view in self.views]
        self.own = [place(fit.models) for fit in self.fits]

    def begin_round(self, round: int) -> None:
        """Take the gradients of all helpers."""
        if self.is_live:
            for fit in self.fits:
                fit.begin_round()

    def take_pairs(self, round: int, out: np.ndarray) -> None:
        """Give every row the gradient pair of the helper that serves it."""
        place = max(0, self.field.order_of(round) - 1)
        if self.fits[place].models.n_models == 1:
            np.copyto(out, self.fits[place].pairs)
            return
        for output, pairs in enumerate(self.fits[place].pairs):
            np.take(pairs, self.own[place], axis=0, out=out[output])

    def add_tree(self, tree: FittedTree, round: int, has_all_rows: bool = False) -> None:
        """Let every helper give the tree values of its own."""
        field = self.field
        if self.is_live:
            for view, fit in zip(self.views, self.fits, strict=True):
                nodes = tree.nodes if view.dataset is field.dataset else None
                if nodes is None:
                    nodes = find_nodes(view.dataset, tree.grown, field.team)
                fit.add_tree(tree.grown, nodes, tree.output)
            field.add_to_view(
                tree, DatasetView(field.dataset, field.scores), has_all_rows and field.order_of(round) == 0
            )
            field.add_to_sets(tree)
        field.keep(tree, round)


def every_row(view: DatasetView, target: Target) -> SupportingModels:
    """One helper that learns from all rows."""
    return SupportingModels.single(target, view.scores.copy())


def only_copies(copies: SupportingModels) -> np.ndarray:
    """The place of every row's only copy."""
    return copies.rows


def parts(n_rows: int) -> list[int]:
    """How many of the first rows each helper learns from: none, then a share, doubling."""
    sizes, size = [0], max(1, n_rows // FIRST_PART)
    while size < n_rows:
        sizes.append(size)
        size *= 2
    return sizes


def make_copies(view: DatasetView, target: Target) -> SupportingModels:
    """The rows in their order, as often as there are helpers that need them: those learned from and those served."""
    order = view.dataset.permutation
    assert order is not None
    sizes = parts(len(order))
    ends = [*sizes[1:], len(order)]
    rows = np.concatenate([order[:end] for end in ends]).astype(np.uint32)
    weight = None if target.weight is None else target.weight[rows]
    start = np.concatenate([[0], np.cumsum(ends)])
    scores = np.ascontiguousarray(view.scores[:, rows])
    return SupportingModels(rows, start, np.array(sizes), Target(target.y[rows], weight), scores)


def own_copies(copies: SupportingModels) -> np.ndarray:
    """The place of every row's own copy: that of the helper with the most rows before it."""
    own = np.empty(copies.start[-1] - copies.start[-2], dtype=np.int64)
    for first, end, learned in zip(copies.start[:-1], copies.start[1:], copies.n_train, strict=True):
        served = np.arange(first + learned, end)
        own[copies.rows[served]] = served
    return own
