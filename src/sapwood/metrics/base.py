"""What a metric is given and what it says of itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sapwood.errors import InputError, ParameterError
from sapwood.kernels.numeric.elementary import apply_elementwise
from sapwood.kernels.numeric.sums import fixed_mean
from sapwood.native.runtime.kernel import Kernel, Run, run_serial
from sapwood.params.validators import check_signature, read_only

REGRESSION = frozenset({"regression"})
BINARY = frozenset({"binary"})
CLASSES = frozenset({"binary", "multiclass"})
ANY = REGRESSION | CLASSES


@dataclass(frozen=True)
class MetricInputs:
    """Targets and the predictions for them: numbers or probabilities of class 1 (n,), or of each class (n, classes)."""

    y: np.ndarray
    prediction: np.ndarray
    weight: np.ndarray | None = None
    numbers: tuple[float, ...] = ()
    run: Run = run_serial

    def mean(self, values: np.ndarray) -> float:
        """The weighted mean over the rows, independent of their order."""
        return fixed_mean(values, self.weight, self.run)

    def apply(self, kernel: Kernel, values: np.ndarray) -> np.ndarray:
        """An elementary function of an array."""
        return apply_elementwise(kernel, values, self.run)

    def require(self, name: str, fits: np.ndarray, allowed: str, remedy: str) -> None:
        """Raise an InputError for the first row whose target or prediction does not fit."""
        if not fits.all():
            row = int(np.argmin(fits))
            given = f"row {row} has the target {self.y[row]:g} and the prediction {self.prediction[row]}"
            raise InputError(f"metric {name!r}: {given}; allowed is {allowed}; {remedy}")


@dataclass(frozen=True)
class Metric:
    """A number that says how good predictions are: ``metric(y, prediction, weight)``."""

    name: str
    function: Callable[[MetricInputs], float] = field(repr=False)
    greater_is_better: bool = False
    tasks: frozenset[str] = ANY
    numbers: tuple[float, ...] = ()

    @property
    def prediction_kind(self) -> str:
        """What ``prediction`` is: ``prediction``, or ``probabilities`` where classes are measured."""
        return "prediction" if "regression" in self.tasks else "probabilities"

    def check_task(self, task: str) -> None:
        """Raise a ParameterError if this metric does not measure such a task."""
        if task not in self.tasks:
            allowed = ", ".join(sorted(self.tasks))
            raise ParameterError(f"metric {self.name!r} measures {allowed}, not {task}; choose another eval_metric")

    def __call__(
        self, y: np.ndarray, prediction: np.ndarray, weight: np.ndarray | None = None, run: Run = run_serial
    ) -> float:
        """Measure predictions; rows weigh ``weight``."""
        y = np.asarray(y, dtype=np.float64)
        prediction = np.asarray(prediction, dtype=np.float64)
        with np.errstate(over="ignore", invalid="ignore"):  # what is beyond floats is infinite
            return self.function(MetricInputs(y, prediction, weight, self.numbers, run))


@dataclass(frozen=True)
class CustomMetric(Metric):
    """A function of the user's own: (y, prediction, weight) -> number; better if less, unless it says otherwise.

    A function says so by an attribute: ``function.greater_is_better = True``.
    """

    @classmethod
    def of(cls, function: Callable[..., Any]) -> CustomMetric:
        """Wrap a function."""
        name = getattr(function, "__name__", type(function).__name__)
        check_signature(function, "eval_metric", "y", "prediction", "weight")
        return cls(name, function, bool(getattr(function, "greater_is_better", False)))

    def __call__(
        self, y: np.ndarray, prediction: np.ndarray, weight: np.ndarray | None = None, run: Run = run_serial
    ) -> float:
        """Call the function."""
        arrays = [None if array is None else read_only(array) for array in (y, prediction, weight)]
        value: Any = self.function(*arrays)  # type: ignore[arg-type]
        try:
            return float(value)
        except (TypeError, ValueError):
            raise ParameterError(f"metric {self.name!r} returned {value!r}; allowed is a number") from None
