"""Train one model on several ranks: processes or machines that each have their own rows, or search their own features.

Sapwood brings no network. Whoever has one (MPI, a scheduler's) wraps it in a ``Reducer``::

    class MpiReducer(Reducer):
        def __init__(self, comm):
            super().__init__(comm.rank, comm.size)
            self.comm = comm

        def exchange(self, parts):
            return self.comm.alltoall(parts)

    fit(SapwoodRegressor(), X_here, y_here, MpiReducer(MPI.COMM_WORLD))
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from sapwood.boost import train as engine
from sapwood.data.tables.conversion import shown
from sapwood.distributed.communicator import Reducer
from sapwood.distributed.workers import FEATURES, ROWS, Workers
from sapwood.errors import InputError, InputTypeError, ParameterError
from sapwood.estimators.base import SapwoodEstimator, arguments_of, set_fitted

__all__ = ["Reducer", "fit"]

Estimator = TypeVar("Estimator", bound=SapwoodEstimator)


def fit(
    estimator: Estimator, X: Any, y: Any, reducer: Reducer, *, by: str = ROWS, row_numbers: Any = None, **more: Any
) -> Estimator:
    """Fit an estimator together with the other ranks, which call this too; all get the model one rank would train.

    With ``by="rows"`` every rank passes the rows it has, and of every set of ``eval_set`` those it has;
    ``row_numbers`` are their numbers among the rows of all ranks, by default in the order of ranks. With
    ``by="features"`` every rank passes all rows and searches a share of the features. ``more`` are arguments of the
    estimator's ``fit``. ``reducer.sent`` tells afterwards how many bytes were sent for what.
    """
    if by not in (ROWS, FEATURES):
        raise ParameterError(f"by must be 'rows' or 'features', got {by!r}")
    if not isinstance(reducer, Reducer):
        raise InputTypeError(f"reducer must be a Reducer, got {type(reducer).__name__}")
    if not 0 <= reducer.rank < reducer.size:
        raise ParameterError(f"a reducer of {reducer.size} ranks cannot be rank {reducer.rank}: ranks begin with 0")
    if by == FEATURES and row_numbers is not None:
        raise ParameterError("row_numbers are for ranks that have rows of their own: leave them out with by='features'")
    if by == ROWS and more.get("groups") is not None:
        raise ParameterError(
            "groups are for splitting rows off and for drawing whole groups, for which all rows must be at one rank: "
            "leave them out, or share features (by='features')"
        )
    workers = Workers(reducer, by)
    if by == ROWS:
        n_rows = _n_rows(X)
        workers.count_rows(n_rows)
        row_numbers = _numbers(row_numbers, n_rows, workers)
    arguments = arguments_of(estimator, X, y, workers=workers, row_numbers=row_numbers, **more)
    set_fitted(estimator, engine.fit(arguments))
    return estimator


def _n_rows(X: Any) -> int:
    shape = getattr(X, "shape", None)
    return int(shape[0]) if shape else len(X)


def _numbers(given: Any, n_rows: int, workers: Workers) -> np.ndarray:
    """The number of each row here among the rows of all ranks."""
    if given is None:
        return np.arange(n_rows, dtype=np.uint64) + np.uint64(workers.row_offset(n_rows))
    numbers = np.asarray(given)
    if numbers.shape != (n_rows,) or numbers.dtype.kind not in "iu" or (numbers < 0).any():
        raise InputError(
            f"row_numbers must be {n_rows} whole numbers from 0, one for each row here; got {shown(given)}"
        )
    every = workers.gather_rows(numbers.astype(np.int64))
    if len(np.unique(every)) < len(every):
        raise InputError("row_numbers name a row twice: every row of all ranks has a number of its own")
    return numbers.astype(np.uint64)
