"""How rounds are combined."""

from __future__ import annotations

from typing import Any, Literal

from sapwood.lazy_dataclass import dataclass
from sapwood.params.validators import boolean, check_field, integer, number, one_of


@dataclass(frozen=True)
class Dart:
    """``boosting=Dart(0.1)``: DART, which drops some of the earlier rounds while a new one is fitted.

    Parameters
    ----------
    drop : float, default=0.1
        Probability that a round is dropped.
    skip : float, default=0.5
        Probability that no round is dropped.
    max_drop : int, default=50
        Maximum number of dropped rounds.
    weighted : bool, default=False
        Drop rounds with a probability proportional to their weight.
    normalise : {'mean', 'tree', 'forest'}, default='mean'
        Factors of the new and of the k dropped rounds, η being the learning rate: 1/(k+1) and k/(k+1) as in LightGBM,
        1/(k+η) and k/(k+η), or both 1/(1+η), as in XGBoost.

    Examples
    --------
    >>> from sapwood import Dart, SapwoodRegressor
    >>> model = SapwoodRegressor(boosting=Dart(drop=0.2, skip=0.0))
    """

    drop: float = 0.1
    skip: float = 0.5
    max_drop: int = 50
    weighted: bool = False
    normalise: Literal["mean", "tree", "forest"] = "mean"

    def __post_init__(self) -> None:
        for name in ("drop", "skip"):
            check_field(self, name, number(0, 1))
        check_field(self, "max_drop", integer(1))
        check_field(self, "weighted", boolean())
        check_field(self, "normalise", one_of("mean", "tree", "forest"))


def dart_of(boosting: object) -> Dart | None:
    """Return the settings of DART, None for another boosting."""
    if boosting == "dart":
        return Dart()
    return boosting if isinstance(boosting, Dart) else None


def is_boosting(value: Any) -> bool:
    """Return whether a value is a ``boosting``."""
    return dart_of(value) is not None or (isinstance(value, str) and value in ("plain", "ordered", "forest"))
