"""Refit the leaves of grown trees, to rows that the trees need not have been grown on, for one model or several.

The models share the structure of the trees and have leaf values of their own: the result of Newton steps, or quantiles
of the residuals for losses whose hessian is constant or zero.
"""

from __future__ import annotations

import dataclasses
from typing import NoReturn

import numpy as np

from sapwood.boost.leaf_values import LeafRows, project_values
from sapwood.boost.target import Target
from sapwood.distributed.workers import LOCAL, Workers
from sapwood.errors import TrainingError
from sapwood.grow.grown_tree import GRADIENTS, HESSIANS, VALUES, GrownTree
from sapwood.kernels.layout import BITSET_SPLIT, NODE_COUNT, NODE_WEIGHT, UNPENALISED, GrowParams
from sapwood.kernels.leaves.leaf_refit import (
    MAX_SUM,
    MIN_BOUND,
    add_model_values,
    add_node_values,
    average_children,
    bound_model_pairs,
    fit_leaves,
    merge_sums,
    newton_steps,
    sum_model_leaves,
)
from sapwood.kernels.leaves.logistic import BLOCK, fit_logistic, sum_logistic_step, take_logistic_step
from sapwood.lazy_dataclass import dataclass
from sapwood.native.runtime.kernel import CallCache
from sapwood.native.threads.team import Team
from sapwood.objectives.base import Objective
from sapwood.objectives.losses.logistic import logistic_pairs


@dataclass(frozen=True, eq=False)
class SupportingModels:
    """Scores of one model or several, each on rows of its own.

    Every model has a copy of each of its rows; the copies of all models follow each other. ``rows`` is the row of each
    copy, ``target`` its target and weight, ``scores`` (outputs, copies) its scores. Model m has the copies ``start[m]``
    to ``start[m + 1]``, and its leaf values are fitted to the first ``n_train[m]`` of them.
    """

    rows: np.ndarray
    start: np.ndarray
    n_train: np.ndarray
    target: Target
    scores: np.ndarray

    @classmethod
    def single(cls, target: Target, scores: np.ndarray) -> SupportingModels:
        """Return one model that is fitted to all rows; ``scores`` are not copied."""
        n = len(target.y)
        return cls(np.arange(n, dtype=np.uint32), np.array([0, n]), np.array([n]), target, scores)

    @property
    def n_models(self) -> int:
        """Number of models."""
        return len(self.n_train)


@dataclass(frozen=True, eq=False)
class RefitSettings:
    """Parameters of a leaf refit: ``n_steps`` Newton steps with the penalties of ``grow_params``.

    ``directions`` are those of the monotone constraints, one per feature. ``has_parallel_trees`` is whether a round has
    several trees per output, all of them fitted to the scores before the round. Where ``workers`` have rows of their
    own, leaves are fitted to the rows of all.
    """

    objective: Objective
    grow_params: GrowParams
    directions: np.ndarray
    n_steps: int
    team: Team
    has_parallel_trees: bool = False
    workers: Workers = LOCAL


class LeafRefit:
    """Refits the leaves of the trees of each round to the rows of some models.

    ``pairs`` (outputs, copies, 2) is passed if the caller fills it with the gradient pairs at the models' scores.
    """

    def __init__(self, models: SupportingModels, settings: RefitSettings, pairs: np.ndarray | None = None) -> None:
        self.models = models
        self._settings = settings
        self._learning_rate = 1.0
        self._has_all_rows = models.n_models == 1 and np.array_equal(models.rows, np.arange(len(models.rows)))
        objective, n = settings.objective, len(models.rows)
        self._computes_pairs = pairs is None
        self.pairs = np.empty((objective.n_outputs, n, 2), dtype=np.float32) if pairs is None else pairs
        self._round_scores = models.scores.copy() if self._keeps_scores() else models.scores
        self._weight = np.empty(0) if models.target.weight is None else models.target.weight
        workers = settings.workers
        self._n_rows, *n_train = workers.sum(np.append(len(models.rows), models.n_train).astype(np.int64)).tolist()
        self._n_train = max(1, *n_train)
        has_weights = models.target.weight is not None
        self._max_weight = float(workers.max(np.array([self._weight.max(initial=0.0)]))[0]) if has_weights else 1.0
        self._logistic = self._logistic_refit() if settings.n_steps > 1 else None
        used = slice(None if settings.n_steps > 1 and self._logistic is None else 0)
        self._step_scores, self._step_pairs = np.empty_like(models.scores[used]), np.empty_like(self.pairs[used])
        self._scratch = (np.empty(n), np.empty(n, dtype=np.uint32)) if objective.has_quantile_leaves else None
        is_single_step = settings.n_steps == 1 and self._scratch is None and not workers.splits_rows
        self._newton = NewtonRefit(models, self._n_train, self._max_weight, settings) if is_single_step else None
        self._leaf_weight = objective.leaf_weights(models.target.y, models.target.weight) if self._scratch else None

    def _keeps_scores(self) -> bool:
        """Return whether values depend on the scores before the round, to which earlier trees of it are added."""
        settings = self._settings
        reads_scores = settings.n_steps > 1 or settings.objective.has_quantile_leaves
        has_other_outputs = settings.n_steps > 1 and settings.objective.n_outputs > 1
        return reads_scores and (settings.has_parallel_trees or has_other_outputs)

    def _logistic_refit(self) -> LogisticRefit | None:
        """Return the faster refit for the logistic loss if there is one model, fitted to all rows."""
        models, objective = self.models, self._settings.objective
        is_logistic = type(objective).pairs is Objective.pairs and objective.pairs_kernel is logistic_pairs
        if not is_logistic or models.n_models > 1 or self._n_train < self._n_rows:
            return None
        scale = float(_powers_of_two_below(np.float64(MAX_SUM / (max(1, self._n_rows) * self._max_weight))))
        return LogisticRefit(models.target, self._round_scores[0], scale, self._settings)

    def begin_round(self, learning_rate: float) -> None:
        """Compute the gradient pairs at the current scores of the models."""
        self._learning_rate = learning_rate
        models, settings = self.models, self._settings
        if self._computes_pairs:
            settings.objective.pairs(models.target.y, models.scores, self.pairs, settings.team.run)
        if self._round_scores is not models.scores:
            np.copyto(self._round_scores, models.scores)

    def refit(self, grown: GrownTree, node_of_row: np.ndarray, output: int) -> tuple[GrownTree, np.ndarray]:
        """Return the tree with the sums and values of the only model's rows, and the values with shrinkage."""
        sums, values = self._unshrunk_values(grown, node_of_row, output)
        width = values.shape[1]
        integers, numbers = grown.integers.copy(), grown.numbers.copy()
        numbers[:, GRADIENTS], numbers[:, HESSIANS] = sums[:, 0 : 2 * width : 2], sums[:, 1 : 2 * width : 2]
        numbers[:, NODE_WEIGHT], integers[:, NODE_COUNT] = sums[:, -2], sums[:, -1]
        numbers[:, VALUES] = values
        return dataclasses.replace(grown, integers=integers, numbers=numbers), values * self._learning_rate

    def add_tree(self, grown: GrownTree, node_of_row: np.ndarray, output: int) -> None:
        """Refit the leaves of a tree for each model and add them to its scores."""
        _, values = self.values(grown, node_of_row, output)
        self._add_values(grown, node_of_row, values, output, self.models.scores)

    def values(self, grown: GrownTree, node_of_row: np.ndarray, output: int) -> tuple[np.ndarray, np.ndarray]:
        """Return sums and values (models * nodes, ...) of the nodes of a tree, with shrinkage."""
        sums, values = self._unshrunk_values(grown, node_of_row, output)
        return sums, values * self._learning_rate

    def gradient_scale(self, output: int) -> np.ndarray:
        """Return the scales at which G and H of an output can be summed over all rows."""
        return self._scales(self.pairs[output : output + 1])[0]

    def _unshrunk_values(
        self, grown: GrownTree, node_of_row: np.ndarray, output: int
    ) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        """Return sums and values (models * nodes, ...) of the nodes of a tree before shrinkage."""
        settings, width, n_nodes = self._settings, grown.value.shape[1], len(grown.feature)
        if self._logistic is not None:
            sums, values = self._logistic.fit(grown, node_of_row, self.pairs[0])
        elif self._newton is not None:
            pairs = self.pairs[output : output + width]
            sums, values, is_finite = self._newton.fit(grown, node_of_row, pairs)
            if not is_finite:
                self._raise_not_finite(pairs)
        else:
            sums = self._sums(grown, node_of_row, self.pairs[output : output + width])
            if self._scratch is not None:
                values = self._quantiles(grown, node_of_row, output)
            else:
                values = self._newton_values(grown, node_of_row, output, sums)
            if self._scratch is not None or settings.n_steps > 1:
                average_children(sums, n_nodes, grown.left, values)
        for first in range(0, len(values), n_nodes) if settings.directions.any() else ():
            project_values(grown, values[first : first + n_nodes, 0], settings.directions)
        return sums, values

    def _add_values(
        self, grown: GrownTree, node_of_row: np.ndarray, values: np.ndarray, output: int, scores: np.ndarray
    ) -> None:
        models, n_nodes, run = self.models, len(grown.feature), self._settings.team.run
        if self._has_all_rows and len(node_of_row) == scores.shape[1]:
            run(add_node_values, node_of_row, values, output, scores)
        else:
            run(add_model_values, models.rows, models.start, node_of_row, n_nodes, values, output, scores)

    def _newton_values(self, grown: GrownTree, node_of_row: np.ndarray, output: int, sums: np.ndarray) -> np.ndarray:
        """Return the values after ``n_steps`` Newton steps; ``sums`` are those of the first step."""
        settings, width = self._settings, grown.value.shape[1]
        values = np.zeros((len(sums), width))
        bounds = np.tile(np.array([-np.inf, np.inf]), (*values.shape, 1))
        penalty = _penalties(grown, settings.grow_params.category_lambda)
        newton_steps(sums, penalty, settings.grow_params, bounds, values)
        for _ in range(1, settings.n_steps):
            np.copyto(self._step_scores, self._round_scores)
            self._add_values(grown, node_of_row, values, output, self._step_scores)
            settings.objective.pairs(self.models.target.y, self._step_scores, self._step_pairs, settings.team.run)
            step_sums = self._sums(grown, node_of_row, self._step_pairs[output : output + width])
            newton_steps(step_sums, penalty, settings.grow_params, bounds, values)
        return values

    def _sums(self, grown: GrownTree, node_of_row: np.ndarray, pairs: np.ndarray) -> np.ndarray:
        """Return G and H of each output, weight and count (models * nodes, ...) of the rows in each node."""
        models, n_nodes, team = self.models, len(grown.feature), self._settings.team
        scale = self._scales(pairs)
        n_sums, width = models.n_models * n_nodes, 2 * len(pairs) + 2
        partial = np.empty((team.members, n_sums * width), dtype=np.int64)
        team.run(
            sum_model_leaves, models.rows, models.start, models.n_train, node_of_row, n_nodes, pairs, self._weight,
            scale, partial,
        )  # fmt: skip
        if self._settings.workers.splits_rows:
            partial = self._settings.workers.sum(partial.sum(axis=0))[None]
        sums = np.empty((n_sums, width))
        merge_sums(partial, n_nodes, grown.left, scale, sums)
        return sums

    def _scales(self, pairs: np.ndarray) -> np.ndarray:
        """Return the scales of G and H of each output, then of the weight, with which no sum of a model overflows."""
        team = self._settings.team
        bounds = np.empty((team.members, 2 * len(pairs)))
        team.run(bound_model_pairs, pairs, bounds)
        bound = np.append(self._settings.workers.max(bounds.max(axis=0)), [1.0, 1.0])
        largest = np.maximum(bound * self._max_weight, MIN_BOUND)
        if not np.isfinite(largest).all():
            self._raise_not_finite(pairs)
        with np.errstate(over="ignore"):
            return _powers_of_two_below(MAX_SUM / (largest * self._n_train)).reshape(-1, 2)

    def _raise_not_finite(self, pairs: np.ndarray) -> NoReturn:
        """Raise a TrainingError that names the first row whose gradient is not finite."""
        is_finite = np.isfinite(pairs).all(axis=(0, 2))
        row = "a row on another worker" if is_finite.all() else f"row {int(self.models.rows[np.argmin(is_finite)])}"
        raise TrainingError(
            f"the gradient of {row} is not finite while leaves are fitted: lower learning_rate, raise reg_lambda, "
            "or rescale the target"
        )

    def _quantiles(self, grown: GrownTree, node_of_row: np.ndarray, output: int) -> np.ndarray:
        """Return the loss's optimal value of each leaf (models * nodes, 1): a quantile of its residuals."""
        models, settings, n_nodes = self.models, self._settings, len(grown.feature)
        assert self._scratch is not None
        fitted = np.concatenate(
            [first + np.arange(n) for first, n in zip(models.start[:-1], models.n_train, strict=True)]
        )
        model = np.repeat(np.arange(models.n_models), models.n_train)
        leaf = model * n_nodes + node_of_row[models.rows[fitted]].astype(np.int64)
        order = fitted[np.argsort(leaf, kind="stable")].astype(np.uint32)
        start = np.concatenate([[0], np.cumsum(np.bincount(leaf, minlength=models.n_models * n_nodes))])
        assert self._leaf_weight is not None
        at = LeafRows(
            np.arange(len(start) - 1), start, order, models.target.y, self._round_scores[output], self._leaf_weight
        )
        quantile = settings.objective.leaf_quantiles[output]
        quantiles = at.quantiles(quantile, self._scratch, settings.team.run, settings.workers)
        limit = settings.grow_params.max_delta_step or np.inf
        return np.clip(quantiles, -limit, limit)[:, None]


class NewtonRefit:
    """One Newton step in one kernel call per tree; the next tree overwrites the arrays returned."""

    def __init__(self, models: SupportingModels, n_train: int, max_weight: float, settings: RefitSettings) -> None:
        weight = np.empty(0) if models.target.weight is None else models.target.weight
        self._models = models
        self._entries = models.rows, models.start, models.n_train
        self._weights = weight, max_weight, n_train
        self._settings = settings
        self._run = CallCache(settings.team.run)
        self._is_finite = np.empty(1, dtype=np.int64)
        self._shape = (0, 0)

    def _allocate(self, n_nodes: int, width: int) -> None:
        n_members, n_sums = self._settings.team.size, self._models.n_models * n_nodes
        self._shape = n_nodes, width
        self._sums, self._values = np.empty((n_sums, 2 * width + 2)), np.empty((n_sums, width))
        self._work = (
            np.empty((n_members, 2 * width)), np.empty((width + 1, 2)),
            np.empty((n_members, self._sums.size), dtype=np.int64), self._sums, np.empty((n_sums, width, 2)),
        )  # fmt: skip

    def fit(
        self, grown: GrownTree, node_of_row: np.ndarray, pairs: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, bool]:  # fmt: skip
        """Return G and H of each output, weight and count of every node, its values, and whether pairs are finite."""
        params, width = self._settings.grow_params, len(pairs)
        penalty = _penalties(grown, params.category_lambda)
        if self._shape != (len(penalty), width):
            self._allocate(len(penalty), width)
        self._run(
            fit_leaves, *self._entries, node_of_row, pairs, *self._weights, penalty, grown.left, params, *self._work,
            self._values, self._is_finite,
        )  # fmt: skip
        return self._sums, self._values, bool(self._is_finite[0])


class LogisticRefit:
    """Newton steps of the logistic loss in one kernel call per tree; the next tree overwrites the arrays returned."""

    def __init__(self, target: Target, scores: np.ndarray, scale: float, settings: RefitSettings) -> None:
        self._rows = target.y, scores, np.empty(0) if target.weight is None else target.weight
        self._scale = scale
        self._settings = settings
        self._run = CallCache(settings.team.run)
        self._block = np.empty((settings.team.size, 2, BLOCK))
        self._allocate(1)

    def _allocate(self, n_nodes: int) -> None:
        self._partial = np.empty((self._settings.team.size, 4 * n_nodes), dtype=np.int64)
        self._sums, self._values = np.empty((n_nodes, 4)), np.empty((n_nodes, 3))

    def fit(self, grown: GrownTree, node_of_row: np.ndarray, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return G, H, weight and count (nodes, 4) of every node, and its value (nodes, 1) before shrinkage."""
        settings = self._settings
        penalty = _penalties(grown, settings.grow_params.category_lambda)
        if len(self._values) != len(grown.feature):
            self._allocate(len(grown.feature))
        if settings.workers.splits_rows:
            self._fit_together(grown, node_of_row, pairs, penalty)
            return self._sums, self._values[:, :1]
        self._run(
            fit_logistic, node_of_row, *self._rows, pairs, settings.n_steps, self._scale, penalty, grown.left,
            settings.grow_params, self._block, self._partial, self._sums, self._values,
        )  # fmt: skip
        return self._sums, self._values[:, :1]

    def _fit_together(
        self, grown: GrownTree, node_of_row: np.ndarray, pairs: np.ndarray, penalty: np.ndarray
    ) -> None:  # fmt: skip
        """Fit the leaves step by step, each with the sums of all workers."""
        settings = self._settings
        for step in range(settings.n_steps):
            settings.team.run(
                sum_logistic_step, node_of_row, *self._rows, pairs, step, self._scale, self._values, self._block,
                self._partial,
            )  # fmt: skip
            n_sums = (4 if step == 0 else 2) * len(self._values)
            totals = settings.workers.sum(self._partial[0, :n_sums].copy())
            take_logistic_step(
                totals, step, self._scale, penalty, grown.left, settings.grow_params, self._sums, self._values
            )


def _penalties(grown: GrownTree, category_lambda: float) -> np.ndarray:
    """Return what is added to λ in each node: ``category_lambda`` in the children of penalised category splits."""
    penalty = np.zeros(len(grown.feature))
    if grown.sets is not None:
        is_penalised = (grown.feature >= 0) & (grown.bin == BITSET_SPLIT) & (grown.missing_left < UNPENALISED)
        for left in grown.left[is_penalised].tolist():
            penalty[left : left + 2] = category_lambda
    return penalty


def _powers_of_two_below(x: np.ndarray) -> np.ndarray:
    """Return the largest power of two up to each number, within the range of float64."""
    return np.ldexp(1.0, np.clip(np.frexp(x)[1] - 1, -1000, 1000))
