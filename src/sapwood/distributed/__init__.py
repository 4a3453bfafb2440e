"""Train one model on several processes or machines; the model is that of a single process."""

from __future__ import annotations

import importlib
from typing import Any

_WHERE = {
    "Communicator": "sapwood.distributed.communicator",
    "Reducer": "sapwood.distributed.communicator",
    "fit": "sapwood.distributed.train",
}

__all__ = sorted(_WHERE)


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _WHERE:
        raise AttributeError(f"module 'sapwood.distributed' has no attribute {name!r}")
    return getattr(importlib.import_module(_WHERE[name]), name)
