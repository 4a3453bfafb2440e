"""Choose the weights of a blend of models by greedy selection on validation rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

N_PICKS = 8


def select_weights(scores: Sequence[np.ndarray], loss: Callable[[np.ndarray], float]) -> tuple[np.ndarray, float]:
    """Return weights of models by greedy selection with replacement, and the loss of the blend.

    Starting with the best model, the one whose addition gives the lowest loss is picked ``N_PICKS`` times in all; the
    weights are those of the best number of picks. Of equal losses the first is taken.

    References
    ----------
    Caruana, Niculescu-Mizil, Crew and Ksikes (2004), Ensemble selection from libraries of models.
    """
    counts = np.zeros(len(scores))
    total = np.zeros_like(scores[0])
    best_counts, best_loss = counts, np.inf
    for pick in range(1, N_PICKS + 1):
        losses = [loss((total + one) / pick) for one in scores]
        chosen = int(np.argmin(losses))
        total += scores[chosen]
        counts[chosen] += 1.0
        if losses[chosen] < best_loss:
            best_counts, best_loss = counts.copy(), losses[chosen]
    return best_counts / best_counts.sum(), float(best_loss)
