"""One-vs-all logistic loss for several classes."""

from __future__ import annotations

import numpy as np

from sapwood.distributed.workers import LOCAL, Workers
from sapwood.kernels.numeric.elementary import exp, softplus
from sapwood.kernels.numeric.gradient_pairs import LOSS, PAIRS, store_pair
from sapwood.kernels.threads.slices import slice_start
from sapwood.lazy_dataclass import dataclass
from sapwood.native.runtime.kernel import Run, kernel, run_serial
from sapwood.objectives import links
from sapwood.objectives.loss_families import MulticlassObjective, log_odds
from sapwood.objectives.registry import register


@kernel(PAIRS)
def one_vs_all_pairs(member, members, sync, y, scores, params, out):
    """The logistic loss of each class against the rest."""
    n_outputs, n = scores.shape
    for k in range(n_outputs):
        for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
            f = scores[k, i]
            e = exp(-abs(f))
            d = 1.0 / (1.0 + e)
            p = d if f >= 0.0 else e * d
            store_pair(out, k, i, p - (1.0 if y[i] == k else 0.0), e * d * d)


@kernel(LOSS)
def one_vs_all_loss(member, members, sync, y, scores, params, out):
    """The sum of the logistic losses of all classes."""
    n_outputs, n = scores.shape
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        out[i] = 0.0
    for k in range(n_outputs):
        for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
            f = scores[k, i]
            out[i] += softplus(-f if y[i] == k else f)


@register
@dataclass(frozen=True, repr=False)
class OneVsAll(MulticlassObjective):
    """Sum over the classes of the logistic loss of each class against the rest.

    One-vs-all link: the probabilities of the classes are scaled to sum to 1. For classes that overlap, or to train each
    class independently of the others.

    Parameters
    ----------
    n_classes : int, default=0
        Number of classes; training sets it.
    vector_leaves : bool, default=False
        Whether one tree per round has leaves with a value for each class; otherwise each class has its own tree.

    Examples
    --------
    >>> from sapwood import SapwoodClassifier
    >>> from sapwood.objectives import OneVsAll
    >>> SapwoodClassifier(objective=OneVsAll())
    SapwoodClassifier(objective=OneVsAll(n_classes=0, vector_leaves=False))
    """

    n_classes: int = 0
    vector_leaves: bool = False

    name = "one_vs_all"
    aliases = ("one_vs_rest", "ova", "ovr")
    link = links.OneVsAll()
    pairs_kernel = one_vs_all_pairs
    loss_kernel = one_vs_all_loss

    def for_classes(self, n_classes: int) -> OneVsAll:
        """Return this loss for ``n_classes`` classes."""
        return OneVsAll(n_classes, self.vector_leaves)

    def best_constant(
        self, y: np.ndarray, weight: np.ndarray | None = None, run: Run = run_serial, workers: Workers = LOCAL
    ) -> np.ndarray:
        """Return the log-odds of the frequency of each class."""
        return log_odds(self.class_frequencies(y, weight, run, workers))
