"""The learning task of a fit: objective, parameters, classes and columns, read from the arguments and checked."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sapwood.boost.evaluation import eval_metrics
from sapwood.boost.fit_arguments import CLASSIFICATION, REGRESSION, FitArguments
from sapwood.boost.initial_scores import InitSpec, WarmStart, read_init_score
from sapwood.boost.labeled_rows import LabeledRows, read_features, warn_of_index_order
from sapwood.data.binning.max_bins import column_max_bins
from sapwood.data.categories.plan import find_categorical_columns
from sapwood.data.categories.transformer import FeatureTransformer
from sapwood.data.dataset import Dataset, dataset_params
from sapwood.data.tables.class_weights import class_weights
from sapwood.data.tables.schema import Schema
from sapwood.data.tables.table import Table
from sapwood.data.tables.targets import (
    check_range,
    check_target,
    check_weight,
    encode_known_labels,
    encode_labels,
    read_column,
    read_groups,
)
from sapwood.data.tables.zero_as_missing import zeros_to_missing
from sapwood.distributed.workers import Workers
from sapwood.errors import InputError, ParameterError
from sapwood.grow.constraints import check_constraints
from sapwood.lazy_dataclass import dataclass
from sapwood.objectives.base import Objective
from sapwood.objectives.loss_families import with_vector_leaves
from sapwood.objectives.registry import resolve
from sapwood.params.declaration import AUTO, Params
from sapwood.params.effort import FAST
from sapwood.params.learning_rates import rates_from
from sapwood.params.options import linear_of, symmetric_of
from sapwood.params.resolve import check_names, check_value, resolve_params, set_params, widen_vector_trees

if TYPE_CHECKING:
    from sapwood.boost.cross_search import ChosenCrosses


@dataclass(frozen=True, eq=False)
class LearningTask:
    """Objective, resolved parameters, classes (None for regression), initial scores and columns of a fit.

    ``only_class`` is the number of the class that all training rows belong to, None if there are more. The parameters
    have the number of new rounds; ``counted_rounds`` are those of a continued model that the user counts too.
    ``given`` are the parameters that the user set, ``n_rows`` and ``seen`` the number of rows and the classes that the
    others depend on. Categories keep the codes that they have in ``known_categories``.
    ``crosses`` are the numeric crosses of a first training on a part of the rows.
    """

    objective: Objective
    params: Params
    classes: np.ndarray | None
    init: InitSpec
    schema: Schema
    only_class: int | None = None
    counted_rounds: int = 0
    given: Mapping[str, Any] = field(default_factory=dict)
    n_rows: int = 0
    seen: np.ndarray | None = None
    known_categories: FeatureTransformer | None = None
    crosses: ChosenCrosses | None = None

    def with_defaults(self, values: Mapping[str, Any]) -> LearningTask:
        """Return the task with other values of the parameters that the user did not set."""
        given = {**values, "effort": self.params.task.effort, **self.given}
        task = REGRESSION if self.classes is None else CLASSIFICATION
        params = resolve_params(given, self.n_rows, task, 0 if self.classes is None else len(self.classes))
        params = _with_column_bins(params, self.schema)
        params, objective = _fit_objective(params, self.classes, self.seen, self.n_rows, given)
        return replace(self, params=params, objective=objective, init=replace(self.init, objective=objective))

    @property
    def user_params(self) -> Params:
        """The parameters with the number of rounds as the user counts them."""
        return with_rounds(self.params, self.params.boost.n_estimators + self.counted_rounds)

    @property
    def metric_task(self) -> str:
        """Task that metrics are checked against: regression, binary or multiclass."""
        return metric_task(self.classes)


def metric_task(classes: np.ndarray | None) -> str:
    """Return the task that metrics are checked against: regression, binary or multiclass."""
    if classes is None:
        return REGRESSION
    return "binary" if len(classes) == 2 else "multiclass"


def read_task(arguments: FitArguments) -> tuple[LearningTask, LabeledRows]:
    """Read and check the arguments of a fit: X once, the target, weights and all parameters."""
    check_names(arguments.params)
    warm_start, workers = WarmStart.read(arguments.init_model), arguments.workers
    X, table, bins = _read_table(arguments, warm_start)
    n_rows = workers.count_rows(table.n_rows)
    task = arguments.task or task_of_objective(arguments.params)
    known_classes = _known_classes(arguments.params, task, warm_start)
    y, classes = read_target(task, arguments.y, table.n_rows, known_classes, n_rows)
    if not workers.is_local and classes is not None:
        own, classes = classes, workers.gather_classes(classes)
        y = encode_known_labels(own, len(own), classes)[y.astype(np.int64)]
    given = set_params(arguments.params) | dataset_params(arguments.X, arguments.params.get("split_search", AUTO))
    given = _with_effort(given, arguments)
    params = resolve_params(given, n_rows, task, 0 if classes is None else len(classes))
    counted_rounds = warm_start.model.n_iterations if warm_start is not None and arguments.counts_earlier_rounds else 0
    params = _with_new_rounds(params, counted_rounds)
    weight = _row_weights(arguments, params, y, classes)
    seen = None if classes is None or warm_start is not None else _seen_classes(y, weight, workers)
    params, objective = _fit_objective(params, classes, seen, n_rows, given, warm_start)
    objective.check_target(y)
    if params.binning.zero_as_missing:
        table = zeros_to_missing(table)
    schema = Schema.of(table, _category_columns(params, table, warm_start, workers))
    schema.check(table)
    if warm_start is not None:
        warm_start.check(schema)
    check_constraints(params.tree, schema)
    params = _with_column_bins(params, schema)
    if params.evaluation.eval_metric is not None:  # that of the loss needs no check, and metrics are slow to import
        eval_metrics(params.evaluation.eval_metric, objective, metric_task(classes), classes)
    init = InitSpec(params.task.init, warm_start, objective, classes, params.boost.boosting == "forest")
    init_score = read_init_score(arguments.init_score, table.n_rows, objective.n_outputs)
    groups = read_groups(arguments.groups, table.n_rows, workers)
    rows = LabeledRows(X, table, y, weight, init_score, groups, bins, None, workers, arguments.row_numbers)
    only_class = None if seen is None or len(seen) > 1 else int(seen[0])
    return LearningTask(objective, params, classes, init, schema, only_class, counted_rounds, given, n_rows, seen), rows


def _with_effort(given: dict[str, Any], arguments: FitArguments) -> dict[str, Any]:
    """Return the parameters with an effort of "fast" where it is unset and the arguments leave nothing to decide.

    A model to continue decides what it looks like, validation sets are for those who watch a model of their own, and
    workers train one model together.
    """
    is_decided = arguments.init_model is not None or arguments.eval_set is not None or not arguments.workers.is_local
    return given | {"effort": FAST} if is_decided and "effort" not in given else given


def _fit_objective(
    params: Params,
    classes: np.ndarray | None,
    seen: np.ndarray | None,
    n_rows: int,
    given: Mapping[str, Any],
    warm_start: WarmStart | None = None,
) -> tuple[Params, Objective]:
    """Return the objective for the classes that are seen, and the parameters with the size of its trees."""
    objective = _without_unseen(objective_for(params, classes, warm_start), seen)
    if objective.vector_leaves:
        params = widen_vector_trees(params, given, objective.n_outputs, n_rows)
    return params, objective


def with_rounds(params: Params, n_rounds: int) -> Params:
    """Return the parameters with another number of rounds."""
    return dataclasses.replace(params, boost=dataclasses.replace(params.boost, n_estimators=n_rounds))


def _with_column_bins(params: Params, schema: Schema) -> Params:
    """Return the parameters with ``max_bins`` by column number where it is not one for all columns."""
    max_bins = column_max_bins(params.binning.max_bins, schema)
    return dataclasses.replace(params, binning=dataclasses.replace(params.binning, max_bins=max_bins))


def _with_new_rounds(params: Params, counted_rounds: int) -> Params:
    """Return the parameters with the number of rounds that a continued model lacks."""
    n_rounds = params.boost.n_estimators
    if counted_rounds >= n_rounds:
        raise ParameterError(
            f"n_estimators={n_rounds} must be above {counted_rounds}, the rounds of the model that warm_start=True "
            "continues: raise it, or set warm_start=False to train anew"
        )
    if not counted_rounds:
        return params
    boost = dataclasses.replace(params.boost, learning_rate=rates_from(params.boost.learning_rate, counted_rounds))
    return with_rounds(dataclasses.replace(params, boost=boost), n_rounds - counted_rounds)


def _known_classes(params: Mapping[str, Any], task: str, warm_start: WarmStart | None) -> np.ndarray | None:
    """Return the classes of the parameter ``classes``, or of the model that is continued; None if y has them."""
    of_model = None if warm_start is None else warm_start.model.classes
    given = check_value("classes", params.get("classes"))
    if given is None or task == REGRESSION:
        return of_model
    labels = list(given)
    classes, _ = encode_labels(labels, len(labels)) if labels else (np.empty(0), None)
    if len(classes) < 2 or len(classes) < len(labels):
        raise ParameterError(f"classes must be a list of at least two labels, each of them once, got {given!r}")
    if of_model is not None and of_model.tolist() != classes.tolist():
        raise ParameterError(
            f"classes are {classes.tolist()}, but those of init_model are {of_model.tolist()}: unset classes"
        )
    return classes


def _seen_classes(y: np.ndarray, weight: np.ndarray | None, workers: Workers) -> np.ndarray:
    """Return the numbers of the classes that have rows of positive weight."""
    numbers = (y if weight is None else y[weight > 0.0]).astype(np.int64)
    return np.unique(workers.gather_rows(np.flatnonzero(np.bincount(numbers))))


def _without_unseen(objective: Objective, seen: np.ndarray | None) -> Objective:
    """Return the objective with the numbers of the classes that have no training rows."""
    if seen is None:
        return objective
    n_classes = max(2, objective.n_outputs)
    unseen = tuple(sorted(set(range(n_classes)) - set(seen.astype(int).tolist())))
    return objective.without_rows_of(unseen) if unseen else objective


def task_of_objective(params: Mapping[str, Any]) -> str:
    """Return the task of the objective that the user set; without one it is regression."""
    spec = params.get("objective", AUTO)
    if isinstance(spec, str) and spec == AUTO:
        return REGRESSION
    return REGRESSION if resolve(spec).task == REGRESSION else CLASSIFICATION


def read_target(
    task: str, y: Any, n_rows: int, classes: np.ndarray | None = None, n_total: int | None = None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the target as float64 and the classes, None for regression; with ``classes``, others are an error.

    ``n_total`` is the number of rows of all workers, if others have rows too.
    """
    if task == REGRESSION:
        return check_target(y, n_rows), None
    labels = read_column(y, n_rows, "y")
    if classes is not None:
        return encode_known_labels(labels, n_rows, classes), classes
    classes, codes = encode_labels(labels, n_rows, n_total)
    return codes, classes


def objective_for(
    params: Params, classes: np.ndarray | None, warm_start: WarmStart | None = None
) -> Objective:  # fmt: skip
    """Return the loss that the parameters name, for the classes if there are any."""
    spec: Any = params.task.objective
    objective = resolve(spec)
    if classes is not None:
        objective = objective.for_classes(max(2, len(classes)))  # a single class is one of two
        is_named = isinstance(spec, str)
        return with_vector_leaves(objective) if is_named and _presets_vector_leaves(params, warm_start) else objective
    objective.check_task(REGRESSION)
    return objective


def _presets_vector_leaves(params: Params, warm_start: WarmStart | None) -> bool:
    """Return whether one tree serves all classes where the user leaves it open, if it is possible.

    So it is in CatBoost, and with an effort other than "fast".
    """
    tree = params.tree
    is_catboost = params.task.preset == "catboost" and symmetric_of(tree.growth) is not None
    is_default = params.task.preset == "default" and params.task.effort != FAST
    is_possible = linear_of(tree.leaf_model) is None and tree.monotone_constraints is None
    has_other_leaves = warm_start is not None and warm_start.facts.leaf_width == 1
    return (is_catboost or is_default) and is_possible and not has_other_leaves


def _read_table(arguments: FitArguments, warm_start: WarmStart | None) -> tuple[Any, Table, Any]:
    """Read X as a table; return X as the user passed it, the table, and the bins of a ``Dataset``."""
    if arguments.y is None:
        raise InputError(f"{arguments.caller} requires y to be passed, but the target y is None")
    if isinstance(arguments.X, Dataset):
        arguments.X.check(arguments.params)
    X, table, bins = read_features(arguments.X)
    for name in ("y", "sample_weight", "init_score", "groups"):
        warn_of_index_order(X, getattr(arguments, name), name)
    if warm_start is not None and bins is None:
        table = warm_start.model.schema.align(table, "init_model")
    return X, table, bins


def _category_columns(
    params: Params, table: Table, warm_start: WarmStart | None, workers: Workers
) -> tuple[int, ...]:  # fmt: skip
    """Return the categorical columns; by default those of a continued model.

    A column of objects may hold strings at some workers only.
    """
    spec = params.categories.categorical_features
    if warm_start is not None and isinstance(spec, str):
        return warm_start.model.schema.categorical_columns
    [names] = workers.merge_names([[str(f) for f in find_categorical_columns(spec, table)]])
    return tuple(sorted(map(int, names)))


def _row_weights(
    arguments: FitArguments, params: Params, y: np.ndarray, classes: np.ndarray | None
) -> np.ndarray | None:
    """Return the sample weights times the class weights, which depend on the rows of all workers."""
    workers = arguments.workers
    may_be_zero = workers.splits_rows
    weight = check_weight(arguments.sample_weight, len(y), may_be_zero=may_be_zero)
    if classes is None:
        return weight
    spec: Any = params.task.class_weight
    weights = weight
    if workers.splits_rows and weight is None:  # whether all workers have weights is not known yet
        weights = np.ones(len(y))
    by_class = class_weights(spec, classes, y, weights, workers)
    if by_class is None:
        return weight
    combined = by_class[y.astype(np.intp)] * (1.0 if weight is None else weight)
    if not may_be_zero and not combined.any():
        raise InputError(
            f"class_weight={spec!r} leaves no row with a positive weight: give a class of y a weight above 0"
        )
    check_range(combined, "class_weight times sample_weight")
    return combined
