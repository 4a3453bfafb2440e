"""Squared error of class probabilities, whose splits are those of the Gini impurity."""

from __future__ import annotations

import numpy as np

from sapwood.distributed.workers import LOCAL, Workers
from sapwood.kernels.numeric.gradient_pairs import LOSS, PAIRS, store_pair
from sapwood.kernels.numeric.sums import fixed_mean
from sapwood.kernels.threads.slices import slice_start
from sapwood.lazy_dataclass import dataclass
from sapwood.native.runtime.kernel import Run, kernel, run_serial
from sapwood.objectives.base import Objective, flat_pairs
from sapwood.objectives.links import Frequencies, Link, Margin
from sapwood.objectives.loss_families import MulticlassObjective
from sapwood.objectives.registry import register


@kernel(PAIRS)
def brier_pairs(member, members, sync, y, scores, params, out):
    """(F - s)^2 / 2, s = 2y - 1: gradient F - s, hessian 1."""
    n = y.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        store_pair(out, 0, i, scores[0, i] - (2.0 * y[i] - 1.0), 1.0)


@kernel(LOSS)
def brier_loss(member, members, sync, y, scores, params, out):
    """(F - s)^2 / 2, s = 2y - 1."""
    n = y.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        r = scores[0, i] - (2.0 * y[i] - 1.0)
        out[i] = 0.5 * r * r


@kernel(PAIRS)
def class_brier_pairs(member, members, sync, y, scores, params, out):
    """The sum over all classes k of (F_k - [y = k])^2 / 2: gradients F_k - [y = k], hessians 1."""
    n_outputs, n = scores.shape
    for k in range(n_outputs):
        for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
            store_pair(out, k, i, scores[k, i] - (1.0 if y[i] == k else 0.0), 1.0)


@kernel(LOSS)
def class_brier_loss(member, members, sync, y, scores, params, out):
    """The sum over all classes k of (F_k - [y = k])^2 / 2."""
    n_outputs, n = scores.shape
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        out[i] = 0.0
    for k in range(n_outputs):
        for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
            r = scores[k, i] - (1.0 if y[i] == k else 0.0)
            out[i] += 0.5 * r * r


@register
@dataclass(frozen=True, repr=False)
class Brier(MulticlassObjective):
    """Squared error of the probabilities of classes, that is the Brier score; splits are those of the Gini impurity.

    Scores are class frequencies, for two classes the difference of the two, and the leaves of a tree hold those of
    their rows. The default of forests, whose probabilities are then the mean over the trees.

    Parameters
    ----------
    n_classes : int, default=0
        Number of classes; training sets it.
    vector_leaves : bool, default=True
        Whether trees have leaves with a value for each of more than two classes; otherwise each class has its own tree.

    Examples
    --------
    >>> import numpy as np
    >>> from sapwood import SapwoodClassifier
    >>> from sapwood.objectives import Brier
    >>> SapwoodClassifier(objective=Brier())
    SapwoodClassifier(objective=Brier(n_classes=0, vector_leaves=True))
    >>> Brier(2).loss(np.array([1.0]), np.array([[0.0]]))  # y = 1, F = 0: a probability of 0.5
    array([0.5])
    """

    n_classes: int = 0
    vector_leaves: bool = True

    name = "brier"
    aliases = ("gini",)
    default_metric = "brier"

    @property
    def link(self) -> Link:
        """Margin link of two classes; the frequencies of more are scaled to sum to 1."""
        return Margin() if self.n_classes == 2 else Frequencies()

    @property
    def n_outputs(self) -> int:
        """One score for two classes, else one per class."""
        n_classes = super().n_outputs
        return 1 if n_classes == 2 else n_classes

    def for_classes(self, n_classes: int) -> Objective:
        """Return this loss for ``n_classes`` classes."""
        return Brier(n_classes, self.vector_leaves and n_classes > 2)

    def best_constant(
        self, y: np.ndarray, weight: np.ndarray | None = None, run: Run = run_serial, workers: Workers = LOCAL
    ) -> np.ndarray:
        """Return the frequency of each class, the difference of the two if there are two."""
        if self.n_classes == 2:
            return np.array([2.0 * fixed_mean(y, weight, run, workers) - 1.0])
        return self.class_frequencies(y, weight, run, workers)

    def pairs(self, y: np.ndarray, scores: np.ndarray, out: np.ndarray, run: Run = run_serial) -> None:
        """Fill ``out`` (n_outputs, n, 2) with gradients and hessians."""
        kernel = brier_pairs if self.n_classes == 2 else class_brier_pairs
        run(kernel, y, scores, self._kernel_params, flat_pairs(out))
        self.clear_unseen(out)

    def loss(self, y: np.ndarray, scores: np.ndarray, run: Run = run_serial) -> np.ndarray:
        """Return the loss of each row."""
        out = np.empty(len(y))
        run(brier_loss if self.n_classes == 2 else class_brier_loss, y, scores, self._kernel_params, out)
        return out
