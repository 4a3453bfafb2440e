"""Ranks that have rows of their own train one model: here threads that hand each other bytes, elsewhere machines."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from queue import Queue

import numpy as np

from sapwood import SapwoodClassifier
from sapwood.datasets import load_adult
from sapwood.distributed import Reducer, fit

RANKS = 2


class QueueReducer(Reducer):
    """Puts bytes into the queue from this rank to another; whoever has a network sends them there."""

    def __init__(self, rank: int, queues: dict[tuple[int, int], Queue[bytes]]) -> None:
        super().__init__(rank, RANKS)
        self.queues = queues

    def exchange(self, parts: Sequence[bytes]) -> list[bytes]:
        """Send ``parts[r]`` to rank r; return what every rank has sent to this one."""
        for other in range(RANKS):
            self.queues[self.rank, other].put(parts[other])
        return [self.queues[other, self.rank].get(timeout=60) for other in range(RANKS)]


adult = load_adult()
X, y = adult.train
settings = {"n_estimators": 20, "sampling": "goss", "early_stopping_rounds": 5, "n_jobs": 1}
queues: dict[tuple[int, int], Queue[bytes]] = {(a, b): Queue() for a in range(RANKS) for b in range(RANKS)}
reducers = [QueueReducer(rank, queues) for rank in range(RANKS)]
models = [SapwoodClassifier(**settings) for _ in range(RANKS)]


def train(rank: int) -> None:
    """Train on the rank's part of the rows."""
    rows = np.array_split(np.arange(len(y)), RANKS)[rank]
    fit(models[rank], X[rows], y[rows], reducers[rank])


threads = [threading.Thread(target=train, args=(rank,)) for rank in range(RANKS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()

alone = SapwoodClassifier(**settings).fit(X, y)
assert {model.model_.fingerprint() for model in models} == {alone.model_.fingerprint()}
print(f"{RANKS} ranks have trained the model of one: accuracy {models[0].score(*adult.test):.4f}")
print(f"bytes that rank 0 has sent: {reducers[0].report()}")
