"""Objects that stand in a parameter's place and carry what belongs to that choice alone."""

from __future__ import annotations

from dataclasses import dataclass

from sapwood.errors import ParameterError
from sapwood.params.option_fields import check_bool_field, check_integer_field, check_number_field


@dataclass(frozen=True)
class LastRows:
    """``validation_fraction=LastRows(0.2)``: the last rows are split off, for tables in the order of time."""

    fraction: float = 0.1

    def __post_init__(self) -> None:
        check_number_field(self, "fraction", "a number between 0 and 1", lambda value: 0.0 < value < 1.0)


@dataclass(frozen=True)
class EffectiveNumber:
    """``class_weight=EffectiveNumber(0.999)``: a class of n rows weighs as (1 - beta) / (1 - beta^n) per row.

    0 weighs all rows the same; the nearer to 1, the nearer every class is to the same total. The total weight is kept.
    """

    beta: float = 0.999

    def __post_init__(self) -> None:
        check_number_field(self, "beta", "a number of at least 0 and below 1", lambda value: 0.0 <= value < 1.0)


@dataclass(frozen=True)
class Symmetric:
    """Symmetric growth with the score that judges cuts: ``"l2"``, the sum of gains, or ``"cosine"``."""

    score: str = "l2"

    def __post_init__(self) -> None:
        if self.score not in ("l2", "cosine"):
            raise ParameterError(f"Symmetric: score must be 'l2' or 'cosine', got {self.score!r}")


@dataclass(frozen=True)
class Linear:
    """``leaf_model=Linear(penalty)``: a leaf answers by a linear model of the numeric features on the way to it.

    ``penalty`` is an L2 penalty on the slopes, each per standard deviation of its feature in the leaf, so that it does
    not depend on units; it weighs against the sum of hessians as ``reg_lambda`` does. A leaf with fewer than two rows
    for each number of its model stays constant.
    """

    penalty: float = 1.0

    def __post_init__(self) -> None:
        check_number_field(self, "penalty", "a number of at least 0", lambda value: 0.0 <= value < float("inf"))


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
        check_number_field(self, "conflicts", "a number of at least 0 and below 1", lambda value: 0.0 <= value < 1.0)


def conflicts_of(bundle: object) -> float:
    """The share of the rows in which columns of a bundle may meet."""
    return bundle.conflicts if isinstance(bundle, Bundle) else 0.0


@dataclass(frozen=True)
class Uniform:
    """``sampling=Uniform(...)``: every row with the same chance; ``subsample`` is the share.

    ``replacement`` draws each row a number of times (Poisson, ``subsample`` on average: the bootstrap, row by row).
    ``by`` is ``"rows"``, ``"groups"`` (whole groups, as given to ``fit``) or ``"classes"`` (the share of every class).
    """

    replacement: bool = False
    by: str = "rows"

    def __post_init__(self) -> None:
        check_bool_field(self, "replacement")
        if self.by not in ("rows", "groups", "classes"):
            raise ParameterError(f"Uniform: by must be 'rows', 'groups' or 'classes', got {self.by!r}")
        if self.replacement and self.by == "classes":
            raise ParameterError(
                "Uniform: replacement draws each row by itself, but by='classes' draws a fixed number of every class: "
                "use one of them"
            )


@dataclass(frozen=True)
class Goss:
    """``sampling=Goss(0.2, 0.1)``: the rows of largest gradient, and some of the others, which then weigh more.

    The share ``top`` is kept, the share ``other`` of all rows is drawn from the rest. ``full_rounds`` rounds use all
    rows first; None is 1 / learning_rate of them.
    """

    top: float = 0.2
    other: float = 0.1
    full_rounds: int | None = None

    def __post_init__(self) -> None:
        check_number_field(self, "top", "a number of at least 0 and below 1", lambda value: 0.0 <= value < 1.0)
        check_number_field(self, "other", "a number above 0 and at most 1", lambda value: 0.0 < value <= 1.0)
        if self.top + self.other > 1.0:
            raise ParameterError(
                f"Goss: the sum of top and other must be at most 1, got top={self.top!r}, other={self.other!r}"
            )
        if self.full_rounds is not None:
            check_integer_field(self, "full_rounds", 0)


@dataclass(frozen=True)
class Mvs:
    """``sampling=Mvs()``: minimum-variance sampling; ``subsample`` is the share (0.8 if it is not set).

    A row's chance is in proportion to √(g² + λh²), at most 1, and its weight is divided by it. λ is ``smoothing`` times
    Σg²/Σh²: the larger, the more alike the chances.
    """

    smoothing: float = 0.1

    def __post_init__(self) -> None:
        check_number_field(self, "smoothing", "a number above 0", lambda value: 0.0 < value < float("inf"))


@dataclass(frozen=True)
class Bayesian:
    """``sampling=Bayesian(1.0)``: all rows, each with a random weight (−log u)^temperature; 0 changes nothing.

    Beyond 40 a single row could weigh more than can be added up.
    """

    temperature: float = 1.0

    def __post_init__(self) -> None:
        check_number_field(self, "temperature", "a number from 0 to 40", lambda value: 0.0 <= value <= 40.0)


Sampling = Uniform | Goss | Mvs | Bayesian
SAMPLINGS: dict[str, type[Sampling]] = {"uniform": Uniform, "goss": Goss, "mvs": Mvs, "bayesian": Bayesian}


def sampling_of(spec: object) -> Sampling | None:
    """The settings of a sampling, or None for all rows."""
    if isinstance(spec, str):
        return SAMPLINGS[spec]() if spec in SAMPLINGS else None
    return spec if isinstance(spec, Uniform | Goss | Mvs | Bayesian) else None


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
            check_number_field(self, name, "a number from 0 to 1", lambda value: 0.0 <= value <= 1.0)
        check_integer_field(self, "max_drop", 1)
        check_bool_field(self, "weighted")
        if self.normalise not in ("mean", "tree", "forest"):
            raise ParameterError(f"Dart: normalise must be 'mean', 'tree' or 'forest', got {self.normalise!r}")


def dart_of(boosting: object) -> Dart | None:
    """The settings of dropouts, or None for another boosting."""
    if boosting == "dart":
        return Dart()
    return boosting if isinstance(boosting, Dart) else None
