"""Make the grower that parameters select."""

from __future__ import annotations

from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.grow.distributed import DistributedGrower
from sapwood.grow.distributed_symmetric import DistributedSymmetricGrower
from sapwood.grow.exact import ExactGrower
from sapwood.grow.grower import Grower
from sapwood.grow.histogram import HistogramGrower
from sapwood.native.threads.team import Team
from sapwood.params.declaration import TreeParams
from sapwood.params.options import symmetric_of


def make_grower(dataset: BinnedDataset, n_outputs: int, params: TreeParams, seed: int, team: Team) -> Grower:
    """Return a grower of trees with ``n_outputs`` outputs on a dataset."""
    if not dataset.workers.is_local:
        is_symmetric = symmetric_of(params.growth) is not None
        return (DistributedSymmetricGrower if is_symmetric else DistributedGrower)(
            dataset, n_outputs, params, seed, team
        )
    kind = ExactGrower if params.split_search == "exact" else HistogramGrower
    return kind(dataset, n_outputs, params, seed, team)
