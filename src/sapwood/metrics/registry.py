"""Registry of metrics by name."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from typing import Any

import sapwood.metrics
from sapwood.errors import ParameterError
from sapwood.metrics.base import ANY, CustomMetric, Metric, MetricInputs
from sapwood.params.aliases.alias import METRIC
from sapwood.params.unknown_names import find_name, unknown_name

_METRICS: dict[str, Metric] = {}

MetricFunction = Callable[[MetricInputs], float]


def register(
    *aliases: str, tasks: frozenset[str] = ANY, greater_is_better: bool = False, params: tuple[float, ...] = ()
) -> Callable[[MetricFunction], MetricFunction]:
    """Register a function of ``MetricInputs`` under its name and ``aliases``.

    ``params`` are the defaults of its parameters; a name such as ``quantile@0.9`` replaces them.
    """

    def decorate(function: MetricFunction) -> MetricFunction:
        metric = Metric(function.__name__, function, greater_is_better, tasks, params)
        for name in (metric.name, *aliases):
            assert name not in _METRICS, name
            _METRICS[name] = metric
        return function

    return decorate


@cache
def metrics() -> dict[str, Metric]:
    """Return all metrics by name and alias; the first call imports the modules of this package."""
    for module in pkgutil.iter_modules(sapwood.metrics.__path__):
        importlib.import_module(f"sapwood.metrics.{module.name}")
    return _METRICS


def resolve_metric(spec: str | Metric | Callable[..., Any]) -> Metric:
    """Return the metric for a name such as ``rmse`` or ``quantile@0.9``, a metric, or a function."""
    if isinstance(spec, Metric):
        return spec
    if isinstance(spec, str):
        return _metric_of_name(spec)
    if callable(spec):
        return CustomMetric.of(spec)
    raise ParameterError(f"metric {spec!r}; allowed is a name or a function of (y, prediction, weight)")


def _metric_of_name(spec: str) -> Metric:
    name, _, values = spec.partition("@")
    registered = metrics()
    found = find_name(METRIC, name, registered)
    if found is None:
        names = ", ".join(sorted({metric.name for metric in registered.values()}))
        raise ParameterError(unknown_name(METRIC, spec, registered, f"a function or one of {names}"))
    metric = registered[found]
    if not values:
        return metric
    if not metric.params:
        raise ParameterError(f"metric {spec!r}: {name!r} has no parameter; write {name!r}")
    try:
        params = tuple(float(value) for value in values.split(","))
    except ValueError:
        raise ParameterError(f"metric {spec!r}: allowed after '@' are numbers, as in 'quantile@0.9'") from None
    return dataclasses.replace(metric, name=spec, params=params)
