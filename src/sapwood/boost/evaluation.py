"""Measure the model on validation rows after every round."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sapwood.boost.target import Target
from sapwood.data.binning.sparse_bins import SparseBins
from sapwood.data.tables.table import Block
from sapwood.distributed.workers import LOCAL, Workers
from sapwood.errors import ParameterError
from sapwood.metrics.base import Metric
from sapwood.metrics.registry import resolve_metric
from sapwood.native.runtime.kernel import Run, run_serial
from sapwood.objectives.base import Objective, mean_loss

LOSS = "loss"


@dataclass(frozen=True, eq=False)
class EvalSet:
    """Rows in the bins of training with their targets; ``scores`` (outputs, rows) grow with the model.

    ``raw_values`` are those before binning, where leaves are linear. ``sparse_bins`` has the columns not in ``tiles``.
    """

    name: str
    tiles: np.ndarray
    target: Target
    scores: np.ndarray
    raw_values: Block | None = None
    sparse_bins: SparseBins | None = None
    columns: np.ndarray | None = None


@dataclass(frozen=True)
class EvalMetric:
    """A metric, or (if None) the mean of the loss that training lowers."""

    metric: Metric | None = None

    @property
    def name(self) -> str:
        """Its key in the history."""
        return LOSS if self.metric is None else self.metric.name

    @property
    def greater_is_better(self) -> bool:
        """Whether more is better."""
        return self.metric is not None and self.metric.greater_is_better


def eval_metrics(spec: Any, objective: Objective, task: str) -> tuple[EvalMetric, ...]:
    """The measures that ``eval_metric`` means: names, functions or metrics, one or several; None is the loss's own."""
    several = isinstance(spec, Iterable) and not isinstance(spec, str)
    found = tuple(_measure(one, objective, task) for one in (spec if several else [spec]))
    names = [measure.name for measure in found]
    for name in names:
        if names.count(name) > 1:
            raise ParameterError(f"eval_metric has two metrics named {name!r}: give their functions different names")
    if not found:
        raise ParameterError("eval_metric is an empty list: name a metric, or leave it out for the loss's own")
    return found


def _measure(spec: Any, objective: Objective, task: str) -> EvalMetric:
    if spec is None:
        spec = objective.default_metric
    if isinstance(spec, str) and spec == LOSS:
        return EvalMetric()
    metric = resolve_metric(spec)
    metric.check_task(task)
    return EvalMetric(metric)


def evaluate(
    measures: Sequence[EvalMetric], objective: Objective, target: Target, scores: np.ndarray, run: Run = run_serial
) -> dict[str, float]:
    """The value of every measure for rows with these scores (outputs, rows)."""
    prediction = None
    values = {}
    for measure in measures:
        if measure.metric is None:
            values[measure.name] = mean_loss(objective, target.y, scores, target.weight, run)
            continue
        if prediction is None:
            prediction = objective.link.predict(scores, run)
        values[measure.name] = measure.metric(target.y, prediction, target.weight, run)
    return values


class Evaluation:
    """Validation sets and what was measured on them; the first metric of the first set tells which round is best."""

    def __init__(
        self,
        sets: Sequence[EvalSet],
        measures: Sequence[EvalMetric],
        objective: Objective,
        workers: Workers = LOCAL,
    ) -> None:
        """Where ``workers`` have rows of their own, each has some rows of every set; metrics are those of all rows."""
        self.sets = tuple(sets)
        self._workers = workers
        self._targets = [one.target.gathered(workers) for one in self.sets]
        self.metrics = tuple(measures)
        self.history: dict[str, dict[str, list[float]]] = {
            one.name: {measure.name: [] for measure in self.metrics} for one in self.sets
        }
        self._objective = objective

    def seen(self) -> Mapping[str, Mapping[str, list[float]]]:
        """The history so far for others to read; what they do to it is forgotten."""
        return {name: {metric: list(values) for metric, values in one.items()} for name, one in self.history.items()}

    def measure(self, run: Run) -> None:
        """Append the value of every metric on every set."""
        self._workers.begin("metrics")
        for one, target in zip(self.sets, self._targets, strict=True):
            scores = self._workers.gather_rows(one.scores)
            for name, value in evaluate(self.metrics, self._objective, target, scores, run).items():
                self.history[one.name][name].append(value)

    def remember(self, values: np.ndarray) -> None:
        """Append values (set and metric, round) that were measured before."""
        lines = [line for metrics in self.history.values() for line in metrics.values()]
        for line, more in zip(lines, values.tolist(), strict=True):
            line.extend(more)

    def deciding(self, done: int) -> tuple[str, float] | None:
        """The first metric of the first set after so many rounds, and what to call it; None without sets."""
        if not self.sets:
            return None
        first, measure = self.sets[0].name, self.metrics[0].name
        return f"{measure} of {first}", self.history[first][measure][done - 1]
