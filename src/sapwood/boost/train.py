"""Train a model: rounds of gradients, a tree for each output, and new scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sapwood.data.dataset import Dataset
from sapwood.grow.histogram_grower import HistogramGrower
from sapwood.kernels.leaves import add_leaf_values
from sapwood.model.ensemble import Ensemble, EnsembleBuilder
from sapwood.native.team import current_team
from sapwood.objectives.base import Objective
from sapwood.params import Params

NO_WEIGHT = np.empty(0)


@dataclass(frozen=True, eq=False)
class Target:
    """What the rows of a dataset should be answered, and how much each counts."""

    y: np.ndarray
    weight: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Outcome:
    """What training brings: trees, and the scores they start from."""

    ensemble: Ensemble
    base_scores: np.ndarray


def train(dataset: Dataset, target: Target, objective: Objective, params: Params) -> Outcome:
    """Add ``n_estimators`` rounds of trees to the best constant, each fitted to the gradients left by those before."""
    team = current_team(params.run.n_jobs, dataset.n_rows * dataset.n_features)
    n_outputs = objective.n_outputs
    base = objective.best_constant(target.y, target.weight, team.run)
    scores = np.repeat(base[:, None], dataset.n_rows, axis=1)
    pairs = np.empty((n_outputs, dataset.n_rows, 2), dtype=np.float32)
    weight = NO_WEIGHT if target.weight is None else target.weight
    grower = HistogramGrower(dataset, 1, params.tree, params.run.random_state, team)
    builder = EnsembleBuilder(n_outputs)
    for round in range(params.boost.n_estimators):
        objective.pairs(target.y, scores, pairs, team.run)
        for output in range(n_outputs):
            grown = grower.grow(pairs[output : output + 1], weight, round * n_outputs + output)
            value = grown.value * params.boost.learning_rate
            team.run(add_leaf_values, grown.order, grown.span, value[grown.leaf_node], output, scores)
            builder.append(grown.to_tree(dataset.encoder, value), output, round)
    return Outcome(builder.build(), base)
