"""A fitted model as plots and reports see it: an estimator or a ``Model``, its predictions, targets and history."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np

from sapwood.data.tables.targets import check_target, check_weight, encode_known_labels, read_column
from sapwood.errors import InputError, InputTypeError
from sapwood.model.model import Model

REGRESSION, BINARY, MULTICLASS = "regression", "binary", "multiclass"
MAX_NAME = 60


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A model, and the estimator that it belongs to, if any."""

    model: Model
    estimator: Any = None

    @classmethod
    def of(cls, source: Any, caller: str) -> FittedModel:
        """Read an estimator or a model; ``caller`` names the function in error messages."""
        if isinstance(source, FittedModel):
            return source
        if isinstance(source, Model):
            return cls(source)
        if hasattr(source, "steps") and hasattr(source, "named_steps"):
            raise InputTypeError(
                f"{caller} takes an estimator of Sapwood or a sapwood.Model, got a Pipeline: pass pipeline[-1], and "
                "pipeline[:-1].transform(X) as X"
            )
        if hasattr(source, "best_estimator_"):
            return cls.of(source.best_estimator_, caller)
        if type(source).__module__.startswith("sapwood."):
            return cls._of_estimator(source, caller)
        kind = f"{type(source).__module__.split('.')[0]}.{type(source).__qualname__}"
        raise InputTypeError(f"{caller} takes an estimator of Sapwood or a sapwood.Model, got {kind}")

    @classmethod
    def _of_estimator(cls, source: Any, caller: str) -> FittedModel:
        if hasattr(source, "fit"):
            from sklearn.utils.validation import check_is_fitted

            check_is_fitted(source)
        model = getattr(source, "model_", None)
        if not isinstance(model, Model):
            reason = getattr(source, "why_no_model_", None)
            raise InputTypeError(
                f"{caller} takes a model of gradient-boosted trees; {type(source).__qualname__} has no model_"
                f"{'' if reason is None else f': {reason}'}"
            )
        return cls(model, source)

    @property
    def name(self) -> str:
        """Name of the class of the estimator, ``Model`` without one."""
        return type(self.model if self.estimator is None else self.estimator).__name__

    @property
    def task(self) -> str:
        """``regression``, ``binary`` or ``multiclass``."""
        if self.model.classes is None:
            return REGRESSION
        return BINARY if len(self.model.classes) == 2 else MULTICLASS

    @property
    def class_names(self) -> list[str]:
        """Labels of the classes as text; empty for regression."""
        return [] if self.model.classes is None else [str(label) for label in self.model.classes.tolist()]

    @property
    def evals_result(self) -> dict[str, dict[str, list[float]]]:
        """Metrics of each round by set and name; empty if nothing was evaluated."""
        return getattr(self.estimator, "evals_result_", None) or {}

    @property
    def best_iteration(self) -> int | None:
        """Best round by the metric that early stopping watches; None if it is not known."""
        return getattr(self.estimator, "best_iteration_", None)

    def predict(self, X: Any) -> np.ndarray:
        """Return values (rows,) or (rows, outputs), or the probabilities (rows, classes)."""
        source = self.model if self.estimator is None else self.estimator
        return source.predict(X) if self.task == REGRESSION else source.predict_proba(X)

    def target(self, y: Any, n_rows: int, caller: str) -> np.ndarray:
        """Return the target as float64: values, or the numbers of the classes."""
        if y is None:
            raise InputError(f"{caller} compares predictions with the target: pass y, one value per row of X")
        if self.model.classes is None:
            return check_target(y, n_rows)
        return encode_known_labels(read_column(y, n_rows, "y"), n_rows, self.model.classes)

    def weight(self, sample_weight: Any, n_rows: int) -> np.ndarray | None:
        """Return sample weights as float64, None if all are equal."""
        return check_weight(sample_weight, n_rows)

    def feature(self, name: int | str, caller: str) -> int:
        """Return the number of a column given by name or number."""
        names = self.model.feature_names
        if isinstance(name, str):
            if name not in names:
                near = get_close_matches(name, names, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"the first columns are {', '.join(names[:5])}"
                raise InputError(f"{caller}: the model has no column {name[:MAX_NAME]!r}; {hint}")
            return names.index(name)
        if isinstance(name, bool) or not isinstance(name, int | np.integer):
            raise InputTypeError(f"{caller}: a feature is given by name or number, got {name!r}")
        if not -len(names) <= name < len(names):
            raise InputError(f"{caller}: feature {name} is out of range, the model has {len(names)} columns")
        return int(name) % len(names)
