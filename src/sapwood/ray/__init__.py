"""Train on Ray: on the parts of a Ray Dataset or a list, the model that one machine would train.

This package is never imported by the rest of Sapwood; it needs ``ray`` (``pip install 'sapwood[ray]'``).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sapwood.ray.driver import fit as fit

__all__ = ["fit"]


if not TYPE_CHECKING:  # so that type checkers report unknown names

    def __getattr__(name: str) -> Any:
        """Import a public name when it is first used."""
        if name not in __all__:
            raise AttributeError(f"module 'sapwood.ray' has no attribute {name!r}, but the function fit")
        try:
            importlib.import_module("ray")
        except ImportError as error:
            raise ImportError("sapwood.ray needs ray: pip install 'sapwood[ray]'") from error
        return getattr(importlib.import_module("sapwood.ray.driver"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
