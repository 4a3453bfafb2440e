"""What every loss can do.

A loss is a small class, a frozen dataclass if it has settings. Most of them name two kernels, a link and the targets
they allow, and get the rest from here.
"""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import numpy as np

from sapwood.errors import InputError, ParameterError
from sapwood.kernels.leaves.quantile import leaf_quantiles
from sapwood.kernels.numeric.sums import fixed_mean
from sapwood.native.runtime.kernel import Kernel, Run, run_serial
from sapwood.objectives.links import Identity, Link
from sapwood.params.compatibility import check_compatibility
from sapwood.params.fit_context import Context

# Gradients are float32, which ends at 3e38.
MAX_TARGET = MAX_SCORE = 1e37

Self = TypeVar("Self", bound="Objective")


class Objective:
    """A loss of a target and a score, with its derivatives in the score.

    ``task`` is ``regression``, ``binary`` or ``multiclass``. With ``vector_leaves`` one tree answers all outputs.
    """

    name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    task: str = "regression"
    supported_tasks: frozenset[str] = frozenset({"regression"})
    pairs_kernel: ClassVar[Kernel]
    loss_kernel: ClassVar[Kernel]
    has_quantile_leaves: ClassVar[bool] = False
    vector_leaves: bool = False

    @property
    def link(self) -> Link:
        """From score to prediction."""
        return Identity()

    @property
    def curvature(self) -> str:
        """What the hessian is: ``exact``, ``floored`` (exact but kept above 0) or ``surrogate``."""
        return "exact"

    @property
    def default_metric(self) -> str:
        """The name of the metric that belongs to it, or ``loss``: the mean of the loss itself (``mean_loss``)."""
        return "loss"

    @property
    def n_outputs(self) -> int:
        """How many scores a row has."""
        return 1

    @property
    def leaf_quantiles(self) -> tuple[float, ...]:
        """Per output, the level of the quantile of y - score that is a leaf's best value, if the loss renews leaves."""
        return ()

    def leaf_weights(self, y: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        """The weights of that quantile."""
        return np.ones(len(y)) if weight is None else np.asarray(weight, dtype=np.float64)

    def numbers(self) -> np.ndarray:
        """The settings as the kernels take them."""
        return np.array(list(self.settings().values()), dtype=np.float64)

    @cached_property
    def _numbers(self) -> np.ndarray:
        """The same, made once."""
        return self.numbers()

    def settings(self) -> dict[str, Any]:
        """The settings as JSON can hold them; ``from_settings`` makes the loss again."""
        return dataclasses.asdict(self) if dataclasses.is_dataclass(self) else {}

    @classmethod
    def from_settings(cls: type[Self], settings: dict[str, Any]) -> Self:
        """Make the loss that has these settings."""
        return cls(**settings)

    def check_task(self, task: str, n_classes: int = 0) -> None:
        """Raise a ParameterError if this loss does not support a task."""
        check_compatibility(
            Context(
                task=task, n_classes=n_classes, objective_name=self.name, objective_tasks=self.supported_tasks
            )
        )  # fmt: skip

    def for_classes(self, n_classes: int) -> Objective:
        """Return this loss for a number of classes."""
        self.check_task("binary" if n_classes == 2 else "multiclass", n_classes)
        return self

    def check_target(self, y: np.ndarray) -> None:
        """Raise an InputError that names the first row this loss has no value for."""
        bad = ~(np.abs(y) <= MAX_TARGET)
        reject_targets(self.name, y, bad, f"a number within ±{MAX_TARGET:g}", "drop the row or rescale the target")

    def best_constant(self, y: np.ndarray, weight: np.ndarray | None = None, run: Run = run_serial) -> np.ndarray:
        """The scores (n_outputs,) that are best for all rows alike."""
        raise NotImplementedError

    def initial_scores(self, y: np.ndarray, weight: np.ndarray | None = None, run: Run = run_serial) -> np.ndarray:
        """The scores (n_outputs,) that boosting starts from: the best for all rows alike, unless trees do better."""
        return self.best_constant(y, weight, run)

    def pairs(self, y: np.ndarray, scores: np.ndarray, out: np.ndarray, run: Run = run_serial) -> None:
        """Fill ``out`` (n_outputs, n, 2) with gradients and hessians at ``scores`` (n_outputs, n)."""
        run(self.pairs_kernel, y, scores, self._numbers, flat_pairs(out))

    def loss(self, y: np.ndarray, scores: np.ndarray, run: Run = run_serial) -> np.ndarray:
        """The loss of each row."""
        out = np.empty(len(y))
        run(self.loss_kernel, y, scores, self._numbers, out)
        return out

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.settings().items())
        return f"{type(self).__name__}({given})"


def flat_pairs(pairs: np.ndarray) -> np.ndarray:
    """The pairs (n_outputs, n, 2) as kernels write them: (n_outputs, 2 n), the same memory."""
    assert pairs.flags.c_contiguous
    whole = pairs.base
    if whole is not None and whole.shape == (len(pairs), 2 * pairs.shape[1]) and whole.flags.c_contiguous:
        return whole  # the same object again and again costs a kernel nothing
    return pairs.reshape(len(pairs), -1)


def mean_loss(
    objective: Objective, y: np.ndarray, scores: np.ndarray, weight: np.ndarray | None = None, run: Run = run_serial
) -> float:
    """The weighted mean of the loss: the metric that belongs to every objective."""
    return fixed_mean(objective.loss(y, scores, run), weight, run)


def reject_targets(name: str, y: np.ndarray, bad: np.ndarray, allowed: str, remedy: str) -> None:
    """Raise an InputError for the first target that is bad."""
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(f"objective {name!r}: the target of row {row} is {y[row]:g}; allowed is {allowed}; {remedy}")


def check_setting(loss: Objective, setting: str, fits: bool, allowed: str) -> None:
    """Raise a ParameterError that names a setting out of range."""
    if not fits:
        raise ParameterError(f"{type(loss).__name__}: {setting}={getattr(loss, setting)!r}; allowed is {allowed}")


def weighted_quantile(values: np.ndarray, weight: np.ndarray, quantile: float, run: Run = run_serial) -> float:
    """The quantile that ``leaf_quantiles`` takes, over all rows."""
    n = len(values)
    rows, order = np.arange(n, dtype=np.uint32), np.empty(n, dtype=np.uint32)
    leaf_start = np.array([0, n], dtype=np.int64)
    out = np.empty(1)
    run(leaf_quantiles, rows, leaf_start, values, np.zeros(n), weight, quantile, np.empty(n), order, out)
    return float(out[0])
