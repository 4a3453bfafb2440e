"""``sapwood.Dataset``: a table whose bins are chosen once, for several fits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from sapwood.data.binning.bin_mapper import BinMapper
from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.data.binning.max_bins import column_max_bins, largest_limit
from sapwood.data.categories.plan import find_categorical_columns
from sapwood.data.tables.conversion import short_repr
from sapwood.data.tables.row_selection import select_rows
from sapwood.data.tables.schema import Schema
from sapwood.data.tables.streamed_tables import collect_table
from sapwood.data.tables.table import Table, read_table
from sapwood.data.tables.targets import check_weight
from sapwood.data.tables.zero_as_missing import zeros_to_missing
from sapwood.errors import InputError, ParameterError
from sapwood.native.threads.team import training_team
from sapwood.params.compatibility import check_compatibility
from sapwood.params.declaration import AUTO
from sapwood.params.fit_context import Context, DatasetConflict
from sapwood.params.resolve import check_value, resolve_seed


class Dataset:
    """A table whose bins are chosen once; pass it as X to any number of fits.

    ``dataset[rows]`` has the bins of the whole table, so scikit-learn's cross-validation and searches reuse them. The
    features of validation rows, but not their targets, have then taken part in the choice of bins.

    Encodings of categorical columns depend on the target: a table that has such columns is read once, but each fit
    chooses its bins.

    Parameters
    ----------
    X : array, data frame or sparse matrix
        Rows to train on; NaN is missing.
    sample_weight : array-like, optional
        Weight of each row for the choice of bins only; pass the weights to ``fit`` too.
    max_bins : int, list or dict, default='auto'
        As in the estimators, like the following parameters.
    zero_as_missing : bool, default='auto'
        Whether zeros are missing values.
    categorical_features : list, dict, AutoCategorical, ndarray or None, default='auto'
        Columns whose values are categories.
    random_state : int, Generator, RandomState or None, default='auto'
        Seed of the rows from which bins are chosen in large tables.
    n_jobs : int or None, default='auto'
        Number of threads.

    Examples
    --------
    >>> import numpy as np
    >>> from sapwood import Dataset, SapwoodRegressor
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> data = Dataset(X, max_bins=63)
    >>> data
    <sapwood.Dataset: 500 rows, 3 features, at most 63 bins>
    >>> models = [SapwoodRegressor(n_estimators=5, max_leaves=k).fit(data, X[:, 0]) for k in (4, 8)]
    """

    def __init__(
        self,
        X: Any,
        *,
        sample_weight: Any = None,
        max_bins: int | Sequence[int] | Mapping[Any, int] | Literal["auto"] = "auto",
        zero_as_missing: bool | Literal["auto"] = "auto",
        categorical_features: Any = AUTO,
        random_state: Any = AUTO,
        n_jobs: int | Literal["auto"] | None = "auto",
    ) -> None:
        X = collect_table(unwrap_dataset(X))
        self.X = X
        self.zero_as_missing: bool = check_value("zero_as_missing", zero_as_missing)
        self.table: Table = self._read(X)
        self.max_bins = column_max_bins(check_value("max_bins", max_bins), Schema.of(self.table))
        self.categories = find_categorical_columns(
            check_value("categorical_features", categorical_features), self.table
        )
        self.bins: BinnedDataset | None = None
        if not self.categories:
            self._choose_bins(sample_weight, random_state, n_jobs)

    def _read(self, X: Any) -> Table:
        table = read_table(X)
        return zeros_to_missing(table) if self.zero_as_missing else table

    def _choose_bins(self, sample_weight: Any, random_state: Any, n_jobs: Any) -> None:
        weight = check_weight(sample_weight, self.table.n_rows)
        seed = resolve_seed(check_value("random_state", random_state))
        team = training_team(check_value("n_jobs", n_jobs), self.table.n_rows, self.table.n_features)
        row_ids = np.arange(self.table.n_rows, dtype=np.uint64)
        weighted_table, weighted_ids = self.table, row_ids
        if weight is not None and not weight.all():
            rows = np.flatnonzero(weight)
            weighted_table, weight, weighted_ids = self.table.take(rows), weight[rows], row_ids[rows]
        bin_mapper = BinMapper.fit(weighted_table, weight, self.max_bins, seed, team.run, weighted_ids)
        self.bins = BinnedDataset.encode(bin_mapper, self.table, row_ids, team.run)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return self.table.n_rows, self.table.n_features

    def __len__(self) -> int:
        return self.table.n_rows

    def __repr__(self) -> str:
        n_bins = largest_limit(self.max_bins)
        return f"<sapwood.Dataset: {self.shape[0]} rows, {self.shape[1]} features, at most {n_bins} bins>"

    def __getitem__(self, rows: Any) -> Dataset:
        """Return the dataset of some rows, with the same bins.

        Parameters
        ----------
        rows : list or ndarray of int, ndarray of bool or slice
            Row numbers, a boolean for each row, or a range of rows.

        Returns
        -------
        Dataset
            The rows in the given order.

        Examples
        --------
        >>> import numpy as np
        >>> from sapwood import Dataset
        >>> len(Dataset(np.zeros((100, 2)))[:80])
        80
        """
        try:
            positions = np.arange(len(self))[np.asarray(rows, dtype=np.intp) if _is_empty(rows) else rows]
        except (IndexError, ValueError) as error:
            raise InputError(f"a Dataset of {len(self)} rows has no rows {short_repr(rows)}: {error}") from error
        if positions.ndim != 1:
            raise ParameterError(f"a Dataset is indexed by rows, as in dataset[[0, 2]]; got {rows!r}")
        subset = object.__new__(Dataset)
        subset.X = select_rows(self.X, positions)
        subset.zero_as_missing = self.zero_as_missing
        subset.table = subset._read(subset.X)
        subset.max_bins = self.max_bins
        subset.categories = self.categories
        subset.bins = None if self.bins is None else self.bins.take(positions)
        return subset

    def check(self, params: Mapping[str, Any]) -> None:
        """Raise a ParameterError if a parameter is set to another value than the Dataset was made with.

        Parameters
        ----------
        params : dict
            Parameters of a fit by name.

        Examples
        --------
        >>> import numpy as np
        >>> from sapwood import Dataset
        >>> Dataset(np.zeros((100, 2)), max_bins=63).check({"max_bins": 63})
        """
        made_with = {
            "max_bins": self.max_bins,
            "zero_as_missing": self.zero_as_missing,
            "categorical_features": list(self.categories),
        }
        for name, expected in made_with.items():
            if _is_auto(params.get(name, AUTO)):
                continue
            value = check_value(name, params[name])
            if name == "categorical_features":
                value = list(find_categorical_columns(value, self.table))
            if name == "max_bins":
                value = column_max_bins(value, Schema.of(self.table))
            if value != expected:
                check_compatibility(Context(dataset_conflict=DatasetConflict(name, value, expected)))


def dataset_params(X: Any, split_search: Any) -> dict[str, Any]:
    """Return the parameters that a Dataset determines, none for other tables; exact search does not use its bins."""
    if not isinstance(X, Dataset):
        return {}
    bins = {} if split_search == "exact" else {"max_bins": X.max_bins}
    return bins | {"categorical_features": list(X.categories), "zero_as_missing": X.zero_as_missing}


def unwrap_dataset(X: Any) -> Any:
    """Return the table that the user passed to a Dataset, other tables as they are."""
    return X.X if isinstance(X, Dataset) else X


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == AUTO


def _is_empty(rows: Any) -> bool:
    return isinstance(rows, list | tuple) and len(rows) == 0
