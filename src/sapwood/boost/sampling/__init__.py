"""Sampling of the rows that trees are grown on: one sampler for each object of ``sampling``."""

from __future__ import annotations

import importlib
from functools import cache

from sapwood.boost.sampling.base import SAMPLERS, SampledRows, Sampler, SamplingContext
from sapwood.params.declaration import BoostingParams
from sapwood.params.options import Sampling, Uniform, sampling_of

__all__ = ["SampledRows", "Sampler", "SamplingContext", "make_sampler", "samplers"]


@cache
def samplers() -> dict[type[Sampling], type[Sampler]]:
    """Return the sampler of each option; the first call imports the modules of this package, which register theirs."""
    import pkgutil  # slow to import, and seldom needed

    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return SAMPLERS


def make_sampler(params: BoostingParams, context: SamplingContext) -> Sampler | None:
    """Return the sampler that parameters select, None if every round uses all rows as they are."""
    option = sampling_of(params.sampling)
    if option is None or (option == Uniform() and params.subsample >= 1.0):
        return None
    return samplers()[type(option)](option, params, context)
