"""Sample the features that a leaf may use, by level and by node, and apply the rules of the splits above it.

These are interaction constraints, and the combinations of categorical columns that grow inside the tree.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.numeric.elementary import log
from sapwood.kernels.numeric.random import LEVEL_COLUMNS, NODE_COLUMNS, draw, stream_key
from sapwood.native.runtime.kernel import kernel

ALL_BITS = np.uint64(0xFFFFFFFFFFFFFFFF)
TO_UNIT = 2.0**-53
HASH_UNIT = 2.0**57  # of −log(u) / weight, at most 36.8, in fixed point


@kernel()
def select_threshold(hashes, allowed, n):
    """Return the threshold of hashes at or below which exactly ``n`` of the allowed features lie."""
    lower = np.uint64(0)
    upper = ALL_BITS
    while lower < upper:
        middle = lower + ((upper - lower) >> np.uint64(1))
        n_below = 0
        for f in range(hashes.shape[0]):
            if allowed[f] != 0 and hashes[f] <= middle:
                n_below += 1
        if n_below >= n:
            upper = middle
        else:
            lower = middle + np.uint64(1)
    return upper


@kernel()
def weigh_hash(bits, inverse_weight):
    """Return −log(u) / weight of a random number u in fixed point: the n smallest are a sample by weight.

    Efraimidis and Spirakis, 2006. Inverse weights are at most 1, so that the number stays below 2^63.
    """
    u = (np.float64(np.int64(bits >> np.uint64(11))) + 1.0) * TO_UNIT
    return np.uint64(np.int64(-log(u) * inverse_weight * HASH_UNIT))


@kernel("u64[:], f64[:]")
def weigh_hashes(hashes, inverse_weights):
    """Replace each hash by ``weigh_hash``."""
    for f in range(hashes.shape[0]):
        hashes[f] = weigh_hash(hashes[f], inverse_weights[f])


@kernel()
def hash_feature(key, id, feature_ids, f, inverse_weights):
    """Return a hash of ``id`` and the id of feature f, by its weight unless ``inverse_weights`` is empty."""
    bits = draw(key, np.uint64(id) * np.uint64(feature_ids.shape[0]) + np.uint64(feature_ids[f]))
    return bits if inverse_weights.shape[0] == 0 else weigh_hash(bits, inverse_weights[f])


@kernel()
def hash_features(key, id, feature_ids, inverse_weights, hashes):
    """Write ``hash_feature`` of every feature."""
    for f in range(hashes.shape[0]):
        hashes[f] = hash_feature(key, id, feature_ids, f, inverse_weights)


@kernel()
def has_path_rules(sampler):
    """Return whether the features of a leaf depend on the splits above it."""
    return sampler.groups.shape[0] > 0 or sampler.extends.shape[0] > 0


@kernel()
def follow_split(member, leaf, left_leaf, right_leaf, f, sampler):
    """After a leaf's split on feature f, only the interaction groups that contain f stay active in its two children.

    Combinations of which f is a part become usable. The left child may have the number of the leaf.
    """
    if member != 0:
        return
    for k in range(sampler.extends.shape[0]):
        is_usable = sampler.usable[leaf, k] | sampler.extends[f, k]
        sampler.usable[left_leaf, k] = is_usable
        sampler.usable[right_leaf, k] = is_usable
    for g in range(sampler.groups.shape[0]):
        is_active = sampler.active_groups[leaf, g] & sampler.groups[g, f]
        sampler.active_groups[left_leaf, g] = is_active
        sampler.active_groups[right_leaf, g] = is_active


@kernel()
def is_in_active_group(f, leaf, sampler):
    """Return whether interaction constraints allow a leaf to use feature f."""
    n_groups = sampler.groups.shape[0]
    if n_groups == 0:
        return True
    for g in range(n_groups):
        if sampler.active_groups[leaf, g] != 0 and sampler.groups[g, f] != 0:
            return True
    return False


@kernel()
def sample_features(
    member, from_feature, to_feature, row, leaf, node, depth, feature_ids, sampler, random_key, allowed
):
    """Write which of the features ``from_feature`` to ``to_feature`` a leaf may use to a ``row`` of ``allowed``.

    Level and node draw a fixed number of features, those of the smallest hashes; all members compute the same
    thresholds.
    """
    if sampler.n_per_level == 0 and sampler.n_per_node == 0 and not has_path_rules(sampler):
        for f in range(np.uint64(from_feature), np.uint64(to_feature)):
            allowed[row, f] = sampler.in_tree[f]
        return
    hashes = sampler.hashes[member]
    weights = sampler.inverse_weights
    level_bound = ALL_BITS
    node_bound = ALL_BITS
    level_key = stream_key(random_key.seed, LEVEL_COLUMNS, random_key.round)
    node_key = stream_key(random_key.seed, NODE_COLUMNS, random_key.round)
    if sampler.n_per_level > 0:
        hash_features(level_key, depth, feature_ids, weights, hashes)
        level_bound = select_threshold(hashes, sampler.in_tree, sampler.n_per_level)
    if sampler.n_per_node > 0:
        hash_features(node_key, node, feature_ids, weights, hashes)
        if sampler.n_per_level > 0:
            for f in range(feature_ids.shape[0]):
                if hash_feature(level_key, depth, feature_ids, f, weights) > level_bound:
                    hashes[f] = ALL_BITS
        node_bound = select_threshold(hashes, sampler.in_tree, sampler.n_per_node)
    for f in range(from_feature, to_feature):
        is_allowed = sampler.in_tree[f] != 0 and is_in_active_group(f, leaf, sampler)
        if sampler.extends.shape[0] > 0:
            is_allowed = is_allowed and sampler.usable[leaf, f] != 0
        if sampler.n_per_level > 0:
            is_allowed = is_allowed and hash_feature(level_key, depth, feature_ids, f, weights) <= level_bound
        if sampler.n_per_node > 0:
            is_allowed = is_allowed and hashes[f] <= node_bound
        allowed[row, f] = np.uint8(is_allowed)
