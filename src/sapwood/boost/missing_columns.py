"""Columns in which some training row has a missing value, so that the side of missing values was learned."""

from __future__ import annotations

import numpy as np

from sapwood.data.binning.binned_dataset import BinnedDataset

MISSING_BIN = 0


def columns_with_missing(dataset: BinnedDataset, features: np.ndarray) -> list[int] | None:
    """Return the numbers of the user's numeric columns that have missing values, out of some ``features``.

    None if this process does not have all rows.
    """
    if not dataset.workers.is_local:
        return None
    columns = range(dataset.n_features) if dataset.transformer is None else dataset.transformer.columns
    known = [int(k) for k in features if 0 <= k < dataset.n_features]  # without leaves and sets of categories
    return [column for k in known if isinstance(column := columns[k], int) and _has_missing(dataset, k)]


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
