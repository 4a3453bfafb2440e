"""Bin edges of columns: sampled rows, and weighted quantiles of their values."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.data.binning.bin_edges import quantile_edges
from sapwood.kernels.encode import bin_edges
from sapwood.kernels.numeric.random import BIN_EDGES, draw_many
from sapwood.native.runtime.kernel import new_sync

ODD = [np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, np.nextafter(1.0, 2.0), 5e-324, -5e-324, 1.8e308, -1.8e308]
ODD32 = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, 1e-45, -1e-45, 3.4e38, -3.4e38]


def run_members(members, kernel, *args):
    """Run a kernel that has no barriers as a team of so many members, one after the other."""
    bound = kernel.bind(new_sync(), *args)
    for member in range(members):
        bound(member, members)


# --- hash_rows --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("members", [1, 3])
def test_rows_draw_the_hashes_of_their_numbers(members):
    ids = np.array([7, 0, 2**64 - 1, 12], dtype=np.uint64)
    expected, found = np.empty(4, np.uint64), np.empty(4, np.uint64)
    with np.errstate(over="ignore"):
        draw_many.function(5, BIN_EDGES, 0, ids, expected)
    run_members(members, bin_edges.hash_rows, 5, BIN_EDGES, ids, found)
    np.testing.assert_array_equal(found, expected)


# --- gather_rows ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("members", [1, 3])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_gathered_rows_lie_column_by_column(kind, members):
    X = np.random.default_rng(0).normal(size=(1000, 4)).astype(kind)
    rows = np.flatnonzero(np.random.default_rng(1).random(1000) < 0.6)
    out = np.full((4, len(rows) + 3), 77, kind)
    run_members(members, bin_edges.gather_rows, X.reshape(-1), 4, 1, rows, 2, out)
    np.testing.assert_array_equal(out[:, 2:-1], X[rows].T)
    assert (out[:, [0, 1, -1]] == 77).all()


# --- find_bin_edges ---------------------------------------------------------------------------------------------------


def slow_cuts(weights, max_bins):
    """After which of the distinct values a bin ends, by the rules in words, with exact fractions."""
    m = len(weights)
    if m <= max_bins:
        return list(range(m - 1))
    fair = Fraction(sum(weights), max_bins)
    heavy = [w >= fair for w in weights]
    runs = [i for i in range(m) if not heavy[i] and (i == 0 or heavy[i - 1])]
    generous = max_bins - sum(heavy) >= len(runs)  # a bin for every run of light values
    cuts: list[int] = []
    opened = 0
    for i in range(m - 1):
        bins_left = max_bins - len(cuts)
        light_bins = bins_left - sum(heavy[i:])
        collected = sum(w for w, h in zip(weights[opened : i + 1], heavy[opened : i + 1], strict=True) if not h)
        light_left = sum(w for w, h in zip(weights[opened:], heavy[opened:], strict=True) if not h)
        share = Fraction(light_left, light_bins) if light_bins else Fraction(0)
        if heavy[i]:
            ends = True
        elif heavy[i + 1]:
            ends = light_bins >= 1 and (generous or collected >= share / 2)
        else:
            runs_left = 1 + sum(run > i for run in runs)
            affordable = light_bins - 1 >= (runs_left if generous else 0)
            ends = affordable and collected + Fraction(weights[i + 1], 2) >= share
        if m - 1 - i <= bins_left - 1:
            ends = True
        if ends and bins_left >= 2:
            cuts.append(i)
            opened = i + 1
    return cuts


def cut(values, units=None, max_bins=255, run=None):
    units = np.empty(0, np.int64) if units is None else np.asarray(units, np.int64)
    arguments = (np.atleast_2d(values), units, max_bins)
    return quantile_edges(*arguments) if run is None else quantile_edges(*arguments, run)


WEIGHTS = st.lists(st.one_of(st.integers(1, 5), st.integers(1, 100), st.just(300)), min_size=1, max_size=40)


@settings(deadline=None)
@given(WEIGHTS, st.integers(2, 12))
def test_cuts_are_those_of_the_slow_twin(weights, max_bins):
    [edges] = cut(np.arange(len(weights), dtype=np.float64), weights, max_bins)
    assert edges.tolist() == [i + 0.5 for i in slow_cuts(weights, max_bins)]


@settings(deadline=None)
@given(WEIGHTS, st.integers(2, 12), st.randoms(use_true_random=False))
def test_a_weight_of_k_is_the_same_as_k_copies(weights, max_bins, random):
    values = np.arange(len(weights), dtype=np.float64)
    copies = np.repeat(values, weights)
    random.shuffle(copies)
    np.testing.assert_array_equal(cut(values, weights, max_bins)[0], cut(copies, None, max_bins)[0])


@settings(deadline=None)
@given(WEIGHTS, st.integers(2, 12), st.integers(1, 20))
def test_the_unit_of_weight_does_not_matter(weights, max_bins, shift):
    values = np.arange(len(weights), dtype=np.float64)
    scaled = [w << shift for w in weights]
    np.testing.assert_array_equal(cut(values, weights, max_bins)[0], cut(values, scaled, max_bins)[0])


@settings(deadline=None)
@given(WEIGHTS, st.integers(2, 12))
def test_all_bins_are_used_when_there_are_values_enough(weights, max_bins):
    [edges] = cut(np.arange(len(weights), dtype=np.float64), weights, max_bins)
    assert len(edges) + 1 == min(len(weights), max_bins)


@pytest.mark.parametrize("n", [300, 1000, 4099])
def test_values_of_equal_weight_are_shared_out_evenly(n):
    [edges] = cut(np.arange(n, dtype=np.float64))
    sizes = np.diff([-0.5, *edges, n - 0.5])
    assert len(sizes) == 255
    assert sizes.max() - sizes.min() <= 1


def test_a_heavy_value_has_a_bin_of_its_own():
    values = np.concatenate([np.arange(1000), np.full(500, 400), np.full(200, 700)]).astype(np.float64)
    [edges] = cut(values, max_bins=10)
    assert {399.5, 400.5, 699.5, 700.5} <= set(edges)


@pytest.mark.parametrize(("kind", "odd"), [(np.float64, ODD), (np.float32, ODD32)])
def test_every_neighbouring_pair_of_odd_values_is_told_apart(kind, odd):
    values = np.array(odd, dtype=kind)
    [edges] = cut(values)
    distinct = np.unique(values[~np.isnan(values)]).astype(np.float64)
    assert len(edges) == len(distinct) - 1
    assert all(low <= edge < high for low, edge, high in zip(distinct, edges, distinct[1:], strict=False))
    assert not np.signbit(edges[edges == 0]).any()


@settings(deadline=None)
@given(st.lists(st.floats(), min_size=1, max_size=60), st.integers(2, 8), st.sampled_from([np.float32, np.float64]))
def test_every_edge_lies_between_neighbouring_values(values, max_bins, kind):
    with np.errstate(over="ignore"):
        values = np.array(values).astype(kind)
    [edges] = cut(values, max_bins=max_bins)
    distinct = np.unique(values[~np.isnan(values)]).astype(np.float64)
    assert (np.diff(edges) > 0).all()
    for edge in edges:
        place = np.searchsorted(distinct, edge, side="right")
        assert distinct[place - 1] <= edge < distinct[place]


@pytest.mark.parametrize("column", [[3.0, 3.0, 3.0], [np.nan, np.nan], [3.0], [np.nan, 3.0], [0.0, -0.0]])
def test_a_constant_or_missing_column_has_no_edges(column):
    assert len(cut(np.array(column))[0]) == 0


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("members", [2, 3, 40])
def test_edges_do_not_depend_on_the_number_of_members(kind, members):
    values = np.random.default_rng(0).normal(size=(7, 500)).astype(kind)
    units = np.random.default_rng(1).integers(1, 9, 500)
    alone = cut(values, units, 20)
    many = cut(values, units, 20, run=lambda kernel, *args: run_members(members, kernel, *args))
    for a, b in zip(alone, many, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_the_interpreter_gives_the_same_bits(kind):
    rng = np.random.default_rng(0)
    values = np.round(rng.normal(size=(2, 300)), 1).astype(kind)
    units = rng.integers(1, 2**30, 300)

    def interpret(kernel, *args):
        with np.errstate(all="ignore"):
            kernel.function(0, 1, new_sync(), *args)

    for a, b in zip(cut(values, units, 9), cut(values, units, 9, run=interpret), strict=True):
        np.testing.assert_array_equal(a, b)
