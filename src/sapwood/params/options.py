"""Option objects: values of a parameter that carry settings of their own, such as ``sampling=Goss(0.2, 0.1)``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar

from sapwood.errors import ParameterError
from sapwood.lazy_dataclass import dataclass
from sapwood.params.validators import (
    Validator,
    boolean,
    check_field,
    fraction,
    integer,
    is_bool,
    is_collection,
    is_integer,
    is_number,
    number,
    one_of,
    or_none,
)

CROSS_KINDS = ("difference", "product", "ratio", "centred")


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


def symmetric_of(growth: object) -> Symmetric | None:
    """Return the settings of symmetric growth, None for another growth."""
    if growth == "symmetric":
        return Symmetric()
    return growth if isinstance(growth, Symmetric) else None


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
    """``sampling=Uniform(...)``: every row with the same probability ``subsample``.

    Parameters
    ----------
    replacement : bool, default=False
        Draw with replacement: the number of times that a row is drawn is Poisson with the mean ``subsample``.
    by : {'rows', 'groups', 'classes'}, default='rows'
        Draw rows, whole groups (those given to ``fit``), or the same fraction of every class.

    Examples
    --------
    >>> from sapwood import SapwoodRegressor, Uniform
    >>> SapwoodRegressor(sampling=Uniform(replacement=True))
    SapwoodRegressor(sampling=Uniform(replacement=True, by='rows'))
    """

    replacement: bool = False
    by: Literal["rows", "groups", "classes"] = "rows"

    def __post_init__(self) -> None:
        check_field(self, "replacement", boolean())
        check_field(self, "by", one_of("rows", "groups", "classes"))
        if self.replacement and self.by == "classes":
            raise ParameterError(
                "Uniform: replacement=True is not supported with by='classes': the number of rows of a class is fixed; "
                "use one of them."
            )


@register_sampling("goss")
@dataclass(frozen=True)
class Goss(Sampling):
    """``sampling=Goss(0.2, 0.1)``: gradient-based one-side sampling.

    Parameters
    ----------
    top : float, default=0.2
        Fraction of the rows, those of largest gradient, that are kept.
    other : float, default=0.1
        Fraction of the rows drawn at random from the others; their weights are raised accordingly.
    full_rounds : int, optional
        Number of first rounds that use all rows; by default 1 / learning_rate.

    Examples
    --------
    >>> from sapwood import Goss, SapwoodRegressor
    >>> SapwoodRegressor(sampling=Goss(0.2, 0.1))
    SapwoodRegressor(sampling=Goss(top=0.2, other=0.1, full_rounds=None))
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
    """``sampling=Mvs()``: minimum-variance sampling of a fraction ``subsample`` of the rows (0.8 if unset).

    The probability of a row is proportional to √(g² + λh²), at most 1, and its weight is divided by it.

    Parameters
    ----------
    smoothing : float, default=0.1
        λ is ``smoothing``, above 0, times Σg²/Σh²: the larger, the more equal the probabilities.

    Examples
    --------
    >>> from sapwood import Mvs, SapwoodRegressor
    >>> SapwoodRegressor(sampling=Mvs(0.5))
    SapwoodRegressor(sampling=Mvs(smoothing=0.5))
    """

    smoothing: float = 0.1

    def __post_init__(self) -> None:
        check_field(self, "smoothing", number(0, above=True))


@register_sampling("bayesian")
@dataclass(frozen=True)
class Bayesian(Sampling):
    """``sampling=Bayesian(1.0)``: all rows, with random weights (−log u)^temperature.

    Parameters
    ----------
    temperature : float, default=1.0
        From 0, where all weights are 1, to 40, so that sums of weights cannot overflow.

    Examples
    --------
    >>> from sapwood import Bayesian, SapwoodRegressor
    >>> SapwoodRegressor(sampling=Bayesian(0.5))
    SapwoodRegressor(sampling=Bayesian(temperature=0.5))
    """

    temperature: float = 1.0

    def __post_init__(self) -> None:
        check_field(self, "temperature", number(0, 40))


def sampling_of(spec: object) -> Sampling | None:
    """Return the settings of a sampling, None for all rows."""
    if isinstance(spec, str):
        return SAMPLINGS[spec]() if spec in SAMPLINGS else None
    return spec if isinstance(spec, Sampling) else None


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
