"""Registry of losses by name: modules of ``losses/`` are imported when their loss is looked up."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import sapwood.objectives.losses
from sapwood.errors import ParameterError
from sapwood.objectives.base import Objective
from sapwood.params.aliases.alias import OBJECTIVE
from sapwood.params.unknown_names import find_name, unknown_name

_PACKAGE = "sapwood.objectives.losses"
_LOSSES: dict[str, type[Objective]] = {}

Loss = TypeVar("Loss", bound=type[Objective])


def register(loss: Loss) -> Loss:
    """Class decorator: register a loss under its name and aliases."""
    for name in (loss.name, *loss.aliases):
        assert name not in _LOSSES, name
        _LOSSES[name] = loss
    return loss


@cache
def losses() -> dict[str, type[Objective]]:
    """Return all losses by name and alias; the first call imports all modules of ``losses/``."""
    import pkgutil  # slow to import, and seldom needed

    for module in pkgutil.iter_modules(sapwood.objectives.losses.__path__):
        importlib.import_module(f"{_PACKAGE}.{module.name}")
    return _LOSSES


def loss_of_class_name(class_name: str) -> type[Objective] | None:
    """Return the loss whose class has this name, or None; ``LogCosh`` is looked for in ``losses/log_cosh.py`` first."""
    _import_module(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", class_name).lower())
    for known in (_LOSSES, losses()):
        for loss in known.values():
            if loss.__name__ == class_name:
                return loss
    return None


def resolve(spec: str | Objective | type[Objective] | Callable[..., Any]) -> Objective:
    """Return the loss for a value of ``objective``.

    Parameters
    ----------
    spec : str, Objective, class or callable
        Name of a loss, in any library's spelling, a loss object or class, or a function of (y, score).

    Returns
    -------
    Objective
        The loss.

    Examples
    --------
    >>> from sapwood.objectives import resolve
    >>> resolve("reg:squarederror")
    Squared()
    """
    if isinstance(spec, Objective):
        return spec
    if isinstance(spec, type) and issubclass(spec, Objective):
        return spec()
    if isinstance(spec, str):
        return _loss_of_name(spec)()
    if callable(spec):
        from sapwood.objectives.custom import custom_loss

        return custom_loss(spec)
    allowed = "a name, a loss object such as Quantile(0.9), or a function of (y, score)"
    raise ParameterError(f"objective={spec!r}; allowed is {allowed}")


def restore(name: str, settings: dict[str, Any]) -> Objective:
    """Return a loss from its description in a model.

    Parameters
    ----------
    name : str
        Name of the loss.
    settings : dict
        What ``settings()`` of the loss returned.

    Returns
    -------
    Objective
        The loss.

    Examples
    --------
    >>> from sapwood.objectives import restore
    >>> restore("huber", {"delta": 2.0})
    Huber(delta=2.0)
    """
    if name in ("custom", "gradient"):
        raise ParameterError("a custom objective is not stored in the file; pass the function again")
    return _loss_of_name(name).from_settings(settings)


def _loss_of_name(name: str) -> type[Objective]:
    _import_module(name)
    if name in _LOSSES:
        return _LOSSES[name]
    known = losses()
    found = find_name(OBJECTIVE, name, known)
    if found is None:
        names = ", ".join(sorted({loss.name for loss in known.values()}))
        raise ParameterError(unknown_name(OBJECTIVE, name, known, f"a function of (y, score) or one of {names}"))
    return known[found]


def _import_module(name: str) -> None:
    """Import the module of this name in ``losses/``, if there is one."""
    module = f"{_PACKAGE}.{name}"
    if name.isidentifier():
        try:
            importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name != module:
                raise
