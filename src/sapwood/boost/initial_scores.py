"""Initial scores: the constants, the estimator (``init``) or the model (``init_model``) that boosting starts from."""

from __future__ import annotations

import inspect
import os
from dataclasses import replace
from typing import Any

import numpy as np

from sapwood.boost.labeled_rows import LabeledRows
from sapwood.boost.target import Target
from sapwood.data.dataset import unwrap_dataset
from sapwood.data.tables.conversion import is_masked_array
from sapwood.data.tables.schema import Schema
from sapwood.data.tables.targets import read_numbers
from sapwood.distributed.workers import LOCAL, Workers
from sapwood.errors import InputError, InputTypeError, ParameterError, SchemaError
from sapwood.kernels.numeric.elementwise import apply_elementwise, log1p_values, log_values
from sapwood.kernels.numeric.sums import fixed_mean
from sapwood.lazy_dataclass import dataclass
from sapwood.model.ensemble import Ensemble
from sapwood.model.info import PARAMS
from sapwood.model.model import Model
from sapwood.native.runtime.kernel import Run
from sapwood.objectives.base import MAX_SCORE, Objective
from sapwood.params.fit_context import InitModel

# Predictions without a finite score, such as a probability of 0 or a negative count, are moved this far into the range.
MIN_DISTANCE = 1e-6


@dataclass(frozen=True, eq=False)
class InitialScores:
    """Initial scores of the training rows.

    ``base_scores`` (outputs,) are the constants stored in the model, ``ensemble`` the trees of a continued model.
    ``scores`` (outputs, rows) are the initial scores of each row, offsets included; None if they are the constants.
    ``is_averaged`` is whether the ensemble is a forest to which trees are added.
    """

    base_scores: np.ndarray
    ensemble: Ensemble | None = None
    scores: np.ndarray | None = None
    is_averaged: bool = False

    @property
    def n_rounds(self) -> int:
        """Number of rounds of the continued model."""
        return 0 if self.ensemble is None else self.ensemble.n_rounds

    def make_scores(self, n_rows: int) -> np.ndarray:
        """Return a new array (outputs, rows) of the scores before the first new tree."""
        return constant_scores(self.base_scores, n_rows) if self.scores is None else self.scores.copy()

    def concatenate(self, ensemble: Ensemble) -> Ensemble:
        """Return the trees of the continued model followed by new ones."""
        if self.ensemble is None:
            return ensemble
        if self.is_averaged:
            return self.ensemble.unscaled().concatenate(ensemble.unscaled()).averaged()
        return self.ensemble.concatenate(ensemble)


def constant_scores(constants: np.ndarray, n_rows: int) -> np.ndarray:
    """Return scores (outputs, rows) that are the same for all rows."""
    return np.repeat(constants[:, None], n_rows, axis=1)


def read_init_score(init_score: Any, n_rows: int, n_outputs: int) -> np.ndarray | None:
    """Read ``init_score``, (rows,) or (rows, outputs), as (outputs, rows)."""
    if init_score is None:
        return None
    if hasattr(init_score, "nnz"):
        raise InputTypeError("init_score is a sparse matrix: pass init_score.toarray()")
    try:
        values = init_score if is_masked_array(init_score) else np.asarray(init_score)
    except ValueError as error:
        raise InputTypeError(f"init_score cannot be read as numbers: {error}") from error
    if values.ndim == 1 and n_outputs == 1:
        values = values[:, None]
    if values.shape != (n_rows, n_outputs):
        shapes = f"({n_rows},)" if n_outputs == 1 else f"({n_rows}, {n_outputs}), one score per class or output"
        raise InputError(f"init_score has the shape {np.shape(init_score)}; it must have the shape {shapes}")
    values = read_numbers(values, "init_score", "give every row a number")
    is_valid = (np.abs(values) <= MAX_SCORE).all(axis=1)
    if not is_valid.all():
        row = int(np.argmin(is_valid))
        raise InputError(
            f"init_score must be finite, within ±{MAX_SCORE:g}: row {row} has {values[row].tolist()}; give it the "
            "score that training should start from, 0 if there is none"
        )
    return np.ascontiguousarray(values.T)


@dataclass(frozen=True, eq=False)
class FittedInit:
    """Constants that are stored in the model, and the fitted estimator or the model that its trees start from.

    If ``is_averaged``, the model is a forest to which trees are added, fitted to the gradients at its constants.
    """

    base_scores: np.ndarray
    link: str
    estimator: Any = None
    model: Model | None = None
    is_averaged: bool = False

    def initial_scores(self, rows: LabeledRows) -> InitialScores:
        """Return the initial scores of the training rows."""
        ensemble = None if self.model is None else self.model.ensemble
        is_constant = self.estimator is None and (self.model is None or self.is_averaged) and rows.init_score is None
        return InitialScores(self.base_scores, ensemble, None if is_constant else self.scores(rows), self.is_averaged)

    def scores(self, rows: LabeledRows) -> np.ndarray:
        """Return the scores (outputs, rows) of rows before the first new tree."""
        if self.model is None or self.is_averaged:
            scores = constant_scores(self.base_scores, len(rows.y))
        else:
            raw = self.model.predict_raw(rows.user_rows)
            scores = np.ascontiguousarray(raw.T).reshape(len(self.base_scores), -1)
        if self.estimator is not None and len(rows.y):  # of a validation set a worker may have no rows
            scores = scores + estimator_scores(self.estimator, rows.user_rows, self.link, len(scores))
        return scores if rows.init_score is None else scores + rows.init_score

    def tree_sums(self, rows: LabeledRows) -> np.ndarray | None:
        """Return the sums (outputs, rows) of the trees of a forest to which trees are added; None if there is none."""
        if self.model is None or not self.is_averaged:
            return None
        trees = replace(
            self.model, ensemble=self.model.ensemble.unscaled(), base_scores=np.zeros_like(self.base_scores)
        )
        return np.ascontiguousarray(trees.predict_raw(rows.user_rows).T).reshape(len(self.base_scores), -1)


@dataclass(frozen=True, eq=False)
class WarmStart:
    """A model to continue, and the fitted estimator that it starts from, if any."""

    model: Model
    estimator: Any = None

    @classmethod
    def read(cls, init_model: Any) -> WarmStart | None:
        """Read ``init_model``: a model, a fitted estimator or the path of a model file."""
        if init_model is None:
            return None
        if isinstance(init_model, Model):
            return cls(init_model)
        if isinstance(init_model, str | os.PathLike):
            from sapwood.model.io.serialize import load

            return cls(load(init_model))
        if isinstance(getattr(init_model, "model_", None), Model):
            return cls(init_model.model_, init_model.init_)
        raise InputTypeError(
            "init_model must be a Model, a fitted estimator or the path of a model file, got "
            f"{type(init_model).__name__}"
        )

    def check(self, schema: Schema) -> None:
        """Raise a SchemaError if the columns differ from those of the model."""
        expected = self.model.schema
        if expected.n_features != schema.n_features:
            raise SchemaError(f"X has {schema.n_features} features, but init_model has {expected.n_features}")
        if expected.names is not None and schema.names is not None and expected.names != schema.names:
            f = next(f for f in range(expected.n_features) if expected.names[f] != schema.names[f])
            raise SchemaError(
                f"column {f} of X is {schema.names[f]!r}, but in init_model it is {expected.names[f]!r}: pass "
                "the columns that it was trained on, in the same order"
            )
        if expected.categorical_columns != schema.categorical_columns:
            before, now = ([one.name_of(f) for f in one.categorical_columns] for one in (expected, schema))
            raise SchemaError(
                f"the categorical columns are {now}, but those of init_model are {before}: unset categorical_features"
            )

    @property
    def is_forest(self) -> bool:
        """Whether the model is a forest, the mean of its rounds."""
        ensemble, params = self.model.ensemble, self.model.metadata.get(PARAMS, {})
        return params.get("boosting") == "forest" and (ensemble.n_rounds == 1 or ensemble.is_average)

    @property
    def facts(self) -> InitModel:
        """The facts that decide whether the model can be continued."""
        ensemble = self.model.ensemble
        leaf_width = ensemble.width if ensemble.n_trees else None
        return InitModel(self.model.schema.zero_as_missing, self.model.link, self.model.n_outputs, leaf_width)


@dataclass(frozen=True, eq=False)
class InitSpec:
    """The parameter ``init`` and the argument ``init_model`` of a fit; ``boosts_forest`` with ``boosting="forest"``."""

    init: Any
    warm_start: WarmStart | None
    objective: Objective
    classes: np.ndarray | None
    boosts_forest: bool = False

    def __post_init__(self) -> None:
        if self.init is not None and not hasattr(self.init, "fit"):
            read_constants(self.init, self.objective.n_outputs)

    def fit(self, rows: LabeledRows, run: Run) -> FittedInit:
        """Compute the constants, or fit the estimator, from the training rows."""
        link, n_outputs = self.objective.link.name, self.objective.n_outputs
        if self.warm_start is not None:
            earlier, is_averaged = self.warm_start, self.boosts_forest and self.warm_start.is_forest
            return FittedInit(earlier.model.base_scores, link, earlier.estimator, earlier.model, is_averaged)
        if hasattr(self.init, "fit"):
            return FittedInit(np.zeros(n_outputs), link, self._fit_estimator(rows))
        if self.init is not None:
            return FittedInit(read_constants(self.init, n_outputs), link)
        if rows.init_score is not None:
            return FittedInit(np.zeros(n_outputs), link)
        return FittedInit(self._constants(rows.target, rows.workers, run), link)

    def _constants(self, target: Target, workers: Workers, run: Run) -> np.ndarray:
        """Return the scores that the loss starts from, given the targets of this worker."""
        workers.begin("start")
        unseen = self.objective.unseen_classes
        if workers.splits_rows and _takes_workers(self.objective):
            target = with_rows_of_classes(target, unseen, workers)
            return self.objective.initial_scores(target.y, target.weight, run, workers)
        target = with_rows_of_classes(target.gathered(workers), unseen)
        return self.objective.initial_scores(target.y, target.weight, run)

    def _fit_estimator(self, rows: LabeledRows) -> Any:
        name = type(self.init).__name__
        y = rows.y if self.classes is None else self.classes[rows.y.astype(np.intp)]
        arguments = {}
        if rows.weight is not None:
            arguments["sample_weight"] = rows.weight
        from sklearn.base import clone  # imported only with an estimator as init, which needs scikit-learn itself

        fitted = clone(self.init).fit(rows.user_rows, y, **arguments)
        if self.classes is not None and not np.array_equal(fitted.classes_, self.classes):
            raise InputError(f"init: {name} was fitted to the classes {fitted.classes_!r}, but y has {self.classes!r}")
        return fitted


def _takes_workers(objective: Objective) -> bool:
    """Return whether a loss computes its initial scores from the rows of each worker; those of users may not."""
    methods = (objective.best_constant, objective.initial_scores)
    return all("workers" in inspect.signature(method).parameters for method in methods)


def with_rows_of_classes(target: Target, classes: tuple[int, ...], workers: Workers = LOCAL) -> Target:
    """Append a row of mean weight for each of some classes, so that a class without rows has a frequency.

    The first worker has these rows.
    """
    if not classes:
        return target
    mean = 1.0 if target.weight is None else fixed_mean(target.weight, workers=workers)
    if workers.splits_rows and not workers.is_first:
        return target
    y = np.concatenate([target.y, np.array(classes, dtype=np.float64)])
    if target.weight is None:
        return Target(y, None)
    return Target(y, np.concatenate([target.weight, np.full(len(classes), mean)]))


def read_constants(init: Any, n_outputs: int) -> np.ndarray:
    """Return a constant ``init``, one number or one per output, as scores (n_outputs,)."""
    try:
        values = np.asarray(init, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        values = np.array(np.nan)
    if values.shape not in ((), (1,), (n_outputs,)) or not (np.abs(values) <= MAX_SCORE).all():
        number = f"a finite number within ±{MAX_SCORE:g}"
        allowed = number if n_outputs == 1 else f"{number} or {n_outputs} of them"
        raise ParameterError(f"init must be {allowed} or an estimator, got {init!r}")
    return np.broadcast_to(values, (n_outputs,)).copy()


def estimator_scores(estimator: Any, X: Any, link: str, n_outputs: int) -> np.ndarray:
    """Return the predictions of an estimator as scores (outputs, rows)."""
    X = unwrap_dataset(X)
    if hasattr(estimator, "predict_proba") and hasattr(estimator, "classes_"):
        probability = np.asarray(estimator.predict_proba(X), dtype=np.float64).T
        prediction = probability[1:] if n_outputs == 1 else probability
    else:
        prediction = np.asarray(estimator.predict(X), dtype=np.float64).reshape(1, -1)
    scores = predictions_to_scores(np.ascontiguousarray(prediction), link)
    return np.broadcast_to(scores, (n_outputs, scores.shape[1]))


def predictions_to_scores(prediction: np.ndarray, link: str) -> np.ndarray:
    """Return the scores whose predictions are these, or are nearest to them."""
    if link in ("log", "softmax"):
        return apply_elementwise(log_values, np.maximum(prediction, MIN_DISTANCE))
    if link == "log1p":
        return apply_elementwise(log1p_values, np.maximum(prediction, MIN_DISTANCE - 1.0))
    if link == "margin":
        return 2.0 * prediction - 1.0
    if link in ("logit", "half_logit", "one_vs_all"):
        inside = np.clip(prediction, MIN_DISTANCE, 1.0 - MIN_DISTANCE)
        return apply_elementwise(log_values, inside / (1.0 - inside)) * (0.5 if link == "half_logit" else 1.0)
    return prediction
