"""Initial scores: the constants, estimator or earlier model that boosting starts from."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from sapwood.boost.labeled_rows import LabeledRows
from sapwood.data.dataset import unwrap_dataset
from sapwood.data.tables.schema import Schema
from sapwood.data.tables.targets import read_numbers
from sapwood.errors import InputError, InputTypeError, ParameterError, SchemaError
from sapwood.kernels.numeric.elementary import apply_elementwise, log1p_values, log_values
from sapwood.model.ensemble import Ensemble
from sapwood.model.io.serialize import load
from sapwood.model.model import Model
from sapwood.native.runtime.kernel import Run
from sapwood.objectives.base import MAX_SCORE, Objective
from sapwood.params.fit_context import InitModel

# Predictions that no score gives, such as a probability of 0 or a count below it, count as this far from the bound.
LEAST = 1e-6


@dataclass(frozen=True, eq=False)
class InitialScores:
    """Constants (outputs,) that the model keeps, trees that come first, and the scores (outputs, rows) of the rows.

    ``scores`` hold whatever the model cannot say by itself, such as an offset per row; None means the constants.
    """

    base_scores: np.ndarray
    ensemble: Ensemble | None = None
    scores: np.ndarray | None = None

    @property
    def n_rounds(self) -> int:
        """Rounds that the first trees took."""
        return 0 if self.ensemble is None else self.ensemble.n_rounds

    def make_scores(self, n_rows: int) -> np.ndarray:
        """The scores before the first new tree; the caller may write into them."""
        return constant_scores(self.base_scores, n_rows) if self.scores is None else self.scores.copy()

    def concatenate(self, ensemble: Ensemble) -> Ensemble:
        """The first trees, then new ones."""
        return ensemble if self.ensemble is None else self.ensemble.concatenate(ensemble)


def constant_scores(constants: np.ndarray, n_rows: int) -> np.ndarray:
    """The same scores for every row."""
    return np.repeat(constants[:, None], n_rows, axis=1)


def read_init_score(given: Any, n_rows: int, n_outputs: int) -> np.ndarray | None:
    """Offsets as (outputs, rows) from (rows,) or (rows, outputs)."""
    if given is None:
        return None
    if hasattr(given, "nnz"):
        raise InputTypeError("init_score is a sparse matrix: pass init_score.toarray()")
    try:
        values = given if isinstance(given, np.ma.MaskedArray) else np.asarray(given)
    except ValueError as error:
        raise InputTypeError(f"init_score cannot be read as numbers: {error}") from error
    if values.ndim == 1 and n_outputs == 1:
        values = values[:, None]
    if values.shape != (n_rows, n_outputs):
        shapes = f"({n_rows},)" if n_outputs == 1 else f"({n_rows}, {n_outputs}), one score per class or output"
        raise InputError(f"init_score has the shape {np.shape(given)}; allowed is {shapes}")
    values = read_numbers(values, "init_score", "give every row a number")
    fits = (np.abs(values) <= MAX_SCORE).all(axis=1)
    if not fits.all():
        row = int(np.argmin(fits))
        raise InputError(
            f"init_score must be finite, within ±{MAX_SCORE:g}: row {row} has {values[row].tolist()}; give it the "
            "score that training should start from, 0 if there is none"
        )
    return np.ascontiguousarray(values.T)


@dataclass(frozen=True, eq=False)
class FittedInit:
    """Constants that the model keeps, and what comes before its trees: a fitted estimator, an earlier model."""

    base_scores: np.ndarray
    link: str
    estimator: Any = None
    model: Model | None = None

    def start(self, sample: LabeledRows) -> InitialScores:
        """Where training on these rows starts."""
        ensemble = None if self.model is None else self.model.ensemble
        is_constant = self.estimator is None and self.model is None and sample.init_score is None
        return InitialScores(self.base_scores, ensemble, None if is_constant else self.scores(sample))

    def scores(self, sample: LabeledRows) -> np.ndarray:
        """The scores (outputs, rows) of rows before the first new tree."""
        if self.model is None:
            scores = constant_scores(self.base_scores, len(sample.y))
        else:
            raw = self.model.predict_raw(sample.features)
            scores = np.ascontiguousarray(raw.T).reshape(len(self.base_scores), -1)
        if self.estimator is not None:
            scores = scores + estimator_scores(self.estimator, sample.features, self.link, len(scores))
        return scores if sample.init_score is None else scores + sample.init_score


@dataclass(frozen=True, eq=False)
class WarmStart:
    """A model to go on from, with the estimator that it starts from if it has one."""

    model: Model
    estimator: Any = None

    @classmethod
    def read(cls, given: Any) -> WarmStart | None:
        """See a model, a fitted estimator or the path of a model file as an earlier model."""
        if given is None:
            return None
        if isinstance(given, Model):
            return cls(given)
        if isinstance(given, str | os.PathLike):
            return cls(load(given))
        if isinstance(getattr(given, "model_", None), Model):
            return cls(given.model_, given.init_)
        raise InputTypeError(
            f"init_model must be a Model, a fitted estimator or the path of a model file, got {type(given).__name__}"
        )

    def check(self, schema: Schema) -> None:
        """Raise a SchemaError if the columns are not those of the model."""
        mine = self.model.schema
        if mine.n_features != schema.n_features:
            raise SchemaError(f"X has {schema.n_features} features, but init_model has {mine.n_features}")
        if mine.names is not None and schema.names is not None and mine.names != schema.names:
            other = next(f for f in range(mine.n_features) if mine.names[f] != schema.names[f])
            raise SchemaError(
                f"column {other} of X is {schema.names[other]!r}, but in init_model it is {mine.names[other]!r}: pass "
                "the columns that it was trained on, in the same order"
            )
        if mine.categorical_columns != schema.categorical_columns:
            raise SchemaError(
                f"the category columns of init_model are {[mine.name_of(f) for f in mine.categorical_columns]}, now "
                f"they are {[schema.name_of(f) for f in schema.categorical_columns]}: leave categorical_features unset"
            )

    @property
    def facts(self) -> InitModel:
        """The facts that decide whether the model can be continued."""
        ensemble = self.model.ensemble
        leaf_width = ensemble.width if ensemble.n_trees else None
        return InitModel(self.model.schema.zero_as_missing, self.model.link, self.model.n_outputs, leaf_width)


@dataclass(frozen=True, eq=False)
class InitSpec:
    """What the user asks training to start from."""

    init: Any
    warm_start: WarmStart | None
    objective: Objective
    classes: np.ndarray | None

    def __post_init__(self) -> None:
        if self.init is not None and not hasattr(self.init, "fit"):
            _constants(self.init, self.objective.n_outputs)

    def fit(self, sample: LabeledRows, run: Run) -> FittedInit:
        """Find the start from the rows of training."""
        link, n_outputs = self.objective.link.name, self.objective.n_outputs
        if self.warm_start is not None:
            return FittedInit(self.warm_start.model.base_scores, link, self.warm_start.estimator, self.warm_start.model)
        if hasattr(self.init, "fit"):
            return FittedInit(np.zeros(n_outputs), link, self._fitted(sample))
        if self.init is not None:
            return FittedInit(_constants(self.init, n_outputs), link)
        if sample.init_score is not None:
            return FittedInit(np.zeros(n_outputs), link)
        target = sample.target.gathered(sample.workers)
        return FittedInit(self.objective.initial_scores(target.y, target.weight, run), link)

    def _fitted(self, sample: LabeledRows) -> Any:
        name = type(self.init).__name__
        y = sample.y if self.classes is None else self.classes[sample.y.astype(np.intp)]
        arguments = {}
        if sample.weight is not None:
            arguments["sample_weight"] = sample.weight
        from sklearn.base import clone  # an estimator of its own brings it along

        fitted = clone(self.init).fit(sample.features, y, **arguments)
        if self.classes is not None and not np.array_equal(fitted.classes_, self.classes):
            raise InputError(f"init: {name} found the classes {fitted.classes_!r} in y, not {self.classes!r}")
        return fitted


def _constants(init: Any, n_outputs: int) -> np.ndarray:
    try:
        values = np.asarray(init, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        values = np.array(np.nan)
    if values.shape not in ((), (1,), (n_outputs,)) or not (np.abs(values) <= MAX_SCORE).all():
        one = f"a finite number within ±{MAX_SCORE:g}"
        allowed = one if n_outputs == 1 else f"{one} or {n_outputs} of them"
        raise ParameterError(f"init must be {allowed} or an estimator, got {init!r}")
    return np.broadcast_to(values, (n_outputs,)).copy()


def estimator_scores(estimator: Any, X: Any, link: str, n_outputs: int) -> np.ndarray:
    """The predictions of an estimator as scores (outputs, rows)."""
    X = unwrap_dataset(X)
    if hasattr(estimator, "predict_proba") and hasattr(estimator, "classes_"):
        probability = np.asarray(estimator.predict_proba(X), dtype=np.float64).T
        prediction = probability[1:] if n_outputs == 1 else probability
    else:
        prediction = np.asarray(estimator.predict(X), dtype=np.float64).reshape(1, -1)
    scores = unlinked(np.ascontiguousarray(prediction), link)
    return np.broadcast_to(scores, (n_outputs, scores.shape[1]))


def unlinked(prediction: np.ndarray, link: str) -> np.ndarray:
    """The scores that have these predictions, or the nearest that scores can give."""
    if link in ("log", "softmax"):
        return apply_elementwise(log_values, np.maximum(prediction, LEAST))
    if link == "log1p":
        return apply_elementwise(log1p_values, np.maximum(prediction, LEAST - 1.0))
    if link == "margin":
        return 2.0 * prediction - 1.0
    if link in ("logit", "half_logit", "one_vs_all"):
        within = np.clip(prediction, LEAST, 1.0 - LEAST)
        return apply_elementwise(log_values, within / (1.0 - within)) * (0.5 if link == "half_logit" else 1.0)
    return prediction
