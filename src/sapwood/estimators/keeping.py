"""Constructor parameters as scikit-learn wants them: kept as given, under their own names, checked only in ``fit``."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

from sapwood.errors import InputTypeError
from sapwood.params import unknown_parameter

Arguments = ParamSpec("Arguments")
Self = TypeVar("Self")


def keeps_parameters(
    init: Callable[Concatenate[Self, Arguments], None],
) -> Callable[Concatenate[Self, Arguments], None]:
    """Make an ``__init__`` of keyword-only parameters store each; an unknown name is refused with the nearest."""
    signature = inspect.signature(init)
    defaults = {name: p.default for name, p in signature.parameters.items() if p.kind is p.KEYWORD_ONLY}

    @functools.wraps(init)
    def keep(self: Self, *args: Arguments.args, **given: Arguments.kwargs) -> None:
        if args:
            raise InputTypeError(f"{type(self).__name__} takes keyword arguments only, got {args[0]!r} without a name")
        for name in given:
            if name not in defaults:
                raise InputTypeError(unknown_parameter(name, defaults))
        kept: dict[str, Any] = {**defaults, **given}
        vars(self).update(kept)

    return keep
