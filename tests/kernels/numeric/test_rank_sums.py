"""Weights of rows that are lower in two orders, against a count of all pairs."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sapwood.kernels.numeric.rank_sums import lower_weights, sum_lower_weights
from tests.guarded import Guards


def count_pairs(y, prediction, weight):
    """Twice the weight of rows lower in both, plus that of rows with a lower y and the same prediction."""
    lower = y[None, :] < y[:, None]
    below, tied = prediction[None, :] < prediction[:, None], prediction[None, :] == prediction[:, None]
    return ((2 * (lower & below) + (lower & tied)) * weight[None, :]).sum(axis=1)


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(0, 9)), min_size=1, max_size=40))
def test_lower_weights_are_those_of_all_pairs(rows):
    y, prediction, weight = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    order = np.lexsort((y, prediction))
    got_weight, got = lower_weights(y.astype(float), prediction.astype(float), weight)
    assert got_weight.tolist() == weight[order].tolist()
    assert got.tolist() == count_pairs(y, prediction, weight)[order].tolist()


def test_the_kernel_writes_its_output_and_nothing_else():
    guards = Guards()
    y, first, weight = (np.array(v, dtype=np.int64) for v in ([0, 1, 1, 2], [0, 1, 1, 3], [5, 1, 2, 3]))
    tree, out = guards.array(4, np.int64), guards.array(4, np.int64)
    sum_lower_weights(y, first, weight, tree, out)
    guards.check()
    assert out.tolist() == [0, 10, 10, 16]


def test_the_compiled_kernel_is_the_interpreted_one():
    random = np.random.default_rng(0)
    y, first = random.integers(0, 9, 50), np.arange(50)
    weight = random.integers(0, 2**40, 50)
    tree, out, twin = np.empty(10, np.int64), np.empty(50, np.int64), np.empty(50, np.int64)
    sum_lower_weights(y, first, weight, tree, out)
    sum_lower_weights.function(y, first, weight, tree, twin)
    assert out.tolist() == twin.tolist()
