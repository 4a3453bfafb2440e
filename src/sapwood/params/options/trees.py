"""Growth and leaves of trees."""

from __future__ import annotations

from typing import Any, Literal

from sapwood.lazy_dataclass import dataclass
from sapwood.params.validators import check_field, number, one_of


@dataclass(frozen=True)
class Symmetric:
    """``growth=Symmetric("cosine")``: symmetric trees, with the score of splits.

    Parameters
    ----------
    score : {'l2', 'cosine'}, default='l2'
        Score that a split maximises: the sum of gains, or the cosine similarity of CatBoost.

    Examples
    --------
    >>> from sapwood import SapwoodRegressor, Symmetric
    >>> SapwoodRegressor(growth=Symmetric("cosine"))
    SapwoodRegressor(growth=Symmetric(score='cosine'))
    """

    score: Literal["l2", "cosine"] = "l2"

    def __post_init__(self) -> None:
        check_field(self, "score", one_of("l2", "cosine"))


def symmetric_of(growth: object) -> Symmetric | None:
    """Return the settings of symmetric growth, None for another growth."""
    if growth == "symmetric":
        return Symmetric()
    return growth if isinstance(growth, Symmetric) else None


def is_growth(value: Any) -> bool:
    """Return whether a value is a ``growth``."""
    return isinstance(value, Symmetric) or (isinstance(value, str) and value in ("leafwise", "levelwise", "symmetric"))


@dataclass(frozen=True)
class Linear:
    """``leaf_model=Linear(penalty)``: a leaf predicts with a linear model of the numeric features on the path to it.

    A leaf with fewer than two rows per coefficient is constant.

    Parameters
    ----------
    penalty : float, default=1.0
        L2 penalty, at least 0, on slopes per standard deviation of the feature in the leaf, on the scale of
        ``reg_lambda``, so that it does not depend on units.

    Examples
    --------
    >>> from sapwood import Linear, SapwoodRegressor
    >>> SapwoodRegressor(leaf_model=Linear(0.1))
    SapwoodRegressor(leaf_model=Linear(penalty=0.1))
    """

    penalty: float = 1.0

    def __post_init__(self) -> None:
        check_field(self, "penalty", number(0))


def linear_of(leaf_model: object) -> Linear | None:
    """Return the settings of linear leaves, None for constant leaves."""
    if leaf_model == "linear":
        return Linear()
    return leaf_model if isinstance(leaf_model, Linear) else None


def is_leaf_model(value: Any) -> bool:
    """Return whether a value is a ``leaf_model``."""
    return isinstance(value, Linear) or (isinstance(value, str) and value in ("constant", "linear"))
