"""The workers of a fit: processes or machines that train one model together. A fit on one machine has one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from sapwood import errors
from sapwood.distributed.communicator import Communicator, LocalCommunicator
from sapwood.distributed.journal import Journal
from sapwood.errors import InputError, TrainingError
from sapwood.lazy_dataclass import dataclass

ROWS, FEATURES = "rows", "features"


@dataclass(frozen=True, eq=False)
class Workers:
    """The workers of a fit and how data is split between them.

    With ``split`` "rows" each worker has rows of its own; with "features" each has all rows and searches some of the
    features for splits. Every method returns its argument itself, without a copy, where this worker has all rows.
    ``journal`` keeps finished rounds for another attempt if a worker is lost; None: nothing is kept.
    """

    communicator: Communicator
    split: str
    journal: Journal | None = None

    @property
    def is_local(self) -> bool:
        """Whether the fit runs on one machine, without a communicator of the user."""
        return isinstance(self.communicator, LocalCommunicator)

    @property
    def splits_rows(self) -> bool:
        """Whether each worker has rows of its own."""
        return self.split == ROWS

    @property
    def is_first(self) -> bool:
        """Whether this is worker 0, which writes files and computes what one worker computes for all."""
        return self.communicator.rank == 0

    def begin(self, purpose: str) -> None:
        """Count the bytes that are sent from now on under ``purpose``."""
        self.communicator.purpose = purpose

    # --- numbers of rows ----------------------------------------------------------------------------------------------

    def check_rows(self, n_rows: int) -> None:
        """Raise InputError, at all workers, if a worker has no rows."""
        counts = self._row_counts(n_rows)
        if not counts.all():
            raise InputError(
                f"worker {int(np.argmin(counts))} has no rows: give every worker some, or train with fewer workers"
            )

    def count_rows(self, n_rows: int) -> int:
        """Return the number of rows of all workers, given those of this one, of which there may be none."""
        return int(self._row_counts(n_rows).sum()) if self.splits_rows else n_rows

    def row_offset(self, n_rows: int) -> int:
        """Return the number of rows of the workers before this one, which has ``n_rows``."""
        return int(self._row_counts(n_rows)[: self.communicator.rank].sum()) if self.splits_rows else 0

    def has_duplicates(self, numbers: np.ndarray) -> bool:
        """Return whether two rows of all workers have the same number; each worker compares some of the numbers."""
        if self.splits_rows:
            owner = numbers % np.uint64(self.communicator.size)
            order = np.argsort(owner)
            borders = np.searchsorted(owner[order], np.arange(1, self.communicator.size))
            numbers = np.concatenate(self.communicator.exchange_arrays(np.split(numbers[order], borders)))
        n_duplicates = len(numbers) - len(np.unique(numbers))
        return bool(self.sum(np.array([n_duplicates], dtype=np.int64))[0])

    def _row_counts(self, n_rows: int) -> np.ndarray:
        return np.concatenate(self.communicator.gather(np.array([n_rows], dtype=np.int64)))

    # --- values that belong to rows -----------------------------------------------------------------------------------

    def sum(self, values: np.ndarray) -> np.ndarray:
        """Return the sum over all workers of integers that each has summed over its rows."""
        return self.communicator.sum(values) if self.splits_rows else values

    def max(self, values: np.ndarray) -> np.ndarray:
        """Return the maximum over all workers of numbers that each has found in its rows."""
        return self.communicator.max(values) if self.splits_rows else values

    def sum_before(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums of integers over the workers before this one, and over all workers."""
        return self.communicator.sum_before(values) if self.splits_rows else (np.zeros_like(values), values)

    def min(self, values: np.ndarray) -> np.ndarray:
        """Return the minimum over all workers of numbers that each has found in its rows."""
        if values.dtype.kind == "u":
            return ~self.max(~values)
        return -self.max(-values)

    def extrema(self, values: np.ndarray) -> tuple[float, float]:
        """Return the smallest and the largest of numbers, one per row of all workers."""
        found = np.array([-np.min(values, initial=np.inf), np.max(values, initial=-np.inf)])
        negative_low, high = self.max(found).tolist()
        return -negative_low, high

    def gather_rows(self, values: np.ndarray, at_first: bool = False) -> np.ndarray:
        """Return the values of the rows of all workers, worker by worker; rows are the last axis.

        With ``at_first`` the first worker gets them, and the others no rows.
        """
        if not self.splits_rows:
            return values
        rows = np.ascontiguousarray(values.T)
        if at_first:
            received = self.communicator.exchange_arrays([rows, *[rows[:0]] * (self.communicator.size - 1)])
        else:
            received = self.communicator.gather(rows)
        return np.ascontiguousarray(np.concatenate(received).T)

    # --- columns of which each worker takes some ----------------------------------------------------------------------

    def column_slices(self, first: int, last: int) -> list[tuple[int, int]]:
        """Split the columns ``first`` to ``last`` between the workers that have rows of their own."""
        n_slices = self.communicator.size if self.splits_rows else 1
        start = first + np.arange(n_slices + 1) * (last - first) // n_slices
        return list(pairwise(start.tolist()))

    @property
    def slice_number(self) -> int:
        """Number of this worker's slice among those of ``column_slices``."""
        return self.communicator.rank if self.splits_rows else 0

    def exchange_columns(self, slices: Sequence[np.ndarray]) -> np.ndarray:
        """Return this worker's slice of the columns (columns, rows) for the rows of all workers.

        ``slices`` are all slices for the rows of this worker.
        """
        if not self.splits_rows:
            return slices[0]
        n_columns = len(slices[self.communicator.rank])
        received = self.communicator.exchange_arrays([part.reshape(-1) for part in slices])
        return np.concatenate([part.reshape(n_columns, len(part) // max(1, n_columns)) for part in received], axis=1)

    def gather_columns(self, columns: list[np.ndarray]) -> list[np.ndarray]:
        """Return arrays of float64, one for each column, of the slices of all workers in their order."""
        if not self.splits_rows:
            return columns
        lengths = np.concatenate(self.communicator.gather(np.array([len(one) for one in columns], dtype=np.int64)))
        values = np.concatenate(self.communicator.gather(np.concatenate([np.empty(0), *columns])))
        return np.split(values, np.cumsum(lengths)[:-1])

    # --- texts and facts ----------------------------------------------------------------------------------------------

    def gather_texts(self, text: str) -> list[str]:
        """Return the texts of all workers."""
        gathered = self.communicator.gather(np.frombuffer(text.encode(), np.uint8))
        return [array.tobytes().decode() for array in gathered]

    def first_text(self, text: str) -> str:
        """Return the text of the first worker that has one, an empty one if none has."""
        return next(filter(None, self.gather_texts(text)), "") if self.splits_rows else text

    def broadcast_text(self, text: str | None) -> str | None:
        """Return the text of worker 0; an empty one is None."""
        return text if self.is_local else self.gather_texts(text or "")[0] or None

    def broadcast_bytes(self, data: bytes) -> bytes:
        """Return the bytes of worker 0."""
        own = np.frombuffer(data if self.is_first else b"", dtype=np.uint8)
        return self.communicator.exchange_arrays([own] * self.communicator.size)[0].tobytes()

    def compute_at_first(self, compute: Callable[[], Any]) -> Any:
        """Return what a function returns at the first worker, a JSON value; an error is raised at all workers."""
        if not self.splits_rows:
            return compute()
        import json

        answer: dict[str, Any] = {}
        failure: Exception | None = None
        if self.is_first:
            try:
                answer = {"value": compute()}
            except Exception as error:
                failure, answer = error, {"error": type(error).__name__, "message": str(error)}
        answer = json.loads(self.gather_texts(json.dumps(answer))[0])
        if failure is not None:
            raise failure
        if "error" in answer:
            raise getattr(errors, answer["error"], TrainingError)(answer["message"])
        return answer["value"]

    def broadcast_bool(self, fact: bool) -> bool:
        """Return the truth value of worker 0."""
        return self.broadcast_text("true" if fact else None) is not None

    def check_same(self, facts: Mapping[str, object]) -> None:
        """Raise InputError where workers differ in a fact."""
        import json

        facts_of_worker = [json.loads(text) for text in self.gather_texts(json.dumps(facts))]
        expected = facts_of_worker[0]
        for worker, found in enumerate(facts_of_worker):
            for name, value in found.items():
                if value != expected.get(name):
                    raise InputError(
                        f"{name} is {expected.get(name)} at worker 0 but {value} at worker {worker}: all workers train "
                        "the same model; make them equal"
                    )

    def merge_names(self, names: Sequence[Collection[str]]) -> Sequence[Collection[str]]:
        """Return the names in each of several collections at any worker."""
        if not self.splits_rows:
            return names
        import json

        texts = self.gather_texts(json.dumps([list(each) for each in names]))
        return [set().union(*each) for each in zip(*map(json.loads, texts), strict=True)]

    def number_labels(self, labels: Sequence[Any] | None, name: str) -> np.ndarray:
        """Return the numbers of this worker's different labels, of the argument ``name``, among those of all workers.

        None are the labels of a worker to which the argument is not given: it must be so at all workers.
        """
        if not self.splits_rows:
            return np.arange(0 if labels is None else len(labels))
        import json

        # Labels that JSON does not have, such as dates, are compared by how Python writes them.
        own = None if labels is None else [one if isinstance(one, str | int | float) else repr(one) for one in labels]
        gathered = [json.loads(one) for one in self.gather_texts(json.dumps(own))]
        if len({one is None for one in gathered}) > 1:
            with_labels = next(worker for worker, one in enumerate(gathered) if one is not None)
            raise InputError(
                f"{name} is given at worker {with_labels} but not at all workers: pass it at all, or at none"
            )
        number_of: dict[Any, int] = {}
        for of_worker in gathered:
            for label in of_worker or ():
                number_of.setdefault(label, len(number_of))
        return np.array([number_of[label] for label in own or ()], dtype=np.int64)

    def gather_classes(self, classes: np.ndarray) -> np.ndarray:
        """Return the sorted classes of all workers, given those in the rows of this one."""
        if self.is_local:
            return classes
        import json

        texts = self.gather_texts(json.dumps([classes.dtype.kind, classes.tolist()]))
        kinds, labels = zip(*(json.loads(text) for text in texts), strict=True)
        if len(set(kinds)) > 1:
            raise InputError(
                f"y has labels of different types at different workers (NumPy kinds {', '.join(kinds)}): pass labels "
                "of one type"
            )
        joined = np.unique(np.concatenate([np.array(one) for one in labels]))
        return joined.astype(classes.dtype) if classes.dtype.kind not in "UO" else joined.astype(classes.dtype.kind)


LOCAL = Workers(LocalCommunicator(), FEATURES)  # the only worker of a fit on one machine
