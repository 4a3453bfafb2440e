"""Constructors by scikit-learn's convention: parameters are stored as they are passed and checked in ``fit``."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from sapwood.errors import InputTypeError
from sapwood.params.unknown_names import unknown_parameter

Init = TypeVar("Init", bound=Callable[..., None])


def captures_parameters(*inherited: Callable[..., None]) -> Callable[[Init], Init]:
    """Return a decorator that makes ``__init__`` store its keyword-only parameters and those of ``inherited`` ones.

    The error for an unknown name suggests the nearest one. The body of the decorated function is not run.
    """

    def decorate(init: Init) -> Init:
        functions: list[Callable[..., None]] = [*inherited, init]
        parameters = [
            p for f in functions for p in inspect.signature(f).parameters.values() if p.kind is p.KEYWORD_ONLY
        ]
        defaults = {p.name: p.default for p in parameters}

        @functools.wraps(init)
        def store_parameters(self: Any, *args: Any, **values: Any) -> None:
            if args:
                name = type(self).__name__
                raise InputTypeError(f"{name} accepts only keyword arguments, got {args[0]!r}: pass it by its name")
            for name in values:
                if name not in defaults:
                    raise InputTypeError(unknown_parameter(name, defaults, values))
            vars(self).update({**defaults, **values})

        self_parameter = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        store_parameters.__signature__ = inspect.Signature([self_parameter, *parameters])  # type: ignore[attr-defined]
        return store_parameters  # type: ignore[return-value]

    return decorate
