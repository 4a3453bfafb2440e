"""Fingerprint of a model: a digest of everything that decides its predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sapwood.model.tree import LEAF

if TYPE_CHECKING:
    from sapwood.model.model import Model


def fingerprint(model: Model) -> str:
    """Return the hexadecimal sha256 of all that decides a prediction; names and node statistics are left out."""
    import hashlib

    trees = model.ensemble
    inner = trees.feature != LEAF
    decisive = [
        np.array([model.n_features, model.n_outputs, trees.width], dtype=np.int64),
        trees.tree_start, trees.tree_output, trees.feature, trees.left,
        trees.threshold[inner], trees.missing_left[inner], trees.value[~inner], model.base_scores,
    ]  # fmt: skip
    if (linear := trees.leaf_coefficients) is not None:
        decisive += [linear.start, linear.intercept[~inner], linear.feature, linear.centre, linear.slope]
    digest = hashlib.sha256(f"sapwood 1 {model.link}".encode())
    for array in decisive:
        digest.update(array.tobytes())
    if model.classes is not None:
        digest.update("\n".join(map(repr, model.classes.tolist())).encode())
    if model.transformer is not None:
        model.transformer.update_digest(digest)
    if model.schema.zero_as_missing:
        digest.update(b"zero_as_missing")
    if model.intervals is not None:
        digest.update(fingerprint(model.intervals.model).encode() + model.intervals.excess.tobytes())
        if model.intervals.min_unit is not None:
            digest.update(np.float64(model.intervals.min_unit).tobytes())
    return digest.hexdigest()
