"""Sampling of the rows that trees are grown on: one sampler for each object of ``sampling``."""

from __future__ import annotations

import importlib
import pkgutil

from sapwood.boost.sampling.base import SAMPLERS, SampledRows, Sampler, SamplingContext
from sapwood.params.declaration import BoostingParams
from sapwood.params.options import Uniform, sampling_of

__all__ = ["SAMPLERS", "SampledRows", "SamplingContext", "Sampler", "make_sampler"]

for _module in pkgutil.iter_modules(__path__):  # each registers its sampler
    importlib.import_module(f"{__name__}.{_module.name}")


def make_sampler(params: BoostingParams, context: SamplingContext) -> Sampler | None:
    """Return the sampler that parameters select, None if every round uses all rows as they are."""
    option = sampling_of(params.sampling)
    if option is None or (option == Uniform() and params.subsample >= 1.0):
        return None
    return SAMPLERS[type(option)](option, params, context)
