"""Constructor parameters as scikit-learn wants them: kept as given, under their own names, checked only in ``fit``."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from sapwood.errors import InputTypeError
from sapwood.params.resolve import unknown_parameter

Init = TypeVar("Init", bound=Callable[..., None])


def captures_parameters(*others: Callable[..., None]) -> Callable[[Init], Init]:
    """Make an ``__init__`` store each of its keyword-only parameters and those of ``others``.

    An unknown name is refused with the nearest. The body of the function is not run.
    """

    def decorate(init: Init) -> Init:
        functions: list[Callable[..., None]] = [*others, init]
        parameters = [
            p for f in functions for p in inspect.signature(f).parameters.values() if p.kind is p.KEYWORD_ONLY
        ]
        defaults = {p.name: p.default for p in parameters}

        @functools.wraps(init)
        def keep(self: Any, *args: Any, **given: Any) -> None:
            if args:
                name = type(self).__name__
                raise InputTypeError(f"{name} takes keyword arguments only, got {args[0]!r} without a name")
            for name in given:
                if name not in defaults:
                    raise InputTypeError(unknown_parameter(name, defaults))
            vars(self).update({**defaults, **given})

        receiver = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        keep.__signature__ = inspect.Signature([receiver, *parameters])  # type: ignore[attr-defined]
        return keep  # type: ignore[return-value]

    return decorate
