"""Unknown keyword arguments of ``fit``, ``predict`` and ``train``: errors that say how to write them here."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import CodeType
from typing import Any, TypeVar

from sapwood.errors import InputTypeError

Function = TypeVar("Function", bound=Callable[..., Any])


def explains_arguments(kind: str) -> Callable[[Function], Function]:
    """Make a function refuse unknown keyword arguments by a TypeError that translates names of other libraries.

    ``kind`` is the kind of aliases, FIT or PREDICT. The signature does not change, for ``inspect``, scikit-learn's
    metadata routing and static type checkers.
    """

    def decorate(function: Function) -> Function:
        code: CodeType = function.__code__
        arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        known = frozenset(arguments)

        @functools.wraps(function)
        def checked(*args: Any, **given: Any) -> Any:
            if given and not given.keys() <= known:
                # The declaration of parameters is not needed for prediction, so it is imported with the messages.
                from sapwood.params.unknown_names import Call, unknown_argument

                name = next(name for name in given if name not in known)
                owner = args[0] if args and arguments[0] == "self" else None
                call = Call(kind, function.__name__, tuple(a for a in arguments if a != "self"), _constructor(owner))
                raise InputTypeError(unknown_argument(call, name, given[name]))
            return function(*args, **given)

        return checked  # type: ignore[return-value]

    return decorate


def _constructor(owner: Any) -> str:
    return type(owner).__name__ if hasattr(owner, "get_params") else ""
