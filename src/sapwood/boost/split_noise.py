"""Noise added to the gains by which features are chosen (``random_strength``): it decays as the model grows.

Its unit is the expected gain of a random split, ½ Σg²/Σh: with a random side for each row the mean of G²/H is Σg²/Σh.
It decays as CatBoost's does, by n·e^(−ηk) / (1 + n·e^(−ηk)) in round k with n rows and the learning rate η.
"""

from __future__ import annotations

import math

import numpy as np

from sapwood.boost.sampling.base import SampledRows
from sapwood.distributed.workers import LOCAL, Workers
from sapwood.kernels.numeric.elementwise import apply_elementwise, exp_values
from sapwood.kernels.numeric.sums import fixed_sums
from sapwood.native.runtime.kernel import Run
from sapwood.params.declaration import Params
from sapwood.params.options import symmetric_of


def split_noise_scale(
    params: Params,
    pairs: np.ndarray,
    sampled: SampledRows,
    rounds: tuple[int, int],
    run: Run,
    workers: Workers = LOCAL,
) -> float:
    """Return the standard deviation of the noise of a tree, given the pairs (outputs, rows, 2) that it is grown on.

    ``rounds`` are the numbers of rounds before: of this fit and of the model that it continues.
    """
    strength = params.tree.random_strength
    if strength == 0.0:
        return 0.0
    workers.begin("noise")
    squares = np.square(pairs[:, :, 0].astype(np.float64)).sum(axis=0)
    hessians = pairs[:, :, 1].astype(np.float64).sum(axis=0)
    weight = sampled.weight_by_row if len(sampled.weight_by_row) else np.ones(len(squares))
    sum_squares, sum_hessians = fixed_sums([(squares, weight), (hessians, weight)], run, workers)
    unit = sum_squares / sum_hessians if sum_hessians > 0.0 else 0.0
    symmetric = symmetric_of(params.tree.growth)
    if symmetric is None:
        unit *= 0.5  # symmetric trees score splits by twice the gain
    elif symmetric.score == "cosine":
        unit = math.sqrt(unit)
    return strength * unit * noise_decay(workers.count_rows(len(squares)), params.boost.rates_before(*rounds))


def noise_decay(n_rows: int, length: float) -> float:
    """Return the fraction of the noise that is left after rounds whose learning rates sum up to ``length``."""
    power = apply_elementwise(exp_values, np.array([-min(length, 700.0)]))
    scaled = n_rows * float(power[0])
    return scaled / (1.0 + scaled)
