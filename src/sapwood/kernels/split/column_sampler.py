"""Choose the features that a leaf may use."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.numeric.random import LEVEL_COLUMNS, NODE_COLUMNS, draw, stream_key
from sapwood.native.runtime.kernel import kernel

ALL_BITS = np.uint64(0xFFFFFFFFFFFFFFFF)


@kernel()
def select_threshold(hashes, allowed, wanted):
    """The hash below or at which exactly ``wanted`` of the allowed features lie."""
    low = np.uint64(0)
    high = ALL_BITS
    while low < high:
        middle = low + ((high - low) >> np.uint64(1))
        n = 0
        for f in range(hashes.shape[0]):
            if allowed[f] != 0 and hashes[f] <= middle:
                n += 1
        if n >= wanted:
            high = middle
        else:
            low = middle + np.uint64(1)
    return high


@kernel()
def hash_feature(key, id, number, f):
    """A hash of (id, the number of feature f)."""
    return draw(key, np.uint64(id) * np.uint64(number.shape[0]) + np.uint64(number[f]))


@kernel()
def hash_features(key, id, number, hashes):
    """The same for every feature."""
    for f in range(hashes.shape[0]):
        hashes[f] = hash_feature(key, id, number, f)


@kernel()
def narrow_groups(member, leaf, new, f, choice):
    """After a split on feature f, only the interaction groups that contain f stay active below."""
    if member != 0:
        return
    for g in range(choice.groups.shape[0]):
        stays = choice.active_groups[leaf, g] & choice.groups[g, f]
        choice.active_groups[leaf, g] = stays
        choice.active_groups[new, g] = stays


@kernel()
def is_in_active_group(f, leaf, choice):
    """Tell whether interaction constraints let a leaf use feature f."""
    n_groups = choice.groups.shape[0]
    if n_groups == 0:
        return True
    for g in range(n_groups):
        if choice.active_groups[leaf, g] != 0 and choice.groups[g, f] != 0:
            return True
    return False


@kernel()
def sample_features(member, own, end, child, leaf, node, depth, number, choice, draws, allowed):
    """Write down which of the features ``own`` to ``end`` a leaf may use.

    Level and node draw a fixed number of features by the smallest hashes; every member computes the same bounds.
    """
    if choice.n_per_level == 0 and choice.n_per_node == 0 and choice.groups.shape[0] == 0:
        for f in range(np.uint64(own), np.uint64(end)):
            allowed[child, f] = choice.in_tree[f]
        return
    hashes = choice.hashes[member]
    level_bound = ALL_BITS
    node_bound = ALL_BITS
    level_key = stream_key(draws.seed, LEVEL_COLUMNS, draws.round)
    node_key = stream_key(draws.seed, NODE_COLUMNS, draws.round)
    if choice.n_per_level > 0:
        hash_features(level_key, depth, number, hashes)
        level_bound = select_threshold(hashes, choice.in_tree, choice.n_per_level)
    if choice.n_per_node > 0:
        hash_features(node_key, node, number, hashes)
        if choice.n_per_level > 0:
            for f in range(number.shape[0]):
                if hash_feature(level_key, depth, number, f) > level_bound:
                    hashes[f] = ALL_BITS
        node_bound = select_threshold(hashes, choice.in_tree, choice.n_per_node)
    for f in range(own, end):
        fits = choice.in_tree[f] != 0 and is_in_active_group(f, leaf, choice)
        if choice.n_per_level > 0:
            fits = fits and hash_feature(level_key, depth, number, f) <= level_bound
        if choice.n_per_node > 0:
            fits = fits and hashes[f] <= node_bound
        allowed[child, f] = np.uint8(fits)
