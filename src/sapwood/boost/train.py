"""``sapwood.train`` and ``fit``: read the arguments, split off validation rows, train, and make the model.

Modules that only some fits need are imported where they are used: importing takes half of the time of a
small first fit.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sapwood.boost.compatibility_context import fit_context
from sapwood.boost.early_stopping import INTERRUPTED
from sapwood.boost.eval_sets import monitored_set, read_eval_rows, read_held_out_rows
from sapwood.boost.fit_arguments import FitArguments
from sapwood.boost.labeled_rows import LabeledRows
from sapwood.boost.learning_task import LearningTask, read_task
from sapwood.boost.trained_model import make_model
from sapwood.boost.training_log import log_parameters, log_validation
from sapwood.boost.training_pipeline import Training, train_rows
from sapwood.boost.unsplit_trees import warn_of_unsplit_trees
from sapwood.boost.validation_split import rows_to_split_off
from sapwood.boost.worker_agreement import check_workers
from sapwood.errors import ParameterError, TrainingInterrupted
from sapwood.lazy_dataclass import dataclass
from sapwood.model.model import Model
from sapwood.params.aliases.alias import FIT
from sapwood.params.compatibility import check_compatibility
from sapwood.params.declaration import AUTO
from sapwood.params.effort import FAST
from sapwood.params.unknown_arguments import explains_arguments

if TYPE_CHECKING:
    from sapwood.boost.out_of_bag import OutOfBagReport

VALIDATION = "validation"
EvalRows = Mapping[str, LabeledRows]


@explains_arguments(FIT)
def train(
    params: Mapping[str, Any] | None,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    eval_set: Any = None,
    eval_sample_weight: Any = None,
    init_score: Any = None,
    groups: Any = None,
    init_model: Any = None,
    evals_result: dict[str, dict[str, list[float]]] | None = None,
) -> Model:
    """Train a model without scikit-learn.

    Parameters
    ----------
    params : dict or None
        Parameters of the estimators by name (``docs/parameters.md``). The objective decides the task: regression by
        default and with a regression loss, classification with "logistic", "softmax" and the like.
    X : array, data frame, sparse matrix or Dataset
        Rows to train on; NaN is missing.
    y : array-like
        Target of each row: numbers, or labels of any kind for classification.
    sample_weight : array-like, optional
        Weight of each row; rows of weight 0 are left out.
    eval_set : pair (X, y), list of pairs or dict of pairs, optional
        Validation sets, evaluated after every round.
    eval_sample_weight : array-like, list or dict, optional
        Weights of the rows of ``eval_set``, in the same form.
    init_score : array-like (rows,) or (rows, outputs), optional
        Offset of the scores in training, which predictions do not contain. Each validation set then has its own as a
        third entry: (X, y, init_score).
    groups : array-like, optional
        Group of each row; a group is never divided when rows are split off for validation.
    init_model : Model, fitted estimator or path of a model file, optional
        Model to continue: its trees come first.
    evals_result : dict, optional
        Filled with ``{set: {metric: [one value per round]}}``.

    Returns
    -------
    Model
        The trained model: ``predict``, ``save``, ``importance`` and more.

    Examples
    --------
    >>> import numpy as np
    >>> import sapwood
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> y = np.where(X[:, 0] > 0, "yes", "no")
    >>> model = sapwood.train({"objective": "logistic", "n_estimators": 20}, X, y)
    >>> model
    <sapwood.Model: 3 features, 1 outputs, 20 rounds, 20 trees, link logit>
    >>> model.predict([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]])
    array(['yes', 'no'], dtype='<U3')
    """
    if (params or {}).get("warm_start") not in (None, False, AUTO):
        raise ParameterError("warm_start continues the model of an estimator; pass init_model to sapwood.train")
    arguments = FitArguments(
        params or {}, X, y, sample_weight, eval_set, eval_sample_weight, init_score, groups, init_model
    )
    result = fit(arguments)
    if evals_result is not None:
        evals_result.update(result.evals_result)
    result.raise_if_interrupted()
    return result.model


@dataclass(frozen=True, eq=False)
class FitResult:
    """Result of a fit: the model and the history of its training.

    ``init_estimator`` is the estimator that the trees start from, which the model does not contain;
    ``feature_names`` are those of X if they are strings; ``params`` are all parameters as resolved for the data;
    ``out_of_bag`` are the scores of rows that samples leave out.
    """

    model: Model
    init_estimator: Any
    evals_result: dict[str, dict[str, list[float]]]
    best_iteration: int
    best_score: float | None
    stopped: str
    n_features: int
    feature_names: tuple[str, ...] | None
    on_interrupt: str
    params: dict[str, Any]
    out_of_bag: OutOfBagReport | None = None

    def raise_if_interrupted(self) -> None:
        """Raise TrainingInterrupted if Ctrl-C ended training, unless ``on_interrupt`` is "return"."""
        if self.stopped == INTERRUPTED and self.on_interrupt == "raise":
            raise TrainingInterrupted(
                f"training was interrupted after {self.model.n_iterations} rounds; the model so far is kept (model_ of "
                "the estimator, model of this exception). Set on_interrupt='return' to return it instead.",
                self.model,
            )


def fit(arguments: FitArguments) -> FitResult:
    """Train a model; the time of ``time_limit`` starts here."""
    start_time = time.perf_counter()
    task, rows = read_task(arguments)
    log_parameters(arguments.params, task.params)
    check_workers(task, rows, arguments)
    check_compatibility(fit_context(task, rows, arguments))
    sets, held_out = read_eval_rows(arguments, task), read_held_out_rows(arguments, task)
    if task.only_class is None:
        task, training = _fit_with_effort(task, rows, sets, held_out, arguments, start_time)
        warn_of_unsplit_trees(task, rows, training)
        model = make_model(task, training)
        if task.params.task.intervals is not None:
            from sapwood.boost.intervals import fit_intervals

            model = replace(model, intervals=fit_intervals(task, rows, start_time))
    else:
        from sapwood.boost.only_class import only_class_model, train_constant

        training = train_constant(task, rows)
        model = only_class_model(make_model(task, training))
    result = training.result
    return FitResult(
        model=model,
        init_estimator=training.init.estimator,
        evals_result={name: dict(metrics) for name, metrics in result.evals.items()},
        best_iteration=result.best_iteration,
        best_score=result.best_score,
        stopped=result.stopped,
        n_features=rows.table.n_features,
        feature_names=rows.table.names if rows.table.has_string_names else None,
        on_interrupt=task.params.run.on_interrupt,
        params=task.user_params.values(),
        out_of_bag=training.out_of_bag,
    )


def _fit_with_effort(
    task: LearningTask,
    rows: LabeledRows,
    sets: EvalRows,
    held_out: EvalRows,
    arguments: FitArguments,
    start_time: float,
) -> tuple[LearningTask, Training]:
    """Train with the effort of the task; return the task with the parameters in force too."""
    if task.params.task.effort != FAST:
        from sapwood.boost.effort import plan_fit, without_effort

        planned = plan_fit(task, rows, sets, held_out, arguments)
        if planned is not None:
            return task, planned.train(start_time)
        task = without_effort(task)
    return task, fit_rows(task, rows, sets, held_out, start_time)


def fit_rows(
    task: LearningTask, rows: LabeledRows, sets: EvalRows, held_out: EvalRows, start_time: float
) -> Training:  # fmt: skip
    """Train on rows; without validation ``sets``, some rows are split off if the parameters ask for it."""
    monitored = monitored_set(task, rows, sets) if sets else next(iter(held_out), None)
    if rows.weight is not None:
        rows = rows.take(rows.weight > 0.0)
    validation = rows_to_split_off(task.params, rows, task.classes, bool(sets))
    log_validation(sets, 0 if validation is None else int(validation.sum()))
    if validation is None:
        return train_rows(task, rows, {**sets, **held_out}, start_time, monitored)
    sets = {VALIDATION: rows.take(validation), **held_out}
    from sapwood.boost.refit import refit_on_all_rows

    first = train_rows(task, rows.take(~validation), sets, start_time, VALIDATION)
    return refit_on_all_rows(task, rows, first, start_time)
