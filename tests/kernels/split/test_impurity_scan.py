"""Thresholds of decision trees against slow twins, bit for bit, and by hand."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood.classic.trees.entries import EntryBuffer
from sapwood.kernels.split import impurity_scan as scan
from sapwood.kernels.split.absolute_error_scan import median_of_node, scan_columns_absolute
from sapwood.kernels.split.impurity import (
    ABSOLUTE_ERROR,
    ENTROPY,
    GINI,
    SQUARED_ERROR,
    SortedEntries,
    category_losses,
    sum_categories,
    sum_node,
    weighted_impurity,
)  # fmt: skip
from sapwood.kernels.split.impurity_scan import scan_columns
from tests.guarded import Guards
from tests.reference.decision_tree import best_cut_slowly, median_loss_slowly

CRITERIA = {"gini": GINI, "entropy": ENTROPY, "squared": SQUARED_ERROR, "absolute": ABSOLUTE_ERROR}
N_CLASSES = 3


def make_table(seed: int, criterion: int, n_rows: int = 40, n_columns: int = 3):
    """Few values per column, some missing; weights and targets whose sums are exact for absolute errors."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 8, (n_columns, n_rows)) / 4.0
    values[rng.uniform(size=values.shape) < 0.15] = np.nan
    weight = rng.integers(1, 9, n_rows) / 4.0
    if criterion in (GINI, ENTROPY):
        return values, rng.integers(0, N_CLASSES, n_rows).astype(float), weight
    return values, rng.integers(-9, 9, n_rows) / 2.0 if criterion == ABSOLUTE_ERROR else rng.normal(size=n_rows), weight


def guarded_entries(guards: Guards, buffer: EntryBuffer) -> SortedEntries:
    return SortedEntries(*(guards.copy(array) for array in buffer.arrays))


def scanned(criterion, values, target, weight, limits) -> np.ndarray:
    guards = Guards()
    entries = guarded_entries(guards, EntryBuffer.of(values, target, weight))
    n, columns = len(target), np.arange(len(values))
    out = guards.array((len(values), scan.RESULT), np.float64)
    if criterion == ABSOLUTE_ERROR:
        scratch = [guards.array(n, np.int32), guards.array(n, np.float64)]
        scratch += [guards.array((n + 1, 2), np.float64), guards.array((n, 2), np.float64)]
        scan_columns_absolute(entries, 0, n, columns, limits, *scratch, out)
    else:
        sums = guards.array((3, N_CLASSES if criterion in (GINI, ENTROPY) else 1), np.float64)
        scan_columns(criterion, entries, 0, n, columns, limits, sums, out)
    guards.check()
    return out


@pytest.mark.parametrize("known_only", [False, True])
@pytest.mark.parametrize("name", CRITERIA)
def test_the_best_threshold_of_each_column_equals_its_slow_twin(name, known_only):
    criterion = CRITERIA[name]
    n_sums = {GINI: N_CLASSES, ENTROPY: N_CLASSES, SQUARED_ERROR: 1, ABSOLUTE_ERROR: 0}[criterion]
    for seed, (min_rows, min_weight) in enumerate([(1, 0.0), (5, 0.0), (1, 6.0), (19, 0.0), (21, 0.0)]):
        values, target, weight = make_table(seed, criterion)
        origin = 0.25 if criterion == SQUARED_ERROR else 0.0
        limits = np.array([min_rows, min_weight, float(known_only), origin])
        out = scanned(criterion, values, target, weight, limits)
        for column, result in zip(values, out, strict=True):
            expected = best_cut_slowly(
                criterion, column, target, weight, n_sums, min_rows, min_weight, known_only, origin
            )
            np.testing.assert_array_equal(result, expected)


def test_the_impurities_by_hand():
    """3 rows of one class and 1 of another: Gini 1 - 9/16 - 1/16 = 3/8, entropy 0.8113 bits; times 4 rows."""
    assert weighted_impurity(GINI, np.array([3.0, 1.0]), 4.0) == 1.5
    assert weighted_impurity(ENTROPY, np.array([3.0, 1.0]), 4.0) == pytest.approx(4.0 * 0.811278, abs=1e-5)
    assert weighted_impurity(SQUARED_ERROR, np.array([6.0]), 4.0) == -9.0
    assert weighted_impurity(GINI, np.array([0.0, 0.0]), 0.0) == 0.0


def test_the_sums_of_a_node_by_hand():
    """Targets 1, 3 and 8 with weights 1, 1 and 2: mean 5, squared error 16 + 4 + 2 · 9 = 38; median 8 - or 5.5."""
    buffer = EntryBuffer.of(np.zeros((1, 3)), np.array([8.0, 1.0, 3.0]), np.array([2.0, 1.0, 1.0]))
    guards = Guards()
    sums, facts = guards.array(1, np.float64), guards.array(3, np.float64)
    sum_node(SQUARED_ERROR, buffer.arrays, 0, 3, sums, facts)
    assert (sums[0], facts[0], facts[1]) == (20.0, 4.0, 38.0)
    median_of_node(buffer.arrays, 0, 3, facts)
    assert facts.tolist() == [4.0, 2.0 * 2.5 + 4.5 + 2.5, 5.5]  # half of the weight on each side: the middle
    guards.check()


def test_the_median_loss_of_a_node_equals_its_slow_twin():
    for seed in range(5):
        values, target, weight = make_table(seed, ABSOLUTE_ERROR)
        facts = np.empty(3)
        median_of_node(EntryBuffer.of(values, target, weight).arrays, 0, len(target), facts)
        assert facts[1] == median_loss_slowly(range(len(target)), target, weight)


def test_sums_of_categories_by_hand():
    """Codes 2, 0, 2, 5 of classes 0, 1, 1, 1: three groups, in the order of codes."""
    values = np.array([[2.0, 0.0, 2.0, 5.0]])
    buffer = EntryBuffer.of(values, np.array([0.0, 1.0, 1.0, 1.0]), np.array([1.0, 2.0, 3.0, 4.0]))
    guards = Guards()
    counts, sums, codes = guards.array(5, np.int64), guards.array((4, 3), np.float64), guards.array(4, np.float64)
    sum_categories(GINI, buffer.arrays, 0, 0, 4, 0.0, counts, sums, codes)
    assert (counts[4], counts[:3].tolist(), codes[:3].tolist()) == (3, [1, 2, 1], [0.0, 2.0, 5.0])
    assert sums[:3].tolist() == [[0.0, 2.0, 2.0], [1.0, 3.0, 4.0], [0.0, 4.0, 4.0]]
    losses = guards.array(3, np.float64)
    category_losses(GINI, np.ascontiguousarray(sums[:3]), losses)
    assert losses.tolist() == [0.0, 4.0 - 10.0 / 4.0, 0.0]
    guards.check()
