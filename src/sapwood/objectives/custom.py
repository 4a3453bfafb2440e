"""Custom losses: a function of (y, score), differentiated automatically, or one that returns gradient and hessian.

::

    SapwoodRegressor(objective=lambda y, f: np.log1p((y - f) ** 2))

The function is written with elementwise NumPy operations. Its first and second derivatives come from forward-mode
automatic differentiation (``autodiff/dual_numbers.py``). If the kernels have all of its operations, it is traced onto
a tape that one kernel evaluates (``autodiff/tape.py``); otherwise NumPy evaluates it, a chunk of rows at a time.
"""

from __future__ import annotations

import copy
import math
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from sapwood.distributed.workers import LOCAL, Workers
from sapwood.errors import ParameterError
from sapwood.kernels.numeric.gradient_pairs import MIN_HESSIAN
from sapwood.kernels.numeric.sums import fixed_mean, fixed_sum
from sapwood.native.runtime.kernel import Run, run_serial
from sapwood.objectives.autodiff.dual_numbers import REMEDY
from sapwood.objectives.autodiff.traced_loss import (
    ClassScoreLoss,
    Function,
    TracedLoss,
    check_row_independence,
    trace_loss,
)
from sapwood.objectives.base import Objective, weighted_quantile
from sapwood.objectives.best_constant import minimize_from
from sapwood.objectives.links import LINKS, ElementwiseLink, Identity, Link
from sapwood.objectives.losses.one_vs_all import OneVsAll
from sapwood.objectives.losses.softmax import Softmax
from sapwood.params.validators import check_signature, read_only

MAX_TRACES = 4
CLASS_LINKS = ("softmax", "one_vs_all")  # those of a score per class


class FunctionObjective(Objective):
    """A loss defined by a function of (y, score) and the name of a link."""

    curvature = "floored"
    supported_tasks = frozenset({"regression", "binary", "multiclass"})
    link: Link = Identity()
    n_classes = 0  # above 0 if every class has a score

    def __init__(self, function: Function, link: str = "identity") -> None:
        of_one_score = [name for name, value in LINKS.items() if isinstance(value, (Identity, ElementwiseLink))]
        allowed = [*of_one_score, *CLASS_LINKS]
        if link not in allowed:
            raise ParameterError(f"link={link!r}; allowed is one of {', '.join(allowed)}")
        self.function = function
        self.link = LINKS[link]
        if link in CLASS_LINKS:
            self.task, self.supported_tasks = "multiclass", frozenset({"binary", "multiclass"})

    @property
    def n_outputs(self) -> int:
        """Number of scores per row: one, or one per class."""
        return max(1, self.n_classes)

    def __repr__(self) -> str:
        name = getattr(self.function, "__name__", repr(self.function))
        return f"{type(self).__name__}({name}, link={self.link.name!r})"

    def settings(self) -> dict[str, Any]:
        """Return the link; the function is not stored in model files."""
        return {"link": self.link.name}

    def for_classes(self, n_classes: int) -> Objective:
        """Return this loss for so many classes.

        Two classes have one score and the logit link unless another link was given; more, and two with a link of
        several scores, have a score each and the softmax link unless another was given.
        """
        super().for_classes(n_classes)
        fitted = copy.copy(self)
        if n_classes == 2 and self.link.name not in CLASS_LINKS:
            fitted.task, fitted.supported_tasks = "binary", frozenset({"binary"})
            fitted.link = LINKS["logit"] if isinstance(self.link, Identity) else self.link
            return fitted
        if not isinstance(self.link, Identity) and self.link.name not in CLASS_LINKS:
            raise ParameterError(
                f"link={self.link.name!r} is that of one score, but {n_classes} classes have a score each; allowed is "
                f"one of {', '.join(CLASS_LINKS)}"
            )
        fitted.task, fitted.supported_tasks = "multiclass", frozenset({"binary", "multiclass"})
        fitted.link = LINKS["softmax"] if isinstance(self.link, Identity) else self.link
        fitted.n_classes = n_classes
        return fitted

    def class_constants(
        self, y: np.ndarray, weight: np.ndarray | None, run: Run, workers: Workers = LOCAL
    ) -> np.ndarray:
        """Return the scores at which the link predicts the frequencies of the classes."""
        loss: Objective = OneVsAll(self.n_classes) if self.link.name == "one_vs_all" else Softmax(self.n_classes)
        return loss.best_constant(y, weight, run, workers)


class CustomLoss(FunctionObjective):
    """A loss given as a function of (y, score), with derivatives by automatic differentiation.

    The hessian is the absolute second derivative; where that is 0, a positive surrogate. The Newton steps of a loss
    whose second derivative vanishes away from its minimum, such as sqrt(1 + r^2), are too long: pass such a loss as
    ``GradientLoss`` with the hessian gradient / r, or limit the steps (``max_delta_step``).

    Parameters
    ----------
    function : callable
        Loss of each row as a function of (y, score), written with elementwise NumPy operations.
        With several classes, y has their numbers from 0 and the score is (rows, classes), as in
        ``lambda y, f: np.log(np.exp(f).sum(axis=1)) - f[np.arange(len(y)), y]``.
    link : {'identity', 'log', 'log1p', 'logit', 'half_logit', 'margin', 'softmax', 'one_vs_all'}, default='identity'
        Link from scores to predictions; the last two are those of a score per class.

    Examples
    --------
    >>> import numpy as np
    >>> from sapwood import SapwoodRegressor
    >>> from sapwood.objectives import CustomLoss
    >>> X = np.arange(100.0)[:, None]
    >>> loss = CustomLoss(lambda y, score: np.log1p((y - score) ** 2))
    >>> model = SapwoodRegressor(objective=loss, n_estimators=5).fit(X, X[:, 0])
    """

    name = "custom"

    def __init__(self, function: Function, link: str = "identity") -> None:
        super().__init__(function, link)
        self._traces: list[tuple[weakref.ref[np.ndarray], TracedLoss]] = []

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_traces": []}

    def check_target(self, y: np.ndarray) -> None:
        """Reject targets that are not finite, and functions in which the loss of a row depends on other rows."""
        super().check_target(y)
        self._traces = []
        check_row_independence(self.function, y, self.n_classes)

    def _trace(self, y: np.ndarray) -> TracedLoss:
        for traced_y, traced in self._traces:
            if traced_y() is y:
                return traced
        traced = trace_loss(self.function, y)
        self._traces = [*self._traces[1 - MAX_TRACES :], (weakref.ref(y), traced)]
        return traced

    def pairs(self, y: np.ndarray, scores: np.ndarray, out: np.ndarray, run: Run = run_serial) -> None:
        """Fill ``out`` (n_outputs, n, 2) with gradients and hessians."""
        if not self.n_classes:
            self._trace(y).pairs(scores, out, run)
            return
        for k in range(self.n_classes):
            ClassScoreLoss(self.function, y, k).pairs(scores, out[k : k + 1], run)
        self.clear_unseen(out)

    def loss(self, y: np.ndarray, scores: np.ndarray, run: Run = run_serial) -> np.ndarray:
        """Return the loss of each row."""
        return (ClassScoreLoss(self.function, y, 0) if self.n_classes else self._trace(y)).value(scores, run)

    def best_constant(
        self, y: np.ndarray, weight: np.ndarray | None = None, run: Run = run_serial, workers: Workers = LOCAL
    ) -> np.ndarray:
        """Return a local minimum of the mean loss, found by descent from the best of several constants.

        With a score per class, it is the one at which the link predicts the frequencies of the classes.
        """
        if self.n_classes:
            return self.class_constants(y, weight, run, workers)
        traced = self._trace(y)
        scores = np.empty((1, len(y)))

        def mean_at(constant: float) -> float:
            scores[:] = constant
            return fixed_mean(traced.value(scores, run), weight, run, workers)

        def slope_at(constant: float) -> float:
            scores[:] = constant
            return fixed_sum(traced.derivatives(scores, run)[0], weight, run, workers)

        low, high = workers.extrema(y)
        tried = {constant: mean_at(constant) for constant in _candidates(y, low, high, workers)}
        finite = {constant: mean for constant, mean in tried.items() if math.isfinite(mean)}
        if not finite:
            given = f"the mean loss is not finite at any of the scores {', '.join(f'{c:g}' for c in tried)}"
            raise ParameterError(f"custom objective: {given}; {REMEDY}")
        start = min(finite, key=lambda constant: finite[constant])
        lowest = minimize_from(slope_at, start, max(high - low, 1e-3) / 8)
        return np.array([lowest if mean_at(lowest) <= finite[start] else start])


def _candidates(y: np.ndarray, low: float, high: float, workers: Workers) -> list[float]:
    median = weighted_quantile(y, np.ones(len(y)), 0.5, workers=workers)
    constants = [0.0, fixed_mean(y, workers=workers), median, low, high, 1.0, -1.0]
    return list(dict.fromkeys(constants))


class GradientLoss(FunctionObjective):
    """A loss given by its derivatives: a function of (y, score) that returns (gradient, hessian), one of each per row.

    Parameters
    ----------
    function : callable
        Gradient and hessian of each row as a function of (y, score). Hessians below 1e-16 are raised to it.
        With several classes, y has their numbers from 0, and the score and both derivatives are (rows, classes), as
        in the scikit-learn interfaces of XGBoost and LightGBM.
    link : {'identity', 'log', 'log1p', 'logit', 'half_logit', 'margin', 'softmax', 'one_vs_all'}, default='identity'
        Link from scores to predictions; the last two are those of a score per class.
    constant : float or list, default=0.0
        Score that boosting starts from, or one per class.

    Examples
    --------
    >>> import numpy as np
    >>> from sapwood import SapwoodRegressor
    >>> from sapwood.objectives import GradientLoss
    >>> X = np.arange(100.0)[:, None]
    >>> squared = GradientLoss(lambda y, score: (score - y, np.ones_like(y)), constant=49.5)
    >>> model = SapwoodRegressor(objective=squared, n_estimators=5).fit(X, X[:, 0])
    """

    name = "gradient"

    def __init__(self, function: Function, link: str = "identity", constant: float | Sequence[float] = 0.0) -> None:
        super().__init__(function, link)
        self.constant: float | list[float] = np.asarray(constant, dtype=np.float64).tolist()

    @property
    def default_metric(self) -> str:
        """RMSE or log loss: the loss itself is not known."""
        return "rmse" if self.task == "regression" else "log_loss"

    def settings(self) -> dict[str, Any]:
        """Return the link and the constant; the function is not stored in model files."""
        return {**super().settings(), "constant": self.constant}

    def best_constant(
        self, y: np.ndarray, weight: np.ndarray | None = None, run: Run = run_serial, workers: Workers = LOCAL
    ) -> np.ndarray:
        """Return ``constant``."""
        constants = np.asarray(self.constant, dtype=np.float64)
        if constants.shape not in ((), (1,), (self.n_outputs,)):
            raise ParameterError(
                f"GradientLoss: constant has {len(constants)} values; allowed is a number or {self.n_outputs} of them"
            )
        return np.broadcast_to(constants, (self.n_outputs,)).copy()

    def pairs(self, y: np.ndarray, scores: np.ndarray, out: np.ndarray, run: Run = run_serial) -> None:
        """Fill ``out`` (n_outputs, n, 2) with the gradients and hessians that the function returns."""
        if self.n_classes:
            returned, shape = self.function(read_only(y.astype(np.int64)), scores.T.copy()), scores.T.shape
        else:
            returned, shape = self.function(read_only(y), scores[0].copy()), y.shape
        if not isinstance(returned, tuple) or len(returned) != 2:
            given = f"returned {type(returned).__name__}"
            raise ParameterError(f"GradientLoss: the function {given}; allowed is a tuple (gradient, hessian)")
        for part, name in enumerate(("gradient", "hessian")):
            values = np.asarray(returned[part], dtype=np.float64)
            if values.shape not in ((), (1,), shape):
                of_classes = f" and {self.n_classes} classes" if self.n_classes else ""
                given = f"returned a {name} of shape {values.shape} for {len(y)} rows{of_classes}"
                raise ParameterError(f"GradientLoss: the function {given}; allowed is {_shape_text(shape)}")
            out[:, :, part] = (np.maximum(values, MIN_HESSIAN) if name == "hessian" else values).T
        self.clear_unseen(out)

    has_loss = False

    def loss(self, y: np.ndarray, scores: np.ndarray, run: Run = run_serial) -> np.ndarray:
        """Raise a ParameterError: the loss cannot be computed from its derivatives."""
        raise ParameterError("GradientLoss does not define the loss itself; set eval_metric")


def _shape_text(shape: tuple[int, ...]) -> str:
    return "one number per row" if len(shape) == 1 else f"the shape {shape}, one number per row and class"


def custom_loss(function: Function) -> Objective:
    """Return the objective of a function: ``CustomLoss``, or ``GradientLoss`` if the function returns a tuple.

    It is tried with one score per row, and with one per class if that fails.
    """
    check_signature(function, "objective", "y", "score")
    y, score = np.array([1.0, 0.0, 1.0]), np.array([0.25, -0.5, 0.75])
    for arguments in ((y, score), (y.astype(np.int64), np.stack([score, -score], axis=1))):
        try:
            with np.errstate(all="ignore"):
                returned = function(*arguments)
        except Exception:  # errors are reported when the function is called with the user's targets
            continue
        return GradientLoss(function) if isinstance(returned, tuple) else CustomLoss(function)
    return CustomLoss(function)
