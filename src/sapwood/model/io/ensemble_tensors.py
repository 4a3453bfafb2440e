"""Trees as tensors of a model file."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.model.ensemble import Ensemble
from sapwood.model.io.safetensors_file import damaged
from sapwood.model.linear_leaves import LeafCoefficients
from sapwood.model.tree import NODE_FIELDS, node_shapes

TREE_FIELDS: dict[str, type] = {"tree_start": np.int64, "tree_output": np.int32, "tree_round": np.int32}
ARRAYS: dict[str, type] = {"base_scores": np.float64, **TREE_FIELDS, **NODE_FIELDS}
# Tensors of linear leaves, present if there are any: the fields of ``LeafCoefficients`` and their types.
COEFFICIENT_ARRAYS: dict[str, tuple[str, type]] = {
    "term_start": ("start", np.int64),
    "term_intercept": ("intercept", np.float64),
    "term_feature": ("feature", np.int32),
    "term_centre": ("centre", np.float64),
    "term_slope": ("slope", np.float64),
}


def to_tensors(ensemble: Ensemble, base_scores: np.ndarray) -> dict[str, np.ndarray]:
    """Return the tensors of trees and base scores."""
    arrays = {name: base_scores if name == "base_scores" else getattr(ensemble, name) for name in ARRAYS}
    if (coefficients := ensemble.leaf_coefficients) is not None:
        arrays |= {name: getattr(coefficients, field) for name, (field, _) in COEFFICIENT_ARRAYS.items()}
    return arrays


def from_tensors(tensors: dict[str, np.ndarray]) -> tuple[Ensemble, np.ndarray]:
    """Remove the tensors that ``to_tensors`` returned from ``tensors``; return the trees and base scores."""
    missing = sorted(set(ARRAYS) - set(tensors))
    if missing:
        raise damaged(f"tensor {missing[0]!r} is missing")
    arrays = {name: tensors.pop(name) for name in ARRAYS}
    coefficients = _coefficients(tensors, arrays["feature"].size)
    return _ensemble(arrays, coefficients), arrays["base_scores"]


def _coefficients(tensors: dict[str, np.ndarray], n_nodes: int) -> LeafCoefficients | None:
    if not COEFFICIENT_ARRAYS.keys() & tensors.keys():
        return None
    fields = {}
    for name, (field, dtype) in COEFFICIENT_ARRAYS.items():
        if name not in tensors:
            raise damaged(f"tensor {name!r} is missing")
        fields[field] = tensors.pop(name)
        _check_dtype(name, fields[field], dtype)
    shapes = {"start": (n_nodes + 1,), "intercept": (n_nodes,)}
    for name, (field, _) in COEFFICIENT_ARRAYS.items():
        _check_shape(name, fields[field], shapes.get(field, (fields["feature"].size,)))
    return LeafCoefficients(**fields)


def _ensemble(arrays: dict[str, np.ndarray], coefficients: LeafCoefficients | None) -> Ensemble:
    for name, dtype in ARRAYS.items():
        _check_dtype(name, arrays[name], dtype)
    value = arrays["value"]
    n_outputs, n_trees, n_nodes = (arrays[name].size for name in ("base_scores", "tree_output", "feature"))
    width = value.shape[1] if value.ndim == 2 else 0
    if width not in (1, n_outputs) or n_outputs < 1:
        raise damaged(f"{n_outputs} base scores do not fit leaf values of shape {value.shape}")
    if coefficients is not None and width != 1:
        raise damaged(f"linear leaves have {width} values")
    shapes = node_shapes(n_nodes, width)
    shapes |= {"tree_start": (n_trees + 1,), "tree_output": (n_trees,), "tree_round": (n_trees,)}
    for name, shape in (shapes | {"base_scores": (n_outputs,)}).items():
        _check_shape(name, arrays[name], shape)
    fields: dict[str, Any] = {name: arrays[name] for name in ARRAYS if name != "base_scores"}
    return Ensemble(n_outputs=n_outputs, **fields, leaf_coefficients=coefficients)


def _check_dtype(name: str, array: np.ndarray, dtype: type) -> None:
    if array.dtype != dtype:
        raise damaged(f"tensor {name!r} has the type {array.dtype} instead of {np.dtype(dtype)}")


def _check_shape(name: str, array: np.ndarray, shape: tuple[int, ...]) -> None:
    if array.shape != shape:
        raise damaged(f"tensor {name!r} has the shape {array.shape} instead of {shape}")
