"""Columns in which some training row has a missing value, so that the side of missing values was learned."""

from __future__ import annotations

import numpy as np

from sapwood.data.binning.binned_dataset import BinnedDataset

MISSING_BIN = 0


def columns_with_missing(dataset: BinnedDataset, features: np.ndarray) -> list[int]:
    """Return the numbers of the user's numeric columns that have missing values, out of some ``features``.

    The rows are those of all workers.
    """
    columns = range(dataset.n_features) if dataset.transformer is None else dataset.transformer.columns
    known = [int(k) for k in features if 0 <= k < dataset.n_features]  # without leaves and sets of categories
    numeric = [(k, column) for k in known if isinstance(column := columns[k], int)]
    is_missing = np.array([_has_missing(dataset, k) for k, _ in numeric], dtype=np.int64)
    found = dataset.workers.max(is_missing).tolist()
    return [column for (_, column), has_missing in zip(numeric, found, strict=True) if has_missing]


def _has_missing(dataset: BinnedDataset, feature: int) -> bool:
    sparse = dataset.sparse_bins
    if sparse is not None:
        if sparse.default_bins[feature] >= 0:
            is_default = sparse.default_bins[feature] == MISSING_BIN
            return bool(is_default or (sparse.entries == sparse.first_cell[feature] + MISSING_BIN).any())
        return bool((dataset.columns[sparse.column[feature]] == MISSING_BIN).any())
    if dataset.columns.shape[0] == dataset.n_features and dataset.columns.shape[1] == dataset.n_rows:
        return bool((dataset.columns[feature] == MISSING_BIN).any())
    return dataset.raw_values is None or bool(np.isnan(dataset.raw_values.matrix(dataset.n_features)[:, feature]).any())
