"""Learning rates: one for all rounds, a list with one per round, or a function of the round."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sapwood.errors import ParameterError
from sapwood.lazy_dataclass import dataclass
from sapwood.params.validators import Validator, check_signature, is_collection, number

RATE = number(0, above=True)
LearningRate = float | tuple[float, ...]


@dataclass(frozen=True)
class RisingRate:
    """A learning rate that rises from ``start`` by as much every ``rounds`` rounds, up to ``max_factor`` times.

    Where a model needs many rounds, later ones make larger steps, so that there are fewer of them.
    """

    start: float
    rounds: float
    max_factor: float

    def __call__(self, round: int) -> float:
        """Return the rate of a round, which counts from 0."""
        return self.start * min(1.0 + round / self.rounds, self.max_factor)


def _is_learning_rate(value: Any) -> bool:
    if callable(value):
        return True
    if not is_collection(value) or not hasattr(value, "__len__") or isinstance(value, dict):
        return RATE.accepts(value)
    return len(value) > 0 and all(RATE.accepts(rate) for rate in value)


def _plain(value: Any) -> float | tuple[float, ...] | Callable[[int], float]:
    if callable(value):
        check_signature(value, "learning_rate", "round")
        return value
    return tuple(map(float, value)) if isinstance(value, (list, tuple, np.ndarray)) else float(value)


LEARNING_RATE = Validator(
    "a number above 0, a list with one per round, or a function of the round, which counts from 0",
    _is_learning_rate,
    _plain,
    "float | Sequence[float] | np.ndarray | Callable[[int], float]",
)


def resolve_rates(value: Any, n_rounds: int) -> LearningRate:
    """Return the learning rate of all rounds, or a tuple with that of each; functions are called for each round."""
    if callable(value):
        rates = [value(round) for round in range(n_rounds)]
        for round, rate in enumerate(rates):
            if not RATE.accepts(rate):
                raise ParameterError(
                    f"learning_rate: the function returned {rate!r} for round {round}, not a number above 0"
                )
        return tuple(map(float, rates))
    if isinstance(value, tuple):
        if len(value) != n_rounds:
            raise ParameterError(
                f"learning_rate has {len(value)} values, but n_estimators={n_rounds}: pass one value per round, or a "
                "function of the round"
            )
        return value
    return float(value)


def rate_of_round(rates: LearningRate, round: int) -> float:
    """Return the learning rate of a round, which counts from 0 in every fit."""
    return rates[round] if isinstance(rates, tuple) else rates


def rates_from(rates: LearningRate, round: int) -> LearningRate:
    """Return the learning rates of the rounds from ``round`` on."""
    return rates[round:] if isinstance(rates, tuple) else rates


def sum_of_rates(rates: LearningRate, round: int, n_earlier: int) -> float:
    """Return the sum of the learning rates before a round; ``n_earlier`` rounds of a continued model have the first."""
    if isinstance(rates, tuple):
        return n_earlier * rates[0] + math.fsum(rates[:round])
    return (n_earlier + round) * rates
