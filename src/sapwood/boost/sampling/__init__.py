"""The rows that a tree is grown on: one class per way of drawing them, found by the choice that it belongs to."""

from __future__ import annotations

import importlib
import pkgutil

from sapwood.boost.sampling.base import SAMPLERS, SampledRows, Sampler, SamplingContext
from sapwood.params.declaration import BoostingParams
from sapwood.params.options import Uniform, sampling_of

__all__ = ["SAMPLERS", "SampledRows", "SamplingContext", "Sampler", "make_sampler"]

for _module in pkgutil.iter_modules(__path__):  # each registers its sampler
    importlib.import_module(f"{__name__}.{_module.name}")


def make_sampler(params: BoostingParams, pool: SamplingContext) -> Sampler | None:
    """What draws the rows of each round; None where every round uses all rows as they are."""
    choice = sampling_of(params.sampling)
    if choice is None or (choice == Uniform() and params.subsample >= 1.0):
        return None
    return SAMPLERS[type(choice)](choice, params, pool)
