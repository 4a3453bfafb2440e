"""Objects that stand in a parameter's place and carry what belongs to that choice alone."""

from __future__ import annotations

from dataclasses import dataclass

from sapwood.errors import ParameterError


@dataclass(frozen=True)
class LastRows:
    """``validation_fraction=LastRows(0.2)``: the last rows are split off, for tables in the order of time."""

    fraction: float = 0.1

    def __post_init__(self) -> None:
        if not 0.0 < self.fraction < 1.0:
            raise ParameterError(f"LastRows: fraction must be a number between 0 and 1, got {self.fraction!r}")


@dataclass(frozen=True)
class EffectiveNumber:
    """``class_weight=EffectiveNumber(0.999)``: a class of n rows weighs as (1 - beta) / (1 - beta^n) per row.

    0 weighs all rows the same; the nearer to 1, the nearer every class is to the same total. The total weight is kept.
    """

    beta: float = 0.999

    def __post_init__(self) -> None:
        if not 0.0 <= self.beta < 1.0:
            raise ParameterError(f"EffectiveNumber: beta must be a number of at least 0 and below 1, got {self.beta!r}")


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
    not depend on units; it weighs against the sum of hessians as ``reg_lambda`` does.
    """

    penalty: float = 1.0

    def __post_init__(self) -> None:
        if isinstance(self.penalty, bool) or not 0.0 <= self.penalty < float("inf"):
            raise ParameterError(f"Linear: penalty must be a number of at least 0, got {self.penalty!r}")


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
