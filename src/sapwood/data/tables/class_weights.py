"""Weights of classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sapwood.errors import ParameterError
from sapwood.kernels.numeric.elementary import apply_elementwise, expm1_values, log1p_values
from sapwood.kernels.numeric.sums import fixed_sum
from sapwood.params.options import EffectiveNumber
from sapwood.params.validators import number

Spec = Mapping[Any, float] | str | EffectiveNumber | None


def class_weights(spec: Spec, classes: np.ndarray, codes: np.ndarray, weight: np.ndarray | None) -> np.ndarray | None:
    """A factor for each class: as a dict says and 1 for the others, or from the total weight of each class.

    'balanced' gives all classes the same total, EffectiveNumber something between that and none; both keep the sum.
    """
    if spec is None:
        return None
    if isinstance(spec, Mapping):
        return _listed(spec, classes)
    totals = class_totals(codes, weight, len(classes))
    if isinstance(spec, str) and spec == "balanced":
        factors = np.divide(1.0, totals, out=np.zeros(len(classes)), where=totals > 0.0)
    else:
        factors = effective_factors(totals, spec.beta if isinstance(spec, EffectiveNumber) else EffectiveNumber().beta)
    return factors * (fixed_sum(totals) / fixed_sum(totals, factors))


def class_totals(codes: np.ndarray, weight: np.ndarray | None, n_classes: int) -> np.ndarray:
    """The weight of all rows of each class."""
    if weight is None:
        return np.bincount(codes.astype(np.intp), minlength=n_classes).astype(np.float64)
    return np.array([fixed_sum((codes == k).astype(np.float64), weight) for k in range(n_classes)])


def effective_factors(totals: np.ndarray, beta: float) -> np.ndarray:
    """(1 - beta) / (1 - beta^n) for classes of n rows; 0 for a class without any."""
    if beta == 0.0:
        return np.ones(len(totals))
    log_beta = apply_elementwise(log1p_values, np.array([beta - 1.0]))
    missing = apply_elementwise(expm1_values, totals * log_beta)
    return np.divide(1.0 - beta, -missing, out=np.zeros(len(totals)), where=totals > 0.0)


def _listed(spec: Mapping[Any, float], classes: np.ndarray) -> np.ndarray:
    factors = np.ones(len(classes))
    names = classes.tolist()
    for name, factor in spec.items():
        if name not in names:
            listed = ", ".join(map(repr, names))
            raise ParameterError(
                f"class_weight names the class {name!r}, which y does not have: its classes are {listed}"
            )
        factors[names.index(name)] = number(0).check(f"class_weight of {name!r}", factor)
    return factors
