"""The numeric columns of UCI Adult (Census Income): predict whether a person earns more than 50,000 dollars a year."""

from __future__ import annotations

from importlib.resources import files
from typing import NamedTuple

import numpy as np

N_TRAIN = 32_561  # the official split: adult.data, then adult.test


class Adult(NamedTuple):
    """Rows of the census of 1994.

    Attributes
    ----------
    X : ndarray of float32 (rows, columns)
        Numeric columns of the table.
    y : ndarray of int (rows,)
        1 for incomes above 50,000 dollars, else 0.
    names : list of str
        Names of the columns.
    n_train : int
        Number of rows that train, which come first; the others test.

    Examples
    --------
    >>> from sapwood.datasets import load_adult
    >>> adult = load_adult()
    >>> adult.train[0].shape, adult.test[0].shape
    ((32561, 6), (16281, 6))
    """

    X: np.ndarray
    y: np.ndarray
    names: list[str]
    n_train: int

    @property
    def train(self) -> tuple[np.ndarray, np.ndarray]:
        """X and y of the official training rows."""
        return self.X[: self.n_train], self.y[: self.n_train]

    @property
    def test(self) -> tuple[np.ndarray, np.ndarray]:
        """X and y of the official test rows."""
        return self.X[self.n_train :], self.y[self.n_train :]


def load_adult() -> Adult:
    """Load the data.

    Returns
    -------
    Adult
        Table, target and names of columns.

    Examples
    --------
    >>> from sapwood.datasets import load_adult
    >>> load_adult().names[0]
    'age'
    """
    with files("sapwood.datasets").joinpath("adult.npz").open("rb") as file, np.load(file) as stored:
        names = [name for name in stored.files if name != "income"]
        X = np.column_stack([stored[name] for name in names]).astype(np.float32)
        return Adult(X, stored["income"].astype(np.int64), names, N_TRAIN)
