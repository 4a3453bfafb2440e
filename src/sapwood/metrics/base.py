"""Metrics: their inputs and properties."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

import numpy as np

from sapwood.distributed.workers import LOCAL, Workers
from sapwood.errors import InputError
from sapwood.kernels.numeric.elementwise import apply_elementwise
from sapwood.kernels.numeric.sums import fixed_mean
from sapwood.lazy_dataclass import dataclass
from sapwood.native.runtime.kernel import Kernel, Run, run_serial
from sapwood.params.compatibility import check_compatibility
from sapwood.params.fit_context import Context

REGRESSION = frozenset({"regression"})
BINARY = frozenset({"binary"})
CLASSES = frozenset({"binary", "multiclass"})
MULTICLASS = CLASSES - BINARY
ANY = REGRESSION | CLASSES
WEIGHT_BITS = 62


@dataclass(frozen=True)
class MetricInputs:
    """Targets, predictions, weights, and the parameters of the metric.

    ``prediction`` holds values or probabilities of class 1 (n,), or one probability per class (n, classes). The rows
    are those of one of the ``workers``, unless the metric needs all rows.
    """

    y: np.ndarray
    prediction: np.ndarray
    weight: np.ndarray | None = None
    params: tuple[float, ...] = ()
    run: Run = run_serial
    workers: Workers = LOCAL

    def mean(self, values: np.ndarray) -> float:
        """Return the weighted mean over the rows of all workers, independently of their order."""
        return fixed_mean(values, self.weight, self.run, self.workers)

    def integer_weights(self) -> np.ndarray:
        """Return the weights in fixed point, below 2^62 in sum: sums of integers do not depend on their order."""
        if self.weight is None:
            return np.ones(len(self.y), dtype=np.int64)
        weight = np.asarray(self.weight, dtype=np.float64)
        largest = self.workers.max(np.array([weight.max(initial=0.0)]))
        bits = WEIGHT_BITS - self.workers.count_rows(len(self.y)).bit_length()
        return np.rint(np.ldexp(weight, bits - np.frexp(largest)[1])).astype(np.int64)

    def apply(self, kernel: Kernel, values: np.ndarray) -> np.ndarray:
        """Return an elementary function, such as ``log_values``, of an array."""
        return apply_elementwise(kernel, values, self.run)

    def require(self, metric: str, is_valid: np.ndarray, allowed: str, remedy: str) -> None:
        """Raise an InputError, at all workers, that names the first row whose target or prediction is not valid."""
        given = ""
        if not is_valid.all():
            row = int(np.argmin(is_valid))
            given = f"row {row} has the target {self.y[row]:g} and the prediction {self.prediction[row]}"
        if given := self.workers.first_text(given):
            raise InputError(f"metric {metric!r}: {given}; allowed is {allowed}; {remedy}")


@dataclass(frozen=True)
class Metric:
    """A measure of the quality of predictions: ``metric(y, prediction, weight)`` returns a number.

    ``tasks`` are the tasks it is defined for; ``params`` are passed to ``function`` with the arrays. A metric that is
    not made of sums over the rows ``needs_all_rows`` of all workers of a distributed fit.
    """

    name: str
    function: Callable[[MetricInputs], float] = field(repr=False)
    greater_is_better: bool = False
    tasks: frozenset[str] = ANY
    params: tuple[float, ...] = ()
    needs_all_rows: bool = True

    @property
    def prediction_kind(self) -> str:
        """Kind of predictions it takes: ``probabilities`` if it is for classes only, else ``prediction``."""
        return "prediction" if "regression" in self.tasks else "probabilities"

    def check_task(self, task: str) -> None:
        """Raise a ParameterError if the metric is not defined for this task."""
        check_compatibility(Context(task=task, metric_name=self.name, metric_tasks=self.tasks))

    def __call__(
        self,
        y: np.ndarray,
        prediction: np.ndarray,
        weight: np.ndarray | None = None,
        run: Run = run_serial,
        workers: Workers = LOCAL,
    ) -> float:
        """Return the metric of predictions, with rows weighted by ``weight``."""
        y = np.asarray(y, dtype=np.float64)
        prediction = np.asarray(prediction, dtype=np.float64)
        with np.errstate(over="ignore", invalid="ignore"):  # overflow gives infinity, a valid value of a metric
            return self.function(MetricInputs(y, prediction, weight, self.params, run, workers))
