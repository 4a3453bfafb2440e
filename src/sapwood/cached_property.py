"""A property that is computed once and cached without a lock, and a base class that keeps it out of copies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

Value = TypeVar("Value")


class cached_property(Generic[Value]):  # noqa: N801 (used as a decorator)
    """A property computed on first access and cached in the instance.

    Unlike ``functools.cached_property`` of Python 3.10 and 3.11 it takes no lock: threads never wait for each other,
    and a process forked meanwhile does not inherit a locked one. Two threads may both compute the value; one is kept.
    """

    def __init__(self, function: Callable[[Any], Value]) -> None:
        self._function = function
        self._name = function.__name__
        self.__doc__ = function.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> cached_property[Value]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...
    def __get__(self, instance: object | None, owner: type) -> cached_property[Value] | Value:
        if instance is None:
            return self
        return instance.__dict__.setdefault(self._name, self._function(instance))


class WithCaches:
    """Base class of objects with cached properties: copies and files of the objects do not contain the values."""

    def __getstate__(self) -> dict[str, Any]:
        cached = {
            name for owner in type(self).__mro__ for name, v in vars(owner).items() if isinstance(v, cached_property)
        }
        return {name: value for name, value in vars(self).items() if name not in cached}
