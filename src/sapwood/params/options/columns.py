"""Columns: which ones are categorical, bundled, or computed from others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sapwood.errors import ParameterError
from sapwood.lazy_dataclass import dataclass
from sapwood.params.validators import Validator, check_field, integer, is_bool, is_collection, number, or_none

CROSS_KINDS = ("difference", "product", "ratio", "centred")


@dataclass(frozen=True)
class AutoCategorical:
    """``categorical_features=AutoCategorical(plus=["zip"], minus=["size"])``: the columns of "auto" but for some.

    Parameters
    ----------
    plus : list of str or int, default=()
        Columns, by name or number, that are categorical besides those of "auto".
    minus : list of str or int, default=()
        Columns of "auto" that are numeric: of a categorical type whose categories are numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> from sapwood import AutoCategorical, SapwoodRegressor
    >>> frame = pd.DataFrame({"city": ["a", "b"] * 50, "zip": [1, 2, 3, 4] * 25, "age": range(100)})
    >>> model = SapwoodRegressor(n_estimators=5, categorical_features=AutoCategorical(plus=["zip"]))
    >>> sorted(model.fit(frame, frame["age"]).model_.encodings)
    ['city', 'zip']
    """

    plus: Sequence[str | int] = ()
    minus: Sequence[str | int] = ()

    def __post_init__(self) -> None:
        for name in ("plus", "minus"):
            given = getattr(self, name)
            columns = (given,) if isinstance(given, str | int) else tuple(given)
            object.__setattr__(self, name, columns)
        if both := [column for column in self.plus if column in self.minus]:
            raise ParameterError(f"AutoCategorical: {both[0]!r} is both in plus and in minus; remove it from one")


def is_categorical_features(value: Any) -> bool:
    """Return whether a value is allowed for ``categorical_features``."""
    if value is None or isinstance(value, AutoCategorical):
        return True
    if isinstance(value, Mapping):
        return all(is_bool(chosen) for chosen in value.values())
    return value == "auto" if isinstance(value, str) else is_collection(value)


@dataclass(frozen=True)
class Bundle:
    """``bundle=Bundle(0.01)``: also bundle columns that conflict in a fraction ``conflicts`` of the rows.

    Columns conflict in a row where more than one of them differs from its default value. There, all but the first of
    them count as having their default value while trees are grown.

    Parameters
    ----------
    conflicts : float, default=0.0
        Fraction of the rows, from 0 to below 1, in which the columns of a bundle may conflict. With 0 nothing is lost.

    Examples
    --------
    >>> from sapwood import Bundle, SapwoodRegressor
    >>> SapwoodRegressor(bundle=Bundle(0.01))
    SapwoodRegressor(bundle=Bundle(conflicts=0.01))
    """

    conflicts: float = 0.0

    def __post_init__(self) -> None:
        check_field(self, "conflicts", number(0, 1, below=True))


def conflicts_of(bundle: object) -> float:
    """Return the fraction of the rows in which columns of a bundle may conflict."""
    return bundle.conflicts if isinstance(bundle, Bundle) else 0.0


def is_bundle(value: Any) -> bool:
    """Return whether a value is a ``bundle``."""
    return is_bool(value) or isinstance(value, Bundle) or (isinstance(value, str) and value == "auto")


@dataclass(frozen=True)
class NumericCrosses:
    """``numeric_crosses=NumericCrosses(6, 6)``: which columns computed from two columns are tried, and how many stay.

    Parameters
    ----------
    columns : int, default=6
        Number of numeric columns that are combined, those of the largest gain in a short fit.
    max_kept : int, default=6
        Maximum number of crosses that the model uses.
    kinds : tuple of str, default=("difference", "product", "ratio", "centred")
        Formulas to try: "difference", "product" and "ratio" of two numeric columns, and "centred", a number less its
        mean in a category.
    max_rows : int, default=16384
        Maximum number of rows that the search looks at.
    rounds : int, default=30
        Number of rounds of each of its three fits.
    max_leaves : int, optional
        Maximum number of leaves of their trees; by default that of the model.

    Examples
    --------
    >>> import numpy as np
    >>> from sapwood import NumericCrosses, SapwoodRegressor
    >>> X = np.random.default_rng(0).normal(size=(2000, 3))
    >>> model = SapwoodRegressor(numeric_crosses=NumericCrosses(kinds=("product",))).fit(X, X[:, 0] * X[:, 2]).model_
    >>> model.metadata["numeric_crosses"]["kept"]
    ['f0 · f2']
    """

    columns: int = 6
    max_kept: int = 6
    kinds: tuple[str, ...] = CROSS_KINDS
    max_rows: int = 2**14
    rounds: int = 30
    max_leaves: int | None = None

    def __post_init__(self) -> None:
        check_field(self, "columns", integer(1, 30))
        check_field(self, "max_kept", integer(1, 100))
        check_field(self, "max_rows", integer(400))
        check_field(self, "rounds", integer(1, 1000))
        check_field(self, "max_leaves", or_none(integer(2), "those of the model"))
        allowed = f"a sequence of {', '.join(map(repr, CROSS_KINDS))}"
        check_field(self, "kinds", Validator(allowed, _are_cross_kinds, tuple))


def _are_cross_kinds(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and len(value) > 0 and all(kind in CROSS_KINDS for kind in value)


def crosses_of(value: object) -> NumericCrosses | None:
    """Return the settings of the search for numeric crosses, None for no search."""
    if isinstance(value, NumericCrosses):
        return value
    return NumericCrosses() if value is True else None
