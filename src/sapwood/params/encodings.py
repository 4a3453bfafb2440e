"""What becomes of a category column: names and objects for ``category_encoding``.

A statistic of a level is (Σ y + a·p) / (count + a): the prior p with the weight a, moved by the rows of the level. The
four kinds differ in the rows that a training row's own value is computed from; new rows use them all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from sapwood.errors import ParameterError
from sapwood.params.validators import check_field, integer, is_integer, is_number, number

MOST_BINS = 255  # of a statistic, if it has bins of its own
MOST_CROSSED = 8  # category columns


@dataclass(frozen=True)
class Encoding:
    """What becomes of a category column."""

    @property
    def name(self) -> str:
        """The word for it."""
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
    """``"one_hot"``: a column of 0 and 1 for every level."""


@register_encoding("frequency")
@dataclass(frozen=True)
class Frequency(Encoding):
    """``"frequency"``: the share of the training rows that have the level."""


@register_encoding("partition")
@dataclass(frozen=True)
class Partition(Encoding):
    """``"partition"``: a split sends a set of levels to the left, found in the order of G/(H + ``smoothing``).

    ``penalty`` is added to reg_lambda where such a split is judged and in the values of its sides, and a set has at
    most ``max_levels`` levels. Levels without a bin of their own go together, with those never seen. Levels with fewer
    than ``min_level_rows`` rows in the leaf stay on the other side; sets are judged whenever ``min_group_rows`` more
    rows have joined, and as many must stay. Of a column with up to ``max_single`` levels, missing not counted, one
    level goes left and the others right, and none of this holds.
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


@dataclass(frozen=True)
class Statistic(Encoding):
    """Statistics of the target; ``priors`` are values p, one column each, None for the mean of the target.

    ``bins`` are those of each column, of the same width from its least to its largest value; None is as for numbers.
    """

    priors: tuple[float | None, ...] = (None,)
    prior_weight: float = 1.0
    bins: int | None = None

    def __post_init__(self) -> None:
        if not (isinstance(self.priors, Iterable) and list(self.priors) and all(map(_is_prior, self.priors))):
            raise ParameterError(
                f"{type(self).__name__}: priors must be a list of finite numbers or None, got {self.priors!r}"
            )
        object.__setattr__(self, "priors", tuple(None if p is None else float(p) for p in self.priors))
        check_field(self, "prior_weight", number(0, above=True))
        if self.bins is not None:
            check_field(self, "bins", integer(2, MOST_BINS))


@register_encoding("greedy")
@dataclass(frozen=True)
class Greedy(Statistic):
    """``"greedy"``: from all rows, the row itself included. It knows its own target: for comparison only."""


@register_encoding("leave_one_out")
@dataclass(frozen=True)
class LeaveOneOut(Statistic):
    """``"leave_one_out"``: from all other rows."""


@register_encoding("holdout")
@dataclass(frozen=True)
class Holdout(Statistic):
    """``"holdout"``: from a share of the rows that then takes no part in growing trees."""

    fraction: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        check_field(self, "fraction", number(0, 1, above=True, below=True))


@register_encoding("ordered")
@dataclass(frozen=True)
class Ordered(Statistic):
    """``"ordered"``: from the rows that come before it in a random order; each tree takes one of ``permutations``."""

    permutations: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_field(self, "permutations", integer(1, 64))


@dataclass(frozen=True)
class Auto:
    """``"auto"``: by the number of levels; columns of many levels get this statistic, and their frequency."""

    statistic: Statistic = Ordered()

    def __post_init__(self) -> None:
        if not isinstance(self.statistic, Statistic):
            raise ParameterError(f"Auto: statistic must be an object such as Ordered(), got {self.statistic!r}")


@dataclass(frozen=True)
class Crossing:
    """What is crossed for statistics: at most so many category ``columns``, and one of numbers besides.

    Columns of numbers are cut into ``number_levels`` levels of about as many rows each; 0 leaves them out.
    """

    columns: int = 2
    number_levels: int = 16

    def __post_init__(self) -> None:
        if not (is_integer(self.columns) and 1 <= self.columns <= MOST_CROSSED):
            raise ParameterError(f"Crossing: columns must be an integer from 1 to {MOST_CROSSED}, got {self.columns!r}")
        levels = self.number_levels
        if not (is_integer(levels) and (levels == 0 or 2 <= levels <= MOST_BINS)):
            raise ParameterError(
                f"Crossing: number_levels must be 0 or an integer from 2 to {MOST_BINS}, got {levels!r}"
            )


def crossing_of(spec: Any) -> Crossing:
    """What ``max_combination`` means: a number is that of category columns alone."""
    return spec if isinstance(spec, Crossing) else Crossing(spec, 0)


def is_crossing(value: Any) -> bool:
    """Tell whether a value says what is crossed."""
    return isinstance(value, Crossing) or (is_integer(value) and 1 <= value <= MOST_CROSSED)


AUTO = "auto"


def encodings_of(spec: Any) -> tuple[Encoding, ...] | Auto:
    """The encodings that a name, an object or a list of them means."""
    if isinstance(spec, Auto):
        return spec
    if isinstance(spec, str) and spec == AUTO:
        return Auto()
    several = spec if isinstance(spec, list | tuple) else [spec]
    return tuple(one if isinstance(one, Encoding) else ENCODINGS[one]() for one in several)


def is_encoding(value: Any) -> bool:
    """Tell whether a value says what becomes of category columns."""
    if isinstance(value, Mapping):
        return all(is_encoding(one) and not isinstance(one, Mapping) for one in value.values())
    if isinstance(value, list | tuple):
        return len(value) > 0 and all(_is_one(one) for one in value)
    return _is_one(value) or isinstance(value, Auto) or (isinstance(value, str) and value == AUTO)


def _is_one(value: Any) -> bool:
    return isinstance(value, Encoding) or (isinstance(value, str) and value in ENCODINGS)
