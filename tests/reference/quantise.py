"""Random bits and quantised gradient pairs the slow way: Python's own integers and fractions, one row at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

STEP = 0x9E3779B97F4A7C15
OUTPUT_STEP = 0xD1342543DE82EF95
WORD = 2**64
ROUNDING = 1


def mix(x: int) -> int:
    """The finaliser of SplitMix64."""
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % WORD
    return x ^ (x >> 31)


def random_bits(seed: int, purpose: int, round: int, id: int, output: int = 0) -> int:
    """The 64 bits that belong to these numbers."""
    of_seed = mix((seed + STEP) % WORD)
    of_purpose = mix(of_seed ^ purpose)
    of_round = mix((of_purpose + round * STEP) % WORD)
    return mix((of_round + output * OUTPUT_STEP + id * STEP) % WORD)


def finest_scale(limit: int, bound: Fraction, n: int) -> Fraction:
    """The largest power of two s with s * bound + n < limit; 1 if the bound is 0."""
    if bound == 0:
        return Fraction(1)
    scale = Fraction(1)
    while scale * bound + n >= limit:
        scale /= 2
    while scale * 2 * bound + n < limit and scale < 2**1000:
        scale *= 2
    return scale


@dataclass(frozen=True)
class Quantised:
    """The integers of each row, and how many of them are one unit: in histograms and in exact sums."""

    gradient: list[int]
    hessian: list[int]
    unit: tuple[Fraction, Fraction]
    exact_unit: tuple[Fraction, Fraction]


def quantise_slowly(
    pairs: np.ndarray, weight: np.ndarray | None, ids: np.ndarray, wide: bool, draw: tuple[int, int], output: int = 0
) -> Quantised:
    """The pairs (n, 2) of one output as integers; ``draw`` is the seed and the round."""
    n = len(pairs)
    columns = []
    for side in range(2):
        values = [float(pairs[i, side]) * (1.0 if weight is None else float(weight[i])) for i in range(n)]
        bound = sum((abs(Fraction(value)) for value in values), Fraction(0))
        exact = finest_scale(2**62, bound, n)
        scale = exact if wide else finest_scale(2**31 if side == 0 else 2**32, bound, n)
        integers = []
        for i, value in enumerate(values):
            if wide:
                integers.append(round(value * float(scale)))
            else:
                bits = random_bits(draw[0], ROUNDING, draw[1], int(ids[i]), output)
                part = (bits % 2**32 if side == 0 else bits >> 32) / 2**32
                integers.append(math.floor(value * float(scale) + part))
        columns.append((integers, scale, exact))
    (gradient, unit_g, exact_g), (hessian, unit_h, exact_h) = columns
    return Quantised(gradient, hessian, (unit_g, unit_h), (exact_g, exact_h))
