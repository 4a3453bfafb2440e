"""Ranks that train one model together, and what they agree on before they begin."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from sapwood.data.binning.edges import GATHERED_VALUES, SAMPLE_ROWS, cut_sample, gather, weight_units
from sapwood.data.tables.table import Table
from sapwood.distributed.communicator import Reducer
from sapwood.errors import InputError
from sapwood.kernels.encode import binning
from sapwood.kernels.numeric.random import EDGES
from sapwood.native.runtime.kernel import Run

ROWS, FEATURES = "rows", "features"


@dataclass(frozen=True, eq=False)
class Ranks:
    """The ranks of a training: each has rows of its own (``by`` rows), or all have all and search their own features.

    ``n_rows`` are those of all ranks together.
    """

    reducer: Reducer
    by: str
    n_rows: int

    @property
    def share_rows(self) -> bool:
        """Whether no rank has all rows."""
        return self.by == ROWS

    def counted(self, n_rows: int) -> Ranks:
        """The same ranks, this one with so many rows."""
        if not self.share_rows:
            return replace(self, n_rows=n_rows)
        every = np.concatenate(self.reducer.gather(np.array([n_rows], dtype=np.int64)))
        if not every.all():
            raise InputError(
                f"rank {int(np.argmin(every))} has no rows of positive weight: give every rank some, or train with "
                "fewer ranks"
            )
        return replace(self, n_rows=int(every.sum()))

    def first_row(self, n_rows: int) -> int:
        """How many rows the ranks before this one have."""
        every = np.concatenate(self.reducer.gather(np.array([n_rows], dtype=np.int64)))
        return int(every[: self.reducer.rank].sum())

    def whole(self, values: np.ndarray) -> np.ndarray:
        """The rows of all ranks, one after another; rows are the last axis."""
        if not self.share_rows:
            return values
        return np.ascontiguousarray(np.concatenate(self.reducer.gather(np.ascontiguousarray(values.T))).T)

    def agreed(self, reason: str | None) -> str | None:
        """What rank 0 says, so that all stop together."""
        return self.texts(reason or "")[0] or None

    def texts(self, text: str) -> list[str]:
        """The texts of all ranks."""
        return [one.tobytes().decode() for one in self.reducer.gather(np.frombuffer(text.encode(), np.uint8))]

    def check_same(self, facts: Mapping[str, object]) -> None:
        """Refuse to go on where ranks differ in something."""
        every = [json.loads(text) for text in self.texts(json.dumps(facts))]
        for rank, told in enumerate(every):
            for name, value in told.items():
                if value != every[0].get(name):
                    raise InputError(
                        f"{name} is {every[0].get(name)} at rank 0 but {value} at rank {rank}: make them alike, "
                        "as all ranks train the same model"
                    )

    def all_classes(self, classes: np.ndarray) -> np.ndarray:
        """The classes of all ranks, given those of this one."""
        every = [json.loads(text) for text in self.texts(json.dumps([classes.dtype.kind, classes.tolist()]))]
        kinds = [kind for kind, _ in every]
        if len(set(kinds)) > 1:
            raise InputError(f"labels are of different kinds at different ranks ({', '.join(kinds)}): make them alike")
        joined = np.unique(np.concatenate([np.array(labels) for _, labels in every]))
        return joined.astype(classes.dtype) if classes.dtype.kind not in "UO" else joined.astype(classes.dtype.kind)


def find_shared_edges(
    table: Table, weight: np.ndarray | None, max_bins: int, seed: int, row_ids: np.ndarray, ranks: Ranks, run: Run
) -> list[np.ndarray]:  # fmt: skip
    """The edges that ``find_edges`` would choose if one rank had all rows; each rank looks at some of the columns.

    A rank holds the sampled values of its columns, ``GATHERED_VALUES`` of all ranks' columns at a time.
    """
    reducer = ranks.reducer
    reducer.purpose = "edges"
    rows = shared_sample(row_ids, seed, ranks, run)
    units = np.empty(0, dtype=np.int64) if weight is None else weight_units(ranks.whole(weight[rows]))
    n_sampled = min(ranks.n_rows, SAMPLE_ROWS)
    at_once = max(1, min(table.n_features, GATHERED_VALUES * reducer.size // n_sampled))
    edges: list[np.ndarray] = []
    for first in range(0, table.n_features, at_once):
        last = min(first + at_once, table.n_features)
        start = first + np.arange(reducer.size + 1) * (last - first) // reducer.size
        parts = [gather(table, rows, int(a), int(b), run) for a, b in pairwise(start)]
        got, n_own = reducer.deal([part.reshape(-1) for part in parts]), len(parts[reducer.rank])
        values = np.concatenate([one.reshape(n_own, len(one) // max(1, n_own)) for one in got], axis=1)
        edges.extend(_all_lines(cut_sample(values, units, max_bins, run) if n_own else [], reducer))
    return edges


def shared_sample(row_ids: np.ndarray, seed: int, ranks: Ranks, run: Run) -> np.ndarray:
    """The places here of the rows that ``sample_rows`` would take among those of all ranks."""
    if ranks.n_rows <= SAMPLE_ROWS:
        return np.arange(len(row_ids), dtype=np.int64)
    hashes = np.empty(len(row_ids), dtype=np.uint64)
    run(binning.hash_rows, seed, EDGES, row_ids, hashes)
    smallest = hashes if len(hashes) <= SAMPLE_ROWS else np.partition(hashes, SAMPLE_ROWS - 1)[:SAMPLE_ROWS]
    every = np.concatenate(ranks.reducer.gather(smallest))
    return np.flatnonzero(hashes <= np.partition(every, SAMPLE_ROWS - 1)[SAMPLE_ROWS - 1])


def _all_lines(lines: Sequence[np.ndarray], reducer: Reducer) -> list[np.ndarray]:
    """The lines of all ranks, in the order of ranks."""
    lengths = np.concatenate(reducer.gather(np.array([len(line) for line in lines], dtype=np.int64)))
    values = np.concatenate(reducer.gather(np.concatenate([np.empty(0), *lines])))
    return np.split(values, np.cumsum(lengths)[:-1])
