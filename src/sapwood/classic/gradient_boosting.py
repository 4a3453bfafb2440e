"""Friedman's gradient boosting machine over any regressor.

Each round fits a base model to the negative gradient by least squares, then finds the step for the loss itself: one
value per leaf if the base model is a tree, else one step for the whole model by line search.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from sapwood.boost.fit_arguments import CLASSIFICATION, REGRESSION
from sapwood.boost.initial_scores import estimator_scores, read_constants
from sapwood.boost.validation_split import validation_rows
from sapwood.classic.base_model import checked_table, copy_input_tags, read_labels, read_numbers, set_seed
from sapwood.classic.step_size import BoostedRows, leaf_values
from sapwood.data.tables.row_selection import select_rows
from sapwood.data.tables.targets import check_weight
from sapwood.errors import ParameterError
from sapwood.kernels.numeric.random import SAMPLING, draw_many
from sapwood.lazy_dataclass import dataclass
from sapwood.model.class_predictions import class_probabilities, most_probable_classes
from sapwood.objectives.base import Objective, mean_loss
from sapwood.objectives.registry import resolve
from sapwood.params.resolve import resolve_seed

STEPS = ("auto", "leaf", "line", "none")
Estimator = TypeVar("Estimator", bound="GradientBoosting")


@dataclass(frozen=True, eq=False)
class Stage:
    """The models of one round, one per output, and how far each moves the scores.

    A step is a number that predictions are multiplied by, or an array with a value for each leaf of a tree.
    """

    models: list[Any]
    steps: list[float | np.ndarray]

    def add_to(self, scores: np.ndarray, X: Any, rate: float) -> None:
        """Add the stage, times the learning rate, to the scores (outputs, rows)."""
        for output, (model, step) in enumerate(zip(self.models, self.steps, strict=True)):
            move = step[model.apply(X)] if isinstance(step, np.ndarray) else step * np.asarray(model.predict(X))
            scores[output] += rate * move


class GradientBoosting(BaseEstimator):
    """Base class of the regressor and the classifier."""

    task: ClassVar[str]

    def __init__(
        self,
        base: Any = None,
        *,
        init: Any = None,
        loss: Any = None,
        step: str = "auto",
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        subsample: float = 1.0,
        early_stopping_rounds: int | None = None,
        validation_fraction: float = 0.1,
        random_state: Any = None,
    ) -> None:
        self.base = base
        self.init = init
        self.loss = loss
        self.step = step
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.subsample = subsample
        self.early_stopping_rounds = early_stopping_rounds
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    def fit(self: Estimator, X: Any, y: Any, sample_weight: Any = None) -> Estimator:
        """Fit ``init`` and one base model per round and output.

        Parameters
        ----------
        X : array, data frame or sparse matrix
            Rows in a form that the base model takes.
        y : array-like
            Target of each row.
        sample_weight : array-like, optional
            Weight of each row; the base model must take ``sample_weight``.

        Returns
        -------
        self
        """
        self._check_parameters()
        X = checked_table(self, X, reset=True)
        classes = None
        if self.task == CLASSIFICATION:
            target, classes = read_labels(self, X.shape[0], y)
            self.classes_ = classes
        else:
            target = read_numbers(self, X.shape[0], y)
        weight = check_weight(sample_weight, len(target))
        self._base = DecisionTreeRegressor(max_depth=3) if self.base is None else self.base
        if weight is not None and not has_fit_parameter(self._base, "sample_weight"):
            raise ParameterError(
                f"sample_weight is not supported with base={type(self._base).__name__}, whose fit does not take it; "
                "use another base model or leave sample_weight out"
            )
        self._objective = self._find_objective(classes)
        self._objective.check_target(target)
        self._seed = resolve_seed(self.random_state)
        validation = self._validation_rows(target, classes)
        rows = np.arange(len(target)) if validation is None else np.flatnonzero(~validation)
        self.stages_: list[Stage] = []
        self.train_loss_: list[float] = []
        self.validation_loss_: list[float] = []
        self._fit_init(X, target, weight, rows)
        self._boost(X, target, weight, rows)
        return self

    def _check_parameters(self) -> None:
        if self.step not in STEPS:
            raise ParameterError(f"step must be one of {', '.join(map(repr, STEPS))}, got {self.step!r}")
        if not (isinstance(self.n_estimators, (int, np.integer)) and self.n_estimators >= 1):
            raise ParameterError(f"n_estimators must be an integer of at least 1, got {self.n_estimators!r}")
        if not 0.0 < self.subsample <= 1.0:
            raise ParameterError(f"subsample must be above 0 and at most 1, got {self.subsample!r}")
        if not self.learning_rate > 0.0:
            raise ParameterError(f"learning_rate must be above 0, got {self.learning_rate!r}")
        if self.base is not None and not (hasattr(self.base, "fit") and hasattr(self.base, "predict")):
            raise ParameterError(f"base must be a regressor with fit and predict, got {self.base!r}")

    def _find_objective(self, classes: np.ndarray | None) -> Objective:
        name = self.loss if self.loss is not None else ("squared" if classes is None else "logistic")
        objective = resolve(name)
        if classes is not None:
            return objective.for_classes(len(classes))
        objective.check_task(REGRESSION)
        return objective

    def _validation_rows(self, target: np.ndarray, classes: np.ndarray | None) -> np.ndarray | None:
        if self.early_stopping_rounds is None:
            return None
        ids = np.arange(len(target), dtype=np.uint64)
        return validation_rows(self.validation_fraction, ids, self._seed, None if classes is None else target, None)

    def _fit_init(self, X: Any, target: np.ndarray, weight: np.ndarray | None, rows: np.ndarray) -> None:
        self.init_ = None
        part = None if weight is None else weight[rows]
        if self.init is None:
            self.base_scores_ = self._objective.initial_scores(target[rows], part)
        elif hasattr(self.init, "fit"):
            labels = target if self.task == REGRESSION else self.classes_[target.astype(np.intp)]
            more = {} if part is None else {"sample_weight": part}
            self.init_ = clone(self.init).fit(select_rows(X, rows), labels[rows], **more)
            self.base_scores_ = np.zeros(self._objective.n_outputs)
        else:
            self.base_scores_ = read_constants(self.init, self._objective.n_outputs)

    def _boost(self, X: Any, target: np.ndarray, weight: np.ndarray | None, rows: np.ndarray) -> None:
        scores = self._initial_scores(X)
        held_out = np.setdiff1d(np.arange(len(target)), rows, assume_unique=True)
        best_loss, best_round = np.inf, 0
        for round in range(self.n_estimators):
            sample = self._sample(rows, round)
            chosen = BoostedRows(self._objective, target, weight, scores).take(sample)
            stage = self._fit_stage(select_rows(X, sample), chosen, round)
            stage.add_to(scores, X, self.learning_rate)
            self.stages_.append(stage)
            self.train_loss_.append(self._mean_loss(target, scores, weight, rows))
            if self.early_stopping_rounds is None:
                continue
            self.validation_loss_.append(self._mean_loss(target, scores, weight, held_out))
            if self.validation_loss_[-1] < best_loss:
                best_loss, best_round = self.validation_loss_[-1], round
            elif round - best_round >= self.early_stopping_rounds:
                break
        if self.early_stopping_rounds is not None:
            del self.stages_[best_round + 1 :]

    def _fit_stage(self, X: Any, rows: BoostedRows, round: int) -> Stage:
        """Fit one base model per output to the negative gradients, and find the steps."""
        stage = Stage([], [])
        more = {} if rows.weight is None else {"sample_weight": rows.weight}
        for output in range(self._objective.n_outputs):
            model = set_seed(clone(self._base), self._seed, round, output)
            gradient, _ = rows.pairs(output)
            model.fit(X, -gradient, **more)
            stage.models.append(model)
            stage.steps.append(self._find_step(model, X, rows, output))
        return stage

    def _find_step(self, model: Any, X: Any, rows: BoostedRows, output: int) -> float | np.ndarray:
        if self.step == "none":
            return 1.0
        if self.step == "leaf" or (self.step == "auto" and _has_leaves(model)):
            if not _has_leaves(model):
                raise ParameterError(
                    f"step='leaf' is not supported with base={type(model).__name__}, which is not a tree (it has no "
                    "apply that returns one leaf per row); use step='line'"
                )
            return leaf_values(rows, model.apply(X), output)
        return rows.line_search(np.asarray(model.predict(X), dtype=np.float64), output)

    def _sample(self, rows: np.ndarray, round: int) -> np.ndarray:
        if self.subsample >= 1.0:
            return rows
        hashes = np.empty(len(rows), dtype=np.uint64)
        draw_many(self._seed, SAMPLING, round, rows.astype(np.uint64), hashes)
        n_chosen = max(1, int(self.subsample * len(rows)))
        return np.sort(rows[np.argsort(hashes)[:n_chosen]])

    def _mean_loss(self, target: np.ndarray, scores: np.ndarray, weight: np.ndarray | None, rows: np.ndarray) -> float:
        part = None if weight is None else weight[rows]
        return mean_loss(self._objective, target[rows], np.ascontiguousarray(scores[:, rows]), part)

    def _initial_scores(self, X: Any) -> np.ndarray:
        scores = np.repeat(self.base_scores_[:, None], X.shape[0], axis=1)
        if self.init_ is not None:
            scores += estimator_scores(self.init_, X, self._objective.link.name, len(scores))
        return scores

    @property
    def n_iter_(self) -> int:
        """Number of rounds of the fitted model."""
        check_is_fitted(self)
        return len(self.stages_)

    def _staged_scores(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the scores (outputs, rows) after 1, 2, ... rounds, always in the same array."""
        check_is_fitted(self)
        X = checked_table(self, X, reset=False)
        scores = self._initial_scores(X)
        for stage in self.stages_:
            stage.add_to(scores, X, self.learning_rate)
            yield scores

    def _predictions(self, scores: np.ndarray) -> np.ndarray:
        return self._objective.link.predict(scores)

    def _last_scores(self, X: Any) -> np.ndarray:
        *_, scores = self._staged_scores(X)
        return scores

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "stages_")

    def __sklearn_tags__(self) -> Any:
        return copy_input_tags(super().__sklearn_tags__(), DecisionTreeRegressor() if self.base is None else self.base)


def _has_leaves(model: Any) -> bool:
    """Return whether a fitted model is a single tree."""
    return hasattr(model, "apply") and not hasattr(model, "estimators_")


class GradientBoostingRegressor(RegressorMixin, GradientBoosting):
    """Gradient boosting for regression over any base model.

    Parameters
    ----------
    base : regressor, optional
        Model that each round fits to the negative gradient by least squares: any scikit-learn regressor. By default a
        decision tree of depth 3.
    init : estimator or float, optional
        Model or constant score that boosting starts from; by default the constant that minimises the loss. A linear
        model lets the ensemble extrapolate beyond the training range, which trees alone cannot.
    loss : str, objective or function, optional
        Loss, as the parameter ``objective`` of the other estimators.
    step : {"auto", "leaf", "line", "none"}, default="auto"
        Step for the loss: one value per leaf, one step per model by line search, or none (the prediction as it is).
        "auto" is "leaf" for trees and "line" for other models.
    n_estimators : int, default=100
        Number of rounds.
    learning_rate : float, default=0.1
        Factor of every step.
    subsample : float, default=1.0
        Fraction of the rows that each round is fitted on.
    early_stopping_rounds : int, optional
        Stop after this many rounds without improvement on rows split off for validation, and keep the best round.
    validation_fraction : float, default=0.1
        Fraction of the rows split off with ``early_stopping_rounds``.
    random_state : int or RandomState, optional
        Seed of subsampling, of the validation split and of base models whose ``random_state`` is None.

    Attributes
    ----------
    stages_ : list of Stage
        Fitted models and steps of each round.
    init_ : estimator or None
        The fitted ``init``.
    train_loss_, validation_loss_ : list of float
        Mean loss after each round.
    n_iter_ : int
        Number of rounds of the fitted model.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from sapwood.classic import GradientBoostingRegressor
    >>> X = np.arange(40.0).reshape(-1, 1)
    >>> y = 3.0 * X[:, 0] + np.sin(X[:, 0])
    >>> model = GradientBoostingRegressor(init=LinearRegression()).fit(X, y)
    >>> bool(abs(model.predict([[100.0]])[0] - 300.0) < 5.0)  # beyond the training range
    True
    """

    task = REGRESSION

    def predict(self, X: Any) -> np.ndarray:
        """Return the prediction of each row."""
        return self._predictions(self._last_scores(X))

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the predictions after 1, 2, ... rounds."""
        return (self._predictions(scores) for scores in self._staged_scores(X))


class GradientBoostingClassifier(ClassifierMixin, GradientBoosting):
    """Gradient boosting for classification over any base model.

    Parameters
    ----------
    base, init, loss, step, n_estimators, learning_rate, subsample, early_stopping_rounds, validation_fraction, \
random_state
        As in :class:`GradientBoostingRegressor`; the default ``loss`` is "logistic", softmax for several classes.

    Attributes
    ----------
    stages_, init_, train_loss_, validation_loss_, n_iter_
        As in :class:`GradientBoostingRegressor`.
    classes_ : ndarray
        Class labels in the order of the columns of ``predict_proba``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sapwood.classic import GradientBoostingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> GradientBoostingClassifier(n_estimators=20).fit(X, y).score(X, y) > 0.95
    True
    """

    task = CLASSIFICATION

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class: (rows, classes)."""
        return class_probabilities(self._predictions(self._last_scores(X)), self.classes_)

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable label of each row."""
        return most_probable_classes(self.predict_proba(X), self.classes_)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores before the link function: (rows,) for two classes, else (rows, classes)."""
        scores = self._last_scores(X)
        return scores[0] if len(scores) == 1 else scores.T.copy()

    def staged_predict_proba(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the probabilities after 1, 2, ... rounds."""
        return (class_probabilities(self._predictions(scores), self.classes_) for scores in self._staged_scores(X))

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the labels after 1, 2, ... rounds."""
        return (most_probable_classes(probability, self.classes_) for probability in self.staged_predict_proba(X))
