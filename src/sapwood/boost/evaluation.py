"""Evaluation of the model on validation sets after every round."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from sapwood.boost.target import Target
from sapwood.data.binning.sparse_bins import SparseBins
from sapwood.data.tables.table import Block
from sapwood.distributed.workers import LOCAL, Workers
from sapwood.errors import ParameterError
from sapwood.lazy_dataclass import dataclass
from sapwood.metrics.base import BINARY, Metric
from sapwood.metrics.custom import CustomMetric
from sapwood.metrics.registry import metrics, resolve_metric
from sapwood.native.runtime.kernel import Run, run_serial
from sapwood.objectives.base import Objective, mean_loss

LOSS = "loss"


@dataclass(frozen=True, eq=False)
class EvalSet:
    """Rows in the bins of training with their targets; ``scores`` (outputs, rows) grow with the model.

    ``raw_values`` are those before binning, where leaves are linear. ``sparse_bins`` has the columns not in ``tiles``.
    ``tree_sums`` (outputs, rows) are those of the trees of a forest that is continued.
    """

    name: str
    tiles: np.ndarray
    target: Target
    scores: np.ndarray
    raw_values: Block | None = None
    sparse_bins: SparseBins | None = None
    columns: np.ndarray | None = None
    tree_sums: np.ndarray | None = None


@dataclass(frozen=True)
class EvalMetric:
    """A metric, or the mean training loss if it is None."""

    metric: Metric | None = None

    @property
    def name(self) -> str:
        """Key in the history."""
        return LOSS if self.metric is None else self.metric.name

    @property
    def greater_is_better(self) -> bool:
        """Whether larger values are better."""
        return self.metric is not None and self.metric.greater_is_better

    @property
    def needs_all_rows(self) -> bool:
        """Whether it is computed where the rows of all workers are."""
        return self.metric is not None and self.metric.needs_all_rows


def eval_metrics(
    spec: Any, objective: Objective, task: str, classes: np.ndarray | None = None
) -> tuple[EvalMetric, ...]:
    """Return the metrics of ``eval_metric``: one or several names, functions or metrics; None is that of the loss."""
    is_list = isinstance(spec, Iterable) and not isinstance(spec, str)
    metrics = tuple(_eval_metric(one, objective, task, classes) for one in (spec if is_list else [spec]))
    _check_names(metrics)
    if not metrics:
        raise ParameterError("eval_metric is an empty list: name a metric, or leave it out for that of the loss")
    return metrics


def complete_metrics(
    metrics: Sequence[EvalMetric], objective: Objective, eval_set: EvalSet, workers: Workers = LOCAL
) -> tuple[EvalMetric, ...]:
    """Return the metrics with the names and directions that functions of the user return, called for initial scores."""
    if not any(isinstance(metric.metric, CustomMetric) for metric in metrics):
        return tuple(metrics)
    target = eval_set.target.gathered(workers, at_first=True)
    prediction = objective.link.predict(workers.gather_rows(eval_set.scores, at_first=True))

    def complete(metric: CustomMetric) -> CustomMetric:
        def call() -> tuple[str, bool]:
            called = metric.completed(target.y, prediction, target.weight)
            return called.name, called.greater_is_better

        name, greater_is_better = workers.compute_at_first(call)
        return replace(metric, name=name, greater_is_better=greater_is_better, is_direction_known=True)

    completed = [
        EvalMetric(complete(metric.metric)) if isinstance(metric.metric, CustomMetric) else metric for metric in metrics
    ]
    _check_names(completed)
    return tuple(completed)


def _check_names(metrics: Sequence[EvalMetric]) -> None:
    names = [metric.name for metric in metrics]
    for name in names:
        if names.count(name) > 1:
            raise ParameterError(f"eval_metric has two metrics named {name!r}: give their functions different names")


def _eval_metric(spec: Any, objective: Objective, task: str, classes: np.ndarray | None) -> EvalMetric:
    if spec is None:
        spec = objective.default_metric
    if isinstance(spec, str) and spec == LOSS:
        return EvalMetric()
    metric = resolve_metric(spec, classes)
    macro = f"{metric.name.partition('@')[0]}_macro"
    if task == "multiclass" and metric.tasks == BINARY and macro in metrics():
        raise ParameterError(
            f"eval_metric={metric.name!r} is of two classes; for several use {macro!r} (the mean over the classes), or "
            "that with 'weighted' or 'micro' in place of 'macro'"
        )
    metric.check_task(task)
    return EvalMetric(metric)


def evaluate(
    metrics: Sequence[EvalMetric],
    objective: Objective,
    target: Target,
    scores: np.ndarray,
    run: Run = run_serial,
    workers: Workers = LOCAL,
) -> dict[str, float]:
    """Return the value of every metric for rows with these scores (outputs, rows), and for those of other workers."""
    prediction = None
    values = {}
    for metric in metrics:
        if metric.metric is None:
            values[metric.name] = mean_loss(objective, target.y, scores, target.weight, run, workers)
            continue
        if prediction is None:
            prediction = objective.link.predict(scores, run)
        values[metric.name] = metric.metric(target.y, prediction, target.weight, run, workers)
    return values


def find_metric(metrics: Sequence[EvalMetric], name: str | None) -> EvalMetric:
    """Return the metric that early stopping watches: that of the name, or the first one for None."""
    if name is None:
        return metrics[0]
    for metric in metrics:
        if metric.name == name:
            return metric
    known = ", ".join(repr(metric.name) for metric in metrics)
    raise ParameterError(f"EarlyStopping(metric={name!r}): the metrics of eval_metric are {known}")


class Monitored(NamedTuple):
    """The metric of a validation set that decides which round is best, and when training stops."""

    eval_set: str
    metric: EvalMetric

    def __str__(self) -> str:
        return f"{self.metric.name} of {self.eval_set}"


class Evaluation:
    """Validation sets and the history of their metrics; ``monitored`` is None where none decides the best round."""

    def __init__(
        self,
        sets: Sequence[EvalSet],
        metrics: Sequence[EvalMetric],
        objective: Objective,
        workers: Workers = LOCAL,
        monitored: Monitored | None = None,
    ) -> None:
        """If ``workers`` have rows of their own, each has some rows of every set; metrics are those of all rows.

        Metrics that are sums are added up; the first worker computes the others, from rows that are sent to it.
        """
        self.sets = tuple(sets)
        self._workers = workers
        self.metrics = tuple(metrics)
        self._of_all_rows = tuple(one for one in metrics if one.needs_all_rows) if workers.splits_rows else ()
        self._summed = tuple(one for one in metrics if not (one.needs_all_rows and workers.splits_rows))
        self._targets = [one.target.gathered(workers, at_first=True) for one in self.sets] if self._of_all_rows else []
        self.history: dict[str, dict[str, list[float]]] = {
            one.name: {metric.name: [] for metric in self.metrics} for one in self.sets
        }
        self._objective = objective
        self.monitored = monitored

    def copy_history(self) -> Mapping[str, Mapping[str, list[float]]]:
        """Return a copy of the history, which callbacks may change."""
        return {name: {metric: list(values) for metric, values in one.items()} for name, one in self.history.items()}

    def evaluate_round(self, run: Run) -> None:
        """Append the value of every metric on every set to the history."""
        self._workers.begin("metrics")
        for k, one in enumerate(self.sets):
            for name, value in self._evaluate_set(k, run).items():
                self.history[one.name][name].append(value)

    def _evaluate_set(self, number: int, run: Run) -> dict[str, float]:
        """Return the value of every metric on a set."""
        of_all_rows, one, workers = self._of_all_rows, self.sets[number], self._workers
        values = evaluate(self._summed, self._objective, one.target, one.scores, run, workers)
        if of_all_rows:
            scores = workers.gather_rows(one.scores, at_first=True)
            values |= workers.compute_at_first(
                lambda: evaluate(of_all_rows, self._objective, self._targets[number], scores, run)
            )
        return values

    def restore(self, values: np.ndarray) -> None:
        """Append values (set and metric, round) from a checkpoint to the history."""
        histories = [history for metrics in self.history.values() for history in metrics.values()]
        for history, more in zip(histories, values.tolist(), strict=True):
            history.extend(more)

    def monitored_value(self, n_rounds: int) -> float | None:
        """Return the monitored metric after so many rounds; None without one."""
        if self.monitored is None:
            return None
        return self.history[self.monitored.eval_set][self.monitored.metric.name][n_rounds - 1]
