"""Rescaling of the trees of earlier rounds by later ones: DART's normalisation and the averaging of a forest.

The history is kept in the model, so that a model cut after fewer rounds has the leaf values that it had then.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from sapwood.errors import ModelFileError
from sapwood.lazy_dataclass import dataclass

VALUE_BITS = 44  # of the values of a forest's trees, so that averages can be undone exactly
SPLITTER = 2.0 ** (53 - VALUE_BITS) + 1.0


@dataclass(frozen=True)
class TreeRescaling:
    """When ``round`` was added, the leaf values of the trees of ``rounds`` were multiplied by ``factor``."""

    round: int
    factor: float
    rounds: range | tuple[int, ...]

    def shifted(self, offset: int, first: int = 0) -> TreeRescaling:
        """Add ``offset`` to all round numbers and drop those of ``rounds`` that are then below ``first``."""
        if isinstance(self.rounds, range):
            start, stop = self.rounds.start + offset, self.rounds.stop + offset
            rounds: range | tuple[int, ...] = range(max(start, first), max(stop, first))
        else:
            rounds = tuple(k + offset for k in self.rounds if k + offset >= first)
        return TreeRescaling(self.round + offset, self.factor, rounds)

    def to_json(self) -> list[Any]:
        """Return [round, factor, first round, end of rounds] for a range, else [round, factor, list of rounds]."""
        if isinstance(self.rounds, range):
            return [self.round, self.factor, self.rounds.start, self.rounds.stop]
        return [self.round, self.factor, list(self.rounds)]


def average_rescalings(n_rounds: int) -> tuple[TreeRescaling, ...]:
    """Return the rescalings of a forest: round k multiplies the k trees before it by k / (k + 1)."""
    return tuple(TreeRescaling(round, round / (round + 1), range(round)) for round in range(1, n_rounds))


def is_average(rescalings: Sequence[TreeRescaling], n_rounds: int) -> bool:
    """Return whether the rounds of a model are averaged, as in a forest; a single round is not known to be one."""
    return n_rounds > 1 and len(rescalings) == n_rounds - 1 and tuple(rescalings) == average_rescalings(n_rounds)


def round_value(value: np.ndarray) -> np.ndarray:
    """Round numbers to ``VALUE_BITS`` significant bits.

    A rounded number that was divided by n in float64 is found again, exactly, by multiplying by n and rounding.
    """
    scaled = value * SPLITTER  # Veltkamp's splitting: the difference of two rounded numbers has fewer bits
    return np.subtract(scaled, scaled - value, out=scaled)


def undo_factors(rescalings: Iterable[TreeRescaling], stop: int) -> np.ndarray:
    """Return the factors that give the trees of rounds 0 to ``stop`` the values they had before round ``stop``."""
    factors = np.ones(stop)
    for rescaling in rescalings:
        if rescaling.round >= stop:
            if isinstance(rescaling.rounds, range):
                factors[rescaling.rounds.start : min(rescaling.rounds.stop, stop)] /= rescaling.factor
            else:
                factors[[k for k in rescaling.rounds if k < stop]] /= rescaling.factor
    return factors


def rescalings_from_json(values: Any, n_rounds: int) -> tuple[TreeRescaling, ...]:
    """Read what ``to_json`` wrote, for a model of ``n_rounds`` rounds; raise a ModelFileError if it is invalid."""
    if not isinstance(values, list):
        raise ModelFileError(f"the file is damaged: its rescalings are {values!r}")
    return tuple(_from_json(value, n_rounds) for value in values)


def _from_json(value: Any, n_rounds: int) -> TreeRescaling:
    invalid = ModelFileError(f"the file is damaged: one of its rescalings is {value!r}")
    if not isinstance(value, list) or len(value) not in (3, 4):
        raise invalid
    round, factor = value[:2]
    rounds: Sequence[Any] = value[2] if len(value) == 3 else value[2:]
    are_integers = isinstance(rounds, list) and all(type(k) is int for k in [round, *rounds])
    if not are_integers or not isinstance(factor, float) or not 0.0 < factor < float("inf"):
        raise invalid
    if not 0 <= round < n_rounds or not all(0 <= k <= round for k in rounds):
        raise invalid
    return TreeRescaling(round, factor, range(*rounds) if len(value) == 4 else tuple(rounds))
