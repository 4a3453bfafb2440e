"""Scores of the splits of a leaf for several outputs: vector code against the loop over rows of planes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.kernels import layout
from sapwood.kernels.split.cumulative_sums import PADDING
from sapwood.kernels.split.symmetric import score_leaf
from sapwood.kernels.split.symmetric_outputs import score_leaf_outputs, score_shared_leaf

GARBAGE = -7


def params_of(**values: float) -> layout.GrowParams:
    return layout.GrowParams(**dict.fromkeys(layout.GrowParams._fields, 0) | {"reg_lambda": 1.0} | values)


def cells_of(gradients: np.ndarray, hessians: np.ndarray, wide: bool) -> np.ndarray:
    """Planes (P, bins + 1) of gradients and hessians (outputs, bins + 1)."""
    if wide:
        return np.stack([gradients, hessians], axis=1).reshape(-1, gradients.shape[1])
    return (gradients << 32) + hessians


def score(cells: np.ndarray, params: layout.GrowParams, scale: np.ndarray, is_vector: bool) -> np.ndarray:
    n_planes, n_cells = cells.shape
    n_bins = n_cells - 1
    sums, scores = cells.sum(axis=1), np.zeros((2, 2, n_bins + 1))
    buffer = np.full((n_planes + 1) * (n_bins + PADDING), GARBAGE)
    flat = np.ascontiguousarray(cells).reshape(-1)
    with np.errstate(all="ignore"):  # sums wrap, and terms that are not taken may be divided by 0
        if is_vector:
            score_leaf_outputs(flat, n_cells, n_bins, 2, sums, params, scale, buffer, scores)
        else:
            score_leaf(flat, n_cells, n_bins, 2, 0, sums, -np.inf, np.inf, params, scale, buffer, scores)
    return scores


@pytest.mark.parametrize("cosine", [0, 1])
@pytest.mark.parametrize("wide", [False, True])
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_vector_code_adds_the_same_terms_in_the_same_order(cosine, wide, data):
    n_outputs, n_bins = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 12))
    shape = (n_outputs, n_bins + 1)
    draw = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    large = 2**50 if wide else 2**20
    gradients, hessians = draw.integers(-large, large, shape), draw.integers(0, large, shape)
    is_empty = draw.random(shape[1]) < 0.3
    gradients[:, is_empty] = hessians[:, is_empty] = 0
    scale = 2.0 ** draw.integers(5, 25, (n_outputs, 2)).astype(np.float64)
    weight = data.draw(st.sampled_from([0.0, 1e-3, 500.0]))
    penalty = data.draw(st.sampled_from([0.5, 3.0])) if weight == 0.0 else data.draw(st.sampled_from([0.0, 3.0]))
    params = params_of(cosine_score=cosine, wide=int(wide), min_child_weight=weight, reg_lambda=penalty)
    cells = cells_of(gradients, hessians, wide)
    fast, slow = (score(cells, params, scale, is_vector) for is_vector in (True, False))
    np.testing.assert_array_equal(fast[:, : 1 + cosine, 1:], slow[:, : 1 + cosine, 1:])


def test_the_score_of_a_split_is_the_sum_over_outputs_and_sides():
    """Output 0: G 2 and -1, H 1 and 3, λ 1: 4/2 + 1/4. Output 1: G 3 and 1, H 2 and 1: 9/3 + 1/2."""
    gradients, hessians = np.array([[0, 2, -1], [0, 3, 1]]), np.array([[0, 1, 3], [0, 2, 1]])
    params = params_of(cosine_score=0)
    scores = score(cells_of(gradients, hessians, False), params, np.ones((2, 2)), True)
    assert scores[1, 0, 1] == 4 / 2 + 1 / 4 + 9 / 3 + 1 / 2


def test_a_leaf_counts_as_unsplit_where_a_side_is_too_light_in_one_output():
    """The left side of output 0 has a hessian of 1, below 2: G 1 of H 4 and G 4 of H 3 remain."""
    gradients, hessians = np.array([[0, 2, -1], [0, 3, 1]]), np.array([[0, 1, 3], [0, 2, 1]])
    params = params_of(cosine_score=1, min_child_weight=2.0)
    scores = score(cells_of(gradients, hessians, False), params, np.ones((2, 2)), True)
    assert scores[1, 0, 1] == 1 * (1 / 5) + 4 * (4 / 4)
    assert scores[1, 1, 1] == 4 * (1 / 5) * (1 / 5) + 3


def shared_slowly(gradients: np.ndarray, hessians: np.ndarray, params: layout.GrowParams, scale: np.ndarray):
    """Scores and divisors (sides, 2, bins + 1) of splits, the hessians of output 0 serving all outputs."""
    n_outputs, n_cells = gradients.shape
    scores = np.zeros((2, 2, n_cells))

    def term(squares: float, h: float) -> np.ndarray:
        bottom = h + params.reg_lambda
        return np.array([squares / bottom, h * squares / (bottom * bottom)])

    for missing_left in range(2):
        for b in range(1, n_cells):
            left = list(range(0 if missing_left else 1, b + 1))
            squares, h_all = [0.0, 0.0, 0.0], hessians[0].sum() / scale[0, 1]
            h_left = hessians[0, left].sum() / scale[0, 1]
            for k in reversed(range(n_outputs)):
                g_all, g_left = gradients[k].sum() / scale[k, 0], gradients[k, left].sum() / scale[k, 0]
                squares[0] += g_left * g_left
                squares[1] += (g_all - g_left) * (g_all - g_left)
            for k in range(n_outputs):
                squares[2] += (gradients[k].sum() / scale[k, 0]) ** 2
            if min(h_left, h_all - h_left) >= params.min_child_weight:
                scores[missing_left, :, b] = term(squares[0], h_left) + term(squares[1], h_all - h_left)
            else:
                scores[missing_left, :, b] = term(squares[2], h_all)
    return scores


@pytest.mark.parametrize("cosine", [0, 1])
@pytest.mark.parametrize("weight", [0.0, 40.0])
def test_shared_hessians_are_those_of_the_first_output(cosine, weight):
    draw = np.random.default_rng(8)
    gradients, hessians = draw.integers(-(2**20), 2**20, (4, 10)), draw.integers(0, 2**20, (4, 10))
    scale = np.full((4, 2), 2.0**12)
    params = params_of(cosine_score=cosine, min_child_weight=weight, shared_hessian=1)
    cells = cells_of(gradients, hessians, False)
    scores, buffer = np.zeros((2, 2, 10)), np.full(5 * (9 + PADDING), GARBAGE)
    flat, sums, terms = np.ascontiguousarray(cells).reshape(-1), cells.sum(axis=1), np.full(2, np.nan)
    with np.errstate(all="ignore"):  # sums wrap
        score_shared_leaf(flat, 10, 9, 2, sums, params, scale, buffer, terms, scores)
    expected = shared_slowly(gradients, hessians, params, scale)
    np.testing.assert_array_equal(scores[:, : 1 + cosine, 1:], expected[:, : 1 + cosine, 1:])
