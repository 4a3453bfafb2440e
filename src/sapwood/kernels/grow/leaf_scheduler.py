"""Schedule the expansion of leaves: large ones by all members together, small ones by one member each.

Members that expand leaves alone claim the next one under a lock, so that none waits for another. They do so
*speculatively*: a leaf is expanded before the order of growth reaches it, and its children are kept until it is split.
"""

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
from sapwood.kernels.split.column_sampler import has_path_rules
from sapwood.kernels.threads.barrier import CHANGES, acquire_lock, notify_change, release_lock, wait_for_change
from sapwood.native.runtime.kernel import kernel

# A leaf is expanded by one member if its rows times the number of members are fewer than this. Tables with sparse
# features have many features, whose search is better divided among members.
ALONE_ROWS = 65536
ALONE_SPARSE_ROWS = 16384


@kernel()
def init_schedule(schedule, features):
    """Start the schedule of a tree whose root has the first histogram."""
    schedule[N_EXPANDING] = 0
    schedule[FREE_HIST] = 1
    schedule[MAX_ALONE_ROWS] = ALONE_SPARSE_ROWS if features.csr_start.shape[0] > 0 else ALONE_ROWS


@kernel()
def next_unexpanded(params, leaves, n_leaves):
    """Return the next leaf that no member has expanded or is expanding, −1 if there is none or the tree is full."""
    if n_leaves == params.max_leaves:
        return -1
    return next_leaf(n_leaves, params.growth, leaves.ints, leaves.floats, True)


@kernel()
def can_speculate(params, sampler):
    """Return whether leaves may be expanded early: if nothing depends on the numbers of nodes."""
    is_drawn = sampler.n_per_node > 0 or params.split_noise > 0.0 or params.random_thresholds != 0
    return not is_drawn and not has_path_rules(sampler)


@kernel()
def is_small(leaf, members, leaf_ints, max_rows):
    """Return whether a leaf is better expanded by one member: its rows times members are fewer than ``max_rows``."""
    return (leaf_ints[leaf, LEAF_END] - leaf_ints[leaf, LEAF_BEGIN]) * members < max_rows


@kernel()
def can_expand_alone(leaf, members, state):
    """Return whether one member may expand a leaf: a small one, for which there is an unused histogram."""
    schedule = state.candidates.schedule
    n_hists = state.histograms.pool.shape[0]
    return is_small(leaf, members, state.leaves.ints, schedule[MAX_ALONE_ROWS]) and schedule[FREE_HIST] < n_hists


@kernel()
def schedule_next(members, state):
    """Write what all members do next, while they wait: expand one leaf together, or small ones each alone."""
    schedule = state.candidates.schedule
    commit_expanded(state.params, state.leaves, state.nodes)
    leaf = next_unexpanded(state.params, state.leaves, state.nodes.info[N_LEAVES])
    schedule[NEXT_LEAF] = leaf
    schedule[IS_ALONE] = 0
    if leaf < 0:
        return
    if members > 1 and can_speculate(state.params, state.sampler) and can_expand_alone(leaf, members, state):
        schedule[IS_ALONE] = 1
        return
    schedule[NEW_HISTS] = schedule[FREE_HIST] if schedule[FREE_HIST] < state.histograms.pool.shape[0] else -1
    schedule[FREE_HIST] += 1


@kernel()
def is_worth_speculating(n_leaves, state):
    """Return whether the next leaf may still be split, and splits to come do not need its histogram.

    If no other member is expanding a leaf, the next leaf is the one that the order of growth splits next.
    """
    schedule = state.candidates.schedule
    n_splits = state.params.max_leaves - n_leaves
    if schedule[N_EXPANDING] == 0:
        return True
    n_expanded = 0
    for other in range(n_leaves):
        if state.leaves.ints[other, LEAF_STATE] != UNEXPANDED:
            n_expanded += 1
    return n_expanded + 1 <= n_splits and schedule[FREE_HIST] + n_splits <= state.histograms.pool.shape[0]


@kernel()
def claim_leaf(member, members, sync, done, state):
    """Commit a leaf that this member has expanded alone (−1: none) and claim the next one; −1 if there is none.

    While no leaf can be claimed but other members are expanding some, wait for their children.
    """
    ints = state.leaves.ints
    schedule = state.candidates.schedule
    acquire_lock(sync)
    if done >= 0:
        ints[done, LEAF_STATE] = EXPANDED
        schedule[N_EXPANDING] -= 1
        commit_expanded(state.params, state.leaves, state.nodes)
        notify_change(sync, CHANGES)
    leaf = -1
    while True:
        n_leaves = state.nodes.info[N_LEAVES]
        leaf = next_unexpanded(state.params, state.leaves, n_leaves)
        if leaf >= 0 and can_expand_alone(leaf, members, state) and is_worth_speculating(n_leaves, state):
            ints[leaf, LEAF_STATE] = EXPANDING
            schedule[N_EXPANDING] += 1
            schedule[NEW_HISTS + member] = schedule[FREE_HIST]
            schedule[FREE_HIST] += 1
            break
        leaf = -1
        if schedule[N_EXPANDING] == 0:
            break
        seen = sync[CHANGES]
        release_lock(sync)
        if wait_for_change(sync, CHANGES, seen) != 0:
            return -1
        acquire_lock(sync)
    release_lock(sync)
    return leaf
