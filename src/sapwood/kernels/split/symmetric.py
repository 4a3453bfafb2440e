"""Find the split that is best for all leaves of a level of a symmetric (oblivious) tree together.

With the *l2* score, the score of a split is the sum of the scores of all children; with *cosine* it is
Σ G w / √Σ H w² over all children, w the value of a child, which is not a sum over leaves. Where a child of a leaf would
be empty or lighter than ``min_child_weight``, the leaf counts as unsplit.

``scores`` (2 sides of missing values, 2, bins + 1) hold for every split the sum over the leaves, and with cosine the
sum that the square root is taken of.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.histogram.cells import count_cells
from sapwood.kernels.layout import LEAF_HIST, LEAF_LOWER, LEAF_SUMS, LEAF_UPPER
from sapwood.kernels.numeric.fixed_point import gradient_sum, hessian_sum, high_half, low_half
from sapwood.kernels.split.best_split import draw_split_noise, has_missing
from sapwood.kernels.split.cumulative_sums import cumulate_side
from sapwood.kernels.split.gain import (
    MIN_DIVISOR,
    clip_value,
    cosine_score,
    count_outputs,
    is_l2_only,
    l2_score,
    l2_split_score,
    l2_step,
    leaf_value,
    ordered_terms,
    split_gain,
    value_score,
)
from sapwood.kernels.split.monotone import breaks_monotone
from sapwood.kernels.split.ordered_score import is_ordered_vectorizable, score_leaf_ordered
from sapwood.kernels.split.symmetric_outputs import (
    add_shared_leaf,
    are_level_outputs_vectorizable,
    has_shared_hessian,
    score_leaf_outputs,
    score_shared_leaf,
)
from sapwood.native.runtime.kernel import kernel

INFINITE = np.inf
# Columns of a member's best split: its score with noise, feature, bin, side of missing values, and score without noise.
BEST_SCORE, BEST_FEATURE, BEST_BIN, BEST_MISSING_LEFT, BEST_NOISELESS_SCORE = range(5)


@kernel()
def add_leaf_score(sums, lower, upper, params, scale, out):
    """Add the score of a leaf to ``out[0]``, and with cosine the term of the divisor to ``out[1]``."""
    if params.n_prefixes != 0:
        product, square = ordered_terms(sums, 0.0, lower, upper, params, scale)
        out[0] += product if params.cosine_score != 0 else 2.0 * product - square
        out[1] += square
        return
    for k in range(scale.shape[0]):
        g = gradient_sum(sums, k, params.wide, scale)
        h = hessian_sum(sums, k, params.wide, scale)
        value = clip_value(leaf_value(g, h, params), lower, upper)
        if params.cosine_score != 0:
            out[0] += -g * value
            out[1] += h * value * value
        else:
            out[0] += value_score(g, h, value, params)


@kernel()
def is_too_light(sums, params, scale):
    """Return whether a child is empty or has less than ``min_child_weight``."""
    for k in range(count_outputs(params, scale)):
        h = hessian_sum(sums, k, params.wide, scale)
        if h < params.min_child_weight or h + params.reg_lambda <= 0.0:
            return True
    return False


@kernel()
def score_leaf(cells, n_cells, n_bins, n_sides, direction, sums, lower, upper, params, scale, buffer, scores):
    """Add the terms of one leaf to the scores of every split of a feature."""
    n_planes = sums.shape[0]
    left = buffer[:n_planes]
    right = buffer[n_planes : 2 * n_planes]
    for missing_left in range(n_sides):
        for p in range(n_planes):
            left[p] = cells[p * n_cells] if missing_left == 1 else np.int64(0)
        for b in range(1, n_bins + 1):
            for p in range(n_planes):
                left[p] += cells[p * n_cells + b]
                right[p] = sums[p] - left[p]
            if is_too_light(left, params, scale) or is_too_light(right, params, scale):
                add_leaf_score(sums, lower, upper, params, scale, scores[missing_left, :, b])
                continue
            if direction != 0 and breaks_monotone(left, right, direction, lower, upper, params, scale):
                scores[missing_left, 0, b] = -INFINITE
            add_leaf_score(left, lower, upper, params, scale, scores[missing_left, :, b])
            add_leaf_score(right, lower, upper, params, scale, scores[missing_left, :, b])


@kernel()
def score_leaf_l2(cells, n_bins, n_sides, total, min_h, reg_lambda, scale, buffer, scores):
    """Add the terms of one leaf as ``score_leaf`` does, for packed cells, one output and L2 only; vector code."""
    unit_g = 1.0 / scale[0, 0]
    unit_h = 1.0 / scale[0, 1]
    g_all = high_half(total) * unit_g
    h_all = low_half(total) * unit_h
    parent_score = l2_score(g_all, h_all, reg_lambda) if h_all + reg_lambda > 0.0 else 0.0
    for missing_left in range(n_sides):
        cumulate_side(cells, n_bins, missing_left, buffer[1:])
        side_scores = scores[missing_left, 0]
        for b in range(np.uint64(1), np.uint64(n_bins + 1)):
            h_left = low_half(buffer[b]) * unit_h
            g_left = high_half(buffer[b]) * unit_g
            score = l2_split_score(g_left, h_left + reg_lambda, g_all, h_all + 2.0 * reg_lambda)
            is_allowed = (h_left >= min_h) & (h_all - h_left >= min_h)
            side_scores[b] += score if is_allowed else parent_score


@kernel()
def score_leaf_cosine(cells, n_bins, n_sides, total, min_h, reg_lambda, scale, buffer, scores):
    """Add the terms of one leaf as ``score_leaf`` does for cosine, in the same order; vector code."""
    unit_g = 1.0 / scale[0, 0]
    unit_h = 1.0 / scale[0, 1]
    g_all = high_half(total) * unit_g
    h_all = low_half(total) * unit_h
    step = l2_step(g_all, h_all, reg_lambda) if h_all + reg_lambda > 0.0 else 0.0
    parent_score = g_all * step
    parent_divisor = h_all * step * step
    for missing_left in range(n_sides):
        cumulate_side(cells, n_bins, missing_left, buffer[1:])
        side_scores = scores[missing_left, 0]
        divisors = scores[missing_left, 1]
        for b in range(np.uint64(1), np.uint64(n_bins + 1)):
            g_left = high_half(buffer[b]) * unit_g
            h_left = low_half(buffer[b]) * unit_h
            g_right = g_all - g_left
            h_right = h_all - h_left
            step_left = l2_step(g_left, h_left, reg_lambda)
            step_right = l2_step(g_right, h_right, reg_lambda)
            is_allowed = (h_left >= min_h) & (h_right >= min_h)
            side_scores[b] += g_left * step_left if is_allowed else parent_score
            side_scores[b] += g_right * step_right if is_allowed else 0.0
            divisors[b] += h_left * step_left * step_left if is_allowed else parent_divisor
            divisors[b] += h_right * step_right * step_right if is_allowed else 0.0


@kernel()
def total_score(terms, cosine):
    """Return the score of a split from its two sums."""
    return cosine_score(terms[0], terms[1]) if cosine != 0 else terms[0]


@kernel()
def is_better(score, f, best, feature_ids):
    """Return whether a split of feature f has a higher score than the best, or the same and a smaller feature id."""
    if score != best[BEST_SCORE] or best[BEST_FEATURE] < 0.0:
        return score > best[BEST_SCORE]
    return feature_ids[f] < feature_ids[np.int64(best[BEST_FEATURE])]


@kernel()
def clear_best(best):
    """Forget the best split."""
    best[BEST_SCORE] = -INFINITE
    best[BEST_FEATURE] = -1.0


@kernel()
def level_has_missing(f, n_leaves, features, histograms, leaves, n_planes):
    """Return 1 if a feature is missing in rows of any leaf of a level, else 0."""
    n_cells = count_cells(features.offset)
    missing = 0
    for leaf in range(n_leaves):
        if has_missing(histograms.pool[leaves.ints[leaf, LEAF_HIST]], features.offset[f], n_cells, n_planes):
            missing = 1
    return missing


@kernel()
def score_level_feature(f, missing, n_leaves, features, params, scale, histograms, leaves, buffer, terms, scores):
    """Write the scores of all splits of a feature over all leaves of a level."""
    n_cells = count_cells(features.offset)
    n_planes = histograms.pool.shape[1] // n_cells
    n_bins = features.n_bins[f]
    is_simple = is_l2_only(params) and params.wide == 0 and n_planes == 1
    is_l2 = is_simple and params.cosine_score == 0 and params.min_child_weight > MIN_DIVISOR
    has_vector_code = are_level_outputs_vectorizable(params)
    is_ordered = params.n_prefixes != 0 and is_ordered_vectorizable(params)
    is_l2_cosine = is_simple and params.cosine_score != 0 and has_vector_code
    has_shared = has_shared_hessian(params)
    for missing_left in range(1 + missing):
        for b in range(n_bins + 1):
            scores[missing_left, 0, b] = 0.0
            scores[missing_left, 1, b] = 0.0
    for leaf in range(n_leaves):
        histogram = histograms.pool[leaves.ints[leaf, LEAF_HIST]][features.offset[f] :]
        sums = leaves.ints[leaf, LEAF_SUMS : LEAF_SUMS + n_planes]
        if is_l2:
            min_h = params.min_child_weight
            score_leaf_l2(histogram, n_bins, 1 + missing, sums[0], min_h, params.reg_lambda, scale, buffer, scores)
            continue
        if is_l2_cosine:
            min_h = params.min_child_weight
            score_leaf_cosine(histogram, n_bins, 1 + missing, sums[0], min_h, params.reg_lambda, scale, buffer, scores)
            continue
        if is_ordered:
            score_leaf_ordered(histogram, n_cells, n_bins, 1 + missing, sums, params, scale, buffer, scores)
            continue
        if has_shared:
            score_shared_leaf(histogram, n_cells, n_bins, 1 + missing, sums, params, scale, buffer, terms, scores)
            continue
        if has_vector_code:
            score_leaf_outputs(histogram, n_cells, n_bins, 1 + missing, sums, params, scale, buffer, scores)
            continue
        lower = leaves.floats[leaf, LEAF_LOWER]
        upper = leaves.floats[leaf, LEAF_UPPER]
        direction = features.monotone[f]
        score_leaf(
            histogram, n_cells, n_bins, 1 + missing, direction, sums, lower, upper, params, scale, buffer, scores
        )


@kernel()
def search_level_feature(f, n_leaves, features, params, scale, histograms, leaves, buffer, terms, scores, best):
    """Replace ``best`` by the best split of a feature over all leaves if that is better.

    ``terms`` is scratch for two numbers.
    """
    n_planes = histograms.pool.shape[1] // count_cells(features.offset)
    missing = level_has_missing(f, n_leaves, features, histograms, leaves, n_planes)
    score_level_feature(f, missing, n_leaves, features, params, scale, histograms, leaves, buffer, terms, scores)
    noise = draw_split_noise(params, n_leaves, features.ids[f]) if params.split_noise > 0.0 else 0.0
    for missing_left in range(1 + missing):
        for b in range(1, features.n_bins[f] + (missing if missing_left == 0 else 0)):
            score = total_score(scores[missing_left, :, b], params.cosine_score)
            if is_better(score + noise, f, best, features.ids):
                best[BEST_SCORE] = score + noise
                best[BEST_NOISELESS_SCORE] = score
                best[BEST_FEATURE] = np.float64(f)
                best[BEST_BIN] = np.float64(b)
                best[BEST_MISSING_LEFT] = np.float64(missing_left if missing != 0 else 1)


@kernel()
def search_level_features(
    member, n_leaves, features, params, scale, histograms, leaves, allowed, buffer, terms, scores, best
):  # fmt: skip
    """Find the best split of the member's slice of the features over all leaves, into ``best``."""
    clear_best(best)
    for f in range(features.slices[member], features.slices[member + 1]):
        if allowed[0, f] != 0:
            search_level_feature(
                f, n_leaves, features, params, scale, histograms, leaves, buffer, terms, scores, best
            )  # fmt: skip


@kernel()
def best_member(members, feature_ids, bests):
    """Return the member with the best split."""
    winner = 0
    for t in range(1, members):
        if is_better(bests[t, BEST_SCORE], np.int64(bests[t, BEST_FEATURE]), bests[winner], feature_ids):
            winner = t
    return winner


@kernel()
def choose_level_split(members, n_leaves, n_planes, feature_ids, params, scale, leaves, out, bests):
    """Return the member with the best split, or −1 if no split has a gain; write the gain to ``out[2]``."""
    winner = best_member(members, feature_ids, bests)
    terms = out[:2]
    terms[0] = 0.0
    terms[1] = 0.0
    for leaf in range(n_leaves):
        sums = leaves.ints[leaf, LEAF_SUMS : LEAF_SUMS + n_planes]
        if has_shared_hessian(params):
            add_shared_leaf(sums, params, scale, terms)
            continue
        add_leaf_score(sums, leaves.floats[leaf, LEAF_LOWER], leaves.floats[leaf, LEAF_UPPER], params, scale, terms)
    parent_score = total_score(terms, params.cosine_score)
    gain = (
        split_gain(bests[winner, BEST_NOISELESS_SCORE], parent_score, params.min_split_gain)
        if bests[winner, BEST_FEATURE] >= 0.0
        else 0.0
    )
    out[2] = gain
    return winner if gain > 0.0 else -1
