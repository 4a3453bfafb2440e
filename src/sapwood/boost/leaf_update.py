"""Refit the leaf values of a trained model to other rows; the splits of its trees stay as they are."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

from sapwood.boost.initial_scores import constant_scores, read_init_score
from sapwood.boost.leaf_refit import LeafRefit, RefitSettings, SupportingModels
from sapwood.boost.leaf_values import average_leaves, project_values
from sapwood.boost.target import Target
from sapwood.data.dataset import unwrap_dataset
from sapwood.data.tables.table import Table, read_table
from sapwood.data.tables.targets import check_target, check_weight, encode_known_labels
from sapwood.errors import ParameterError
from sapwood.grow.constraints import monotone_directions
from sapwood.grow.grown_tree import VALUES, GrownTree
from sapwood.kernels import layout
from sapwood.kernels.leaves.leaf_refit import add_node_values
from sapwood.lazy_dataclass import dataclass
from sapwood.model.info import PARAMS
from sapwood.model.model import Model
from sapwood.model.tree import LEAF, Tree
from sapwood.native.threads.team import Team, training_team
from sapwood.objectives.base import Objective
from sapwood.objectives.registry import resolve, restore
from sapwood.params.learning_rates import LearningRate, rate_of_round
from sapwood.params.validators import number

ROUNDS_PER_PASS = 64  # whose leaves are found at a time
DEFAULT_DECAY = 0.9


@dataclass(frozen=True)
class RefitArguments:
    """Arguments of ``Model.refit_leaves``."""

    X: Any
    y: Any
    sample_weight: Any = None
    init_score: Any = None
    decay_rate: float = DEFAULT_DECAY
    objective: Any = None
    n_jobs: int | None = None


def refit_leaves(model: Model, arguments: RefitArguments) -> Model:
    """Return the model with leaf values fitted to other rows.

    A value becomes ``decay_rate`` times the old one plus the rest of the new one. Leaves without rows keep theirs.
    """
    decay = float(number(0, 1).check("decay_rate", arguments.decay_rate))
    objective = _objective_of(model, arguments.objective)
    is_forest = _check_refittable(model)
    X = arguments.X
    table = X if isinstance(X, Table) else model.schema.align(read_table(unwrap_dataset(X)))
    target = _read_target(model, objective, table, arguments)
    team = training_team(arguments.n_jobs, table.n_rows, model.n_columns)
    scores = constant_scores(model.base_scores, table.n_rows)
    init_score = read_init_score(arguments.init_score, table.n_rows, model.n_outputs)
    if init_score is not None:
        scores += init_score
    refit = LeafRefit(SupportingModels.single(target, scores), _settings(model, objective, team))
    rates = _learning_rates(model, is_forest)
    ensemble = model.ensemble
    value, directions = ensemble.value.copy(), _directions(model)
    last_round = -1
    for k, nodes in _leaves_by_tree(model, table, arguments.n_jobs):
        if ensemble.tree_round[k] != last_round:
            last_round = int(ensemble.tree_round[k])
            refit.begin_round(rate_of_round(rates, last_round))
        of_tree = slice(int(ensemble.tree_start[k]), int(ensemble.tree_start[k + 1]))
        output = int(ensemble.tree_output[k])
        grown = _as_grown(ensemble[k])
        new_value = _blend(grown, nodes, value[of_tree], refit.refit(grown, nodes, output), decay)
        if directions.any():
            project_values(grown, new_value[:, 0], directions)
        value[of_tree] = new_value
        if not is_forest:
            team.run(add_node_values, nodes, new_value, output, scores)
    return dataclasses.replace(model, ensemble=dataclasses.replace(ensemble, value=value))


def _blend(
    grown: GrownTree, nodes: np.ndarray, old: np.ndarray, refitted: tuple[GrownTree, np.ndarray], decay: float
) -> np.ndarray:
    """Return the values of all nodes: leaves with rows move to the new value, inner nodes are means of their leaves."""
    has_rows = np.bincount(nodes.astype(np.intp), minlength=len(old)) > 0
    blended = np.where(has_rows[:, None], decay * old + (1.0 - decay) * refitted[1], old)
    for output in range(blended.shape[1]):
        column = np.ascontiguousarray(blended[:, output])
        average_leaves(grown, column)
        blended[:, output] = column
    return blended


def _objective_of(model: Model, given: Any) -> Objective:
    """Return the objective that the model was trained with; a custom one must be given."""
    n_classes = 0 if model.classes is None else len(model.classes)
    if given is None:
        objective = restore(model.objective["name"], model.objective["settings"])
    else:
        objective = resolve(given)
        objective = objective.for_classes(n_classes) if n_classes else objective
    if (objective.link.name, objective.n_outputs) != (model.link, model.n_outputs):
        raise ParameterError(
            f"objective={objective.name!r} of {objective.n_outputs} output(s) with the link {objective.link.name!r} "
            f"does not fit the model of {model.n_outputs} output(s) with the link {model.link!r}; pass the one it was "
            "trained with"
        )
    return objective


def _check_refittable(model: Model) -> bool:
    """Return whether the model is a forest; raise a ParameterError if its leaves cannot be refitted."""
    if model.ensemble.leaf_coefficients is not None:
        raise ParameterError(
            "refit_leaves is not supported with leaf_model='linear': the models of leaves have no single value; "
            "continue the model with fit(init_model=...)"
        )
    is_forest = _param(model, "boosting") == "forest"
    if model.ensemble.rescalings and not is_forest:
        raise ParameterError(
            "refit_leaves is not supported with boosting='dart': the values of a round depend on the rounds that were "
            "dropped; continue the model with fit(init_model=...)"
        )
    return is_forest


def _param(model: Model, name: str, default: Any = None) -> Any:
    """Return a parameter of the training of a model."""
    return model.metadata.get(PARAMS, {}).get(name, default)


def _learning_rates(model: Model, is_forest: bool) -> LearningRate:
    """Return the factors of the trees of the model, one for all rounds or one per round."""
    rates, n_parallel = _param(model, "learning_rate", 0.1), int(_param(model, "parallel_trees", 1))
    if is_forest:
        rates = 1.0 / model.n_iterations
    if isinstance(rates, int | float):
        return float(rates) / n_parallel
    if not isinstance(rates, list) or len(rates) < model.n_iterations:
        raise ParameterError(
            "refit_leaves needs the learning rate of every round, but the model has those of the last fit only; "
            "continue the model with fit(init_model=...)"
        )
    return tuple(rate / n_parallel for rate in rates)


def _settings(model: Model, objective: Objective, team: Team) -> RefitSettings:
    """Return the penalties with which the model was trained."""
    params = layout.GrowParams(*(0 for _ in layout.GrowParams._fields))._replace(
        reg_lambda=float(_param(model, "reg_lambda", 1.0)),
        reg_alpha=float(_param(model, "reg_alpha", 0.0)),
        max_delta_step=float(_param(model, "max_delta_step", 0.0)),
    )
    steps = int(_param(model, "leaf_steps", 1))
    directions, is_parallel = np.zeros(model.n_columns, dtype=np.int64), int(_param(model, "parallel_trees", 1)) > 1
    return RefitSettings(objective, params, directions, steps, team, is_parallel)


def _directions(model: Model) -> np.ndarray:
    """Return the monotone constraint of each column of the trees."""
    spec = _param(model, "monotone_constraints")
    if isinstance(spec, dict):  # JSON has turned column numbers into strings
        spec = spec if model.schema.names is not None else {int(column): sign for column, sign in spec.items()}
    directions = monotone_directions(spec, model.schema)
    if model.transformer is None:
        return directions
    return np.array([directions[c] if isinstance(c, int) else 0 for c in model.transformer.columns])


def _read_target(model: Model, objective: Objective, table: Table, arguments: RefitArguments) -> Target:
    if model.classes is None:
        y = check_target(arguments.y, table.n_rows)
    else:
        y = encode_known_labels(arguments.y, table.n_rows, model.classes)
    objective.check_target(y)
    return Target(y, check_weight(arguments.sample_weight, table.n_rows))


def _leaves_by_tree(model: Model, table: Table, n_jobs: int | None) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the number of each tree, and the leaf of every row in it as float64."""
    first_tree = 0
    for first in range(0, model.n_iterations, ROUNDS_PER_PASS):
        leaves = model[first : first + ROUNDS_PER_PASS].leaf_indices(table, n_jobs=n_jobs)
        for k in range(leaves.shape[1]):
            yield first_tree + k, leaves[:, k].astype(np.float64)
        first_tree += leaves.shape[1]


def _as_grown(tree: Tree) -> GrownTree:
    """Return a tree of a model as one that was just grown, without bins and rows."""
    n_nodes, width = len(tree.feature), tree.value.shape[1]
    integers = np.zeros((n_nodes, layout.NODE_BITSET), dtype=np.int64)
    integers[:, layout.NODE_FEATURE] = tree.feature
    integers[:, layout.NODE_BIN] = np.where(tree.feature == LEAF, 0, 1)
    integers[:, layout.NODE_MISSING_LEFT] = tree.missing_left
    integers[:, layout.NODE_LEFT] = tree.left
    integers[:, layout.NODE_COUNT] = tree.count
    numbers = np.zeros((n_nodes, layout.NODE_OUTPUTS + layout.NODE_PER_OUTPUT * width))
    numbers[:, layout.NODE_GAIN], numbers[:, layout.NODE_WEIGHT] = tree.gain, tree.weight
    numbers[:, VALUES] = tree.value
    return GrownTree(integers, numbers)
