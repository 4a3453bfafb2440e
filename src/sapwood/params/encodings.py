"""Encodings of categorical columns: names and objects for ``category_encoding`` and ``max_combination``.

A target statistic of a category is (Σ y + a·p) / (count + a), with a prior p of weight a. The four statistics differ in
the rows that the value of a training row is computed from; new rows use all training rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from sapwood.errors import ParameterError
from sapwood.lazy_dataclass import dataclass
from sapwood.params.validators import check_field, integer, is_integer, is_number, number, or_none

MAX_STATISTIC_BINS = 255
MAX_COMBINED_COLUMNS = 8  # categorical columns of a feature combination


@dataclass(frozen=True)
class Encoding:
    """Encoding of a categorical column."""

    @property
    def name(self) -> str:
        """Name of the encoding in ``category_encoding``."""
        return next(name for name, kind in ENCODINGS.items() if type(self) is kind)


ENCODINGS: dict[str, type[Encoding]] = {}
_EncodingClass = TypeVar("_EncodingClass", bound=type[Encoding])


def register_encoding(name: str) -> Callable[[_EncodingClass], _EncodingClass]:
    """Return a decorator that makes ``category_encoding=name`` stand for an object of the class."""

    def register(encoding: _EncodingClass) -> _EncodingClass:
        ENCODINGS[name] = encoding
        return encoding

    return register


@register_encoding("one_hot")
@dataclass(frozen=True)
class OneHot(Encoding):
    """``"one_hot"``: an indicator column for each category.

    Examples
    --------
    >>> from sapwood import OneHot, SapwoodRegressor
    >>> SapwoodRegressor(category_encoding=OneHot())
    SapwoodRegressor(category_encoding=OneHot())
    """


@register_encoding("frequency")
@dataclass(frozen=True)
class Frequency(Encoding):
    """``"frequency"``: the fraction of the training rows that have the category.

    Examples
    --------
    >>> from sapwood import Frequency, SapwoodRegressor
    >>> SapwoodRegressor(category_encoding=Frequency())
    SapwoodRegressor(category_encoding=Frequency())
    """


@register_encoding("partition")
@dataclass(frozen=True)
class Partition(Encoding):
    """``"partition"``: splits send a set of categories to the left, a prefix in the order of G/(H + ``smoothing``).

    Categories that have no bin of their own stay together, with those that were not seen in training.

    Parameters
    ----------
    smoothing : float, default=10.0
        Added to the sum of hessians of a category when categories are sorted.
    penalty : float, default=10.0
        Added to ``reg_lambda`` in the gain of such a split and in the values of its children.
    max_levels : int, default=32
        Maximum number of categories in a set.
    min_level_rows : int, default=1
        Minimum number of rows of a category in the leaf; rarer categories go to the right.
    min_group_rows : int, default=1
        Minimum number of rows by which consecutive candidate sets differ, and that remain on the right.
    max_single : int, default=4
        Columns with at most this many categories, missing not counted, are split into one category and the others,
        without the settings above.

    Examples
    --------
    >>> from sapwood import Partition, SapwoodRegressor
    >>> model = SapwoodRegressor(category_encoding={"city": Partition(max_levels=64), "street": "ordered"})
    """

    smoothing: float = 10.0
    penalty: float = 10.0
    max_levels: int = 32
    min_level_rows: int = 1
    min_group_rows: int = 1
    max_single: int = 4

    def __post_init__(self) -> None:
        for name in ("smoothing", "penalty"):
            check_field(self, name, number(0))
        for name in ("max_levels", "min_level_rows", "min_group_rows"):
            check_field(self, name, integer(1))
        check_field(self, "max_single", integer(0))


def _is_prior(value: Any) -> bool:
    return value is None or (is_number(value) and math.isfinite(value))


def _checked_priors(option: Any) -> tuple[float | None, ...]:
    """Return the priors of a statistic, or of the combinations of a ``Crossing``, as a tuple."""
    priors = option.priors
    if not (isinstance(priors, Iterable) and list(priors) and all(map(_is_prior, priors))):
        raise ParameterError(
            f"{type(option).__name__}: priors must be a list of finite numbers or None, got {priors!r}"
        )
    return tuple(None if p is None else float(p) for p in priors)


@dataclass(frozen=True)
class Statistic(Encoding):
    """Statistics of the target, the base class of four encodings.

    Parameters
    ----------
    priors : list of float or None, default=(None,)
        Priors p; there is a column for each. None is the mean of the target.
    prior_weight : float, default=1.0
        Weight a of the prior, above 0.
    bins : int, optional
        Number of bins of equal width per column; by default the column is binned like numeric ones.
    """

    priors: Sequence[float | None] = (None,)
    prior_weight: float = 1.0
    bins: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "priors", _checked_priors(self))
        check_field(self, "prior_weight", number(0, above=True))
        if self.bins is not None:
            check_field(self, "bins", integer(2, MAX_STATISTIC_BINS))


@register_encoding("greedy")
@dataclass(frozen=True)
class Greedy(Statistic):
    """``"greedy"``: from all rows, the row itself included. It leaks the target: for comparison only.

    Parameters
    ----------
    priors : list of float or None, default=(None,)
        Priors p; there is a column for each. None is the mean of the target.
    prior_weight : float, default=1.0
        Weight a of the prior, above 0.
    bins : int, optional
        Number of bins of equal width per column; by default the column is binned like numeric ones.

    Examples
    --------
    >>> from sapwood import Greedy, SapwoodRegressor
    >>> model = SapwoodRegressor(category_encoding=Greedy(prior_weight=10.0))
    """


@register_encoding("leave_one_out")
@dataclass(frozen=True)
class LeaveOneOut(Statistic):
    """``"leave_one_out"``: from all other rows.

    Parameters
    ----------
    priors : list of float or None, default=(None,)
        Priors p; there is a column for each. None is the mean of the target.
    prior_weight : float, default=1.0
        Weight a of the prior, above 0.
    bins : int, optional
        Number of bins of equal width per column; by default the column is binned like numeric ones.

    Examples
    --------
    >>> from sapwood import LeaveOneOut, SapwoodRegressor
    >>> model = SapwoodRegressor(category_encoding=LeaveOneOut(prior_weight=10.0))
    """


@register_encoding("holdout")
@dataclass(frozen=True)
class Holdout(Statistic):
    """``"holdout"``: from a ``fraction`` of the rows, which is then not used to grow trees.

    Parameters
    ----------
    priors : list of float or None, default=(None,)
        Priors p; there is a column for each. None is the mean of the target.
    prior_weight : float, default=1.0
        Weight a of the prior, above 0.
    bins : int, optional
        Number of bins of equal width per column; by default the column is binned like numeric ones.
    fraction : float, default=0.5
        Fraction of the rows, between 0 and 1.

    Examples
    --------
    >>> from sapwood import Holdout, SapwoodRegressor
    >>> model = SapwoodRegressor(category_encoding=Holdout(fraction=0.2))
    """

    fraction: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        check_field(self, "fraction", number(0, 1, above=True, below=True))


@register_encoding("ordered")
@dataclass(frozen=True)
class Ordered(Statistic):
    """``"ordered"``: from the rows before it in a random order; each tree uses one of several ``permutations``.

    Parameters
    ----------
    priors : list of float or None, default=(None,)
        Priors p; there is a column for each. None is the mean of the target.
    prior_weight : float, default=1.0
        Weight a of the prior, above 0.
    bins : int, optional
        Number of bins of equal width per column; by default the column is binned like numeric ones.
    permutations : int, default=1
        Number of random orders, from 1 to 64.

    Examples
    --------
    >>> from sapwood import Ordered, SapwoodRegressor
    >>> model = SapwoodRegressor(category_encoding=["frequency", Ordered(prior_weight=5.0)])
    """

    permutations: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_field(self, "permutations", integer(1, 64))


@dataclass(frozen=True)
class Auto:
    """``"auto"``: one-hot, partition, or a statistic of the target, by the number of categories of a column.

    Parameters
    ----------
    statistic : Ordered, LeaveOneOut, Holdout or Greedy, default=Ordered()
        Statistic of columns with many categories, beside their frequency.
    max_partition : int or None, default=64
        Maximum number of categories of a column that splits partition; None partitions all columns that are not
        one-hot.
    partition : Partition, default=Partition()
        Settings of these partitions. Trees that cannot partition categories (symmetric ones, for example) use the
        statistic instead.

    Examples
    --------
    >>> from sapwood import Auto, LeaveOneOut, SapwoodRegressor
    >>> model = SapwoodRegressor(category_encoding=Auto(LeaveOneOut(), max_partition=None))
    """

    statistic: Statistic = Ordered()
    max_partition: int | None = 64
    partition: Partition = Partition()

    def __post_init__(self) -> None:
        if not isinstance(self.statistic, Statistic):
            raise ParameterError(f"Auto: statistic must be an object such as Ordered(), got {self.statistic!r}")
        if not isinstance(self.partition, Partition):
            raise ParameterError(f"Auto: partition must be a Partition object, got {self.partition!r}")
        check_field(self, "max_partition", or_none(integer(0), "all"))


@dataclass(frozen=True)
class Crossing:
    """``max_combination=Crossing(2, 16)``: feature combinations of categorical columns and one numeric column.

    Parameters
    ----------
    columns : int, default=2
        Maximum number of categorical columns, from 1 to 8.
    number_levels : int, default=16
        Number of bins, of about the same number of rows, into which a numeric column is discretised; 0 combines no
        numeric column.
    priors : list of float or None, optional
        Priors of the target statistics of combinations, in place of those of ``category_encoding``.

    Examples
    --------
    >>> from sapwood import Crossing, SapwoodRegressor
    >>> SapwoodRegressor(max_combination=Crossing(2, number_levels=32))
    SapwoodRegressor(max_combination=Crossing(columns=2, number_levels=32, priors=None))
    """

    columns: int = 2
    number_levels: int = 16
    priors: Sequence[float | None] | None = None

    def __post_init__(self) -> None:
        check_field(self, "columns", integer(1, MAX_COMBINED_COLUMNS))
        if self.priors is not None:
            object.__setattr__(self, "priors", _checked_priors(self))
        levels = self.number_levels
        if not (is_integer(levels) and (levels == 0 or 2 <= levels <= MAX_STATISTIC_BINS)):
            raise ParameterError(
                f"Crossing: number_levels must be 0 or an integer from 2 to {MAX_STATISTIC_BINS}, got {levels!r}"
            )


def crossing_of(spec: Any) -> Crossing:
    """Return the ``Crossing`` that a ``max_combination`` stands for; an integer combines categorical columns only."""
    return spec if isinstance(spec, Crossing) else Crossing(spec, 0)


def is_crossing(value: Any) -> bool:
    """Return whether a value is a ``max_combination``."""
    return isinstance(value, Crossing) or (is_integer(value) and 1 <= value <= MAX_COMBINED_COLUMNS)


AUTO = "auto"


def encodings_of(spec: Any) -> tuple[Encoding, ...] | Auto:
    """Return the encodings that a name, an object or a list of them stands for."""
    if isinstance(spec, Auto):
        return spec
    if isinstance(spec, str) and spec == AUTO:
        return Auto()
    specs = spec if isinstance(spec, list | tuple) else [spec]
    return tuple(one if isinstance(one, Encoding) else ENCODINGS[one]() for one in specs)


def is_encoding(value: Any) -> bool:
    """Return whether a value is a ``category_encoding``."""
    if isinstance(value, Mapping):
        return all(is_encoding(one) and not isinstance(one, Mapping) for one in value.values())
    if isinstance(value, list | tuple):
        return len(value) > 0 and all(_is_single_encoding(one) for one in value)
    return _is_single_encoding(value) or isinstance(value, Auto) or (isinstance(value, str) and value == AUTO)


def _is_single_encoding(value: Any) -> bool:
    return isinstance(value, Encoding) or (isinstance(value, str) and value in ENCODINGS)
