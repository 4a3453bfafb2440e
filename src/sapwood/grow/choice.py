"""Choose the grower that the parameters ask for."""

from __future__ import annotations

from sapwood.choices import symmetric_of
from sapwood.data.dataset import Dataset
from sapwood.errors import ParameterError
from sapwood.grow.exact_grower import ExactGrower
from sapwood.grow.grower import Grower
from sapwood.grow.histogram_grower import HistogramGrower
from sapwood.grow.rank_grower import RankGrower
from sapwood.grow.rank_symmetric import SymmetricRankGrower
from sapwood.native.team import Team
from sapwood.params import TreeParams


def make_grower(dataset: Dataset, n_outputs: int, params: TreeParams, seed: int, team: Team) -> Grower:
    """A grower for trees of ``n_outputs`` outputs on a dataset."""
    if dataset.ranks is not None:
        if params.split_search == "exact":
            raise ParameterError("split_search='exact' cannot be spread over ranks: use 'histogram'")
        is_symmetric = symmetric_of(params.growth) is not None
        return (SymmetricRankGrower if is_symmetric else RankGrower)(dataset, n_outputs, params, seed, team)
    kind = ExactGrower if params.split_search == "exact" else HistogramGrower
    return kind(dataset, n_outputs, params, seed, team)
