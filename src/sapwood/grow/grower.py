"""Base class of growers: gradients are quantised, parameters and constraints are passed to kernels."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.data.binning.bundling import BundleLayout
from sapwood.errors import TrainingError
from sapwood.grow.constraints import (
    column_directions,
    column_extensions,
    column_groups,
    column_weights,
    fraction_count,
    sample_tree_features,
)
from sapwood.grow.feature_meta import make_features, make_sparse_features
from sapwood.grow.fixed_point import scale_for
from sapwood.grow.grown_tree import GrownTree
from sapwood.grow.output_sketch import count_directions
from sapwood.grow.workspace import (
    RowBuffers,
    WorkspaceSize,
    count_scored_outputs,
    make_column_sampler,
    make_leaf_table,
    make_scales,
    make_scratch,
    make_split_candidates,
    make_tree_nodes,
)
from sapwood.kernels import layout
from sapwood.kernels.histogram.gradient_scales import EXACT_LIMIT, MAX_GRADIENT
from sapwood.kernels.histogram.quantised_gradients import quantise
from sapwood.kernels.numeric.random import SPLIT_NOISE, draw_many
from sapwood.kernels.sampling.row_subset import scatter_weights
from sapwood.native.runtime.kernel import RepeatedCall
from sapwood.native.threads.team import Team
from sapwood.params.declaration import TreeParams
from sapwood.params.encodings import Partition
from sapwood.params.options import symmetric_of

UNLIMITED = 1 << 30
MAX_ROUNDS = 1 << 32  # tree numbers of parallel trees differ by multiples of it times the trees of a round
SINGLE_ROOT = np.array([1, 1, layout.OK])  # nodes, leaves and status of a tree before it has grown
EMPTY = np.empty(0)


class Grower(ABC):
    """Grows one tree after another on the same dataset.

    ``directions`` are the monotone constraints of the features: 1 increasing, -1 decreasing, 0 none. ``split_noise`` is
    the standard deviation of the noise added to the gains by which the next trees choose features.
    ``needs_leaf_rows`` is whether the rows of leaves are read also after a tree was grown on a sample of the rows.
    With ``n_prefixes`` above 0, splits are scored by the pairs of so many prefixes of the permuted rows, which follow
    those of the outputs (``kernels/layout.py``).
    """

    def __init__(
        self, dataset: BinnedDataset, n_outputs: int, params: TreeParams, seed: int, team: Team, n_prefixes: int = 0
    ) -> None:
        self._dataset = self._first_dataset = dataset
        self._params = params
        self._seed = seed
        self._team = team
        assert params.max_leaves is not None
        n_features = dataset.n_features
        self._n_outputs, self._n_prefixes = n_outputs, n_prefixes
        n_scored, n_directions = count_scored_outputs(n_outputs, n_prefixes), count_directions(params, n_outputs)
        self._size = WorkspaceSize(
            dataset.n_rows, n_scored, params.max_leaves, team.size, self._is_wide(), n_directions
        )  # fmt: skip
        self.directions = column_directions(params.monotone_constraints, dataset)
        groups = column_groups(params.interaction_constraints, dataset)
        counts = self._sampled_counts(column_weights(params.feature_weights, dataset).n_positive)
        self._unsplittable = self._find_unsplittable(dataset, counts)
        self._bundle_layout = self._make_bundle_layout(dataset)
        self._sliced_features: dict[int, layout.FeatureMeta] = {}
        self._features = self._slice_features(team.size)
        self._row_buffers = RowBuffers.allocate(self._size, self._has_pairs_by_row())
        self._row_ids = dataset.kept_row_ids
        self._scales = self._quantised_scales = make_scales(self._size)
        self._symmetric = symmetric_of(params.growth)
        self._scratch = make_scratch(self._size, int(self._features.n_bins.max()), self._symmetric is not None)
        self._leaves = make_leaf_table(self._size)
        self._candidates = make_split_candidates(self._size, n_features)
        groups = np.ascontiguousarray(groups[:, self._bundle_layout.order])
        self._weights = column_weights(params.feature_weights, dataset)
        order = self._bundle_layout.order
        extends, usable = column_extensions(dataset)
        self._usable_at_root = usable[order]
        self._column_sampler = make_column_sampler(
            self._size, n_features, groups, counts, self._weights.inverse(order),
            np.ascontiguousarray(extends[np.ix_(order, order)]) if len(extends) else extends,
        )  # fmt: skip
        self._is_never_drawn = self._unsplittable | self._weights.is_zero[self._bundle_layout.order]
        self._column_sampler.in_tree[self._is_never_drawn] = 0
        self._nodes = make_tree_nodes(self._size, n_outputs)
        self._tree_number = self._output = 0
        self.split_noise = 0.0
        self.needs_leaf_rows = True
        self._quantise_kernel = RepeatedCall(quantise)
        self._scatter_kernel = RepeatedCall(scatter_weights)
        self._weight_by_row = EMPTY
        self._last_pairs = EMPTY
        self._gradients = layout.Gradients(EMPTY, EMPTY, EMPTY, 1.0)
        self._fixed_params = self._make_params()

    def _find_unsplittable(self, dataset: BinnedDataset, sampled: tuple[int, int]) -> np.ndarray:
        """Return which sparse features differ from their default bin in too few rows to be split.

        They need no histograms. Where levels or nodes sample features all are kept: the sample counts them.
        """
        if dataset.sparse_bins is None or sampled != (0, 0):
            return np.zeros(dataset.n_features, dtype=bool)
        is_sparse = dataset.sparse_bins.default_bins >= 0
        found = is_sparse & (dataset.sparse_bins.counts() < max(1, self._params.min_child_samples))
        found[0] &= not found.all()  # histograms have at least one feature
        return found

    def _make_bundle_layout(self, dataset: BinnedDataset) -> BundleLayout:
        """Return the layout of features in the tiles."""
        return BundleLayout.unbundled(dataset.n_features)

    def _slice_features(self, members: int) -> layout.FeatureMeta:
        """Return the features with slices for so many members."""
        sliced = self._sliced_features
        if members not in sliced:
            sliced[members] = self._make_features(members)
        return sliced[members]

    def _make_features(self, members: int) -> layout.FeatureMeta:
        dataset = self._first_dataset
        features = make_features(dataset, members, self._bundle_layout, self.directions)
        if dataset.sparse_bins is None:
            return features
        return make_sparse_features(features, dataset.sparse_bins, self._unsplittable)

    def _has_pairs_by_row(self) -> bool:
        """Return whether the quantised pairs of all outputs of a row are also kept side by side."""
        return False

    @abstractmethod
    def _is_wide(self) -> bool:
        """Return whether pairs are quantised to wide integers."""

    @abstractmethod
    def _grow_tree(self, gradients: layout.Gradients, rows: layout.RowPartition, key: layout.RandomKey) -> GrownTree:
        """Grow a tree from the quantised rows."""

    def set_dataset(self, dataset: BinnedDataset) -> None:
        """Grow the next trees on the same rows in the bins of another dataset."""
        self._row_ids = dataset.kept_row_ids
        self._dataset = dataset

    def grow(
        self, pairs: np.ndarray, weight: np.ndarray, number: int, rows: np.ndarray | None = None, per_round: int = 1
    ) -> GrownTree:  # fmt: skip
        """Grow a tree on all rows or on some, given by ascending numbers.

        ``pairs`` (outputs, rows, 2) are those of the outputs, then those of the prefixes of ordered scoring.
        It is tree ``number`` of the training, which has ``per_round`` trees a round; multiples of ``MAX_ROUNDS`` count
        parallel trees. ``weight`` are the weights of all rows or of those given, empty if all are equal.
        """
        self._tree_number, self._output = number, number % per_round
        self._nodes.info[:] = SINGLE_ROOT
        self._features = self._slice_features(self._team.members)
        key = layout.RandomKey(self._seed, number)
        all_gradients = self._wrap_gradients(pairs, weight)
        gradients = self._gather_gradients(rows, all_gradients)
        partition = self._row_buffers.select(rows, gradients.pairs is not all_gradients.pairs)
        self._quantise(partition, gradients, key)
        self._check_gradients(number // per_round % MAX_ROUNDS, all_gradients, rows)
        if self._params.colsample_bytree < 1.0:
            n_features = self._dataset.n_features
            in_tree = sample_tree_features(self._params.colsample_bytree, n_features, self._seed, number, self._weights)
            self._column_sampler.in_tree[:] = in_tree[self._bundle_layout.order]
            self._column_sampler.in_tree[self._is_never_drawn] = 0
        self._column_sampler.active_groups[0] = 1
        self._column_sampler.usable[:1] = self._usable_at_root
        if self._n_prefixes > 0:
            gradients = gradients._replace(pairs=gradients.pairs[: self._n_outputs])
        return self._grow_tree(gradients, partition, key)

    def _gather_gradients(self, rows: np.ndarray | None, gradients: layout.Gradients) -> layout.Gradients:
        """Return the gradients of all rows, with weights for all; growers may gather those of the given rows alone."""
        n_weights = len(gradients.weight)
        if rows is None or n_weights == 0 or n_weights == self._dataset.n_rows:
            return gradients
        if len(self._weight_by_row) == 0:
            self._weight_by_row = np.empty(self._dataset.n_rows)
        self._weight_by_row.fill(0.0)
        self._team.run(self._scatter_kernel, rows, gradients.weight, self._weight_by_row)
        return gradients._replace(weight=self._weight_by_row)

    def _wrap_gradients(self, pairs: np.ndarray, weight: np.ndarray) -> layout.Gradients:
        """Return the gradients of all rows for kernels; the last object is reused if the arrays are the same."""
        last = self._gradients
        if self._last_pairs is not pairs or last.row_ids is not self._row_ids or len(last.weight) or len(weight):
            self._last_pairs = pairs
            self._gradients = layout.Gradients(
                pairs.reshape(len(pairs), -1), weight, self._row_ids, self._weight_scale(weight)
            )
        return self._gradients

    def _quantise(self, rows: layout.RowPartition, gradients: layout.Gradients, key: layout.RandomKey) -> None:
        """Quantise the gradient pairs of the rows."""
        wide, info = int(self._size.wide), self._nodes.info
        scales, scratch = self._quantised_scales, self._scratch
        self._team.run(self._quantise_kernel, rows, gradients, wide, key, scales, scratch, info)

    def _weight_scale(self, weight: np.ndarray) -> float:
        """Return the scale at which weights are summed exactly."""
        if len(weight) == 0:
            return 1.0
        n = self._dataset.n_rows
        return scale_for(EXACT_LIMIT, float(weight.max()) * n, n)

    def _sampled_counts(self, n_features: int) -> tuple[int, int]:
        """Return the numbers of features sampled by each level and by each node, 0 for all."""
        params = self._params
        of_tree = fraction_count(params.colsample_bytree, n_features)
        of_level = fraction_count(params.colsample_bylevel, of_tree)
        of_node = fraction_count(params.colsample_bynode, of_level)
        return of_level if of_level < of_tree else 0, of_node if of_node < of_level else 0

    @property
    def scales(self) -> layout.Scales:
        """Scales of the quantised gradients of the latest tree."""
        return self._scales

    def _split_noise_key(self) -> int:
        """Return the random key of the split noise of the current tree."""
        drawn = np.empty(1, dtype=np.uint64)
        draw_many(self._seed, SPLIT_NOISE, self._tree_number, np.zeros(1, dtype=np.uint64), drawn)
        return int(drawn[0] >> np.uint64(1))

    def grow_params(self) -> layout.GrowParams:
        """Return the parameters of the current tree."""
        if self.split_noise == 0.0:
            return self._fixed_params
        return self._fixed_params._replace(split_noise=self.split_noise, split_noise_key=self._split_noise_key())

    def _make_params(self) -> layout.GrowParams:
        """Return the parameters without split noise."""
        params, partition = self._params, self._dataset.partition or Partition()
        return layout.GrowParams(
            growth=layout.LEVELWISE if params.growth == "levelwise" else layout.LEAFWISE,
            wide=int(self._size.wide),
            has_monotone=int(self._features.monotone.any()),
            cosine_score=int(self._symmetric is not None and self._symmetric.score == "cosine"),
            max_leaves=self._size.max_leaves,
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
            shared_hessian=int(self._size.n_directions > 0),
            random_thresholds=int(params.split_search == "random"),
            n_prefixes=self._n_prefixes,
        )

    def _check_gradients(self, round: int, gradients: layout.Gradients, rows: np.ndarray | None) -> None:
        """Raise a TrainingError that names the first row whose gradient pair cannot be summed."""
        if self._nodes.info[layout.STATUS] != layout.NOT_FINITE:
            return
        used = np.arange(self._dataset.n_rows) if rows is None else rows
        weight = gradients.weight if len(gradients.weight) else np.ones(self._dataset.n_rows)
        weight = weight if len(weight) == len(used) else weight[used]
        for pairs in gradients.pairs.reshape(len(gradients.pairs), -1, 2)[:, used].astype(np.float64):
            with np.errstate(over="ignore", invalid="ignore"):
                g, h = weight * np.abs(pairs[:, 0]), weight * pairs[:, 1]
            fits = (g <= MAX_GRADIENT) & (h >= 0.0) & (h <= MAX_GRADIENT)
            if not fits.all():
                break
        k = int(np.argmin(fits))
        raise TrainingError(
            f"round {round + 1}: the gradient of row {int(self._dataset.row_ids[used[k]])}, times its weight, is not "
            f"a finite number up to {MAX_GRADIENT:.0e} (or its hessian is negative): gradient "
            f"{pairs[k, 0]:g}, hessian {pairs[k, 1]:g}, weight {weight[k]:g}; check the target, weight and "
            "scores of this row, or lower the learning rate"
        )
