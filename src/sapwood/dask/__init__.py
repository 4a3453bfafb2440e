"""Train on Dask collections: the model that one machine would train, also if workers are lost on the way.

This package is never imported by the rest of Sapwood; it needs ``dask`` and ``distributed``
(``pip install 'sapwood[dask]'``).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sapwood.dask.estimators import DaskSapwoodClassifier as DaskSapwoodClassifier
    from sapwood.dask.estimators import DaskSapwoodRegressor as DaskSapwoodRegressor

__all__ = ["DaskSapwoodClassifier", "DaskSapwoodRegressor"]


if not TYPE_CHECKING:  # so that type checkers report unknown names

    def __getattr__(name: str) -> Any:
        """Import a public name when it is first used."""
        if name not in __all__:
            raise AttributeError(f"module 'sapwood.dask' has no attribute {name!r}, but {' and '.join(__all__)}")
        try:
            importlib.import_module("distributed")
        except ImportError as error:
            raise ImportError("sapwood.dask needs dask and distributed: pip install 'sapwood[dask]'") from error
        return getattr(importlib.import_module("sapwood.dask.estimators"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
