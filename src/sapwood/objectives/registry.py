"""Find a loss by its name."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from typing import Any

import sapwood.objectives
from sapwood.errors import ParameterError
from sapwood.objectives.base import Objective

_LOSSES: dict[str, type[Objective]] = {}


def register(loss: type[Objective]) -> type[Objective]:
    """Make a loss known by its name and aliases."""
    for name in (loss.name, *loss.aliases):
        assert name not in _LOSSES, name
        _LOSSES[name] = loss
    return loss


@cache
def losses() -> dict[str, type[Objective]]:
    """Every loss by its name and aliases; the modules of this package are searched at the first call."""
    for module in pkgutil.iter_modules(sapwood.objectives.__path__):
        importlib.import_module(f"sapwood.objectives.{module.name}")
    return _LOSSES


def resolve(spec: str | Objective | type[Objective] | Callable[..., Any]) -> Objective:
    """Return the loss meant by a name, a loss object, or a function of (y, score)."""
    if isinstance(spec, Objective):
        return spec
    if isinstance(spec, type) and issubclass(spec, Objective):
        return spec()
    if isinstance(spec, str):
        return _named(spec)()
    if callable(spec):
        from sapwood.objectives.custom import custom_loss

        return custom_loss(spec)
    allowed = "a name, a loss object such as Quantile(0.9), or a function of (y, score)"
    raise ParameterError(f"objective={spec!r}; allowed is {allowed}")


def restore(name: str, settings: dict[str, Any]) -> Objective:
    """Make the loss that ``name`` and ``settings()`` describe."""
    if name in ("custom", "gradient"):
        raise ParameterError("an objective that is a function of your own is not kept in the file; give it again")
    return _named(name).from_settings(settings)


def _named(name: str) -> type[Objective]:
    known = losses()
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        names = ", ".join(sorted({loss.name for loss in known.values()}))
        raise ParameterError(
            f"objective {name!r} is not known; {hint}allowed is a function of (y, score) or one of {names}"
        )
    return known[name]
