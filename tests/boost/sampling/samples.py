"""Rows to sample from, and samplers with some settings."""

from __future__ import annotations

import numpy as np

from sapwood import Bayesian, Goss, Mvs, Uniform
from sapwood.boost.sampling import SampledRows, SamplingContext, make_sampler
from sapwood.boost.target import Target
from sapwood.native.threads.team import Team
from sapwood.params.declaration import BoostingParams
from sapwood.params.options import SAMPLINGS

HALF = BoostingParams(sampling="uniform", subsample=0.5)
ALONE = Team(1)
# Every registered sampler with its default settings, and some with others.
SETTINGS = {name: BoostingParams(sampling=name, subsample=0.4) for name in SAMPLINGS} | {
    "uniform": BoostingParams(sampling="uniform", subsample=0.4),
    "replacement": BoostingParams(sampling=Uniform(replacement=True), subsample=1.0),
    "groups": BoostingParams(sampling=Uniform(by="groups"), subsample=0.4),
    "drawn groups": BoostingParams(sampling=Uniform(replacement=True, by="groups"), subsample=0.7),
    "classes": BoostingParams(sampling=Uniform(by="classes"), subsample=0.4),
    "goss": BoostingParams(sampling=Goss(0.2, 0.1, full_rounds=0)),
    "mvs": BoostingParams(sampling=Mvs(), subsample=0.3),
    "bayesian": BoostingParams(sampling=Bayesian()),
}


def ids(n: int) -> np.ndarray:
    return np.arange(n, dtype=np.uint64)


def context_of(numbers: np.ndarray, weight=None, seed: int = 0, team: Team = ALONE) -> SamplingContext:
    groups = np.unique(numbers // np.uint64(7), return_inverse=True)[1]
    return SamplingContext(
        numbers, Target((numbers % np.uint64(3)).astype(float), weight, groups), "multiclass", seed, team
    )


def pairs_of(n: int, n_outputs: int = 1) -> np.ndarray:
    random = np.random.default_rng(5)
    pairs = random.normal(size=(n_outputs, n, 2)) ** 3
    return np.abs(pairs, where=np.array([False, True]), out=pairs).astype(np.float32)


def draw(params: BoostingParams, numbers: np.ndarray, round: int = 0, **more) -> SampledRows:
    sampler = make_sampler(params, context_of(numbers, **more))
    drawn = sampler.draw(pairs_of(len(numbers)), round)
    return SampledRows(None if drawn.rows is None else drawn.rows.copy(), drawn.weight_by_row.copy())


def pairs_from(gradient: list[float]) -> np.ndarray:
    return np.array([[[g, 1.0] for g in gradient]], dtype=np.float32)
