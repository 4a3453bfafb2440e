"""Train one model on several processes or machines; the model is that of a single process."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sapwood.distributed.collectives import PointToPointCommunicator as PointToPointCommunicator
    from sapwood.distributed.communicator import Communicator as Communicator
    from sapwood.distributed.communicator import Reducer as Reducer
    from sapwood.distributed.cost import estimate_cost as estimate_cost
    from sapwood.distributed.mpi import MpiCommunicator as MpiCommunicator
    from sapwood.distributed.train import fit as fit

_WHERE = {
    "Communicator": "sapwood.distributed.communicator",
    "MpiCommunicator": "sapwood.distributed.mpi",
    "PointToPointCommunicator": "sapwood.distributed.collectives",
    "Reducer": "sapwood.distributed.communicator",
    "estimate_cost": "sapwood.distributed.cost",
    "fit": "sapwood.distributed.train",
}

__all__ = sorted(_WHERE)


if not TYPE_CHECKING:  # so that type checkers report unknown names

    def __getattr__(name: str) -> Any:
        """Import a public name when it is first used."""
        if name not in _WHERE:
            raise AttributeError(f"module 'sapwood.distributed' has no attribute {name!r}")
        return getattr(importlib.import_module(_WHERE[name]), name)
