"""Objects that stand in a parameter's place and carry what belongs to that choice alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from sapwood.errors import ParameterError
from sapwood.params.validators import boolean, check_field, fraction, integer, is_bool, is_number, number, one_of


@dataclass(frozen=True)
class LastRows:
    """``validation_fraction=LastRows(0.2)``: the last rows are split off, for tables in the order of time."""

    fraction: float = 0.1

    def __post_init__(self) -> None:
        check_field(self, "fraction", number(0, 1, above=True, below=True))


@dataclass(frozen=True)
class EffectiveNumber:
    """``class_weight=EffectiveNumber(0.999)``: a class of n rows weighs as (1 - beta) / (1 - beta^n) per row.

    0 weighs all rows the same; the nearer to 1, the nearer every class is to the same total. The total weight is kept.
    """

    beta: float = 0.999

    def __post_init__(self) -> None:
        check_field(self, "beta", number(0, 1, below=True))


@dataclass(frozen=True)
class Symmetric:
    """Symmetric growth with the score that judges cuts: ``"l2"``, the sum of gains, or ``"cosine"``."""

    score: str = "l2"

    def __post_init__(self) -> None:
        check_field(self, "score", one_of("l2", "cosine"))


@dataclass(frozen=True)
class Linear:
    """``leaf_model=Linear(penalty)``: a leaf answers by a linear model of the numeric features on the way to it.

    ``penalty`` is an L2 penalty on the slopes, each per standard deviation of its feature in the leaf, so that it does
    not depend on units; it weighs against the sum of hessians as ``reg_lambda`` does. A leaf with fewer than two rows
    for each number of its model stays constant.
    """

    penalty: float = 1.0

    def __post_init__(self) -> None:
        check_field(self, "penalty", number(0))


def linear_of(leaf_model: object) -> Linear | None:
    """The settings of linear leaves, or None for constant ones."""
    if leaf_model == "linear":
        return Linear()
    return leaf_model if isinstance(leaf_model, Linear) else None


def symmetric_of(growth: object) -> Symmetric | None:
    """The settings of symmetric growth, or None for another growth."""
    if growth == "symmetric":
        return Symmetric()
    return growth if isinstance(growth, Symmetric) else None


@dataclass(frozen=True)
class Bundle:
    """``bundle=Bundle(0.01)``: columns that rarely differ from their usual values together share a byte too.

    The columns of a bundle may meet in the share ``conflicts`` of the rows; in those, all but the first of them count
    as having their usual values while trees are grown. With 0 nothing is lost.
    """

    conflicts: float = 0.0

    def __post_init__(self) -> None:
        check_field(self, "conflicts", number(0, 1, below=True))


def conflicts_of(bundle: object) -> float:
    """The share of the rows in which columns of a bundle may meet."""
    return bundle.conflicts if isinstance(bundle, Bundle) else 0.0


class Sampling:
    """Base class of the objects for ``sampling``; ``register_sampling`` gives each a name."""


SAMPLINGS: dict[str, type[Sampling]] = {}
_Option = TypeVar("_Option", bound=type[Sampling])


def register_sampling(name: str) -> Callable[[_Option], _Option]:
    """Return a decorator that makes ``sampling=name`` stand for an object of the class with default settings."""

    def register(option: _Option) -> _Option:
        SAMPLINGS[name] = option
        return option

    return register


@register_sampling("uniform")
@dataclass(frozen=True)
class Uniform(Sampling):
    """``sampling=Uniform(...)``: every row with the same chance; ``subsample`` is the share.

    ``replacement`` draws each row a number of times (Poisson, ``subsample`` on average: the bootstrap, row by row).
    ``by`` is ``"rows"``, ``"groups"`` (whole groups, as given to ``fit``) or ``"classes"`` (the share of every class).
    """

    replacement: bool = False
    by: str = "rows"

    def __post_init__(self) -> None:
        check_field(self, "replacement", boolean())
        check_field(self, "by", one_of("rows", "groups", "classes"))
        if self.replacement and self.by == "classes":
            raise ParameterError(
                "Uniform: replacement draws each row by itself, but by='classes' draws a fixed number of every class: "
                "use one of them"
            )


@register_sampling("goss")
@dataclass(frozen=True)
class Goss(Sampling):
    """``sampling=Goss(0.2, 0.1)``: the rows of largest gradient, and some of the others, which then weigh more.

    The share ``top`` is kept, the share ``other`` of all rows is drawn from the rest. ``full_rounds`` rounds use all
    rows first; None is 1 / learning_rate of them.
    """

    top: float = 0.2
    other: float = 0.1
    full_rounds: int | None = None

    def __post_init__(self) -> None:
        check_field(self, "top", number(0, 1, below=True))
        check_field(self, "other", fraction())
        if self.top + self.other > 1.0:
            raise ParameterError(
                f"Goss: the sum of top and other must be at most 1, got top={self.top!r}, other={self.other!r}"
            )
        if self.full_rounds is not None:
            check_field(self, "full_rounds", integer(0))


@register_sampling("mvs")
@dataclass(frozen=True)
class Mvs(Sampling):
    """``sampling=Mvs()``: minimum-variance sampling; ``subsample`` is the share (0.8 if it is not set).

    A row's chance is in proportion to √(g² + λh²), at most 1, and its weight is divided by it. λ is ``smoothing`` times
    Σg²/Σh²: the larger, the more alike the chances.
    """

    smoothing: float = 0.1

    def __post_init__(self) -> None:
        check_field(self, "smoothing", number(0, above=True))


@register_sampling("bayesian")
@dataclass(frozen=True)
class Bayesian(Sampling):
    """``sampling=Bayesian(1.0)``: all rows, each with a random weight (−log u)^temperature; 0 changes nothing.

    Beyond 40 a single row could weigh more than can be added up.
    """

    temperature: float = 1.0

    def __post_init__(self) -> None:
        check_field(self, "temperature", number(0, 40))


def sampling_of(spec: object) -> Sampling | None:
    """The settings of a sampling, or None for all rows."""
    if isinstance(spec, str):
        return SAMPLINGS[spec]() if spec in SAMPLINGS else None
    return spec if isinstance(spec, Sampling) else None


@dataclass(frozen=True)
class Dart:
    """``boosting=Dart(0.1)``: each round forgets some of the earlier ones, fits what they leave and shares with them.

    A round is dropped with the chance ``drop``, or in proportion to its weight if ``weighted``, at most ``max_drop`` of
    them; with the chance ``skip`` none is. With k dropped, ``normalise="mean"`` multiplies the new round by 1/(k+1) and
    the dropped ones by k/(k+1), as LightGBM does; ``"tree"`` by 1/(k+η) and k/(k+η), ``"forest"`` both by 1/(1+η), as
    XGBoost does, η being the learning rate.
    """

    drop: float = 0.1
    skip: float = 0.5
    max_drop: int = 50
    weighted: bool = False
    normalise: str = "mean"

    def __post_init__(self) -> None:
        for name in ("drop", "skip"):
            check_field(self, name, number(0, 1))
        check_field(self, "max_drop", integer(1))
        check_field(self, "weighted", boolean())
        check_field(self, "normalise", one_of("mean", "tree", "forest"))


def dart_of(boosting: object) -> Dart | None:
    """The settings of dropouts, or None for another boosting."""
    if boosting == "dart":
        return Dart()
    return boosting if isinstance(boosting, Dart) else None


# --- validation of the parameters that take these objects -------------------------------------------------------------


def is_class_weight(value: Any) -> bool:
    """Return whether a value is a ``class_weight``."""
    is_name = isinstance(value, str) and value in ("balanced", "effective")
    return value is None or is_name or isinstance(value, (Mapping, EffectiveNumber))


def is_validation_fraction(value: Any) -> bool:
    """Return whether a value is a ``validation_fraction``."""
    return value is None or isinstance(value, LastRows) or (is_number(value) and 0 < value < 1)


def is_leaf_model(value: Any) -> bool:
    """Return whether a value is a ``leaf_model``."""
    return isinstance(value, Linear) or (isinstance(value, str) and value in ("constant", "linear"))


def is_growth(value: Any) -> bool:
    """Return whether a value is a ``growth``."""
    return isinstance(value, Symmetric) or (isinstance(value, str) and value in ("leafwise", "levelwise", "symmetric"))


def is_bundle(value: Any) -> bool:
    """Return whether a value is a ``bundle``."""
    return is_bool(value) or isinstance(value, Bundle) or (isinstance(value, str) and value == "auto")


def is_sampling(value: Any) -> bool:
    """Return whether a value is a ``sampling``."""
    return sampling_of(value) is not None or (isinstance(value, str) and value in ("auto", "none"))


def is_boosting(value: Any) -> bool:
    """Return whether a value is a ``boosting``."""
    return dart_of(value) is not None or (isinstance(value, str) and value in ("plain", "ordered", "forest"))
