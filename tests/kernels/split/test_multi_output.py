"""The best threshold for several outputs that share their hessians, against a loop over the splits."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood.kernels import layout
from sapwood.kernels.split.cumulative_sums import PADDING
from sapwood.kernels.split.multi_output import locate_outputs, scan_outputs

ANY = np.array([1, 1 << 40] * 4)


def params_of(**values: float) -> layout.GrowParams:
    return layout.GrowParams(**dict.fromkeys(layout.GrowParams._fields, 0) | {"reg_lambda": 1.0} | values)


def search_slowly(gradients, hessians, params, scale):
    """Return gain, bin and side of missing values of the best split; output 0 has the hessians of all."""
    n_outputs, n_cells = gradients.shape
    best = (0.0, 0, 0)
    g, h = gradients.sum(axis=1) / scale[:, 0], hessians[0].sum() / scale[0, 1]
    parent = sum(value * value for value in g.tolist()) / (h + params.reg_lambda)
    for missing_left in range(2):
        for b in range(1, n_cells - missing_left):
            left = slice(0 if missing_left else 1, b + 1)
            h_left = hessians[0, left].sum() / scale[0, 1]
            if min(h_left, h - h_left) < params.min_child_weight:
                continue
            squares = [0.0, 0.0]
            for k in reversed(range(n_outputs)):
                g_left = gradients[k, left].sum() / scale[k, 0]
                squares[0] += g_left * g_left
                squares[1] += (g[k] - g_left) * (g[k] - g_left)
            a = h_left + params.reg_lambda
            c = h + 2.0 * params.reg_lambda - a
            gain = 0.5 * ((squares[0] * c + squares[1] * a) / (a * c) - parent) - params.min_split_gain
            if gain > best[0]:
                best = (gain, b, missing_left)
    return best


@pytest.mark.parametrize("weight", [1e-3, 60.0])
@pytest.mark.parametrize("seed", range(8))
def test_shared_hessians_are_those_of_the_first_output(seed, weight):
    draw = np.random.default_rng(seed)
    gradients, hessians = draw.integers(-(2**20), 2**20, (4, 12)), draw.integers(1, 2**20, (4, 12))
    scale = np.full((4, 2), 2.0**12)
    params = params_of(min_child_weight=weight, shared_hessian=1, min_split_gain=0.5)
    cells = (gradients << 32) + hessians
    scales = layout.Scales(scale, scale, np.array([[1, 2**20]] * 4))
    flat, sums = np.ascontiguousarray(cells).reshape(-1), cells.sum(axis=1)
    buffer, candidate = np.full(3 * (11 + PADDING), -7), np.full(layout.CANDIDATE_SUMS + 4, -7)
    with np.errstate(all="ignore"):  # sums wrap
        gain = scan_outputs(flat, 12, 11, sums, ANY, params, scales, buffer)
        located = locate_outputs(flat, 12, 11, sums, ANY, params, scales, buffer, candidate)
    expected = search_slowly(gradients, hessians, params, scale)
    assert (gain, located) == (expected[0], expected[0])
    assert candidate[layout.CANDIDATE_BIN] == expected[1]
    assert candidate[layout.CANDIDATE_MISSING_LEFT] == expected[2]
    left = slice(0 if expected[2] else 1, expected[1] + 1)
    assert candidate[layout.CANDIDATE_SUMS :].tolist() == cells[:, left].sum(axis=1).tolist()
