"""What later rounds did to the answers of earlier ones, where training rescales trees: dropouts and averages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sapwood.errors import ModelFileError


@dataclass(frozen=True)
class TreeRescaling:
    """When ``round`` was added, the answers of ``rounds`` before it were multiplied by ``factor``."""

    round: int
    factor: float
    rounds: range | tuple[int, ...]

    def shifted(self, by: int, first: int = 0) -> TreeRescaling:
        """The same with all rounds counted ``by`` further, and those that would come before ``first`` left out."""
        if isinstance(self.rounds, range):
            kept: range | tuple[int, ...] = range(max(self.rounds.start + by, first), max(self.rounds.stop + by, first))
        else:
            kept = tuple(one + by for one in self.rounds if one + by >= first)
        return TreeRescaling(self.round + by, self.factor, kept)

    def to_json(self) -> list[Any]:
        """The rescaling as JSON values: round, factor and the rounds, or the first and the one after the last."""
        if isinstance(self.rounds, range):
            return [self.round, self.factor, self.rounds.start, self.rounds.stop]
        return [self.round, self.factor, list(self.rounds)]


def undo_factors(rescalings: Iterable[TreeRescaling], stop: int) -> np.ndarray:
    """What multiplies the answers of rounds 0 to ``stop`` to make them what they were before round ``stop`` came."""
    factors = np.ones(stop)
    for one in rescalings:
        if one.round >= stop:
            if isinstance(one.rounds, range):
                factors[one.rounds.start : min(one.rounds.stop, stop)] /= one.factor
            else:
                factors[[k for k in one.rounds if k < stop]] /= one.factor
    return factors


def rescalings_from_json(values: Any, n_rounds: int) -> tuple[TreeRescaling, ...]:
    """The rescalings that ``to_json`` wrote; each must make sense for so many rounds."""
    if not isinstance(values, list):
        raise ModelFileError(f"the file is damaged: its rescalings are {values!r}")
    return tuple(_read(value, n_rounds) for value in values)


def _read(value: Any, n_rounds: int) -> TreeRescaling:
    wrong = ModelFileError(f"the file is damaged: one of its rescalings is {value!r}")
    if not isinstance(value, list) or len(value) not in (3, 4):
        raise wrong
    round, factor = value[:2]
    rounds: Sequence[Any] = value[2] if len(value) == 3 else value[2:]
    is_whole = isinstance(rounds, list) and all(type(k) is int for k in [round, *rounds])
    if not is_whole or not isinstance(factor, float) or not 0.0 < factor < float("inf"):
        raise wrong
    if not 0 <= round < n_rounds or not all(0 <= k <= round for k in rounds):
        raise wrong
    return TreeRescaling(round, factor, range(*rounds) if len(value) == 4 else tuple(rounds))
