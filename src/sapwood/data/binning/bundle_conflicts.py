"""Bundles that lose something: columns that hardly ever differ from their usual bins together never do so any more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.data.binning.bundling import Bundler, usual_bins


def remove_conflicts(dataset: BinnedDataset, share: float) -> BinnedDataset:
    """The same rows, where columns that meet in few rows do not: in these, all but the first have their usual bins.

    The columns of a bundle meet in at most this ``share`` of the rows. Bytes and lists come to the same.
    """
    bundler = Bundler(dataset.n_rows, int(share * dataset.n_rows))
    usual = usual_bins(dataset.columns)
    columns, tiles, width = dataset.columns.copy(), dataset.tiles.copy(), dataset.tiles.shape[2]
    lost = [np.empty((0, 2), dtype=np.intp)]
    for f, place, rows in _differing(dataset, usual):
        met = bundler.add(f, rows, int(dataset.n_bins[f]) + 1)
        if place < 0:
            lost.append(np.stack([met, np.full(len(met), f)], axis=1))
        else:
            columns[place, met] = usual[place]
            tiles[place // width, met, place % width] = usual[place]
    lists = None if dataset.lists is None else dataset.lists.without_entries(np.concatenate(lost))
    return replace(dataset, columns=columns, tiles=tiles, lists=lists)


def _differing(dataset: BinnedDataset, usual: np.ndarray) -> Iterator[tuple[int, int, np.ndarray]]:
    """Each feature that mostly has its usual bin, its place among the columns (−1: listed), and where it differs."""
    lists = dataset.lists
    by_feature = [] if lists is None else lists.rows_by_feature()
    for f in range(dataset.n_features):
        place = f if lists is None else int(lists.column[f])
        if place < 0:
            yield f, place, by_feature[f]
        elif usual[place] >= 0:
            yield f, place, np.flatnonzero(dataset.columns[place] != usual[place])
