"""Noise in the gains by which features are chosen: much at first, less and less as the model grows.

Its unit is the gain that a split brings by chance, ½ Σg²/Σh: with a random side for each row G²/H is Σg²/Σh on average.
It fades as CatBoost's does, by n·e^(−ηk) / (1 + n·e^(−ηk)) in round k with n rows and the learning rate η.
"""

from __future__ import annotations

import math

import numpy as np

from sapwood.boost.sampling.base import SampledRows
from sapwood.distributed.workers import LOCAL, Workers
from sapwood.kernels.numeric.elementwise import apply_elementwise, exp_values
from sapwood.kernels.numeric.sums import fixed_sum
from sapwood.native.runtime.kernel import Run
from sapwood.params.declaration import Params
from sapwood.params.options import symmetric_of


def noise_of(
    params: Params, pairs: np.ndarray, drawn: SampledRows, round: int, run: Run, workers: Workers = LOCAL
) -> float:  # fmt: skip
    """The standard deviation for a tree of a round, given the pairs (outputs, rows, 2) that it is grown on."""
    strength = params.tree.random_strength
    if strength == 0.0:
        return 0.0
    squares = np.square(pairs[:, :, 0].astype(np.float64)).sum(axis=0)
    hessians = pairs[:, :, 1].astype(np.float64).sum(axis=0)
    weight = drawn.weight_by_row if len(drawn.weight_by_row) else np.ones(len(squares))
    squares, hessians, weight = workers.gather_each(squares, hessians, weight)
    below = fixed_sum(hessians, weight, run)
    unit = fixed_sum(squares, weight, run) / below if below > 0.0 else 0.0
    symmetric = symmetric_of(params.tree.growth)
    if symmetric is None:
        unit *= 0.5  # symmetric trees judge cuts by twice the gain
    elif symmetric.score == "cosine":
        unit = math.sqrt(unit)
    return strength * unit * fading(len(squares), round * params.boost.learning_rate)


def fading(n_rows: int, length: float) -> float:
    """What is left of the noise after rounds whose learning rates sum up to ``length``."""
    power = apply_elementwise(exp_values, np.array([-min(length, 700.0)]))
    left = n_rows * float(power[0])
    return left / (1.0 + left)
