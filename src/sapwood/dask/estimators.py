"""Estimators for Dask collections, with the parameters and fitted attributes of those for one machine."""

from __future__ import annotations

from sapwood.dask.base import DaskEstimator, with_own_parameters
from sapwood.dask.predictions import lazily
from sapwood.estimators.classifier import SapwoodClassifier
from sapwood.estimators.regressor import SapwoodRegressor


class DaskSapwoodClassifier(DaskEstimator, SapwoodClassifier):
    """Gradient-boosted trees for classification, trained on Dask collections.

    All parameters of ``SapwoodClassifier``, and:

    Parameters
    ----------
    client : distributed.Client or None, default=None
        Connection to the cluster; the current client by default. Clones keep it, pickles and copies do not.
    retries : int, default=3
        Number of times that training is taken up again after a worker was lost.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from sapwood.dask import DaskSapwoodClassifier
    >>> with Client(n_workers=1, processes=False, dashboard_address=":0") as client:
    ...     X = da.random.default_rng(0).normal(size=(1000, 3), chunks=(250, 3))
    ...     model = DaskSapwoodClassifier(n_estimators=20).fit(X, X[:, 0] > 0)
    >>> model.to_local().predict([[1.0, 0.0, 0.0]])
    array([ True])
    """

    local_class = SapwoodClassifier
    __init__ = with_own_parameters(SapwoodClassifier.__init__)

    predict = lazily(SapwoodClassifier.predict)
    predict_proba = lazily(SapwoodClassifier.predict_proba)
    decision_function = lazily(SapwoodClassifier.decision_function)


class DaskSapwoodRegressor(DaskEstimator, SapwoodRegressor):
    """Gradient-boosted trees for regression, trained on Dask collections.

    All parameters of ``SapwoodRegressor``, and:

    Parameters
    ----------
    client : distributed.Client or None, default=None
        Connection to the cluster; the current client by default. Clones keep it, pickles and copies do not.
    retries : int, default=3
        Number of times that training is taken up again after a worker was lost.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from sapwood.dask import DaskSapwoodRegressor
    >>> with Client(n_workers=1, processes=False, dashboard_address=":0") as client:
    ...     X = da.random.default_rng(0).normal(size=(1000, 3), chunks=(250, 3))
    ...     model = DaskSapwoodRegressor(n_estimators=20).fit(X, X[:, 0])
    >>> bool(abs(model.to_local().predict([[1.0, 0.0, 0.0]])[0] - 1.0) < 0.3)
    True
    """

    local_class = SapwoodRegressor
    __init__ = with_own_parameters(SapwoodRegressor.__init__)

    predict = lazily(SapwoodRegressor.predict)
    predict_interval = lazily(SapwoodRegressor.predict_interval)
