"""The sets of levels that splits send to the left, as columns of 0 and 1 for the finished trees."""

from __future__ import annotations

import numpy as np

from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.data.categories.transformer import SET, DerivedFeature
from sapwood.kernels.layout import BITSET_SPLIT

HALF = 0.5


class CategorySets:
    """Numbers the sets of a training behind the columns that trees were grown on."""

    def __init__(self, dataset: BinnedDataset) -> None:
        self._dataset = dataset
        self._numbers: dict[tuple[int, bytes], int] = {}
        self.columns: list[DerivedFeature] = []

    def name(self, nodes: dict[str, np.ndarray], bins: np.ndarray, sets: np.ndarray) -> None:
        """Put a column of 0 (left) and 1 in the place of each set, given the columns of nodes with their bins."""
        feature, threshold, missing_left = nodes["feature"], nodes["threshold"], nodes["missing_left"]
        places = np.flatnonzero((bins == BITSET_SPLIT) & (feature >= 0))
        feature[places] = [
            self._number(f, words) for f, words in zip(feature[places].tolist(), sets[places], strict=True)
        ]
        threshold[places], missing_left[places] = HALF, 0

    def _number(self, feature: int, words: np.ndarray) -> int:
        key = (feature, words.tobytes())
        if key not in self._numbers:
            assert self._dataset.transformer is not None
            source = self._dataset.transformer.columns[feature]
            assert isinstance(source, DerivedFeature)
            self._numbers[key] = self._dataset.n_features + len(self.columns)
            # The bin of a level is its rank.
            self.columns.append(DerivedFeature(source.sources, SET, source.sums, source.sums, members=words))
        return self._numbers[key]
