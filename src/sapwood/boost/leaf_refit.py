"""What the leaves of a tree answer, from rows that it need not have been grown on, for one model or several."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

import numpy as np

from sapwood.boost.leaf_values import project
from sapwood.boost.logistic_leaves import LogisticLeaves
from sapwood.boost.target import Target
from sapwood.errors import TrainingError
from sapwood.grow.grown_tree import GRADIENTS, HESSIANS, GrownTree
from sapwood.kernels.layout import BITSET_SPLIT, NODE_COUNT, NODE_WEIGHT, UNPENALISED, GrowParams
from sapwood.kernels.leaves.leaf_refit import (
    add_model_values,
    average_children,
    bound_model_pairs,
    merge_sums,
    newton_steps,
    sum_model_leaves,
)
from sapwood.kernels.losses.binary import logistic_pairs
from sapwood.kernels.losses.leaf_quantiles import renew_leaves
from sapwood.native.threads.team import Team
from sapwood.objectives.base import Objective

TINY = 1e-290
ROOM = 2.0**61  # sums in fixed point stay below it, rounding included


@dataclass(frozen=True, eq=False)
class SupportingModels:
    """Rows as several models see them; see ``kernels/leaves/leaf_refit.py``. ``scores`` are (outputs, copies)."""

    rows: np.ndarray
    start: np.ndarray
    learned: np.ndarray
    target: Target
    scores: np.ndarray

    @classmethod
    def once(cls, target: Target, scores: np.ndarray) -> SupportingModels:
        """One model that learns from every row; ``scores`` are shared."""
        n = len(target.y)
        return cls(np.arange(n, dtype=np.uint32), np.array([0, n]), np.array([n]), target, scores)

    @property
    def n_models(self) -> int:
        """How many models there are."""
        return len(self.learned)


@dataclass(frozen=True, eq=False)
class LeafRules:
    """How leaves get their values: ``n_steps`` Newton steps by rules, or the loss's own optimum; monotone ones."""

    objective: Objective
    rules: GrowParams
    directions: np.ndarray
    n_steps: int
    learning_rate: float
    team: Team


class LeafRefit:
    """Fits the leaves of trees to copies of rows, round by round.

    ``pairs`` (outputs, copies, 2) are given where someone else takes the gradients at the scores of the copies.
    """

    def __init__(self, copies: SupportingModels, rules: LeafRules, pairs: np.ndarray | None = None) -> None:
        self.copies = copies
        self._rules = rules
        objective, n = rules.objective, len(copies.rows)
        self._takes_pairs = pairs is None
        self.pairs = np.empty((objective.n_outputs, n, 2), dtype=np.float32) if pairs is None else pairs
        self._before = copies.scores
        self._weight = np.empty(0) if copies.target.weight is None else copies.target.weight
        self._logistic = self._quick_steps() if rules.n_steps > 1 else None
        several = slice(None if rules.n_steps > 1 and self._logistic is None else 0)
        self._further = np.empty_like(copies.scores[several]), np.empty_like(self.pairs[several])
        self._work = (np.empty(n), np.empty(n, dtype=np.uint32)) if objective.has_quantile_leaves else None
        self._leaf_weight = objective.leaf_weights(copies.target.y, copies.target.weight) if self._work else None

    def _quick_steps(self) -> LogisticLeaves | None:
        """What takes the steps of the logistic loss, where one model learns from all rows."""
        copies, objective, n = self.copies, self._rules.objective, len(self.copies.rows)
        is_logistic = type(objective).pairs is Objective.pairs and objective.pairs_kernel is logistic_pairs
        if not is_logistic or copies.n_models > 1 or int(copies.learned[0]) < n:
            return None
        scale = _power_below(ROOM / (max(1, n) * (float(self._weight.max()) if len(self._weight) else 1.0)))
        return LogisticLeaves(copies.target, copies.scores[0], scale, self._rules.team)

    def begin_round(self) -> None:
        """Take the gradients at the scores as they are."""
        copies, rules = self.copies, self._rules
        if self._takes_pairs:
            rules.objective.pairs(copies.target.y, copies.scores, self.pairs, rules.team.run)
        if rules.n_steps > 1:
            self._before = copies.scores if rules.objective.n_outputs == 1 else copies.scores.copy()

    def fitted(self, grown: GrownTree, node_of_row: np.ndarray, output: int) -> tuple[GrownTree, np.ndarray]:
        """The tree with the sums of the only model's rows, and the values of its nodes with shrinkage."""
        sums, values = self.values(grown, node_of_row, output)
        width = values.shape[1]
        integers, numbers = grown.integers.copy(), grown.numbers.copy()
        numbers[:, GRADIENTS], numbers[:, HESSIANS] = sums[:, 0 : 2 * width : 2], sums[:, 1 : 2 * width : 2]
        numbers[:, NODE_WEIGHT], integers[:, NODE_COUNT] = sums[:, -2], sums[:, -1]
        return dataclasses.replace(grown, integers=integers, numbers=numbers), values

    def add(self, grown: GrownTree, node_of_row: np.ndarray, output: int) -> None:
        """Add what a tree of each model's own values answers to the scores of its copies."""
        _, values = self.values(grown, node_of_row, output)
        copies, n_nodes = self.copies, len(grown.feature)
        self._rules.team.run(
            add_model_values, copies.rows, copies.start, node_of_row, n_nodes, values, output, copies.scores
        )

    def values(self, grown: GrownTree, node_of_row: np.ndarray, output: int) -> tuple[np.ndarray, np.ndarray]:
        """Sums and values (models * nodes, ...) of a tree's nodes, shrinkage included."""
        rules, width, n_nodes = self._rules, grown.value.shape[1], len(grown.feature)
        if self._logistic is not None:
            penalty = _penalties(grown, rules.rules.category_lambda)
            pairs = self.pairs[0]
            sums, values = self._logistic.fit(grown, node_of_row, pairs, rules.n_steps, penalty, rules.rules)
        else:
            sums = self._sums(grown, node_of_row, self.pairs[output : output + width])
            if self._work is not None:
                values = self._optima(grown, node_of_row, output)
            else:
                values = self._steps(grown, node_of_row, output, sums)
            if self._work is not None or rules.n_steps > 1:
                average_children(sums, n_nodes, grown.left, values)
        for first in range(0, len(values), n_nodes) if rules.directions.any() else ():
            project(grown, values[first : first + n_nodes, 0], rules.directions)
        return sums, values * rules.learning_rate

    def _steps(self, grown: GrownTree, node_of_row: np.ndarray, output: int, sums: np.ndarray) -> np.ndarray:
        rules, copies, width = self._rules, self.copies, grown.value.shape[1]
        values = np.zeros((len(sums), width))
        bounds = np.tile(np.array([-np.inf, np.inf]), (*values.shape, 1))
        penalty = _penalties(grown, rules.rules.category_lambda)
        newton_steps(sums, penalty, rules.rules, bounds, values)
        scores, pairs = self._further
        for _ in range(1, rules.n_steps):
            np.copyto(scores, self._before)
            rules.team.run(
                add_model_values, copies.rows, copies.start, node_of_row, len(grown.feature), values, output, scores
            )
            rules.objective.pairs(copies.target.y, scores, pairs, rules.team.run)
            further = self._sums(grown, node_of_row, pairs[output : output + width])
            newton_steps(further, penalty, rules.rules, bounds, values)
        return values

    def _sums(self, grown: GrownTree, node_of_row: np.ndarray, pairs: np.ndarray) -> np.ndarray:
        """G and H of each output, weight and count of every node, for every model."""
        copies, n_nodes, n_lines = self.copies, len(grown.feature), self.copies.n_models * len(grown.feature)
        scale = _scales(pairs, self._weight, copies, self._rules.team)
        width = 2 * len(pairs) + 2
        partial = np.empty((self._rules.team.size, n_lines * width), dtype=np.int64)
        self._rules.team.run(
            sum_model_leaves, copies.rows, copies.start, copies.learned, node_of_row, n_nodes, pairs, self._weight,
            scale, partial,
        )  # fmt: skip
        sums = np.empty((n_lines, width))
        merge_sums(partial, n_nodes, grown.left, scale, sums)
        return sums

    def _optima(self, grown: GrownTree, node_of_row: np.ndarray, output: int) -> np.ndarray:
        """The loss's own optimum in each leaf: a quantile of the residuals of its copies."""
        copies, rules, n_nodes = self.copies, self._rules, len(grown.feature)
        assert self._work is not None
        learns = np.concatenate(
            [first + np.arange(n) for first, n in zip(copies.start[:-1], copies.learned, strict=True)]
        )
        model = np.repeat(np.arange(copies.n_models), copies.learned)
        line = model * n_nodes + node_of_row[copies.rows[learns]].astype(np.int64)
        order = learns[np.argsort(line, kind="stable")].astype(np.uint32)
        start = np.concatenate([[0], np.cumsum(np.bincount(line, minlength=copies.n_models * n_nodes))])
        found = np.empty(copies.n_models * n_nodes)
        rules.team.run(
            renew_leaves, order, start, copies.target.y, copies.scores[output], self._leaf_weight,
            rules.objective.leaf_quantiles[output], *self._work, found,
        )  # fmt: skip
        limit = rules.rules.max_delta_step or np.inf
        return np.clip(found, -limit, limit)[:, None]


def _penalties(grown: GrownTree, of_sets: float) -> np.ndarray:
    """What is added to λ in each node: the penalty of sets of levels below a split by one."""
    penalty = np.zeros(len(grown.feature))
    if grown.sets is not None:
        pays = (grown.feature >= 0) & (grown.bin == BITSET_SPLIT) & (grown.missing_left < UNPENALISED)
        for left in grown.left[pays].tolist():
            penalty[left : left + 2] = of_sets
    return penalty


def _scales(pairs: np.ndarray, weight: np.ndarray, copies: SupportingModels, team: Team) -> np.ndarray:
    """Integers per unit of G and H of each output, then of the weight, so that no sum of learned copies overflows."""
    n, heaviest = max(1, int(copies.learned.max())), float(weight.max()) if len(weight) else 1.0
    found = np.empty((team.size, 2 * len(pairs)))
    team.run(bound_model_pairs, pairs, found)
    largest = np.maximum(np.append(found.max(axis=0), [1.0, 1.0]) * heaviest, TINY)
    if not np.isfinite(largest).all():
        where = int(np.argmin(np.isfinite(pairs).all(axis=(0, 2))))
        raise TrainingError(
            f"the gradient of row {int(copies.rows[where])} is not finite while leaves are fitted: lower "
            "learning_rate, raise reg_lambda, or rescale the target"
        )
    return np.array([_power_below(ROOM / (bound * n)) for bound in largest.tolist()]).reshape(-1, 2)


def _power_below(x: float) -> float:
    """The largest power of two up to x, within what floats hold."""
    return math.ldexp(1.0, min(max(math.frexp(x)[1] - 1, -1000), 1000))
