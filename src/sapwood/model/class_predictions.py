"""Predictions of classifiers from the values of the link: probabilities of all classes, and labels."""

from __future__ import annotations

import numpy as np

NO_CLASSES = "the model predicts numbers, so there are no probabilities of classes: use predict"


def class_probabilities(response: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the probability of each class, (rows, classes), from the values of the link.

    Two classes share one score: the link gives the probability of the second, (rows,).
    """
    if response.ndim > 1:
        return response
    both = np.empty((len(response), 2))
    np.subtract(1.0, response, out=both[:, 0])
    both[:, 1] = response
    return both[:, : len(classes)]


def most_probable_classes(probabilities: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the label of the highest probability of each row; the first of equal ones."""
    return classes[np.argmax(probabilities, axis=1)]
