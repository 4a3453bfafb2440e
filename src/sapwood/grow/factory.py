"""Make the grower that parameters select."""

from __future__ import annotations

from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.grow.grower import Grower
from sapwood.grow.histogram import HistogramGrower
from sapwood.native.threads.team import Team
from sapwood.params.declaration import TreeParams
from sapwood.params.options import symmetric_of


def make_grower(
    dataset: BinnedDataset, n_outputs: int, params: TreeParams, seed: int, team: Team, n_prefixes: int = 0
) -> Grower:
    """Return a grower of trees with ``n_outputs`` outputs on a dataset; its kernels are imported when it is used.

    ``n_prefixes`` is the number of prefixes of ordered scoring, 0 without it.
    """
    kind: type[Grower]
    if not dataset.workers.is_local and symmetric_of(params.growth) is not None:
        from sapwood.grow.distributed_symmetric import DistributedSymmetricGrower

        kind = DistributedSymmetricGrower
    elif not dataset.workers.is_local:
        from sapwood.grow.distributed import DistributedGrower

        kind = DistributedGrower
    elif params.split_search == "exact":
        from sapwood.grow.exact import ExactGrower

        kind = ExactGrower
    else:
        kind = HistogramGrower
    return kind(dataset, n_outputs, params, seed, team, n_prefixes)
