"""The rows that a tree is grown on: one class per way of drawing them, found by the choice that it belongs to."""

from __future__ import annotations

import importlib
import pkgutil

import numpy as np

from sapwood.boost.sampling.base import SAMPLERS, SampledRows, Sampler, SamplingContext
from sapwood.errors import InputError, ParameterError
from sapwood.params.declaration import BoostingParams
from sapwood.params.options import Uniform, sampling_of

__all__ = ["SAMPLERS", "SampledRows", "SamplingContext", "Sampler", "check_sampling", "make_sampler"]

for _module in pkgutil.iter_modules(__path__):  # each registers its sampler
    importlib.import_module(f"{__name__}.{_module.name}")


def check_sampling(params: BoostingParams, task: str, groups: np.ndarray | None) -> None:
    """Refuse to draw by what the rows do not have."""
    choice = sampling_of(params.sampling)
    if not isinstance(choice, Uniform):
        return
    if choice.by == "groups" and groups is None:
        raise InputError("sampling=Uniform(by='groups') draws whole groups, but fit was given none: pass groups")
    if choice.by == "classes" and task not in ("binary", "multiclass"):
        raise ParameterError(
            "sampling=Uniform(by='classes') draws a share of every class, but the target has none: use by='rows'"
        )


def make_sampler(params: BoostingParams, pool: SamplingContext) -> Sampler | None:
    """What draws the rows of each round; None where every round uses all rows as they are."""
    choice = sampling_of(params.sampling)
    if choice is None or (choice == Uniform() and params.subsample >= 1.0):
        return None
    return SAMPLERS[type(choice)](choice, params, pool)
