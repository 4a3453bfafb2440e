"""Metrics that are functions of the user, in the forms that other libraries have too."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from sapwood.distributed.workers import LOCAL, Workers
from sapwood.errors import ParameterError
from sapwood.lazy_dataclass import dataclass
from sapwood.metrics.base import Metric
from sapwood.native.runtime.kernel import Run, run_serial
from sapwood.params.validators import check_signature, read_only

# Words in the name of a function that is better if greater.
SCORE_WORDS = frozenset(
    {
        "score",
        "accuracy",
        "acc",
        "auc",
        "f1",
        "r2",
        "precision",
        "recall",
        "gain",
        "lift",
        "gini",
        "kappa",
        "mcc",
        "corr",
    }
    | {"corr", "correlation", "corrcoef", "ndcg", "concordance", "profit", "revenue", "sharpe"}
)
NATIVE_DATA = frozenset({"dtrain", "dtest", "dmatrix", "dmat", "train_data", "eval_data", "dataset"})
WEIGHT_NAMES = ("sample_weight", "weight", "weights", "w")


@dataclass(frozen=True)
class CustomMetric(Metric):
    """A function of the user: (y, prediction[, weight]) -> number or (name, number, greater is better).

    A number is better if it is less, unless the function has the attribute ``greater_is_better = True``. ``weight_as``
    is how the function takes weights: by position (""), by a keyword, or not at all (None).
    """

    weight_as: str | None = ""
    is_direction_known: bool = False

    @classmethod
    def of(cls, function: Callable[..., Any]) -> CustomMetric:
        """Make a metric of a function."""
        name = getattr(function, "__name__", None) or type(function).__name__
        if hasattr(function, "is_max_optimal"):
            raise ParameterError(
                f"eval_metric: {name} is a metric class of CatBoost; pass a function of (y, prediction, weight) that "
                "returns a number, with function.greater_is_better = True if that is better"
            )
        direction = getattr(function, "greater_is_better", None)
        weight_as = _weight_argument(function, name)
        return cls(name, function, bool(direction), weight_as=weight_as, is_direction_known=direction is not None)

    def completed(self, y: np.ndarray, prediction: np.ndarray, weight: np.ndarray | None) -> CustomMetric:
        """Return the metric with the name and direction that the function returns for these rows, if it returns any.

        Raise a ParameterError if the function does not say that greater is better, but its name does.
        """
        if self.is_direction_known:
            return self
        returned = self._call(y, prediction, weight)
        if isinstance(returned, tuple) and len(returned) == 3:
            name, value, greater_is_better = returned
            self._number(value)
            return dataclasses.replace(
                self, name=str(name), greater_is_better=bool(greater_is_better), is_direction_known=True
            )
        self._number(returned)
        word = next((word for word in re.split(r"[^a-z0-9]+", self.name.lower()) if word in SCORE_WORDS), None)
        if word is not None:
            raise ParameterError(
                f"eval_metric {self.name!r}: say whether greater values are better, as its name suggests: set "
                f"{self.name}.greater_is_better = True (or False), or return (name, value, greater_is_better)"
            )
        return dataclasses.replace(self, is_direction_known=True)

    def __call__(
        self,
        y: np.ndarray,
        prediction: np.ndarray,
        weight: np.ndarray | None = None,
        run: Run = run_serial,
        workers: Workers = LOCAL,
    ) -> float:
        """Return what the function returns for read-only arrays."""
        returned = self._call(y, prediction, weight)
        return self._number(returned[1] if isinstance(returned, tuple) and len(returned) == 3 else returned)

    def _call(self, y: np.ndarray, prediction: np.ndarray, weight: np.ndarray | None) -> Any:
        function: Callable[..., Any] = self.function
        y, prediction = read_only(np.asarray(y)), read_only(np.asarray(prediction))
        weight = None if weight is None else read_only(weight)
        if self.weight_as == "":
            return function(y, prediction, weight)
        if self.weight_as is not None:
            return function(y, prediction, **{self.weight_as: weight})
        if weight is not None:
            raise ParameterError(
                f"eval_metric {self.name!r} takes no weights, but the validation rows have sample weights: give the "
                "function a third argument, weight"
            )
        return function(y, prediction)

    def _number(self, value: Any) -> float:
        try:
            return float(value)
        except (TypeError, ValueError):
            raise ParameterError(
                f"metric {self.name!r} returned {value!r}; allowed is a number or (name, number, greater_is_better)"
            ) from None


def _weight_argument(function: Callable[..., Any], name: str) -> str | None:
    """Return how a function takes weights: "" by position, or a keyword; None if it takes none."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return ""
    names = [parameter.name for parameter in parameters]
    if len(names) >= 2 and names[1] in NATIVE_DATA:
        raise ParameterError(
            f"eval_metric: {name}({', '.join(names)}) takes a data set of LightGBM or XGBoost; write a function of "
            "(y, prediction, weight), targets first"
        )
    by_position = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return ""
    if len(by_position) >= 3 and (by_position[2].default is inspect.Parameter.empty or "weight" in by_position[2].name):
        check_signature(function, "eval_metric", "y", "prediction", "weight")
        return ""
    keyword = next((one for one in WEIGHT_NAMES if one in names[2:]), None)
    if keyword is None:
        check_signature(function, "eval_metric", "y", "prediction")
    return keyword
