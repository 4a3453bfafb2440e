"""The formulas of leaf value and gain (X1, X2), here and nowhere else.

A *score* is twice the decrease of the objective that a leaf brings: G²/(H + λ) with no other rule. The gain of a
split is half of what its scores add, less the price γ of a leaf.
"""

from __future__ import annotations

from sapwood.native.runtime.kernel import kernel

# Gains smaller than this part of the scores they come from are rounding noise.
ROUNDING_NOISE = 1e-12


@kernel()
def soft_threshold(g, alpha):
    """Move G toward zero by α."""
    if g > alpha:
        return g - alpha
    if g < -alpha:
        return g + alpha
    return 0.0


@kernel()
def leaf_value(g, h, rules):
    """The value that lowers the objective most: −T(G)/(H + λ), no larger than ``max_delta_step``."""
    bottom = h + rules.reg_lambda
    if bottom <= 0.0:
        return 0.0
    value = -soft_threshold(g, rules.reg_alpha) / bottom
    if rules.max_delta_step > 0.0:
        value = min(max(value, -rules.max_delta_step), rules.max_delta_step)
    return value


@kernel()
def value_score(g, h, value, rules):
    """Twice the decrease of the objective when a leaf answers ``value``."""
    return -(2.0 * g * value + (h + rules.reg_lambda) * value * value) - 2.0 * rules.reg_alpha * abs(value)


@kernel()
def l2_score(g, h, reg_lambda):
    """The score of the best value when λ is the only rule."""
    return g * g / (h + reg_lambda)


@kernel()
def is_l2_only(rules):
    """Tell whether ``l2_score`` says all there is to say."""
    return rules.reg_alpha == 0.0 and rules.max_delta_step == 0.0 and rules.has_monotone == 0


@kernel()
def split_gain(children, parent, price):
    """The gain of a split from the scores of both children together and of the parent; 0 where it is only rounding."""
    raised = children - parent
    if raised <= ROUNDING_NOISE * (abs(children) + abs(parent)):
        return 0.0
    return 0.5 * raised - price


@kernel()
def clip_value(value, low, high):
    """The value moved between two bounds."""
    return min(max(value, low), high)
