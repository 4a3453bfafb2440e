"""UCI Adult (Census Income): predict whether a person earns more than 50,000 dollars a year."""

from __future__ import annotations

import importlib.util
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

N_TRAIN = 32_561  # the official split: adult.data, then adult.test
MISSING = 255  # code of a missing category
LEVELS = ".levels"  # suffix of the array with the categories of a column
TARGET = "income"


class Adult(NamedTuple):
    """Rows of the census of 1994.

    Attributes
    ----------
    X : data frame or ndarray
        48,842 rows with 14 columns, eight of them categories; ``names`` are the names of the columns.
    y : ndarray
        1 for incomes above 50,000 dollars, else 0.
    names : list of str
        Names of the columns.
    n_train : int
        Number of the official training rows, which come first.

    Examples
    --------
    >>> from sapwood.datasets import load_adult
    >>> adult = load_adult(None, numeric_only=True)
    >>> adult.names[0], float(adult.train[0][0, 0]), adult.test[0].shape
    ('age', 39.0, (16281, 6))
    """

    X: Any
    y: np.ndarray
    names: list[str]
    n_train: int

    @property
    def train(self) -> tuple[Any, np.ndarray]:
        """X and y of the official training rows."""
        return self.X[: self.n_train], self.y[: self.n_train]

    @property
    def test(self) -> tuple[Any, np.ndarray]:
        """X and y of the official test rows."""
        return self.X[self.n_train :], self.y[self.n_train :]


def load_adult(frame: str | None = "auto", *, numeric_only: bool = False) -> Adult:
    """Load the data set; it is part of the package, nothing is downloaded.

    Parameters
    ----------
    frame : {"auto", "pandas", "polars"} or None, default="auto"
        Kind of X: a data frame with columns of numbers and categories, or None for an array (of objects, None where a
        category is missing). "auto" is pandas if it is installed, else polars, else None.
    numeric_only : bool, default=False
        Whether to leave out the categorical columns; an array then is of float32.

    Returns
    -------
    Adult
        X, y, names and n_train; ``train`` and ``test`` are (X, y) of the official split.

    Examples
    --------
    >>> from sapwood.datasets import load_adult
    >>> X, y = load_adult("pandas").train
    >>> X.shape, int(y.sum())
    ((32561, 14), 7841)
    """
    if frame == "auto":
        frame = next((name for name in ("pandas", "polars") if importlib.util.find_spec(name) is not None), None)
    if frame not in ("pandas", "polars", None):
        raise ValueError(f"frame must be 'auto', 'pandas', 'polars' or None, got {frame!r}")
    with files("sapwood.datasets").joinpath("adult.npz").open("rb") as file, np.load(file) as stored:
        arrays = {name: stored[name] for name in stored.files}
    y = arrays.pop(TARGET).astype(np.int64)
    names = [name for name in arrays if not name.endswith(LEVELS)]
    if numeric_only:
        names = [name for name in names if name + LEVELS not in arrays]
    columns = {name: (arrays[name], arrays.get(name + LEVELS)) for name in names}
    if frame is None:
        dtype = np.float32 if numeric_only else object
        X: Any = np.column_stack([_values(*column).astype(dtype) for column in columns.values()])
    else:
        X = _pandas_frame(columns) if frame == "pandas" else _polars_frame(columns)
    return Adult(X, y, names, N_TRAIN)


def _values(codes: np.ndarray, levels: np.ndarray | None) -> np.ndarray:
    """Return numbers as they are, and categories as strings or None."""
    if levels is None:
        return codes
    table = np.full(MISSING + 1, None, dtype=object)
    table[: len(levels)] = levels.tolist()
    return table[codes]


def _pandas_frame(columns: dict[str, tuple[np.ndarray, np.ndarray | None]]) -> Any:
    import pandas as pd

    found = {}
    for name, (codes, levels) in columns.items():
        if levels is None:
            found[name] = codes.astype(np.int64)
        else:
            found[name] = pd.Categorical.from_codes(np.where(codes == MISSING, -1, codes.astype(np.int16)), levels)
    return pd.DataFrame(found)


def _polars_frame(columns: dict[str, tuple[np.ndarray, np.ndarray | None]]) -> Any:
    import polars as pl

    found = []
    for name, (codes, levels) in columns.items():
        if levels is None:
            found.append(pl.Series(name, codes.astype(np.int64)))
        else:
            found.append(pl.Series(name, _values(codes, levels).tolist(), dtype=pl.Enum(levels.tolist())))
    return pl.DataFrame(found)
