"""Collect the facts of a fit by which the rules of ``params/compatibility.py`` decide."""

from __future__ import annotations

import inspect
from typing import Any

from sapwood.boost.eval_sets import read_eval_sets
from sapwood.boost.fit_arguments import FitArguments
from sapwood.boost.labeled_rows import LabeledRows
from sapwood.boost.learning_task import LearningTask
from sapwood.data.categories.plan import column_number
from sapwood.data.tables.schema import Schema
from sapwood.grow.constraints import monotone_directions
from sapwood.params.fit_context import Context
from sapwood.params.validators import is_frozen


def fit_context(task: LearningTask, rows: LabeledRows, arguments: FitArguments) -> Context:
    """Return the facts that are known before rows are binned, that is all but the encodings of categories."""
    params, objective, schema = task.params, task.objective, task.schema
    directions = monotone_directions(params.tree.monotone_constraints, schema)
    init: Any = params.task.init
    warm_start = task.init.warm_start
    is_estimator = hasattr(init, "fit")
    needs_no_weights = not is_estimator or is_frozen(init)
    return Context(
        params.values(),
        task=task.metric_task,
        n_classes=0 if task.classes is None else len(task.classes),
        objective_name=objective.name,
        link=objective.link.name,
        n_outputs=objective.n_outputs,
        vector_leaves=objective.vector_leaves,
        has_quantile_leaves=objective.has_quantile_leaves,
        has_loss=objective.has_loss,
        has_monotone_columns=bool(directions.any()),
        monotone_categories=tuple(_label(f, schema) for f in schema.categorical_columns if directions[f] != 0),
        time_category=_time_category(params.categories.has_time, schema),
        is_dataset=rows.bins is not None,
        has_sparse_bins=rows.bins is not None and rows.bins.sparse_bins is not None,
        has_weights=rows.weight is not None,
        has_eval_set=bool(read_eval_sets(arguments.eval_set, arguments.eval_sample_weight)),
        has_groups=rows.groups is not None,
        init_model=None if warm_start is None else warm_start.facts,
        init_has_probabilities=not is_estimator or hasattr(init, "predict_proba"),
        init_takes_weights=needs_no_weights or "sample_weight" in inspect.signature(init.fit).parameters,
        distributed=None if rows.workers.is_local else rows.workers.split,
    )


def _time_category(has_time: Any, schema: Schema) -> str | None:
    """Return the label of the column of times if it is categorical."""
    if isinstance(has_time, bool) or not schema.categorical_columns:
        return None
    feature = column_number(has_time, schema, "has_time")
    return _label(feature, schema) if feature in schema.categorical_columns else None


def _label(feature: int, schema: Schema) -> str:
    return str(feature) if schema.names is None else repr(schema.names[feature])
