"""Find a metric by its name."""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from typing import Any

import sapwood.metrics
from sapwood.errors import ParameterError
from sapwood.metrics.base import ANY, CustomMetric, Metric, MetricInputs

_METRICS: dict[str, Metric] = {}

MetricFunction = Callable[[MetricInputs], float]


def register(
    *aliases: str, tasks: frozenset[str] = ANY, greater_is_better: bool = False, numbers: tuple[float, ...] = ()
) -> Callable[[MetricFunction], MetricFunction]:
    """Register a function of ``MetricInputs`` under its name and aliases; ``name@numbers`` replaces ``numbers``."""

    def decorate(function: MetricFunction) -> MetricFunction:
        made = Metric(function.__name__, function, greater_is_better, tasks, numbers)
        for name in (made.name, *aliases):
            assert name not in _METRICS, name
            _METRICS[name] = made
        return function

    return decorate


@cache
def metrics() -> dict[str, Metric]:
    """Every metric by its name and aliases; the modules of this package are searched at the first call."""
    for module in pkgutil.iter_modules(sapwood.metrics.__path__):
        importlib.import_module(f"sapwood.metrics.{module.name}")
    return _METRICS


def resolve_metric(spec: str | Metric | Callable[..., Any]) -> Metric:
    """Return the metric meant by a name such as ``rmse`` or ``quantile@0.9``, a metric, or a function."""
    if isinstance(spec, Metric):
        return spec
    if isinstance(spec, str):
        return _named(spec)
    if callable(spec):
        return CustomMetric.of(spec)
    raise ParameterError(f"metric {spec!r}; allowed is a name or a function of (y, prediction, weight)")


def _named(text: str) -> Metric:
    name, _, setting = text.partition("@")
    known = metrics()
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        names = ", ".join(sorted({metric.name for metric in known.values()}))
        raise ParameterError(f"metric {name!r} is not known; {hint}allowed is a function or one of {names}")
    found = known[name]
    if not setting:
        return found
    if not found.numbers:
        raise ParameterError(f"metric {text!r}: {name!r} has no setting; write {name!r}")
    try:
        numbers = tuple(float(part) for part in setting.split(","))
    except ValueError:
        raise ParameterError(f"metric {text!r}: allowed after '@' are numbers, as in 'quantile@0.9'") from None
    return dataclasses.replace(found, name=text, numbers=numbers)
