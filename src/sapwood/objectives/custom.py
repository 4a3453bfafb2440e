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
from typing import Any

import numpy as np

from sapwood.errors import ParameterError
from sapwood.kernels.numeric.gradient_pairs import MIN_HESSIAN
from sapwood.kernels.numeric.sums import fixed_mean, fixed_sum
from sapwood.native.runtime.kernel import Run, run_serial
from sapwood.objectives.autodiff.dual_numbers import REMEDY
from sapwood.objectives.autodiff.traced_loss import Function, TracedLoss, check_row_independence, trace_loss
from sapwood.objectives.base import Objective
from sapwood.objectives.best_constant import minimize_from
from sapwood.objectives.links import LINKS, ElementwiseLink, Identity, Link
from sapwood.params.validators import check_signature, read_only

MAX_TRACES = 4


class FunctionObjective(Objective):
    """A loss defined by a function of (y, score) and the name of a link."""

    curvature = "floored"
    supported_tasks = frozenset({"regression", "binary"})
    link: Link = Identity()

    def __init__(self, function: Function, link: str = "identity") -> None:
        allowed = [name for name, value in LINKS.items() if isinstance(value, (Identity, ElementwiseLink))]
        if link not in allowed:
            raise ParameterError(f"link={link!r}; allowed is one of {', '.join(allowed)}")
        self.function = function
        self.link = LINKS[link]

    def __repr__(self) -> str:
        name = getattr(self.function, "__name__", repr(self.function))
        return f"{type(self).__name__}({name}, link={self.link.name!r})"

    def settings(self) -> dict[str, Any]:
        """Return the link; the function is not stored in model files."""
        return {"link": self.link.name}

    def for_classes(self, n_classes: int) -> Objective:
        """Return this loss for the classes 0 and 1, with the logit link unless another was given."""
        super().for_classes(n_classes)
        binary = copy.copy(self)
        binary.task, binary.supported_tasks = "binary", frozenset({"binary"})
        binary.link = LINKS["logit"] if isinstance(self.link, Identity) else self.link
        return binary


class CustomLoss(FunctionObjective):
    """A loss given as a function of (y, score), with derivatives by automatic differentiation.

    The hessian is the absolute second derivative; where that is 0, a positive surrogate. The Newton steps of a loss
    whose second derivative vanishes away from its minimum, such as sqrt(1 + r^2), are too long: pass such a loss as
    ``GradientLoss`` with the hessian gradient / r, or limit the steps (``max_delta_step``).

    Parameters
    ----------
    function : callable
        Loss of each row as a function of (y, score), written with elementwise NumPy operations.
    link : {'identity', 'log', 'log1p', 'logit', 'half_logit', 'margin'}, default='identity'
        Link from scores to predictions.

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
        check_row_independence(self.function, y)

    def _trace(self, y: np.ndarray) -> TracedLoss:
        for traced_y, traced in self._traces:
            if traced_y() is y:
                return traced
        traced = trace_loss(self.function, y)
        self._traces = [*self._traces[1 - MAX_TRACES :], (weakref.ref(y), traced)]
        return traced

    def pairs(self, y: np.ndarray, scores: np.ndarray, out: np.ndarray, run: Run = run_serial) -> None:
        """Fill ``out`` (1, n, 2) with gradients and hessians."""
        self._trace(y).pairs(scores, out, run)

    def loss(self, y: np.ndarray, scores: np.ndarray, run: Run = run_serial) -> np.ndarray:
        """Return the loss of each row."""
        return self._trace(y).value(scores, run)

    def best_constant(self, y: np.ndarray, weight: np.ndarray | None = None, run: Run = run_serial) -> np.ndarray:
        """Return a local minimum of the mean loss, found by descent from the best of several constants."""
        traced = self._trace(y)
        scores = np.empty((1, len(y)))

        def mean_at(constant: float) -> float:
            scores[:] = constant
            return fixed_mean(traced.value(scores, run), weight, run)

        def slope_at(constant: float) -> float:
            scores[:] = constant
            return fixed_sum(traced.derivatives(scores, run)[0], weight, run)

        tried = {constant: mean_at(constant) for constant in _candidates(y)}
        finite = {constant: mean for constant, mean in tried.items() if math.isfinite(mean)}
        if not finite:
            given = f"the mean loss is not finite at any of the scores {', '.join(f'{c:g}' for c in tried)}"
            raise ParameterError(f"custom objective: {given}; {REMEDY}")
        start = min(finite, key=lambda constant: finite[constant])
        lowest = minimize_from(slope_at, start, max(float(np.ptp(y)), 1e-3) / 8)
        return np.array([lowest if mean_at(lowest) <= finite[start] else start])


def _candidates(y: np.ndarray) -> list[float]:
    constants = [0.0, fixed_mean(y), float(np.median(y)), float(np.min(y)), float(np.max(y)), 1.0, -1.0]
    return list(dict.fromkeys(constants))


class GradientLoss(FunctionObjective):
    """A loss given by its derivatives: a function of (y, score) that returns (gradient, hessian), one of each per row.

    Parameters
    ----------
    function : callable
        Gradient and hessian of each row as a function of (y, score). Hessians below 1e-16 are raised to it.
    link : {'identity', 'log', 'log1p', 'logit', 'half_logit', 'margin'}, default='identity'
        Link from scores to predictions.
    constant : float, default=0.0
        Score that boosting starts from.

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

    def __init__(self, function: Function, link: str = "identity", constant: float = 0.0) -> None:
        super().__init__(function, link)
        self.constant = float(constant)

    @property
    def default_metric(self) -> str:
        """RMSE or log loss: the loss itself is not known."""
        return "rmse" if self.task == "regression" else "log_loss"

    def settings(self) -> dict[str, Any]:
        """Return the link and the constant; the function is not stored in model files."""
        return {**super().settings(), "constant": self.constant}

    def best_constant(self, y: np.ndarray, weight: np.ndarray | None = None, run: Run = run_serial) -> np.ndarray:
        """Return ``constant``."""
        return np.array([self.constant])

    def pairs(self, y: np.ndarray, scores: np.ndarray, out: np.ndarray, run: Run = run_serial) -> None:
        """Fill ``out`` (1, n, 2) with the gradients and hessians that the function returns."""
        returned = self.function(read_only(y), scores[0].copy())
        if not isinstance(returned, tuple) or len(returned) != 2:
            given = f"returned {type(returned).__name__}"
            raise ParameterError(f"GradientLoss: the function {given}; allowed is a tuple (gradient, hessian)")
        for part, name in enumerate(("gradient", "hessian")):
            values = np.asarray(returned[part], dtype=np.float64)
            if values.shape not in ((), (1,), y.shape):
                given = f"returned a {name} of shape {values.shape} for {len(y)} rows"
                raise ParameterError(f"GradientLoss: the function {given}; allowed is one number per row")
            out[0, :, part] = np.maximum(values, MIN_HESSIAN) if name == "hessian" else values

    def loss(self, y: np.ndarray, scores: np.ndarray, run: Run = run_serial) -> np.ndarray:
        """Raise a ParameterError: the loss cannot be computed from its derivatives."""
        raise ParameterError("GradientLoss does not define the loss itself; set eval_metric")


def custom_loss(function: Function) -> Objective:
    """Return the objective of a function: ``CustomLoss``, or ``GradientLoss`` if the function returns a tuple."""
    check_signature(function, "objective", "y", "score")
    y, score = np.array([1.0, 0.0, 1.0]), np.array([0.25, -0.5, 0.75])
    try:
        with np.errstate(all="ignore"):
            returned = function(y, score)
    except Exception:  # errors are reported when the function is called with the user's targets
        returned = None
    return GradientLoss(function) if isinstance(returned, tuple) else CustomLoss(function)
