"""Distributed training with MPI: every process has some of the rows, and all end with the model of one process.

Run it with ``mpiexec -n 2 python -m mpi4py examples/mpi_workers.py``; it needs ``mpi4py``. Without ``mpiexec`` there is
one worker.
"""

from __future__ import annotations

from sapwood import SapwoodClassifier
from sapwood.datasets import load_adult
from sapwood.distributed import MpiCommunicator, fit

try:
    from mpi4py import MPI
except ImportError:
    raise SystemExit("this example needs MPI: pip install mpi4py") from None

communicator = MpiCommunicator(MPI.COMM_WORLD)
rank, size = communicator.rank, communicator.size
adult = load_adult(None)
X, y = adult.train
first, last = len(y) * rank // size, len(y) * (rank + 1) // size  # in practice, every process reads its own files

settings = {"n_estimators": 10, "n_jobs": 1, "effort": "fast"}
model = fit(SapwoodClassifier(**settings), X[first:last], y[first:last], communicator)

if rank == 0:
    single = SapwoodClassifier(**settings).fit(X, y)
    assert model.model_.fingerprint() == single.model_.fingerprint()
    print(f"{size} workers trained the model of a single process: accuracy {model.score(*adult.test):.4f}")
    print(f"bytes sent by worker 0: {communicator.report()}")
