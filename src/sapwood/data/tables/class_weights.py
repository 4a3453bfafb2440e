"""Class weights: from a dict, balanced, or by the effective number of samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sapwood.distributed.workers import LOCAL, Workers
from sapwood.errors import ParameterError
from sapwood.kernels.numeric.elementwise import apply_elementwise, expm1_values, log1p_values
from sapwood.kernels.numeric.sums import fixed_sum, fixed_sums
from sapwood.params.options import EffectiveNumber
from sapwood.params.validators import number

ClassWeight = Mapping[Any, float] | str | EffectiveNumber | None


def class_weights(
    class_weight: ClassWeight,
    classes: np.ndarray,
    codes: np.ndarray,
    weight: np.ndarray | None,
    workers: Workers = LOCAL,
) -> np.ndarray | None:
    """Return the factor by which the sample weights of each class are multiplied, None if they stay as they are.

    A dict gives the factors of its classes, 1 for the others. 'balanced' gives all classes the same total weight, and
    ``EffectiveNumber`` a total between the given and the balanced one; both keep the total weight of all rows: those
    of all ``workers``.
    """
    if class_weight is None:
        return None
    if isinstance(class_weight, Mapping):
        return _weights_from_dict(class_weight, classes)
    totals = class_totals(codes, weight, len(classes), workers)
    if isinstance(class_weight, str) and class_weight == "balanced":
        factors = np.divide(1.0, totals, out=np.zeros(len(classes)), where=totals > 0.0)
    else:
        effective = class_weight if isinstance(class_weight, EffectiveNumber) else EffectiveNumber()
        factors = effective_number_weights(totals, effective.beta)
    return factors * (fixed_sum(totals) / fixed_sum(totals, factors))


def class_totals(codes: np.ndarray, weight: np.ndarray | None, n_classes: int, workers: Workers = LOCAL) -> np.ndarray:
    """Return the total sample weight of each class."""
    if weight is None:
        return workers.sum(np.bincount(codes.astype(np.intp), minlength=n_classes)).astype(np.float64)
    return np.array(fixed_sums([(weight[codes == k], None) for k in range(n_classes)], workers=workers))


def effective_number_weights(totals: np.ndarray, beta: float) -> np.ndarray:
    """Return (1 - beta) / (1 - beta^n) for each class of n rows, 0 for a class without rows."""
    if beta == 0.0:
        return np.ones(len(totals))
    log_beta = apply_elementwise(log1p_values, np.array([beta - 1.0]))
    power_minus_1 = apply_elementwise(expm1_values, totals * log_beta)
    return np.divide(1.0 - beta, -power_minus_1, out=np.zeros(len(totals)), where=totals > 0.0)


def _weights_from_dict(weights: Mapping[Any, float], classes: np.ndarray) -> np.ndarray:
    factors = np.ones(len(classes))
    labels = classes.tolist()
    for label, factor in weights.items():
        if label not in labels:
            allowed = ", ".join(map(repr, labels))
            raise ParameterError(
                f"class_weight has a weight for the class {label!r}, which y does not contain; the classes are "
                f"{allowed}: remove it, or correct the label"
            )
        factors[labels.index(label)] = number(0).check(f"class_weight of {label!r}", factor)
    return factors
