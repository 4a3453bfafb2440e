"""When training stops, and on which rows it is measured."""

from __future__ import annotations

from typing import Any

from sapwood.lazy_dataclass import dataclass
from sapwood.params.validators import Validator, check_field, integer, is_integer, is_number, number


@dataclass(frozen=True)
class EarlyStopping:
    """``early_stopping_rounds=EarlyStopping(20, metric="auc")``: when training stops, and what it watches.

    Parameters
    ----------
    rounds : int, default=10
        Number of rounds without improvement after which training stops.
    metric : str, optional
        Name of the metric of ``eval_metric`` to watch; by default the first one.
    eval_set : str, optional
        Name of the validation set to watch; by default the last one that does not hold the training rows.
    min_delta : float, default=0.0
        Minimum change of the metric that counts as an improvement, at least 0.
    min_relative_delta : float, default=0.0
        The same as a fraction of the best value so far; the larger of both holds.

    Examples
    --------
    >>> from sapwood import EarlyStopping, SapwoodClassifier
    >>> stopping = EarlyStopping(20, metric="auc", min_delta=1e-4)
    >>> model = SapwoodClassifier(n_estimators=2000, eval_metric=["log_loss", "auc"], early_stopping_rounds=stopping)
    """

    rounds: int = 10
    metric: str | None = None
    eval_set: str | None = None
    min_delta: float = 0.0
    min_relative_delta: float = 0.0

    def __post_init__(self) -> None:
        check_field(self, "rounds", integer(1))
        for name in ("metric", "eval_set"):
            check_field(self, name, Validator("a name or None", lambda v: v is None or isinstance(v, str)))
        check_field(self, "min_delta", number(0))
        check_field(self, "min_relative_delta", number(0, 1))


def early_stopping_of(value: Any) -> EarlyStopping | None:
    """Return the settings that ``early_stopping_rounds`` stands for; None for no early stopping."""
    return value if value is None or isinstance(value, EarlyStopping) else EarlyStopping(value)


def is_early_stopping(value: Any) -> bool:
    """Return whether a value is allowed for ``early_stopping_rounds``."""
    return isinstance(value, EarlyStopping) or (is_integer(value) and value >= 1)


@dataclass(frozen=True)
class LastRows:
    """``validation_fraction=LastRows(0.2)``: validate on the last rows, for tables in the order of time.

    Parameters
    ----------
    fraction : float, default=0.1
        Fraction of the rows, between 0 and 1.

    Examples
    --------
    >>> from sapwood import LastRows, SapwoodRegressor
    >>> SapwoodRegressor(validation_fraction=LastRows(0.2))
    SapwoodRegressor(validation_fraction=LastRows(fraction=0.2))
    """

    fraction: float = 0.1

    def __post_init__(self) -> None:
        check_field(self, "fraction", number(0, 1, above=True, below=True))


def is_validation_fraction(value: Any) -> bool:
    """Return whether a value is a ``validation_fraction``."""
    return value is None or isinstance(value, LastRows) or (is_number(value) and 0 < value < 1)
