"""A program for ``mpiexec``: every process checks sums, maxima and gathered arrays; the first says how many did."""

from __future__ import annotations

import numpy as np
from mpi4py import MPI

from sapwood.distributed import MpiCommunicator, collectives

for collectives.DIRECT_WORKERS in (8, 0):
    one = MpiCommunicator(MPI.COMM_WORLD)
    large = np.arange(100_000)
    assert np.array_equal(one.sum(large + one.rank), one.size * large + sum(range(one.size)))
    assert one.max(np.array([float(one.rank)])).tolist() == [one.size - 1.0]
    gathered = one.gather(np.full(one.rank, one.rank))
    assert [array.tolist() for array in gathered] == [[rank] * rank for rank in range(one.size)]
if one.rank == 0:
    print(one.size, "workers agree")
