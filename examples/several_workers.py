"""Distributed training: several workers, each with some of the rows, train one model.

Here the workers are threads that exchange bytes through queues; in practice they are processes or machines.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from queue import Queue

import numpy as np

from sapwood import SapwoodClassifier
from sapwood.datasets import load_adult
from sapwood.distributed import Communicator, fit

N_WORKERS = 2


class QueueCommunicator(Communicator):
    """Exchanges bytes through one queue per pair of workers; replace the queues by a network."""

    def __init__(self, worker: int, queues: dict[tuple[int, int], Queue[bytes]]) -> None:
        super().__init__(worker, N_WORKERS)
        self.queues = queues

    def exchange(self, parts: Sequence[bytes]) -> list[bytes]:
        """Send ``parts[w]`` to worker w; return what each worker sent to this one."""
        for other in range(N_WORKERS):
            self.queues[self.rank, other].put(parts[other])
        return [self.queues[other, self.rank].get(timeout=60) for other in range(N_WORKERS)]


adult = load_adult(None, numeric_only=True)
X, y = adult.train
settings = {"n_estimators": 20, "sampling": "goss", "early_stopping_rounds": 5, "n_jobs": 1}
queues: dict[tuple[int, int], Queue[bytes]] = {(a, b): Queue() for a in range(N_WORKERS) for b in range(N_WORKERS)}
communicators = [QueueCommunicator(worker, queues) for worker in range(N_WORKERS)]
models = [SapwoodClassifier(**settings) for _ in range(N_WORKERS)]


def train(worker: int) -> None:
    """Train on the rows of one worker."""
    rows = np.array_split(np.arange(len(y)), N_WORKERS)[worker]
    fit(models[worker], X[rows], y[rows], communicators[worker])


threads = [threading.Thread(target=train, args=(worker,)) for worker in range(N_WORKERS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()

single = SapwoodClassifier(**settings).fit(X, y)
assert {model.model_.fingerprint() for model in models} == {single.model_.fingerprint()}
print(f"{N_WORKERS} workers trained the model of a single process: accuracy {models[0].score(*adult.test):.4f}")
print(f"bytes sent by worker 0: {communicators[0].report()}")
