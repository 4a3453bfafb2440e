"""Validation of trees: every index in range, every node reached once, every number finite where it must be."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from sapwood.errors import ModelFileError
from sapwood.model.ensemble import Ensemble
from sapwood.model.linear_leaves import LeafCoefficients
from sapwood.model.tree import LEAF

REMEDY = "the file was not written by Sapwood; save the model again"


def check_ensemble(ensemble: Ensemble, n_features: int) -> None:
    """Raise a ModelFileError unless prediction with these trees is safe and terminates."""
    _check_trees(ensemble)
    fault = node_fault(ensemble.feature, ensemble.left, ensemble.tree_start, n_features)
    if fault is None and ensemble.leaf_coefficients is not None:
        fault = coefficient_fault(ensemble.leaf_coefficients, ensemble.feature == LEAF, n_features)
    if fault is not None:
        _raise(fault)
    _check_numbers(ensemble)


def _check_trees(ensemble: Ensemble) -> None:
    start = ensemble.tree_start
    if start[0] != 0 or start[-1] != ensemble.n_nodes or np.any(start[1:] <= start[:-1]):
        _raise("tree_start does not divide the nodes into trees")
    n_outputs = ensemble.n_outputs if ensemble.width == 1 else 1
    if np.any((ensemble.tree_output < 0) | (ensemble.tree_output >= n_outputs)):
        _raise(f"a tree adds to an output outside 0 to {n_outputs - 1}")
    steps = np.diff(ensemble.tree_round, prepend=np.int32(0))
    if ensemble.n_trees and (ensemble.tree_round[0] != 0 or np.any((steps < 0) | (steps > 1))):
        _raise("the rounds of the trees do not ascend from 0 in steps of 1")


def node_fault(feature: np.ndarray, left: np.ndarray, tree_start: np.ndarray, n_features: int) -> str | None:
    """Return why a row might not find its way from the root of each tree to a leaf; None if it always does.

    ``left`` are left children, 0 for a leaf, by their number in the tree; the right child is the next node.
    """
    left = left.astype(np.int64)
    if np.any((feature < LEAF) | (feature >= n_features)):
        return f"a split is on a feature outside 0 to {n_features - 1}"
    sizes = np.diff(tree_start)
    size, start = np.repeat(sizes, sizes), np.repeat(tree_start[:-1], sizes)
    node = np.arange(len(feature)) - start
    inner = feature != LEAF
    if np.any(left[~inner] != 0):
        return "a leaf has children"
    if np.any((left <= node)[inner]) or np.any((left >= size - 1)[inner]):
        return "a child lies outside its tree or before its parent"
    children = (left + start)[inner]
    parents = np.bincount(np.concatenate([children, children + 1]), minlength=len(feature))
    if np.any(parents != (node > 0)):
        return "a node has no parent, or more than one"
    return None


def _check_numbers(ensemble: Ensemble) -> None:
    if np.any(ensemble.missing_left > 1):
        _raise("missing_left is neither 0 nor 1")
    if np.isnan(ensemble.threshold).any():
        _raise("a threshold is not a number")
    if not np.isfinite(ensemble.value).all():
        _raise("a leaf value is not finite")
    for name in ("gain", "gradient", "hessian", "weight"):
        if np.isnan(getattr(ensemble, name)).any():
            _raise(f"a {name} is not a number")
    if np.any(ensemble.count < 0):
        _raise("a row count is negative")


def coefficient_fault(coefficients: LeafCoefficients, is_leaf: np.ndarray, n_features: int) -> str | None:
    """Return why the coefficients of linear leaves cannot be used; None if they can."""
    start = coefficients.start
    if len(start) != len(is_leaf) + 1 or len(coefficients.intercept) != len(is_leaf):
        return "term_start or the intercepts do not have one entry per node"
    if start[0] != 0 or start[-1] != len(coefficients) or np.any(start[1:] < start[:-1]):
        return "term_start does not divide the leaf coefficients among the nodes"
    if np.any((coefficients.feature < 0) | (coefficients.feature >= n_features)):
        return f"a leaf coefficient is of a feature outside 0 to {n_features - 1}"
    if not is_leaf[coefficients.nodes()].all():
        return "an inner node has leaf coefficients"
    for name in ("intercept", "centre", "slope"):
        if not np.isfinite(getattr(coefficients, name)).all():
            return f"the {name} of a linear leaf is not finite"
    return None


def _raise(what: str) -> NoReturn:
    raise ModelFileError(f"the model is not valid, {what}: {REMEDY}")
