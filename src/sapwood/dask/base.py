"""The base class of the estimators for Dask collections: training on a cluster, lazy predictions."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, TypeVar

from distributed import Client, default_client, get_worker, worker_client

from sapwood.boost.eval_sets import read_eval_sets
from sapwood.boost.fit_arguments import CLASSIFICATION
from sapwood.boost.initial_scores import WarmStart
from sapwood.dask.fit import fit_on_cluster
from sapwood.dask.partitions import split_rows
from sapwood.dask.predictions import compute_together, lazily
from sapwood.distributed.checkpoint_files import CheckpointFiles
from sapwood.distributed.retries import read_retries
from sapwood.distributed.train import check_estimator, fixed_seed
from sapwood.errors import InputTypeError
from sapwood.estimators.base import SapwoodEstimator
from sapwood.estimators.constructor import captures_parameters
from sapwood.estimators.fitted_estimator import FittedEstimator
from sapwood.params.aliases.alias import FIT
from sapwood.params.resolve import check_value, set_params
from sapwood.params.unknown_arguments import explains_arguments

OWN_PARAMETERS = {"client": None, "retries": 3}
WORKER_PARAMETERS = ("n_jobs", "verbose", "callbacks")  # which each worker has a value of its own for
Estimator = TypeVar("Estimator", bound="DaskEstimator")


def with_own_parameters(init: Callable[..., None]) -> Callable[..., None]:
    """Return a constructor that takes ``client`` and ``retries`` besides the parameters of another one."""
    given = list(inspect.signature(init).parameters.values())
    own = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
        for name, default in OWN_PARAMETERS.items()
    ]

    def __init__(self: Any, **params: Any) -> None:  # noqa: N807
        pass

    __init__.__signature__ = inspect.Signature([*given, *own])  # type: ignore[attr-defined]
    __init__.__doc__ = init.__doc__
    return captures_parameters(__init__)


class DaskEstimator(SapwoodEstimator):
    """Base class of the estimators for Dask collections: ``fit`` on a cluster and lazy predictions."""

    client: Client | None
    retries: Any
    local_class: ClassVar[type[SapwoodEstimator]]
    fit_report_: dict[str, Any]

    @explains_arguments(FIT)
    def fit(
        self: Estimator,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        eval_set: Any = None,
        eval_sample_weight: Any = None,
        init_score: Any = None,
        groups: Any = None,
        init_model: Any = None,
    ) -> Estimator:
        """Train a model on the workers that have the partitions of X.

        Parameters
        ----------
        X : dask.dataframe, dask.array, or list of delayed objects or futures
            Rows to train on. Partitions stay on the workers that have them; rows are numbered in the order of
            partitions, so that the model does not depend on where they are.
        y : collection
            Target of each row, divided like X.
        sample_weight : collection, optional
            Weight of each row; rows of weight 0 are left out.
        eval_set : pair (X, y), list of pairs or dict of pairs, optional
            Validation sets of collections, evaluated after every round.
        eval_sample_weight : collection, list or dict, optional
            Weights of the rows of ``eval_set``, in the same form.
        init_score : collection, optional
            Offset of the scores in training. Each validation set then has its own as a third entry.
        groups : collection, optional
            Group of each row; a group is never divided when rows are split off for validation.
        init_model : Model, fitted estimator or path of a model file, optional
            Model to continue: its trees come first.

        Returns
        -------
        self
            The fitted estimator; ``fit_report_`` says what the workers exchanged.

        Examples
        --------
        >>> import dask.array as da
        >>> from distributed import Client
        >>> from sapwood.dask import DaskSapwoodRegressor
        >>> with Client(n_workers=1, processes=False, dashboard_address=":0") as client:
        ...     X = da.random.default_rng(0).normal(size=(1000, 3), chunks=(250, 3))
        ...     model = DaskSapwoodRegressor(n_estimators=20).fit(X, X[:, 0] + X[:, 1] ** 2)
        ...     predictions = model.predict(X).compute()
        >>> predictions.shape, model.n_iter_
        ((1000,), 20)
        """
        params = check_estimator(self._local_copy(), has_groups=groups is not None)
        rows = split_rows(X, y, sample_weight, init_score, groups)
        sets = {name: split_rows(*raw, name=name) for name, raw in read_eval_sets(eval_set, eval_sample_weight).items()}
        arguments = {"init_model": read_init_model(init_model)}
        estimator = self._local_copy().set_params(random_state=fixed_seed(self))
        retries = read_retries(self.retries)
        with self._connected() as client, CheckpointFiles(params) as files:
            local, report = fit_on_cluster(client, estimator, rows, sets, arguments, retries, files)
        self._set_fitted(local)
        own = {name: getattr(self, name) for name in WORKER_PARAMETERS}
        self.params_ = {**self.params_, **{name: check_value(name, value) for name, value in set_params(own).items()}}
        self.fit_report_ = report
        return self

    predict_raw = lazily(FittedEstimator.predict_raw)
    apply = lazily(FittedEstimator.apply)
    shap_values = lazily(FittedEstimator.shap_values)
    shap_interaction_values = lazily(FittedEstimator.shap_interaction_values)
    explain = lazily(FittedEstimator.explain)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of a classifier or R² of a regressor; predictions are brought to this process.

        Parameters
        ----------
        X : collection, or rows in memory
            Rows with the columns of training.
        y : collection, or array-like
            Target of each row.
        sample_weight : collection or array-like, optional
            Weight of each row.

        Returns
        -------
        float
            The score.

        Examples
        --------
        >>> import dask.array as da
        >>> import sapwood
        >>> from sapwood.dask import DaskSapwoodRegressor
        >>> X = da.arange(100.0, chunks=50)[:, None]
        >>> sapwood.SapwoodRegressor(n_estimators=50).fit(X.compute(), X[:, 0].compute()).save("model.sapwood")
        >>> DaskSapwoodRegressor.load("model.sapwood").score(X, X[:, 0]) > 0.9
        True
        """
        from sklearn.metrics import accuracy_score, r2_score

        prediction, target, weight = compute_together(self.predict(X), y, sample_weight)
        measure = accuracy_score if self.task == CLASSIFICATION else r2_score
        return float(measure(target, prediction, sample_weight=weight))

    def to_local(self) -> SapwoodEstimator:
        """Return the plain estimator: with the same parameters, and the model if there is one.

        Returns
        -------
        SapwoodClassifier or SapwoodRegressor
            An estimator that needs no cluster.

        Examples
        --------
        >>> from sapwood.dask import DaskSapwoodRegressor
        >>> DaskSapwoodRegressor(max_leaves=7, client=None).to_local()
        SapwoodRegressor(max_leaves=7)
        """
        local = self._local_copy()
        fitted = {name: value for name, value in vars(self).items() if name.endswith("_") and name != "fit_report_"}
        local.__dict__.update(fitted)
        return local

    def save(self, path: Any) -> None:
        """Write the fitted estimator to a file that ``load``, also of the plain estimator, and ``sapwood.load`` read.

        Parameters
        ----------
        path : str or path
            File to write; an existing one is replaced atomically.

        Examples
        --------
        >>> from sapwood.dask import DaskSapwoodRegressor
        >>> import sapwood
        >>> sapwood.SapwoodRegressor(n_estimators=5).fit([[0.0], [1.0]] * 30, [0.0, 1.0] * 30).save("model.sapwood")
        >>> DaskSapwoodRegressor.load("model.sapwood").save("copy.sapwood")
        >>> sapwood.load("copy.sapwood").n_features
        1
        """
        self.to_local().save(path)

    @property
    def client_(self) -> Client:
        """Client that ``fit`` uses: the parameter ``client``, or else the current one."""
        return self.client or default_client()

    @contextmanager
    def _connected(self) -> Iterator[Client]:
        """Yield the client; in a task of a cluster, whose thread is left to others meanwhile, that of its worker."""
        if self.client is None and _is_in_task():
            with worker_client() as client:
                yield client
            return
        client = self.client_
        if client.asynchronous:
            raise InputTypeError(
                f"{type(self).__name__} needs a synchronous client, got an asynchronous one: call fit in a thread with "
                "a Client of its own"
            )
        yield client

    def _local_params(self) -> dict[str, Any]:
        return {name: value for name, value in self.get_params(deep=False).items() if name not in OWN_PARAMETERS}

    def _local_copy(self) -> SapwoodEstimator:
        """Return a plain estimator with the same parameters."""
        return self.local_class(**self._local_params())

    def _set_fitted(self, local: FittedEstimator) -> None:
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        self.__dict__.update({name: value for name, value in vars(local).items() if name.endswith("_")})

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"client": None}  # connections cannot be pickled

    def __sklearn_clone__(self: Estimator) -> Estimator:
        from sklearn.base import clone

        params = {
            name: clone(value, safe=False) for name, value in self.get_params(deep=False).items() if name != "client"
        }
        return type(self)(**params, client=self.client)


def _is_in_task() -> bool:
    try:
        get_worker()
    except ValueError:
        return False
    return True


def read_init_model(init_model: Any) -> Any:
    """Return a model or a plain estimator; a file is read here, since workers may not have it."""
    if isinstance(init_model, str | os.PathLike):
        warm_start = WarmStart.read(init_model)
        return None if warm_start is None else warm_start.model
    return init_model.to_local() if isinstance(init_model, DaskEstimator) else init_model
