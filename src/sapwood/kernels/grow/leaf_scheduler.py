"""Who expands which leaf next: all members one leaf together, or each member small ones alone."""

from __future__ import annotations

from sapwood.kernels.grow.leaf_queue import commit_expanded, next_leaf
from sapwood.kernels.layout import (
    EXPANDED,
    EXPANDING,
    FREE_HIST,
    IS_ALONE,
    LEAF_BEGIN,
    LEAF_END,
    LEAF_STATE,
    MAX_ALONE_ROWS,
    N_EXPANDING,
    N_LEAVES,
    NEW_HISTS,
    NEXT_LEAF,
    UNEXPANDED,
)
from sapwood.kernels.threads.barrier import CHANGES, acquire_lock, notify_change, release_lock, wait_for_change
from sapwood.native.runtime.kernel import kernel

# Leaves of fewer rows, divided by the number of members, are expanded by one member each. Rows with lists of cells come
# with more features, which are worth sharing out.
ALONE_ROWS = 65536
ALONE_SPARSE_ROWS = 16384


@kernel()
def max_alone_rows(feature):
    """The number of rows, times members, below which leaves are expanded by one member each."""
    return ALONE_SPARSE_ROWS if feature.csr_start.shape[0] > 0 else ALONE_ROWS


@kernel()
def next_unexpanded(rules, leaves, n_leaves):
    """The next leaf that nobody has expanded or is at, or −1 where there is none, or no room for its children."""
    if n_leaves == rules.max_leaves:
        return -1
    return next_leaf(n_leaves, rules.growth, leaves.ints, leaves.floats, True)


@kernel()
def can_speculate(rules, choice):
    """Tell whether leaves may be looked at before their turn: where nothing depends on the numbers of nodes."""
    is_drawn = choice.n_per_node > 0 or rules.split_noise > 0.0
    return not is_drawn and choice.groups.shape[0] == 0


@kernel()
def is_small(leaf, members, integers, most):
    """Tell whether a leaf is better expanded by one member alone: its rows, times members, are below ``most``."""
    return (integers[leaf, LEAF_END] - integers[leaf, LEAF_BEGIN]) * members < most


@kernel()
def can_expand_alone(leaf, members, n_slots, leaves, turn):
    """Tell whether one member may expand a leaf: a small one that has a slot of its own."""
    return is_small(leaf, members, leaves.ints, turn[MAX_ALONE_ROWS]) and turn[FREE_HIST] < n_slots


@kernel()
def schedule_next(members, rules, n_slots, leaves, choice, nodes, turn):
    """Write down what all members do next, while they wait: expand one leaf together, or small ones each alone."""
    commit_expanded(rules, leaves, nodes)
    leaf = next_unexpanded(rules, leaves, nodes.info[N_LEAVES])
    turn[NEXT_LEAF] = leaf
    turn[IS_ALONE] = 0
    if leaf < 0:
        return
    if members > 1 and can_speculate(rules, choice) and can_expand_alone(leaf, members, n_slots, leaves, turn):
        turn[IS_ALONE] = 1
        return
    turn[NEW_HISTS] = turn[FREE_HIST] if turn[FREE_HIST] < n_slots else -1
    turn[FREE_HIST] += 1


@kernel()
def is_worth_speculating(left, n_leaves, n_slots, leaves, turn):
    """Tell whether a leaf that comes next may still be split, and its slot is not needed by others.

    As long as nobody is at another leaf it is this one's turn.
    """
    if turn[N_EXPANDING] == 0:
        return True
    waiting = 0
    for other in range(n_leaves):
        if leaves.ints[other, LEAF_STATE] != UNEXPANDED:
            waiting += 1
    return waiting + 1 <= left and turn[FREE_HIST] + left <= n_slots


@kernel()
def claim_leaf(member, members, sync, done, rules, n_slots, leaves, nodes, turn):
    """Hand in a leaf that this member has expanded alone (−1: none) and take the next one; −1: there is none.

    Where nothing is left to be done but others are at work, wait for what they bring.
    """
    integers = leaves.ints
    acquire_lock(sync)
    if done >= 0:
        integers[done, LEAF_STATE] = EXPANDED
        turn[N_EXPANDING] -= 1
        commit_expanded(rules, leaves, nodes)
        notify_change(sync, CHANGES)
    leaf = -1
    while True:
        n_leaves = nodes.info[N_LEAVES]
        leaf = next_unexpanded(rules, leaves, n_leaves)
        is_mine = leaf >= 0 and can_expand_alone(leaf, members, n_slots, leaves, turn)
        if is_mine and is_worth_speculating(rules.max_leaves - n_leaves, n_leaves, n_slots, leaves, turn):
            integers[leaf, LEAF_STATE] = EXPANDING
            turn[N_EXPANDING] += 1
            turn[NEW_HISTS + member] = turn[FREE_HIST]
            turn[FREE_HIST] += 1
            break
        leaf = -1
        if turn[N_EXPANDING] == 0:
            break
        seen = sync[CHANGES]
        release_lock(sync)
        if wait_for_change(sync, CHANGES, seen) != 0:
            return -1
        acquire_lock(sync)
    release_lock(sync)
    return leaf
