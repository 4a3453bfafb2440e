"""Metric functions and scorers of scikit-learn as metrics."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from sapwood.distributed.workers import LOCAL, Workers
from sapwood.errors import ParameterError
from sapwood.lazy_dataclass import dataclass
from sapwood.metrics.base import Metric
from sapwood.native.runtime.kernel import Run, run_serial

# scikit-learn's convention: a function whose name ends so is to be maximised or minimised.
GREATER_ENDINGS = ("_score", "_corrcoef")
LESS_ENDINGS = ("_error", "_loss", "_deviance")
OF_PROBABILITIES = frozenset(
    {
        "roc_auc_score",
        "average_precision_score",
        "log_loss",
        "brier_score_loss",
        "d2_log_loss_score",
        "d2_brier_score",
        "top_k_accuracy_score",
    }
)
OURS_INSTEAD = {"hinge_loss": "hinge"}


def is_scikit_learn_metric(spec: Any) -> bool:
    """Return whether a value is a metric function (or a partial one) or a scorer of scikit-learn."""
    function = spec.func if isinstance(spec, partial) else spec
    return _is_scorer(spec) or getattr(function, "__module__", "").startswith("sklearn.metrics.")


def _is_scorer(spec: Any) -> bool:
    return type(spec).__module__ == "sklearn.metrics._scorer"


@dataclass(frozen=True)
class ScikitLearnMetric(Metric):
    """A metric function or scorer of scikit-learn; ``classes`` are the labels of the codes in the targets."""

    classes: np.ndarray | None = None

    @classmethod
    def of(cls, spec: Any, classes: np.ndarray | None) -> ScikitLearnMetric:
        """Make a metric of a function or a scorer."""
        if _is_scorer(spec):
            sign, function = getattr(spec, "_sign", 1), getattr(spec, "_score_func", None)
            name = getattr(function, "__name__", type(spec).__name__)
            return cls(name if sign > 0 else f"neg_{name}", spec, True, classes=classes)
        name = (spec.func if isinstance(spec, partial) else spec).__name__
        if name in OURS_INSTEAD or not name.endswith(GREATER_ENDINGS + LESS_ENDINGS):
            remedy = OURS_INSTEAD.get(name, "roc_auc_score" if name == "auc" else "")
            hint = f"use {remedy!r}" if remedy else "use a function that returns a score, an error or a loss"
            raise ParameterError(f"eval_metric: {name} of scikit-learn is no metric of predictions; {hint}")
        return cls(name, spec, name.endswith(GREATER_ENDINGS), classes=classes)

    def __call__(
        self,
        y: np.ndarray,
        prediction: np.ndarray,
        weight: np.ndarray | None = None,
        run: Run = run_serial,
        workers: Workers = LOCAL,
    ) -> float:
        """Return the value that scikit-learn computes."""
        function: Callable[..., Any] = self.function
        keywords = self._weight_keywords(weight)
        labels = y if self.classes is None else self.classes[np.asarray(y).astype(np.intp)]
        try:
            if _is_scorer(function):
                return float(function(_predictor(prediction, self.classes), prediction, labels, **keywords))
            return float(function(labels, self._predictions(prediction), **keywords))
        except (TypeError, ValueError, AttributeError) as error:
            raise ParameterError(
                f"eval_metric: scikit-learn cannot compute {self.name} for these predictions ({error}); pass its "
                f"settings, as in functools.partial({self.name}, ...), or another metric"
            ) from error

    def _predictions(self, prediction: np.ndarray) -> np.ndarray:
        """Return what the function takes: numbers, probabilities or labels."""
        spec = self.function
        if self.classes is None or (spec.func if isinstance(spec, partial) else spec).__name__ in OF_PROBABILITIES:
            return prediction
        return _labels(prediction, self.classes)

    def _weight_keywords(self, weight: np.ndarray | None) -> dict[str, np.ndarray]:
        if weight is None:
            return {}
        function = getattr(self.function, "_score_func", self.function)
        if "sample_weight" not in inspect.signature(function).parameters:
            raise ParameterError(
                f"eval_metric: {self.name} of scikit-learn takes no weights, but the validation rows have sample "
                "weights; use another metric"
            )
        return {"sample_weight": weight}


def _labels(prediction: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the most probable labels."""
    codes = (prediction > 0.5).astype(np.intp) if prediction.ndim == 1 else np.argmax(prediction, axis=1)
    return classes[codes]


def _predictor(prediction: np.ndarray, labels: np.ndarray | None) -> Any:
    """Return a fitted estimator of scikit-learn that predicts what was predicted, for scorers."""
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

    class Predicted(BaseEstimator):
        def __sklearn_is_fitted__(self) -> bool:
            return True

    class PredictedNumbers(RegressorMixin, Predicted):
        def predict(self, X: Any) -> np.ndarray:
            return prediction

    if labels is None:
        return PredictedNumbers()
    classes = labels

    class PredictedClasses(ClassifierMixin, Predicted):
        classes_ = classes

        def predict(self, X: Any) -> np.ndarray:
            return _labels(prediction, classes)

        def predict_proba(self, X: Any) -> np.ndarray:
            return prediction if prediction.ndim == 2 else np.column_stack([1.0 - prediction, prediction])

    return PredictedClasses()
