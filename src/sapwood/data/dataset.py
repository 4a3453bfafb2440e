"""A table with its bins, to be fitted more than once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sapwood.data.binning import binned_dataset as binned
from sapwood.data.binning.bin_mapper import BinMapper
from sapwood.data.categories.plan import find_category_columns
from sapwood.data.tables.conversion import shown
from sapwood.data.tables.row_selection import select_rows
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
    """A table whose bins are chosen once: ``fit`` takes it in the place of X, as often as you like.

    ``max_bins``, ``zero_as_missing``, ``categorical_features``, ``random_state`` and ``n_jobs`` mean what they mean for
    the estimators.
    ``sample_weight`` weighs the rows when bins are chosen; ``fit`` takes weights of its own. ``dataset[rows]`` has the
    bins of the whole table, so a search by scikit-learn reuses them; validation rows then had a part in choosing bins,
    though not their targets. What becomes of categories depends on the target: a table that has any is read once, and
    its bins are chosen by every fit.
    """

    def __init__(
        self,
        X: Any,
        *,
        sample_weight: Any = None,
        max_bins: Any = AUTO,
        zero_as_missing: Any = AUTO,
        categorical_features: Any = AUTO,
        random_state: Any = AUTO,
        n_jobs: Any = AUTO,
    ) -> None:
        X = plain_rows(X)
        self.X = X
        self.zero_as_missing: bool = check_value("zero_as_missing", zero_as_missing)
        self.table: Table = self._read(X)
        self.max_bins: int = check_value("max_bins", max_bins)
        self.categories = find_category_columns(check_value("categorical_features", categorical_features), self.table)
        self.bins: binned.BinnedDataset | None = None
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
        chosen, kept = self.table, row_ids
        if weight is not None and not weight.all():
            places = np.flatnonzero(weight)
            chosen, weight, kept = self.table.take(places), weight[places], row_ids[places]
        encoder = BinMapper.fit(chosen, weight, self.max_bins, seed, team.run, kept)
        tiles, columns = encoder.encode(self.table, team.run)
        lists = encoder.lists(self.table, team.run)
        numbers = binned.kept_numbers(row_ids)
        self.bins = binned.BinnedDataset(encoder.schema, encoder, tiles, columns, numbers, lists=lists)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.table.n_rows, self.table.n_features

    def __len__(self) -> int:
        return self.table.n_rows

    def __repr__(self) -> str:
        return f"<sapwood.Dataset: {self.shape[0]} rows, {self.shape[1]} features, at most {self.max_bins} bins>"

    def __getitem__(self, rows: Any) -> Dataset:
        """The same bins for some rows: numbers, truth values or a slice."""
        try:
            places = np.arange(len(self))[np.asarray(rows, dtype=np.intp) if _is_empty(rows) else rows]
        except (IndexError, ValueError) as error:
            raise InputError(f"a Dataset of {len(self)} rows has no rows {shown(rows)}: {error}") from error
        if places.ndim != 1:
            raise ParameterError(f"a Dataset is indexed by rows, as in dataset[[0, 2]]; got {rows!r}")
        made = object.__new__(Dataset)
        made.X = select_rows(self.X, places)
        made.zero_as_missing = self.zero_as_missing
        made.table = made._read(made.X)
        made.max_bins = self.max_bins
        made.categories = self.categories
        made.bins = None if self.bins is None else self.bins.take(places)
        return made

    def check(self, params: Mapping[str, Any]) -> None:
        """Raise a ParameterError if a parameter is set to another value than the Dataset was made with."""
        made_with = {
            "max_bins": self.max_bins,
            "zero_as_missing": self.zero_as_missing,
            "categorical_features": list(self.categories),
        }
        for name, own in made_with.items():
            if _is_auto(params.get(name, AUTO)):
                continue
            value = check_value(name, params[name])
            if name == "categorical_features":
                value = list(find_category_columns(value, self.table))
            if value != own:
                check_compatibility(Context(dataset_conflict=DatasetConflict(name, value, own)))


def settings_of(X: Any, split_search: Any) -> dict[str, Any]:
    """The parameters that a Dataset has settled, nothing for other tables; exact search does not use its bins."""
    if not isinstance(X, Dataset):
        return {}
    bins = {} if split_search == "exact" else {"max_bins": X.max_bins}
    return bins | {"categorical_features": list(X.categories), "zero_as_missing": X.zero_as_missing}


def plain_rows(X: Any) -> Any:
    """The table as the user gave it, out of a Dataset if it is one."""
    return X.X if isinstance(X, Dataset) else X


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == AUTO


def _is_empty(rows: Any) -> bool:
    return isinstance(rows, list | tuple) and len(rows) == 0
