"""Make the model of a training: its trees, and facts about the training as metadata."""

from __future__ import annotations

from typing import Any

import sapwood
from sapwood.boost.learning_task import LearningTask
from sapwood.boost.training_pipeline import Training
from sapwood.model.info import CATEGORIES, DECISIONS, N_ROWS, NUMERIC_CROSSES, OOB_SCORE, PARAMS, TRAINING
from sapwood.model.model import Model
from sapwood.model.tree_text import COLUMNS_WITH_MISSING


def make_model(task: LearningTask, training: Training) -> Model:
    """Return the model of a training."""
    earlier, schema, objective = training.init.model, task.schema, task.objective
    metadata: dict[str, Any] = {
        N_ROWS: training.n_rows,
        PARAMS: task.user_params.described(),
        TRAINING: _history(training),
    }
    if training.columns_with_missing is not None:
        before = [] if earlier is None else earlier.metadata.get(COLUMNS_WITH_MISSING, range(schema.n_features))
        metadata[COLUMNS_WITH_MISSING] = sorted({*before, *training.columns_with_missing})
    if schema.categorical_columns:
        metadata[CATEGORIES] = dict(training.encodings)
    if training.crosses is not None:
        names = [] if training.transformer is None else training.transformer.cross_names(schema)
        metadata[NUMERIC_CROSSES] = training.crosses.describe(list(dict.fromkeys(names)))
    if training.out_of_bag is not None:
        metadata[OOB_SCORE] = training.out_of_bag.score
    if training.decisions:
        metadata[DECISIONS] = [dict(decision) for decision in training.decisions]
    return Model(
        schema=schema if earlier is None or schema.names is not None else earlier.schema,
        ensemble=training.result.ensemble,
        base_scores=training.result.base_scores,
        link=objective.link.name,
        classes=task.classes,
        objective={"name": objective.name, "settings": objective.settings()},
        metadata=metadata,
        transformer=training.transformer,
    )


def _history(training: Training) -> dict[str, Any]:
    """Return how training went, for the metadata of the model."""
    result = training.result
    return {
        "stopped": result.stopped,
        "best_iteration": result.best_iteration,
        "best_score": result.best_score,
        "monitored": training.monitored,
        "eval_sets": dict(training.eval_sizes),
        "trained_with": f"sapwood {sapwood.__version__}",
    }
