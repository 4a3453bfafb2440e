"""Parts of the rows of a fit on Ray: blocks of a Ray Dataset, or references of objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import ray

from sapwood.distributed.partitions import (
    Partition,
    PartitionFacts,
    check_divided_alike,
    describe_partition,
    make_partition,
)
from sapwood.errors import InputError, InputTypeError, SapwoodError

ROWS = "a ray.data.Dataset, or a list of parts (object references, arrays, data frames or sparse matrices)"


class Part(NamedTuple):
    """A part of the rows: references of its X, y and so on, or of a block of which ``columns`` are y and so on."""

    number: int
    where: str
    refs: Mapping[str, Any]
    columns: Mapping[str, str]

    def read(self) -> Partition:
        """Return the rows, in the process that trains on them."""
        values = dict(zip(self.refs, ray.get(list(self.refs.values())), strict=True))
        return make_partition(self.number, self.where, self._split(values["X"]) if self.columns else values)

    def _split(self, block: Any) -> dict[str, Any]:
        """Return X, a block without the columns of y and so on, and these columns."""
        for argument, column in self.columns.items():
            if column not in block.columns:
                raise InputError(
                    f"{self.where}{argument}={column!r} is not a column of the dataset: it has "
                    f"{', '.join(map(str, block.columns))}"
                )
        X = block.drop(columns=list(self.columns.values()))
        for name in X.columns if len(X) else ():
            if isinstance(X[name].iloc[0], np.ndarray):
                raise InputTypeError(
                    f"{self.where}column {name!r} of the dataset holds an array in every row: make columns of numbers "
                    "of it, or pass a list of arrays as X"
                )
        return {"X": X, **{argument: block[column] for argument, column in self.columns.items()}}


def split_rows(
    X: Any, y: Any, sample_weight: Any = None, init_score: Any = None, groups: Any = None, name: str = ""
) -> list[Part]:  # fmt: skip
    """Return the parts of rows; ``name`` is that of a validation set, for errors."""
    where = f"eval_set {name!r}: " if name else ""
    if y is None:
        raise InputError(f"{where}y is None: pass the target of each row, of a dataset the name of its column")
    given = {"y": y, "sample_weight": sample_weight, "init_score": init_score, "groups": groups}
    given = {argument: values for argument, values in given.items() if values is not None}
    if hasattr(X, "to_pandas_refs"):
        return _split_dataset(X, given, where)
    columns = {argument: _references(values, where + argument) for argument, values in {"X": X, **given}.items()}
    check_divided_alike(columns, where)
    return [Part(k, where, {name: refs[k] for name, refs in columns.items()}, {}) for k in range(len(columns["X"]))]


FIRST = "0"  # number of the attempt in which parts are described: a later one compares them


def describe_part(part: Part) -> PartitionFacts | SapwoodError:
    """Return the facts of a part, or the error, which Ray would log otherwise."""
    try:
        return describe_partition(part.read(), FIRST)
    except SapwoodError as error:
        return error


def _split_dataset(dataset: Any, given: Mapping[str, Any], where: str) -> list[Part]:
    """Return the blocks of a dataset in their order."""
    for argument, column in given.items():
        if not isinstance(column, str):
            raise InputTypeError(
                f"{where}{argument} must be the name of a column of the dataset X, got a {type(column).__name__}"
            )
    options = dataset.context.execution_options
    keeps_order, options.preserve_order = options.preserve_order, True
    try:
        blocks = dataset.to_pandas_refs()
    finally:
        options.preserve_order = keeps_order
    check_divided_alike({"X": blocks}, where)
    return [Part(k, where, {"X": block}, dict(given)) for k, block in enumerate(blocks)]


def _references(values: Any, name: str) -> list[Any]:
    """Return the references of the parts of a list; parts in memory are stored."""
    if isinstance(values, ray.ObjectRef):
        return [values]
    if not isinstance(values, list | tuple) or any(isinstance(one, int | float | str) for one in values):
        raise InputTypeError(
            f"{name} is a {type(values).__module__.partition('.')[0]} {type(values).__name__}: pass {ROWS}; for rows "
            "in memory use the fit of SapwoodClassifier or SapwoodRegressor"
        )
    return [one if isinstance(one, ray.ObjectRef) else ray.put(one) for one in values]
