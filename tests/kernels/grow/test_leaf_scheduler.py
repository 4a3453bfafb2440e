"""The schedule of leaves: speculative expansion, and the members that claim leaves."""

from __future__ import annotations

import dataclasses
import threading
from types import SimpleNamespace

import numpy as np

from sapwood.kernels import layout
from sapwood.kernels.grow import leaf_queue, leaf_scheduler
from sapwood.kernels.threads.barrier import ABORT, LOCK
from sapwood.native.runtime.kernel import new_sync

LEAF_COLUMNS = layout.LEAF_SUMS + 2


@dataclasses.dataclass
class Tree:
    """Four leaves of 100 rows at most, of eight; their children are not needed here."""

    gains: tuple[float, ...] = (1.0, 8.0, 2.0, 4.0)
    n_rows: tuple[int, ...] = (100, 100, 100, 100)
    max_leaves: int = 8
    n_hists: int = 100
    members: int = 2
    n_node: int = 0
    noise: float = 0.0
    n_groups: int = 0
    n_extended: int = 0

    def __post_init__(self) -> None:
        n = len(self.gains)
        self.leaves = layout.LeafTable(
            np.zeros((3 * self.max_leaves, LEAF_COLUMNS), np.int64),
            np.zeros((3 * self.max_leaves, layout.LEAF_FLOATS)),
        )
        self.leaves.ints[:n, layout.LEAF_END] = self.n_rows
        self.leaves.ints[:n, layout.LEAF_NODE] = np.arange(n) + 3
        self.leaves.floats[:n, layout.LEAF_GAIN] = self.gains
        n_nodes = 2 * self.max_leaves
        self.nodes = layout.TreeNodes(
            np.zeros((n_nodes, layout.NODE_INTS), np.int64), np.zeros((n_nodes, 8)), np.array([7, n, 0])
        )
        given = {"max_leaves": self.max_leaves, "growth": layout.LEAFWISE, "split_noise": self.noise}
        params = layout.GrowParams(**dict.fromkeys(layout.GrowParams._fields, 0) | given)
        self.schedule = np.zeros(layout.NEW_HISTS + self.members, np.int64)
        self.schedule[layout.MAX_ALONE_ROWS] = leaf_scheduler.ALONE_ROWS
        self.sync = new_sync()
        nothing, groups = np.zeros(1, np.int64), np.empty((self.n_groups, 1), np.uint8)
        self.state = SimpleNamespace(
            params=params,
            leaves=self.leaves,
            nodes=self.nodes,
            candidates=SimpleNamespace(schedule=self.schedule),
            histograms=SimpleNamespace(pool=np.empty((self.n_hists, 0), np.int64)),
            sampler=layout.ColumnSampler(
                nothing,
                0,
                self.n_node,
                groups,
                np.empty((0, 0), np.uint8),
                nothing,
                np.empty(0),
                np.empty((self.n_extended, self.n_extended), np.uint8),
                np.empty((0, 0), np.uint8),
            ),
        )

    def choose(self) -> bool:
        """Schedule what comes next; return whether members work alone."""
        leaf_scheduler.schedule_next(self.members, self.state)
        return bool(self.schedule[layout.IS_ALONE])

    def claim(self, done: int = -1, member: int = 0) -> int:
        """Claim a leaf as a member."""
        return int(leaf_scheduler.claim_leaf(member, self.members, self.sync, done, self.state))

    def chosen(self) -> list[int]:
        """The leaf that all expand together, or those that are taken while none is handed in."""
        if not self.choose():
            return [int(self.schedule[layout.NEXT_LEAF])]
        self.sync[ABORT] = 1  # a member that would wait for others returns
        return list(iter(self.claim, -1))


def test_small_leaves_are_taken_by_gain_as_long_as_all_may_still_be_split():
    assert Tree(max_leaves=40).chosen() == [1, 3, 2, 0]
    assert Tree(max_leaves=7).chosen() == [1, 3, 2]  # three splits to come
    assert Tree(max_leaves=5).chosen() == [1]
    assert Tree(max_leaves=4).chosen() == [-1]


def test_a_leaf_waits_for_its_turn_where_it_is_large_or_numbers_of_nodes_count_or_a_member_is_alone():
    large = leaf_scheduler.ALONE_ROWS // 2
    assert not Tree(n_rows=(100, large, 100, 100), max_leaves=40).choose()
    assert Tree(n_rows=(100, large - 1, 100, 100), max_leaves=40).choose()
    assert not Tree(n_rows=(100, large - 1, 100, 100), max_leaves=40, members=3).choose()
    assert Tree(n_rows=(100, 100, large, 100), max_leaves=40).chosen() == [1, 3]
    assert Tree(max_leaves=40, n_node=1).chosen() == [1]
    assert Tree(max_leaves=40, noise=1.0).chosen() == [1]
    assert Tree(max_leaves=40, n_groups=1).chosen() == [1]
    assert Tree(max_leaves=40, n_extended=1).chosen() == [1]
    assert Tree(max_leaves=40, members=1).chosen() == [1]


def test_leaves_that_wait_with_their_children_count_among_those_that_will_be_split():
    """Four splits to come; two leaves are expanded already."""
    one = Tree(gains=(1.0, 8.0, 2.0, 4.0, 3.0), n_rows=(100,) * 5, max_leaves=9)
    one.leaves.ints[[0, 2], layout.LEAF_STATE] = layout.EXPANDED
    assert one.chosen() == [1, 3]


def test_slots_are_kept_for_all_splits_to_come():
    """Four splits to come take four; each speculative leaf may take one for nothing."""
    assert Tree(max_leaves=8, n_hists=7).chosen() == [1, 3, 2, 0]
    assert Tree(max_leaves=8, n_hists=6).chosen() == [1, 3, 2]
    assert Tree(max_leaves=8, n_hists=4).chosen() == [1]
    none = Tree(max_leaves=8, n_hists=0)
    assert none.chosen() == [1]
    assert none.schedule[layout.NEW_HISTS] == -1


def test_who_takes_a_leaf_has_a_slot_of_its_own():
    one = Tree(max_leaves=40)
    one.choose()
    assert [one.claim(member=0), one.claim(member=1)] == [1, 3]
    assert one.schedule[layout.NEW_HISTS :].tolist() == [0, 1]
    assert one.schedule[layout.N_EXPANDING] == 2


def test_a_leaf_handed_in_is_split_when_those_before_it_are():
    """The leaf of gain 4 is ready first; the one of gain 8 is split before it."""
    one = Tree(max_leaves=40)
    one.choose()
    first, second = one.claim(member=0), one.claim(member=1)
    one.claim(second, member=1)
    assert one.nodes.info[layout.N_LEAVES] == 4
    one.claim(first, member=0)
    assert one.nodes.info[layout.N_LEAVES] == 6
    assert one.sync[LOCK] == 0


def test_who_finds_nothing_to_do_waits_for_what_others_bring():
    """One split to come: the second member waits until the first commits, and then nothing is left."""
    one, found = Tree(max_leaves=5), []
    one.choose()
    leaf = one.claim(member=0)
    waiting = threading.Thread(target=lambda: found.append(one.claim(member=1)))
    waiting.start()
    waiting.join(0.05)
    assert waiting.is_alive()
    assert one.claim(leaf, member=0) == -1
    waiting.join(20)
    assert found == [-1]


def test_leaves_are_left_to_all_members_once_a_large_one_is_next():
    one = Tree(gains=(1.0, 8.0), n_rows=(leaf_scheduler.ALONE_ROWS, 100))
    one.choose()
    leaf = one.claim()
    assert leaf == 1
    assert one.claim(leaf) == -1
    assert not one.choose()
    assert one.schedule[layout.NEXT_LEAF] == 0


def test_what_waits_is_split_in_the_order_of_growth():
    one = Tree()
    integers, numbers = one.leaves
    for leaf in (1, 2):  # the two of gains 8 and 2; the one of gain 4 between them has no children yet
        integers[leaf, layout.LEAF_STATE] = 1
        children = slice(one.max_leaves + 2 * leaf, one.max_leaves + 2 * leaf + 2)
        integers[children, layout.LEAF_BEGIN] = 10 * leaf, 10 * leaf + 1
        numbers[children, layout.LEAF_GAIN] = 3.0, 0.5
    leaf_queue.commit_expanded(one.state.params, one.leaves, one.nodes)
    assert one.nodes.info[: layout.N_LEAVES + 1].tolist() == [9, 5]
    assert integers[[1, 4], layout.LEAF_BEGIN].tolist() == [10, 11]
    assert integers[[1, 4], layout.LEAF_NODE].tolist() == [7, 8]
    assert one.nodes.ints[4, layout.NODE_LEFT] == 7
    assert numbers[:5, layout.LEAF_GAIN].tolist() == [1.0, 3.0, 2.0, 4.0, 0.5]
