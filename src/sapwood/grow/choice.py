"""Choose the grower that the parameters ask for."""

from __future__ import annotations

from sapwood.data.dataset import Dataset
from sapwood.grow.exact_grower import ExactGrower
from sapwood.grow.grower import Grower
from sapwood.grow.histogram_grower import HistogramGrower
from sapwood.native.team import Team
from sapwood.params import TreeParams


def make_grower(dataset: Dataset, n_outputs: int, params: TreeParams, seed: int, team: Team) -> Grower:
    """A grower for trees of ``n_outputs`` outputs on a dataset."""
    kind = ExactGrower if params.split_search == "exact" else HistogramGrower
    return kind(dataset, n_outputs, params, seed, team)
