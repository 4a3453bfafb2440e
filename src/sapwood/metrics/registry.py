"""Registry of metrics by name."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

import sapwood.metrics
from sapwood.errors import ParameterError
from sapwood.metrics.base import ANY, Metric, MetricInputs
from sapwood.metrics.custom import CustomMetric
from sapwood.metrics.scikit_learn import ScikitLearnMetric, is_scikit_learn_metric
from sapwood.params.aliases.alias import METRIC
from sapwood.params.unknown_names import find_name, unknown_name

_METRICS: dict[str, Metric] = {}

MetricFunction = Callable[[MetricInputs], float]
NEGATIVE = "neg_"  # prefix of scikit-learn's scorers that negate an error


def register(
    *aliases: str,
    tasks: frozenset[str] = ANY,
    greater_is_better: bool = False,
    params: tuple[float, ...] = (),
    needs_all_rows: bool = False,
) -> Callable[[MetricFunction], MetricFunction]:
    """Register a function of ``MetricInputs`` under its name and ``aliases``.

    ``params`` are the defaults of its parameters; a name such as ``quantile@0.9`` replaces them. The function is given
    the rows of one worker of a distributed fit, and adds up by ``inputs.mean`` and ``inputs.workers``, unless it
    ``needs_all_rows``.
    """

    def decorate(function: MetricFunction) -> MetricFunction:
        metric = Metric(function.__name__, function, greater_is_better, tasks, params, needs_all_rows)
        for name in (metric.name, *aliases):
            assert name not in _METRICS, name
            _METRICS[name] = metric
        return function

    return decorate


@cache
def metrics() -> dict[str, Metric]:
    """Return all metrics by name and alias; the first call imports the modules of this package."""
    import pkgutil  # slow to import, and seldom needed

    for module in pkgutil.iter_modules(sapwood.metrics.__path__):
        importlib.import_module(f"sapwood.metrics.{module.name}")
    return _METRICS


def resolve_metric(spec: str | Metric | Callable[..., Any], classes: np.ndarray | None = None) -> Metric:
    """Return the metric for a name such as ``rmse`` or ``quantile@0.9``, a metric, or a function.

    Metric functions and scorers of scikit-learn get the labels of ``classes`` instead of their codes.
    """
    if isinstance(spec, Metric):
        return spec
    if isinstance(spec, str):
        return _metric_of_name(spec)
    if is_scikit_learn_metric(spec):
        return ScikitLearnMetric.of(spec, classes)
    if callable(spec):
        return CustomMetric.of(spec)
    raise ParameterError(f"metric {spec!r}; allowed is a name or a function of (y, prediction, weight)")


def _metric_of_name(spec: str) -> Metric:
    name, _, values = spec.partition("@")
    registered = metrics()
    found = find_name(METRIC, name, registered)
    if found is None and name.startswith(NEGATIVE) and find_name(METRIC, name[len(NEGATIVE) :], registered):
        return _negative(_metric_of_name(spec[len(NEGATIVE) :]), spec)
    if found is None:
        names = ", ".join(sorted({metric.name for metric in registered.values()}))
        raise ParameterError(unknown_name(METRIC, spec, registered, f"a function or one of {names}"))
    metric = registered[found]
    return _with_params(metric, spec, values) if values else metric


def _negative(metric: Metric, name: str) -> Metric:
    """Return the metric times -1, as scikit-learn's scorers have it."""

    def negative(inputs: MetricInputs) -> float:
        return -metric.function(inputs)

    greater_is_better = not metric.greater_is_better
    return dataclasses.replace(metric, name=name, function=negative, greater_is_better=greater_is_better)


def _with_params(metric: Metric, spec: str, values: str) -> Metric:
    name = spec.partition("@")[0]
    if not metric.params:
        raise ParameterError(f"metric {spec!r}: {name!r} has no parameter; write {name!r}")
    try:
        params = tuple(float(value) for value in values.split(","))
    except ValueError:
        raise ParameterError(f"metric {spec!r}: allowed after '@' are numbers, as in 'quantile@0.9'") from None
    return dataclasses.replace(metric, name=spec, params=params)
