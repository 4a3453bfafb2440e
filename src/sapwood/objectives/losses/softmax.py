"""Softmax cross-entropy for several classes."""

from __future__ import annotations

import numpy as np

from sapwood.distributed.workers import LOCAL, Workers
from sapwood.kernels.numeric.elementary import exp, exp_nonpositive, log
from sapwood.kernels.numeric.elementwise import apply_elementwise, log_values
from sapwood.kernels.numeric.gradient_pairs import MAX_FLOAT32
from sapwood.kernels.threads.slices import slice_start
from sapwood.lazy_dataclass import dataclass
from sapwood.native.runtime.kernel import Run, kernel, run_serial
from sapwood.objectives import links
from sapwood.objectives.base import check_setting, flat_pairs
from sapwood.objectives.loss_families import MIN_PROBABILITY, MulticlassObjective
from sapwood.objectives.registry import register

BLOCK = 512  # rows that are processed for all classes before the next, so that their workspace stays in the L1 cache


@kernel()
def larger(x, z):
    """Return x if it is above z, else z."""
    return x if x > z else z


@kernel()
def sum_exponentials(scores, start, stop, work):
    """Write the largest score of each row to ``work[0]`` and the sum of e^(score - largest) to ``work[1]``."""
    for i in range(start, stop):
        work[0, i] = scores[0, i]
        work[1, i] = 0.0
    for k in range(1, scores.shape[0]):
        for i in range(start, stop):
            work[0, i] = scores[k, i] if scores[k, i] > work[0, i] else work[0, i]
    for k in range(scores.shape[0]):
        for i in range(start, stop):
            work[1, i] += exp(scores[k, i] - work[0, i])


@kernel()
def store_largest(scores, start, stop, base, work):
    """Write the largest score of some rows to ``work[0]`` from ``base`` on."""
    n = stop - start
    n_outputs = scores.shape[0]
    n_fours = (n_outputs - 1) // 4
    for i in range(n):
        work[0, base + i] = scores[0, start + i]
    for q in range(n_fours):
        k = 1 + 4 * q
        for i in range(n):
            first = larger(scores[k, start + i], work[0, base + i])
            second = larger(scores[k + 1, start + i], first)
            third = larger(scores[k + 2, start + i], second)
            work[0, base + i] = larger(scores[k + 3, start + i], third)
    for k in range(1 + 4 * n_fours, n_outputs):
        for i in range(n):
            work[0, base + i] = larger(scores[k, start + i], work[0, base + i])


@kernel()
def store_exponentials(scores, start, stop, base, work, exponentials):
    """Write e^(score - largest) of some rows to ``exponentials``, and their sums to ``work[1]`` from ``base`` on."""
    store_largest(scores, start, stop, base, work)
    n = stop - start
    for i in range(n):
        work[1, base + i] = 0.0
    for k in range(scores.shape[0]):
        for i in range(n):
            e = exp_nonpositive(scores[k, start + i] - work[0, base + i])
            exponentials[k, start + i] = e
            work[1, base + i] += e


@kernel("f64[:], f64[:,:], f64, f64[:,:], f64[:,:], f32[:,:]")
def softmax_pairs(member, members, sync, y, scores, curvature, work, exponentials, out):
    """-log p of the row's class: gradient p - [y = k], hessian ``curvature`` * p (1 - p).

    ``work`` holds three numbers per row, of which each member uses those of its first block. ``exponentials`` shares
    the memory of ``out``: each lies where its pair will be written. Pairs fit in float32, since ``curvature`` does.
    """
    n_outputs, n = scores.shape
    n_blocks = (n + BLOCK - 1) // BLOCK
    base = np.uint64(member * n_blocks // members * BLOCK)
    for b in range(member * n_blocks // members, (member + 1) * n_blocks // members):
        start = np.uint64(b * BLOCK)
        stop = np.uint64(min(n, (b + 1) * BLOCK))
        store_exponentials(scores, start, stop, base, work, exponentials)
        for k in range(n_outputs):
            # Two loops: one that reads and writes the same memory would not be vectorised.
            for i in range(stop - start):
                work[2, base + i] = exponentials[k, start + i] / work[1, base + i]
            for i in range(stop - start):
                p = work[2, base + i]
                first = np.uint64(2) * (start + np.uint64(i))
                out[k, first] = np.float32(p - (1.0 if y[start + i] == k else 0.0))
                out[k, first + np.uint64(1)] = np.float32(curvature * p * (1.0 - p))


@kernel("f64[:], f64[:,:], f64[:,:], f64[:]")
def softmax_loss(member, members, sync, y, scores, work, out):
    """-log p of the row's class; ``work`` holds two numbers per row."""
    n = scores.shape[1]
    start = slice_start(member, members, n)
    stop = slice_start(member + 1, members, n)
    sum_exponentials(scores, start, stop, work)
    for i in range(start, stop):
        out[i] = log(work[1, i]) + (work[0, i] - scores[np.uint64(np.int64(y[i])), i])


@register
@dataclass(frozen=True, repr=False)
class Softmax(MulticlassObjective):
    """-log p of the row's class, with p proportional to e^F: negative log-likelihood of several classes.

    Softmax link: the predictions are probabilities that sum to 1. The default for more than two classes.

    Parameters
    ----------
    n_classes : int, default=0
        Number of classes; training sets it.
    curvature_factor : float, optional
        Factor of the hessian p (1 - p); by default K / (K - 1) for K classes, because all scores of a row change
        together. 1 gives the exact diagonal.
    vector_leaves : bool, default=False
        Whether one tree per round has leaves with a value for each class; otherwise each class has its own tree.

    Examples
    --------
    >>> from sapwood import SapwoodClassifier
    >>> from sapwood.objectives import Softmax
    >>> SapwoodClassifier(objective=Softmax(vector_leaves=True))
    SapwoodClassifier(objective=Softmax(n_classes=0, curvature_factor=None, vector_leaves=True))
    """

    n_classes: int = 0
    curvature_factor: float | None = None
    vector_leaves: bool = False

    name = "softmax"
    aliases = ("multinomial", "multiclass", "categorical_crossentropy")
    link = links.Softmax()

    def __post_init__(self) -> None:
        is_valid = self.curvature_factor is None or 0.0 < self.curvature_factor <= MAX_FLOAT32
        check_setting(self, "curvature_factor", is_valid, f"a number above 0, at most {MAX_FLOAT32:g}, or None")

    @property
    def curvature(self) -> str:
        """Exact for a factor of 1."""
        return "exact" if self.curvature_factor == 1.0 else "surrogate"

    def for_classes(self, n_classes: int) -> Softmax:
        """Return this loss for ``n_classes`` classes."""
        return Softmax(n_classes, self.curvature_factor, self.vector_leaves)

    def best_constant(
        self, y: np.ndarray, weight: np.ndarray | None = None, run: Run = run_serial, workers: Workers = LOCAL
    ) -> np.ndarray:
        """Return the logarithm of the frequency of each class."""
        frequencies = np.maximum(self.class_frequencies(y, weight, run, workers), MIN_PROBABILITY)
        return apply_elementwise(log_values, frequencies)

    def pairs(self, y: np.ndarray, scores: np.ndarray, out: np.ndarray, run: Run = run_serial) -> None:
        """Fill ``out`` (n_outputs, n, 2) with gradients and hessians."""
        n_classes = self.n_outputs
        factor = n_classes / (n_classes - 1.0) if self.curvature_factor is None else self.curvature_factor
        flat = flat_pairs(out)
        run(softmax_pairs, y, scores, factor, np.empty((3, len(y))), flat.view(np.float64), flat)
        self.clear_unseen(out)

    def loss(self, y: np.ndarray, scores: np.ndarray, run: Run = run_serial) -> np.ndarray:
        """Return the loss of each row."""
        out = np.empty(len(y))
        run(softmax_loss, y, scores, np.empty((2, len(y))), out)
        return out
