"""Base class of losses.

A loss is a small class, a frozen dataclass if it has settings. Most losses name two kernels, a link and the targets
they allow, and inherit the rest.
"""

from __future__ import annotations

import copy
import dataclasses
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import numpy as np

from sapwood.distributed.workers import LOCAL, Workers
from sapwood.errors import InputError, ParameterError
from sapwood.kernels.leaves.quantile import leaf_quantiles
from sapwood.kernels.numeric.sums import fixed_mean
from sapwood.native.runtime.kernel import Kernel, Run, run_serial
from sapwood.objectives.links import Identity, Link
from sapwood.params.compatibility import check_compatibility
from sapwood.params.fit_context import Context

# Gradients are float32, whose largest number is 3e38.
MAX_TARGET = MAX_SCORE = 1e37

Self = TypeVar("Self", bound="Objective")


class Objective:
    """A loss of a target and a score, with its gradient and hessian in the score.

    The base class of all losses; CONTRIBUTING.md shows how to write one.

    Attributes
    ----------
    name : str
        Name in ``objective``; ``aliases`` are further ones.
    task : {'regression', 'binary', 'multiclass'}
        Task that it is made for.
    vector_leaves : bool
        Whether a tree has one value per output in each leaf.
    has_quantile_leaves : bool
        Whether leaf values are weighted quantiles of residuals (``leaf_quantiles``).
    unseen_classes : tuple of int
        Numbers of the classes without training rows, whose scores stay at their initial value.

    Examples
    --------
    >>> from sapwood.objectives import Objective, Quantile
    >>> loss = Quantile(0.9)
    >>> isinstance(loss, Objective), loss.name, loss.task, loss.settings()
    (True, 'quantile', 'regression', {'level': 0.9})
    """

    name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    task: str = "regression"
    supported_tasks: frozenset[str] = frozenset({"regression"})
    pairs_kernel: ClassVar[Kernel]
    loss_kernel: ClassVar[Kernel]
    has_quantile_leaves: ClassVar[bool] = False
    vector_leaves: bool = False
    has_loss: ClassVar[bool] = True
    unseen_classes: tuple[int, ...] = ()

    @property
    def link(self) -> Link:
        """Link function from scores to predictions."""
        return Identity()

    @property
    def curvature(self) -> str:
        """Kind of the hessian: ``exact``, ``floored`` (exact, with a positive lower bound) or ``surrogate``."""
        return "exact"

    @property
    def default_metric(self) -> str:
        """Name of its default evaluation metric, or ``loss``: the mean of the loss itself (``mean_loss``)."""
        return "loss"

    @property
    def n_outputs(self) -> int:
        """Number of scores per row."""
        return 1

    @property
    def leaf_quantiles(self) -> tuple[float, ...]:
        """Per output, the quantile of y - score that is the best value of a leaf; empty without quantile leaves."""
        return ()

    def leaf_weights(self, y: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        """Return the weights of the rows in that quantile."""
        return np.ones(len(y)) if weight is None else np.asarray(weight, dtype=np.float64)

    def kernel_params(self) -> np.ndarray:
        """Return the settings as the array that is passed to the kernels."""
        return np.array(list(self.settings().values()), dtype=np.float64)

    @cached_property
    def _kernel_params(self) -> np.ndarray:
        return self.kernel_params()

    def settings(self) -> dict[str, Any]:
        """Return the settings as JSON values, from which ``from_settings`` restores the loss."""
        return dataclasses.asdict(self) if dataclasses.is_dataclass(self) else {}

    @classmethod
    def from_settings(cls: type[Self], settings: dict[str, Any]) -> Self:
        """Return the loss with these settings."""
        return cls(**settings)

    def check_task(self, task: str, n_classes: int = 0) -> None:
        """Raise a ParameterError if this loss does not support a task."""
        check_compatibility(
            Context(
                task=task, n_classes=n_classes, objective_name=self.name, objective_tasks=self.supported_tasks
            )
        )  # fmt: skip

    def for_classes(self, n_classes: int) -> Objective:
        """Return this loss for ``n_classes`` classes; raise a ParameterError if it does not support them."""
        self.check_task("binary" if n_classes == 2 else "multiclass", n_classes)
        return self

    def without_rows_of(self: Self, unseen_classes: tuple[int, ...]) -> Self:
        """Return this loss for training rows in which some classes do not occur."""
        changed = copy.copy(self)
        object.__setattr__(changed, "unseen_classes", unseen_classes)
        return changed

    def clear_unseen(self, out: np.ndarray) -> None:
        """Set the gradients of classes without training rows in ``out`` (n_outputs, n, 2) to 0.

        Hessians are set to 1, so that they do not keep vector leaves from being split.
        """
        if self.unseen_classes and len(out) > 1:
            out[list(self.unseen_classes)] = 0.0, 1.0

    def check_target(self, y: np.ndarray) -> None:
        """Raise an InputError that names the first row whose target is not allowed."""
        is_bad = ~(np.abs(y) <= MAX_TARGET)
        reject_targets(self.name, y, is_bad, f"a number within ±{MAX_TARGET:g}", "drop the row or rescale the target")

    def best_constant(
        self, y: np.ndarray, weight: np.ndarray | None = None, run: Run = run_serial, workers: Workers = LOCAL
    ) -> np.ndarray:
        """Return the constant scores (n_outputs,) that minimise the loss of all rows, those of other workers too."""
        raise NotImplementedError

    def initial_scores(
        self, y: np.ndarray, weight: np.ndarray | None = None, run: Run = run_serial, workers: Workers = LOCAL
    ) -> np.ndarray:
        """Return the scores (n_outputs,) that boosting starts from, by default the best constant.

        A loss whose ``best_constant`` does not take ``workers`` is given the rows of all of them.
        """
        if workers.splits_rows:
            return self.best_constant(y, weight, run, workers)
        return self.best_constant(y, weight, run)

    def pairs(self, y: np.ndarray, scores: np.ndarray, out: np.ndarray, run: Run = run_serial) -> None:
        """Fill ``out`` (n_outputs, n, 2) with gradients and hessians at ``scores`` (n_outputs, n)."""
        run(self.pairs_kernel, y, scores, self._kernel_params, flat_pairs(out))
        self.clear_unseen(out)

    def loss(self, y: np.ndarray, scores: np.ndarray, run: Run = run_serial) -> np.ndarray:
        """Return the loss of each row."""
        out = np.empty(len(y))
        run(self.loss_kernel, y, scores, self._kernel_params, out)
        return out

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in self.settings().items())
        return f"{type(self).__name__}({settings})"


def flat_pairs(pairs: np.ndarray) -> np.ndarray:
    """Return pairs (n_outputs, n, 2) as kernels write them: (n_outputs, 2 n), in the same memory."""
    assert pairs.flags.c_contiguous
    flat = pairs.base
    if flat is not None and flat.shape == (len(pairs), 2 * pairs.shape[1]) and flat.flags.c_contiguous:
        return flat  # arguments that are the same object as in the last call are not packed again
    return pairs.reshape(len(pairs), -1)


def mean_loss(
    objective: Objective,
    y: np.ndarray,
    scores: np.ndarray,
    weight: np.ndarray | None = None,
    run: Run = run_serial,
    workers: Workers = LOCAL,
) -> float:
    """Return the weighted mean of the loss, the default metric of losses without one of their own.

    Parameters
    ----------
    objective : Objective
        The loss.
    y : ndarray (rows,)
        Targets.
    scores : ndarray (outputs, rows)
        Scores before the link function.
    weight : ndarray (rows,), optional
        Weight of each row.
    run : callable, default=run_serial
        What runs kernels: one thread by default.
    workers : Workers, default=LOCAL
        Workers that have the other rows, in a distributed fit.

    Returns
    -------
    float
        The mean over all rows, added in fixed point: it does not depend on the order of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sapwood.objectives import Squared, mean_loss
    >>> mean_loss(Squared(), np.array([0.0, 0.0]), np.array([[1.0, 3.0]]))
    2.5
    """
    return fixed_mean(objective.loss(y, scores, run), weight, run, workers)


def reject_targets(name: str, y: np.ndarray, is_bad: np.ndarray, allowed: str, remedy: str) -> None:
    """Raise an InputError that names the first bad target, if there is one."""
    if is_bad.any():
        row = int(np.argmax(is_bad))
        raise InputError(f"objective {name!r}: the target of row {row} is {y[row]:g}; allowed is {allowed}; {remedy}")


def check_setting(loss: Objective, setting: str, is_valid: bool, allowed: str) -> None:
    """Raise a ParameterError that names the setting unless it is valid."""
    if not is_valid:
        raise ParameterError(f"{type(loss).__name__}: {setting}={getattr(loss, setting)!r}; allowed is {allowed}")


def weighted_quantile(
    values: np.ndarray, weight: np.ndarray, quantile: float, run: Run = run_serial, workers: Workers = LOCAL
) -> float:
    """Return the weighted quantile of all values, as ``leaf_quantiles`` computes it for a leaf."""
    n = len(values)
    if workers.splits_rows:
        from sapwood.distributed.selection import select_quantiles

        return float(select_quantiles(np.zeros(n, dtype=np.int64), values, weight, 1, quantile, workers)[0])
    rows, order = np.arange(n, dtype=np.uint32), np.empty(n, dtype=np.uint32)
    leaf_start = np.array([0, n], dtype=np.int64)
    out = np.empty(1)
    run(leaf_quantiles, rows, leaf_start, values, np.zeros(n), weight, quantile, np.empty(n), order, out)
    return float(out[0])
