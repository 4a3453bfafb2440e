"""What all growers share: rows turned into integers, rules, constraints, and the finished tree read back."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.data.binning.bundling import BundleLayout
from sapwood.errors import TrainingError
from sapwood.grow.constraints import column_directions, column_groups, count_of, draw_tree_features
from sapwood.grow.fixed_point import scale_for
from sapwood.grow.grown_tree import GrownTree
from sapwood.grow.workspace import (
    RowRoom,
    Shape,
    make_choice,
    make_features,
    make_leaves,
    make_listed_features,
    make_nodes,
    make_scales,
    make_scratch,
    make_search,
)
from sapwood.kernels import layout
from sapwood.kernels.histogram import quantised_gradients as quantise
from sapwood.kernels.numeric.random import SPLIT_NOISE, draw_many
from sapwood.native.runtime.kernel import RepeatedCall
from sapwood.native.threads.team import Team
from sapwood.params.declaration import TreeParams
from sapwood.params.encodings import Partition
from sapwood.params.options import symmetric_of

UNLIMITED = 1 << 30
# What a tree is before it has grown.
ROOT_ALONE = np.array([1, 1, layout.OK])
NOTHING = np.empty(0)


class Grower(ABC):
    """Grows one tree after another on the same dataset.

    ``directions`` are the ways in which predictions may go with each feature.
    ``noise`` is the standard deviation of what chance adds to gains when the next trees choose their features.
    ``tells_rows`` is whether somebody reads the rows of the leaves of trees that are grown on some of the rows.
    """

    def __init__(self, dataset: BinnedDataset, n_outputs: int, params: TreeParams, seed: int, team: Team) -> None:
        self._dataset = dataset
        self._params = params
        self._seed = seed
        self._team = team
        assert params.max_leaves is not None
        n_features = dataset.n_features
        self._shape = Shape(dataset.n_rows, n_outputs, params.max_leaves, team.size, self._is_wide())
        self.directions = column_directions(params.monotone_constraints, dataset)
        groups = column_groups(params.interaction_constraints, dataset)
        counts = self._drawn_counts(n_features)
        self._hopeless = self._find_hopeless(dataset, counts)
        self._tiling = self._make_tiling(dataset)
        self._features = make_features(dataset, team.size, self._tiling, self.directions)
        if dataset.sparse_bins is not None:
            self._features = make_listed_features(self._features, dataset.sparse_bins, self._hopeless)
        self._rows = RowRoom.make(self._shape, self._has_lines())
        self._ids = dataset.kept_row_ids
        self._scales = make_scales(self._shape)
        self._scratch = make_scratch(self._shape, int(self._features.n_bins.max()))
        self._leaves = make_leaves(self._shape)
        self._search = make_search(self._shape, n_features)
        groups = np.ascontiguousarray(groups[:, self._tiling.order])
        self._choice = make_choice(self._shape, n_features, groups, counts)
        self._choice.in_tree[self._hopeless] = 0
        self._nodes = make_nodes(self._shape)
        self._symmetric = symmetric_of(params.growth)
        self._number = 0
        self.noise = 0.0
        self.tells_rows = True
        self._quantise_kernel = RepeatedCall(quantise.quantise)
        self._given = NOTHING
        self._gradients = layout.Gradients(NOTHING, NOTHING, NOTHING, 1.0)
        self._fixed_rules = self._make_rules()

    def _find_hopeless(self, dataset: BinnedDataset, drawn: tuple[int, int]) -> np.ndarray:
        """Tell which listed features differ from their usual bin in too few rows to be split; they need no histograms.

        Where levels or nodes draw features they take part, as the draw counts them.
        """
        if dataset.sparse_bins is None or drawn != (0, 0):
            return np.zeros(dataset.n_features, dtype=bool)
        lists = dataset.sparse_bins
        found = (lists.default_bins >= 0) & (lists.counts() < max(1, self._params.min_child_samples))
        found[0] &= not found.all()  # histograms have at least one feature
        return found

    def _make_tiling(self, dataset: BinnedDataset) -> BundleLayout:
        """How features lie in the tiles."""
        return BundleLayout.unbundled(dataset.n_features)

    def _has_lines(self) -> bool:
        """Tell whether rows keep their integers of all planes side by side."""
        return False

    @abstractmethod
    def _is_wide(self) -> bool:
        """Tell whether pairs are kept as wide integers."""

    @abstractmethod
    def _grow_tree(self, gradients: layout.Gradients, rows: layout.RowPartition, draws: layout.RandomKey) -> GrownTree:
        """Grow a tree from the quantised rows."""

    def see(self, dataset: BinnedDataset) -> None:
        """Grow the next trees on the same rows in other bins."""
        self._ids = dataset.kept_row_ids
        self._dataset = dataset

    def grow(
        self, pairs: np.ndarray, weight: np.ndarray, number: int, rows: np.ndarray | None = None, per_round: int = 1
    ) -> GrownTree:  # fmt: skip
        """Grow a tree on all rows, or on some (ascending numbers); it is tree ``number`` of ``per_round`` a round.

        ``weight`` is that of all rows, or of those chosen; it is empty when all weigh the same.
        """
        self._number = number
        self._nodes.info[:] = ROOT_ALONE
        draws = layout.RandomKey(self._seed, number)
        given = self._take_gradients(pairs, weight)
        gradients = self._compacted(rows, given)
        room = self._rows.take(rows, gradients.pairs is not given.pairs)
        self._quantise(room, gradients, draws)
        self._check(number // per_round, given, rows)
        if self._params.colsample_bytree < 1.0:
            n_features = self._dataset.n_features
            drawn = draw_tree_features(self._params.colsample_bytree, n_features, self._seed, number)
            self._choice.in_tree[:] = drawn[self._tiling.order]
            self._choice.in_tree[self._hopeless] = 0
        self._choice.active_groups[0] = 1
        return self._grow_tree(gradients, room, draws)

    def _compacted(self, rows: np.ndarray | None, gradients: layout.Gradients) -> layout.Gradients:
        """Those of the rows alone, where their bins are copied next to each other for the tree; else all."""
        n_weights = len(gradients.weight)
        if rows is None or n_weights == 0 or n_weights == self._dataset.n_rows:
            return gradients
        weight = np.zeros(self._dataset.n_rows)
        weight[rows] = gradients.weight
        return gradients._replace(weight=weight)

    def _take_gradients(self, pairs: np.ndarray, weight: np.ndarray) -> layout.Gradients:
        """The gradients of the rows: the same object again if they are in the same arrays."""
        last = self._gradients
        if self._given is not pairs or last.row_ids is not self._ids or len(last.weight) or len(weight):
            self._given = pairs
            self._gradients = layout.Gradients(
                pairs.reshape(len(pairs), -1), weight, self._ids, self._weight_scale(weight)
            )
        return self._gradients

    def _quantise(self, rows: layout.RowPartition, gradients: layout.Gradients, draws: layout.RandomKey) -> None:
        """Turn the pairs of the rows into integers."""
        wide, info = int(self._shape.wide), self._nodes.info
        self._team.run(self._quantise_kernel, rows, gradients, wide, draws, self._scales, self._scratch, info)

    def _weight_scale(self, weight: np.ndarray) -> float:
        """The scale at which weights can be added exactly."""
        if len(weight) == 0:
            return 1.0
        n = self._dataset.n_rows
        return scale_for(quantise.EXACT_LIMIT, float(weight.max()) * n, n)

    def _drawn_counts(self, n_features: int) -> tuple[int, int]:
        """How many features a level and a node draw, 0 for all."""
        params = self._params
        of_tree = count_of(params.colsample_bytree, n_features)
        of_level = count_of(params.colsample_bylevel, of_tree)
        of_node = count_of(params.colsample_bynode, of_level)
        return of_level if of_level < of_tree else 0, of_node if of_node < of_level else 0

    @property
    def scales(self) -> layout.Scales:
        """How numbers of the latest tree became integers."""
        return self._scales

    def _noise_key(self) -> int:
        """What the noise of the tree at hand is drawn from."""
        drawn = np.empty(1, dtype=np.uint64)
        draw_many(self._seed, SPLIT_NOISE, self._number, np.zeros(1, dtype=np.uint64), drawn)
        return int(drawn[0] >> np.uint64(1))

    def rules(self) -> layout.GrowParams:
        """When and how leaves are split, and what they answer."""
        if self.noise == 0.0:
            return self._fixed_rules
        return self._fixed_rules._replace(split_noise=self.noise, split_noise_key=self._noise_key())

    def _make_rules(self) -> layout.GrowParams:
        """The rules without noise."""
        params, partition = self._params, self._dataset.partition or Partition()
        return layout.GrowParams(
            growth=layout.LEVELWISE if params.growth == "levelwise" else layout.LEAFWISE,
            wide=int(self._shape.wide),
            has_monotone=int(self._features.monotone.any()),
            cosine_score=int(self._symmetric is not None and self._symmetric.score == "cosine"),
            max_leaves=self._shape.max_leaves,
            max_depth=UNLIMITED if params.max_depth is None else params.max_depth,
            min_child_samples=params.min_child_samples,
            min_child_weight=params.min_child_weight,
            reg_lambda=params.reg_lambda,
            reg_alpha=params.reg_alpha,
            min_split_gain=params.min_split_gain,
            max_delta_step=params.max_delta_step,
            max_categories=partition.max_levels,
            category_smoothing=partition.smoothing,
            category_lambda=partition.penalty,
            min_category_rows=partition.min_level_rows,
            min_group_rows=partition.min_group_rows,
            split_noise=0.0,
            split_noise_key=0,
        )

    def _check(self, round: int, gradients: layout.Gradients, rows: np.ndarray | None) -> None:
        """Name the first row whose gradient pair cannot be added up."""
        if self._nodes.info[layout.STATUS] != layout.NOT_FINITE:
            return
        chosen = np.arange(self._dataset.n_rows) if rows is None else rows
        weight = gradients.weight if len(gradients.weight) else np.ones(self._dataset.n_rows)
        weight = weight if len(weight) == len(chosen) else weight[chosen]
        for pairs in gradients.pairs.reshape(len(gradients.pairs), -1, 2)[:, chosen].astype(np.float64):
            with np.errstate(over="ignore", invalid="ignore"):
                g, h = weight * np.abs(pairs[:, 0]), weight * pairs[:, 1]
            fits = (g <= quantise.MAX_GRADIENT) & (h >= 0.0) & (h <= quantise.MAX_GRADIENT)
            if not fits.all():
                break
        k = int(np.argmin(fits))
        raise TrainingError(
            f"round {round + 1}: the gradient of row {int(self._dataset.row_ids[chosen[k]])}, times its weight, is not "
            f"a finite number up to {quantise.MAX_GRADIENT:.0e} (or its hessian is negative): gradient "
            f"{pairs[k, 0]:g}, hessian {pairs[k, 1]:g}, weight {weight[k]:g}; look at the target, weight and "
            "scores of this row, or lower the learning rate"
        )
