"""Losses and links. A loss is imported when it is first used: prediction needs the links only."""

from __future__ import annotations

import importlib
from typing import Any

_MODULES = {
    "CustomLoss": "custom",
    "GradientLoss": "custom",
    "Objective": "base",
    "mean_loss": "base",
    "link_from_name": "links",
    "resolve": "registry",
    "restore": "registry",
}


def __getattr__(name: str) -> Any:
    """Return a function of this package, or a loss by the name of its class."""
    if name in _MODULES:
        return getattr(importlib.import_module(f"sapwood.objectives.{_MODULES[name]}"), name)
    if name[:1].isupper():
        from sapwood.objectives.registry import loss_of_class_name

        if (loss := loss_of_class_name(name)) is not None:
            return loss
    raise AttributeError(f"module 'sapwood.objectives' has no attribute {name!r}")


def __dir__() -> list[str]:
    from sapwood.objectives.registry import losses

    return sorted({*_MODULES, *(loss.__name__ for loss in losses().values())})
