"""The formulas of leaf value and gain, here and nowhere else.

G and H are the sums of gradients and hessians of a leaf. A *score* is twice the decrease of the objective that a leaf
brings: G²/(H + λ) with L2 regularisation only. The gain of a split is half of what the scores of the children exceed
that of the parent by, less γ (``min_split_gain``). Chen and Guestrin, 2016, equations 5 to 7.

With ordered scoring, the score of a leaf is twice the decrease of the loss of its rows when each takes the value that
the leaf has by the rows before it: those of the longest prefix of the permuted rows that ends before the row.
Prokhorenkova and others, 2018, algorithm 2.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.numeric.fixed_point import gradient_sum, hessian_sum
from sapwood.native.runtime.kernel import kernel

# Gains smaller than this fraction of the scores they come from are rounding noise.
ROUNDING_NOISE = 1e-12
# The product of two smaller hessians could underflow.
MIN_DIVISOR = 1e-100


@kernel()
def soft_threshold(g, alpha):
    """Move G toward zero by α (``reg_alpha``)."""
    if g > alpha:
        return g - alpha
    if g < -alpha:
        return g + alpha
    return 0.0


@kernel()
def leaf_value(g, h, params):
    """Return the value that minimises the objective: −T(G)/(H + λ), clipped to ±``max_delta_step``."""
    bottom = h + params.reg_lambda
    if bottom <= 0.0:
        return 0.0
    value = -soft_threshold(g, params.reg_alpha) / bottom
    if params.max_delta_step > 0.0:
        value = min(max(value, -params.max_delta_step), params.max_delta_step)
    return value


@kernel()
def value_score(g, h, value, params):
    """Return the score of a leaf with any value: twice the decrease of the objective."""
    return -(2.0 * g * value + (h + params.reg_lambda) * value * value) - 2.0 * params.reg_alpha * abs(value)


@kernel()
def l2_score(g, h, reg_lambda):
    """Return the score of a leaf with its best value, with L2 regularisation only."""
    return g * g / (h + reg_lambda)


@kernel()
def sum_gradient_squares(sums, params, scale):
    """Return the sum of the squares of G over all outputs, from quantised sums."""
    total = 0.0
    for k in range(scale.shape[0]):
        g = gradient_sum(sums, k, params.wide, scale)
        total += g * g
    return total


@kernel()
def shared_score(sums, params, scale):
    """Return the score of a leaf whose outputs all have the hessian of the first one, with L2 regularisation only."""
    return sum_gradient_squares(sums, params, scale) / (hessian_sum(sums, 0, params.wide, scale) + params.reg_lambda)


@kernel()
def l2_split_score(g_left, h_left, g_all, h_all):
    """Return the sum of the scores of both children with L2 regularisation only, by one division.

    λ is already added to ``h_left``, and twice to ``h_all``.
    """
    g_right = g_all - g_left
    h_right = h_all - h_left
    return (g_left * g_left * h_right + g_right * g_right * h_left) / (h_left * h_right)


@kernel()
def l2_step(g, h, reg_lambda):
    """Return minus the best value of a leaf, G/(H + λ), with L2 regularisation only."""
    return g / (h + reg_lambda)


@kernel()
def cosine_score(product, square):
    """Return Σ G w / √Σ H w² from the two sums, 0 if the second is 0: how well values w match negative gradients."""
    return product / np.sqrt(square) if square > 0.0 else 0.0


@kernel()
def is_l2_only(params):
    """Return whether ``l2_score`` is the score of every leaf: no L1, no limit of the step, no monotone feature."""
    return params.reg_alpha == 0.0 and params.max_delta_step == 0.0 and params.has_monotone == 0


@kernel()
def split_gain(children, parent, min_split_gain):
    """Return the gain of a split from the scores of both children together and of the parent; 0 if it is rounding."""
    raised = children - parent
    if raised <= ROUNDING_NOISE * (abs(children) + abs(parent)):
        return 0.0
    return 0.5 * raised - min_split_gain


@kernel()
def clip_value(value, lower, upper):
    """Return the value clipped to its bounds."""
    return min(max(value, lower), upper)


@kernel()
def bounded_value(sums, k, lower, upper, params, scale):
    """Return the value of output k of a leaf with these quantised sums, clipped to its bounds."""
    g = gradient_sum(sums, k, params.wide, scale)
    h = hessian_sum(sums, k, params.wide, scale)
    return clip_value(leaf_value(g, h, params), lower, upper)


@kernel()
def count_outputs(params, scale):
    """Return the number of outputs, without the planes of ordered scoring."""
    if params.n_prefixes == 0:
        return scale.shape[0]
    return scale.shape[0] // (1 + 2 * params.n_prefixes)


@kernel()
def ordered_terms(sums, penalty, lower, upper, params, scale):
    """Return −Σ G w and Σ H w² over the rows behind each prefix, w the value of the leaf by the rows of the prefix.

    ``penalty`` is added to λ.
    """
    product = 0.0
    square = 0.0
    for k in range(count_outputs(params, scale), scale.shape[0], 2):
        g = gradient_sum(sums, k, params.wide, scale)
        h = hessian_sum(sums, k, params.wide, scale)
        value = clip_value(leaf_value(g, h + penalty, params), lower, upper)
        product -= gradient_sum(sums, k + 1, params.wide, scale) * value
        square += hessian_sum(sums, k + 1, params.wide, scale) * value * value
    return product, square


@kernel()
def ordered_score(sums, penalty, lower, upper, params, scale):
    """Return the score of a leaf with ordered scoring."""
    product, square = ordered_terms(sums, penalty, lower, upper, params, scale)
    return 2.0 * product - square


@kernel()
def leaf_score(sums, lower, upper, params, scale):
    """Return the score of a leaf with these quantised sums, all outputs together."""
    if params.n_prefixes != 0:
        return ordered_score(sums, 0.0, lower, upper, params, scale)
    score = 0.0
    for k in range(scale.shape[0]):
        g = gradient_sum(sums, k, params.wide, scale)
        h = hessian_sum(sums, k, params.wide, scale)
        score += value_score(g, h, clip_value(leaf_value(g, h, params), lower, upper), params)
    return score
