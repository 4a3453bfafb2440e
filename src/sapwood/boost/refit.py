"""Refit on all rows after early stopping: train again, or replay the rounds."""

from __future__ import annotations

import dataclasses
import time

from sapwood.boost.early_stopping import INTERRUPTED, TIME_LIMIT
from sapwood.boost.interrupt import InterruptedBeforeFirstRound
from sapwood.boost.labeled_rows import LabeledRows
from sapwood.boost.learning_task import LearningTask, with_rounds
from sapwood.boost.training_pipeline import Training, train_rows
from sapwood.log import logger
from sapwood.params.declaration import REPLAY, Params

CHECKPOINT_SUFFIX = ".refit"


def refit_on_all_rows(task: LearningTask, rows: LabeledRows, first: Training, start_time: float) -> Training:
    """Fit the model to all rows if ``refit`` is set; the history stays that of the first fit.

    Trees are trained again for the best number of rounds, or replayed. The first fit is returned if it was interrupted,
    or if a second one would exceed the time limit.
    """
    settings = task.params.evaluation
    spent = time.perf_counter() - start_time + first.result.restored_seconds
    is_late = settings.time_limit is not None and 2.0 * spent > settings.time_limit
    if not settings.refit or first.result.stopped in (INTERRUPTED, TIME_LIMIT) or rows.workers.broadcast_bool(is_late):
        return first
    if settings.refit == REPLAY:
        from sapwood.boost.replay import replay_rounds

        logger.info("%d rounds are replayed on all rows", len(first.result.rounds))
        second = replay_rounds(task, rows, first)
    else:
        second = _train_again(task, rows, first)
    if second is None or second.result.stopped == INTERRUPTED:
        return dataclasses.replace(first, result=dataclasses.replace(first.result, stopped=INTERRUPTED))
    result = dataclasses.replace(first.result, ensemble=second.result.ensemble, base_scores=second.result.base_scores)
    return dataclasses.replace(second, result=result, eval_sizes=first.eval_sizes, monitored=first.monitored)


def _train_again(task: LearningTask, rows: LabeledRows, first: Training) -> Training | None:
    """Train on all rows for the best number of rounds; return None if no round was finished."""
    n_earlier = 0 if first.init.model is None else first.init.model.n_iterations
    params = _refit_params(task.params, first.result.best_iteration - n_earlier)
    logger.info("refit on all rows for %d rounds, the best number on the rows set aside", params.boost.n_estimators)
    try:
        return train_rows(dataclasses.replace(task, params=params, crosses=first.crosses), rows, {}, 0.0)
    except InterruptedBeforeFirstRound:
        return None


def _refit_params(params: Params, n_rounds: int) -> Params:
    """Return the parameters of the second fit: a fixed number of rounds, no stopping, and another checkpoint file."""
    run = params.run
    if run.checkpoint is not None:
        run = dataclasses.replace(run, checkpoint=run.checkpoint + CHECKPOINT_SUFFIX)
    return dataclasses.replace(
        with_rounds(params, n_rounds),
        evaluation=dataclasses.replace(params.evaluation, early_stopping_rounds=None, time_limit=None, callbacks=()),
        run=run,
    )
