"""The rows of one worker of a fit: its partitions of the training rows and of validation sets, which it trains on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from sapwood.distributed.partitions import Partition, PartitionFacts, describe_partition, join_partitions
from sapwood.distributed.train import fit_on_worker
from sapwood.distributed.workers import Workers
from sapwood.errors import InputError
from sapwood.estimators.base import SapwoodEstimator


class StoredPartition(NamedTuple):
    """A partition as it was first computed: its number, the number of its first row, and its facts."""

    number: int
    first_row: int
    facts: PartitionFacts


class WorkerResult(NamedTuple):
    """What a worker returns: the fitted estimator (of the first worker), its fingerprint, and what it exchanged."""

    estimator: SapwoodEstimator | None
    fingerprint: str
    report: dict[str, Any]


EvalRows = tuple[Sequence[StoredPartition], Sequence[Partition], Partition]  # the last one has no rows


def number_rows(facts: Sequence[PartitionFacts]) -> list[StoredPartition]:
    """Return the partitions of these facts, whose rows are numbered in the order of partitions."""
    starts = np.cumsum([0, *(one.n_rows for one in facts)]).tolist()
    return [StoredPartition(k, starts[k], one) for k, one in enumerate(facts)]


class WorkerRows(NamedTuple):
    """The rows of a worker: partitions of training, and of each validation set."""

    stored: Sequence[StoredPartition]
    partitions: Sequence[Partition]
    eval_sets: Mapping[str, EvalRows]

    def check_content(self, address: str) -> None:
        """Raise InputError if a partition that this worker did not compute first differs from what it was."""
        _check_content(self.stored, self.partitions, address)
        for stored, partitions, _ in self.eval_sets.values():
            _check_content(stored, partitions, address)

    @property
    def row_numbers(self) -> np.ndarray:
        """Numbers of the training rows among those of all partitions."""
        ranges = [np.arange(one.first_row, one.first_row + one.facts.n_rows, dtype=np.uint64) for one in self.stored]
        return np.concatenate([np.empty(0, dtype=np.uint64), *ranges])

    def fit(self, estimator: SapwoodEstimator, workers: Workers, dtype: str | None, init_model: Any) -> None:
        """Fit an estimator together with the other workers; numeric arrays are joined as arrays of ``dtype``."""
        joined = join_partitions(self.partitions, dtype)
        more = {name: getattr(joined, name) for name in ("sample_weight", "init_score", "groups")}
        more["init_model"] = init_model
        if self.eval_sets:
            more |= _join_eval_sets(self.eval_sets, dtype)
        fit_on_worker(estimator, joined.X, joined.y, workers, self.row_numbers, **more)

    def report(self, workers: Workers, n_replayed: int) -> dict[str, Any]:
        """Return what a worker did in a fit, in which ``n_replayed`` rounds of an earlier attempt were replayed."""
        communicator = workers.communicator
        return {
            "partitions": len(self.stored),
            "rows": sum(one.facts.n_rows for one in self.stored),
            "rounds_replayed": n_replayed,
            "bytes_sent": communicator.sent,
            "messages": communicator.messages,
            "exchanges": communicator.exchanges,
            "seconds": communicator.seconds,
        }


def _check_content(stored: Sequence[StoredPartition], partitions: Sequence[Partition], address: str) -> None:
    """Raise InputError if a partition that was computed again differs from what it was."""
    for one, partition in zip(stored, partitions, strict=True):
        if one.facts.address != address and not one.facts.same_content(describe_partition(partition, address)):
            raise InputError(
                f"partition {one.number} was computed again, because its worker was lost, and is not what it was: make "
                "its computation deterministic (seed random numbers, sort joins), or write the collection to files "
                "first"
            )


def _join_eval_sets(eval_sets: Mapping[str, EvalRows], dtype: str | None) -> dict[str, Any]:
    """Return the arguments ``eval_set`` and ``eval_sample_weight`` of this worker; a set may have no rows here."""
    joined = {name: join_partitions(list(own) or [empty], dtype) for name, (_, own, empty) in eval_sets.items()}
    sets = {
        name: (one.X, one.y) if one.init_score is None else (one.X, one.y, one.init_score)
        for name, one in joined.items()
    }
    weights = {name: one.sample_weight for name, one in joined.items() if one.sample_weight is not None}
    return {"eval_set": sets, "eval_sample_weight": weights or None}
