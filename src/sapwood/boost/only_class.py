"""Training rows of a single class: a model without trees, which predicts the class with its prior probability."""

from __future__ import annotations

import dataclasses

import numpy as np

from sapwood.boost.early_stopping import ONE_CLASS
from sapwood.boost.labeled_rows import LabeledRows
from sapwood.boost.learning_task import LearningTask
from sapwood.boost.rounds import TrainResult
from sapwood.boost.training_pipeline import Training
from sapwood.data.categories.derived_feature import FREQUENCY, DerivedFeature
from sapwood.data.categories.transformer import FeatureTransformer
from sapwood.data.categories.vocabulary import Vocabulary
from sapwood.data.tables.conversion import short_repr
from sapwood.data.tables.schema import Schema
from sapwood.errors import warn_user
from sapwood.model.ensemble_builder import EnsembleBuilder
from sapwood.model.model import Model
from sapwood.native.runtime.kernel import run_serial


def train_constant(task: LearningTask, rows: LabeledRows) -> Training:
    """Return the result of training on rows of one class: no rounds, and the initial scores."""
    assert task.only_class is not None and task.classes is not None
    label = short_repr(task.classes[task.only_class])
    others = "" if len(task.classes) > 1 else " and `classes` does not name others"
    warn_user(
        f"y has one class, {label}{others}: the model has no trees and predicts it for every row",
    )
    init = task.init.fit(rows, run_serial)
    width = task.objective.n_outputs if task.objective.vector_leaves else 1
    ensemble = EnsembleBuilder(task.objective.n_outputs, width).build()
    result = TrainResult(ensemble, init.base_scores, best_iteration=0, stopped=ONE_CLASS)
    return Training(result, init, len(rows.y), _without_categories(task.schema), {}, {}, None)


def _without_categories(schema: Schema) -> FeatureTransformer | None:
    """Return a transformer to which all categories are unknown; None if no column is categorical."""
    if not schema.categorical_columns:
        return None
    unknown, zeros = Vocabulary(()), np.zeros(2)  # codes of missing values and of unknown categories
    features = {f: DerivedFeature((f,), FREQUENCY, zeros, zeros) for f in schema.categorical_columns}
    return FeatureTransformer(
        dict.fromkeys(features, unknown), tuple(features.get(f, f) for f in range(schema.n_features))
    )


def only_class_model(model: Model) -> Model:
    """Return the model of a single class whose probability is 1 if no other class is known."""
    assert model.classes is not None
    if len(model.classes) > 1:
        return model
    return dataclasses.replace(model, ensemble=EnsembleBuilder(1).build(), base_scores=np.zeros(1), link="softmax")
