"""Projections of the pairs of several outputs, against a slow twin."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sapwood.kernels import layout
from sapwood.kernels.histogram.output_sketch import BLOCK, project_outputs, set_exact_scales
from sapwood.kernels.numeric.random import OUTPUT_SKETCH, draw_many
from sapwood.native.threads.team import Team
from tests.guarded import Guards

RNG = np.random.default_rng(4)
KEY = layout.RandomKey(7, 11)


def project_slowly(pairs: np.ndarray, key: layout.RandomKey, n_directions: int) -> np.ndarray:
    """Project pairs (outputs, rows, 2) output by output: bit j of an output's draw is its sign in direction j."""
    bits = np.empty(len(pairs), np.uint64)
    draw_many(key.seed, OUTPUT_SKETCH, key.round, np.arange(len(pairs), dtype=np.uint64), bits)
    out = np.empty((n_directions, pairs.shape[1], 2), np.float32)
    for j in range(n_directions):
        gradient, hessian = np.zeros(pairs.shape[1]), np.zeros(pairs.shape[1])
        for k, pair in enumerate(pairs.astype(np.float64)):
            gradient += pair[:, 0] if int(bits[k]) >> j & 1 else -pair[:, 0]
            hessian += pair[:, 1]
        out[j, :, 0] = 1.0 / math.sqrt(n_directions) * gradient
        out[j, :, 1] = 0.5 * hessian
    return out


@pytest.mark.parametrize("members", [1, 2, 3])
@pytest.mark.parametrize("n_rows, n_outputs, n_directions", [(1, 2, 1), (5, 9, 4), (2 * BLOCK + 7, 6, 3)])
def test_projections_equal_those_of_the_slow_twin(n_rows, n_outputs, n_directions, members):
    pairs = RNG.normal(size=(n_outputs, n_rows, 2)).astype(np.float32)
    guards = Guards()
    out = guards.array((n_directions, 2 * n_rows), np.float32)
    work = guards.array((members, n_directions + 1, BLOCK), np.float64)
    factor = 1.0 / math.sqrt(n_directions)
    Team(members).run(project_outputs, pairs.reshape(n_outputs, -1), KEY, factor, work, out)
    guards.check()
    assert np.array_equal(out.reshape(n_directions, n_rows, 2), project_slowly(pairs, KEY, n_directions))


def test_squares_of_projected_sums_are_those_of_all_outputs_on_average():
    sums = np.array([3.0, -1.0, 2.0, 0.5, 4.0])
    pairs = np.stack([sums, np.ones(5)], axis=1)[:, None]
    squares = [
        np.square(project_slowly(pairs, layout.RandomKey(0, k), 4)[:, 0, 0].astype(np.float64)).sum()
        for k in range(4_000)
    ]
    assert np.mean(squares) == pytest.approx(np.square(sums).sum(), rel=0.05)


@pytest.mark.parametrize("members", [1, 2])
@pytest.mark.parametrize("n_rows", [6, 5_000])
def test_the_scales_of_exact_sums_leave_room_for_all_rows(n_rows, members):
    pairs = RNG.uniform(size=(3, n_rows, 2)).astype(np.float32) * np.array([[[1.0]], [[8.0]], [[0.01]]], np.float32)
    guards = Guards()
    partition = layout.RowPartition(
        np.arange(n_rows, dtype=np.uint32), np.empty(n_rows, np.uint32), np.empty((1, n_rows), np.int64),
        np.empty((0, 0), np.int64),
    )  # fmt: skip
    gradients = layout.Gradients(pairs.reshape(3, -1), np.empty(0), np.empty(0, np.uint64), 1.0)
    scales = layout.Scales(np.ones((1, 2)), guards.array((3, 2), np.float64), np.zeros((1, 2), np.int64))
    scratch = layout.Scratch(guards.array((members, 6), np.float64), np.empty((members, 0), np.int64),
                             np.empty((members, 0), np.int64))  # fmt: skip
    info = np.zeros(3, np.int64)
    Team(members).run(set_exact_scales, partition, gradients, scales, scratch, info)
    guards.check()
    bound = pairs.astype(np.float64).max(axis=1) * n_rows * scales.exact
    assert (bound + 2 * n_rows < 2.0**62).all()
    assert (bound > 2.0**60).all()
    assert (np.log2(scales.exact) % 1 == 0).all()
    assert info[layout.STATUS] == layout.OK


def test_a_gradient_that_is_not_finite_sets_the_status():
    pairs = np.ones((2, 4, 2), np.float32)
    pairs[1, 2, 0] = np.nan
    partition = layout.RowPartition(
        np.arange(4, dtype=np.uint32), np.empty(4, np.uint32), np.empty((1, 4), np.int64), np.empty((0, 0), np.int64)
    )
    gradients = layout.Gradients(pairs.reshape(2, -1), np.empty(0), np.empty(0, np.uint64), 1.0)
    scales = layout.Scales(np.ones((1, 2)), np.ones((2, 2)), np.zeros((1, 2), np.int64))
    scratch = layout.Scratch(np.zeros((1, 4)), np.zeros((1, 0), np.int64), np.zeros((1, 0), np.int64))
    info = np.zeros(3, np.int64)
    Team(1).run(set_exact_scales, partition, gradients, scales, scratch, info)
    assert info[layout.STATUS] == layout.NOT_FINITE
