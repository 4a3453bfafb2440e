"""The history of metrics as a data frame with one row per round, validation set and metric."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Mapping
from typing import Any

from sapwood.errors import InputError

LIBRARIES = ("pandas", "polars")


def make_evals_frame(history: Mapping[str, Mapping[str, list[float]]], library: str | None) -> Any:
    """Return a data frame with the columns round (from 1), set, metric and value.

    Without a ``library``, it is the one that the program uses already, or one that is installed.
    """
    if library is None:
        loaded = [name for name in LIBRARIES if name in sys.modules]
        installed = (name for name in LIBRARIES if importlib.util.find_spec(name) is not None)
        library = next(iter([*loaded, *installed]), None)
    if library not in LIBRARIES:
        given = "no data frame library is installed" if library is None else f"library={library!r}"
        raise InputError(f"evals_frame: {given}; allowed are pandas and polars")
    rows = [
        (round, name, metric, value)
        for name, metrics in history.items()
        for metric, values in metrics.items()
        for round, value in enumerate(values, start=1)
    ]
    names = ("round", "set", "metric", "value")
    kinds: tuple[type, ...] = (int, str, str, float)
    columns = {name: [row[k] for row in rows] for k, name in enumerate(names)}
    frames = importlib.import_module(library)
    if library == "polars":
        return frames.DataFrame(columns, schema=dict(zip(names, kinds, strict=True)))
    return frames.DataFrame({name: frames.Series(columns[name], dtype=kinds[k]) for k, name in enumerate(names)})
