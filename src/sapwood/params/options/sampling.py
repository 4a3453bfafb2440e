"""Samples of rows, and the names that stand for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeVar

from sapwood.errors import ParameterError
from sapwood.lazy_dataclass import dataclass
from sapwood.params.validators import boolean, check_field, fraction, integer, number, one_of


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


def is_sampling(value: Any) -> bool:
    """Return whether a value is a ``sampling``."""
    return sampling_of(value) is not None or (isinstance(value, str) and value in ("auto", "none"))
