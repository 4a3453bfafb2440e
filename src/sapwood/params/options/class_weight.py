"""Weights of the rows of each class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sapwood.lazy_dataclass import dataclass
from sapwood.params.validators import check_field, number


@dataclass(frozen=True)
class EffectiveNumber:
    """``class_weight=EffectiveNumber(0.999)``: rows of a class of n rows have the weight (1 - beta) / (1 - beta^n).

    The total weight of all rows does not change.

    Parameters
    ----------
    beta : float, default=0.999
        From 0, where all rows have the same weight, to below 1; as it approaches 1, all classes have the same total
        weight.

    Examples
    --------
    >>> from sapwood import EffectiveNumber, SapwoodClassifier
    >>> SapwoodClassifier(class_weight=EffectiveNumber(0.99))
    SapwoodClassifier(class_weight=EffectiveNumber(beta=0.99))
    """

    beta: float = 0.999

    def __post_init__(self) -> None:
        check_field(self, "beta", number(0, 1, below=True))


def is_class_weight(value: Any) -> bool:
    """Return whether a value is a ``class_weight``."""
    is_name = isinstance(value, str) and value in ("balanced", "effective")
    return value is None or is_name or isinstance(value, (Mapping, EffectiveNumber))
