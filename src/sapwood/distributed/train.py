"""Train one model on several workers: processes or machines that have rows of their own, or search some features each.

Sapwood has no network of its own. A transport (MPI, a scheduler) is wrapped in a ``Communicator``::

    class MpiCommunicator(Communicator):
        def __init__(self, comm):
            super().__init__(comm.rank, comm.size)
            self.comm = comm

        def exchange(self, parts):
            return self.comm.alltoall(parts)

    fit(SapwoodRegressor(), X_here, y_here, MpiCommunicator(MPI.COMM_WORLD))
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from sapwood.boost import train as engine
from sapwood.data.tables.conversion import short_repr
from sapwood.data.tables.table import count_rows
from sapwood.distributed.communicator import Communicator
from sapwood.distributed.workers import FEATURES, ROWS, Workers
from sapwood.errors import InputError, InputTypeError, ParameterError
from sapwood.estimators.base import SapwoodEstimator, make_fit_arguments, set_fitted_attributes
from sapwood.params.compatibility import check_compatibility
from sapwood.params.declaration import AUTO, Params
from sapwood.params.effort import FAST
from sapwood.params.fit_context import Context
from sapwood.params.resolve import check_value, resolve_params, resolve_seed, set_params

__all__ = ["Communicator", "fit"]

Estimator = TypeVar("Estimator", bound=SapwoodEstimator)


def fit(
    estimator: Estimator, X: Any, y: Any, reducer: Communicator, *, by: str = ROWS, row_numbers: Any = None, **more: Any
) -> Estimator:  # fmt: skip
    """Fit an estimator together with the other workers, which call this too; all get the model one worker would train.

    Parameters
    ----------
    estimator : SapwoodClassifier or SapwoodRegressor
        Estimator to fit, with the same parameters at all workers.
    X : array, data frame, sparse matrix or Dataset
        Rows of this worker, or all rows if ``by="features"``.
    y : array-like
        Targets of these rows.
    reducer : Communicator
        Connection to the other workers. Afterwards ``reducer.sent`` holds the number of bytes that were sent, by
        purpose.
    by : {'rows', 'features'}, default='rows'
        What is divided: with "rows" each worker passes the rows it has, of X and of every set of ``eval_set``; with
        "features" each worker passes all rows and searches some of the features for splits.
    row_numbers : array-like, optional
        Numbers of this worker's rows among the rows of all workers; by default in the order of workers.
    **more : dict
        Further arguments of the estimator's ``fit``.

    Returns
    -------
    SapwoodClassifier or SapwoodRegressor
        The fitted estimator.

    Examples
    --------
    A worker that is alone:

    >>> import numpy as np
    >>> from sapwood import SapwoodRegressor
    >>> from sapwood.distributed import Communicator, fit
    >>> class Alone(Communicator):
    ...     def exchange(self, parts):
    ...         return parts
    >>> X = np.arange(100.0)[:, None]
    >>> fit(SapwoodRegressor(n_estimators=5), X, X[:, 0], Alone(rank=0, size=1)).n_iter_
    5
    """
    workers = _read_workers(reducer, by, row_numbers)
    if workers.splits_rows:
        n_rows = count_rows(X)
        workers.check_rows(n_rows)
        row_numbers = _read_row_numbers(row_numbers, n_rows, workers)
    return fit_on_worker(estimator, X, y, workers, row_numbers, **more)


def check_estimator(estimator: SapwoodEstimator, has_groups: bool) -> Params:
    """Return the parameters; raise ParameterError, before anything is computed, for those that workers cannot have."""
    if check_value("warm_start", estimator.warm_start):
        raise ParameterError("warm_start is not supported on several workers: pass init_model to fit")
    given = set_params(estimator.get_params(deep=False))
    # The seed does not matter here, and must not be drawn from a generator.
    params = resolve_params({"effort": FAST} | given | {"random_state": 0}, 1, estimator.task)
    check_compatibility(Context(params.values(), frozenset(given), distributed=ROWS, has_groups=has_groups))
    return params


def fixed_seed(estimator: SapwoodEstimator) -> Any:
    """Return the seed that all workers use, in every attempt; "auto" if none is set."""
    is_set = "random_state" in set_params({"random_state": estimator.random_state})
    return resolve_seed(check_value("random_state", estimator.random_state)) if is_set else AUTO


def fit_on_worker(
    estimator: Estimator, X: Any, y: Any, workers: Workers, row_numbers: np.ndarray | None, **more: Any
) -> Estimator:
    """Fit an estimator on the rows of one of the ``workers``, which have these numbers among the rows of all."""
    arguments = make_fit_arguments(estimator, X, y, workers=workers, row_numbers=row_numbers, **more)
    result = engine.fit(arguments)
    set_fitted_attributes(estimator, result)
    result.raise_if_interrupted()
    return estimator


def _read_workers(reducer: Communicator, by: str, row_numbers: Any) -> Workers:
    """Check the arguments that concern workers."""
    if by not in (ROWS, FEATURES):
        raise ParameterError(f"by must be 'rows' or 'features', got {by!r}")
    if not isinstance(reducer, Communicator):
        raise InputTypeError(f"reducer must be a Communicator, got {type(reducer).__name__}: subclass it")
    if not 0 <= reducer.rank < reducer.size:
        raise ParameterError(
            f"reducer has rank {reducer.rank}, but the ranks of {reducer.size} workers are 0 to {reducer.size - 1}"
        )
    check_compatibility(Context(distributed=by, has_row_numbers=row_numbers is not None))
    return Workers(reducer, by)


def _read_row_numbers(given: Any, n_rows: int, workers: Workers) -> np.ndarray:
    """Return the number of each row of this worker among the rows of all workers."""
    if given is None:
        return np.arange(n_rows, dtype=np.uint64) + np.uint64(workers.row_offset(n_rows))
    numbers = np.asarray(given)
    if numbers.shape != (n_rows,) or numbers.dtype.kind not in "iu" or (numbers < 0).any():
        raise InputError(
            f"row_numbers must be {n_rows} integers of at least 0, one for each row of this worker; got "
            f"{short_repr(given)}"
        )
    numbers = numbers.astype(np.uint64)
    if workers.has_duplicates(numbers):
        raise InputError("row_numbers has a number twice: give every row of all workers a number of its own")
    return numbers
