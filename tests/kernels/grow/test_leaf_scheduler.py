"""Leaves before their turn, and the members that take them."""

from __future__ import annotations

import dataclasses
import threading

import numpy as np

from sapwood.kernels import layout
from sapwood.kernels.grow import leaf_queue
from sapwood.kernels.grow import leaf_scheduler as turns
from sapwood.kernels.threads.barrier import ABORT, LOCK
from sapwood.native.runtime.kernel import new_sync

LEAF_COLUMNS = layout.LEAF_SUMS + 2


@dataclasses.dataclass
class Frontier:
    """Four leaves of 100 rows at most, of eight; what comes of them is not needed here."""

    gains: tuple[float, ...] = (1.0, 8.0, 2.0, 4.0)
    n_rows: tuple[int, ...] = (100, 100, 100, 100)
    max_leaves: int = 8
    n_slots: int = 100
    members: int = 2
    n_node: int = 0
    noise: float = 0.0
    n_groups: int = 0

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
        self.rules = layout.GrowParams(**dict.fromkeys(layout.GrowParams._fields, 0) | given)
        self.turn = np.zeros(layout.NEW_HISTS + self.members, np.int64)
        self.turn[layout.MAX_ALONE_ROWS] = turns.ALONE_ROWS
        self.sync = new_sync()

    def choose(self) -> bool:
        """Choose what comes next; tell whether members work alone."""
        some = np.zeros(1, np.int64)
        groups = np.empty((self.n_groups, 1), np.uint8)
        choice = layout.ColumnSampler(some, 0, self.n_node, groups, np.empty((0, 0), np.uint8), some)
        turns.schedule_next(self.members, self.rules, self.n_slots, self.leaves, choice, self.nodes, self.turn)
        return bool(self.turn[layout.IS_ALONE])

    def take(self, done: int = -1, member: int = 0) -> int:
        """Take a leaf as a member."""
        return int(
            turns.claim_leaf(
                member, self.members, self.sync, done, self.rules, self.n_slots, self.leaves, self.nodes, self.turn
            )
        )

    def chosen(self) -> list[int]:
        """The leaf that all expand together, or those that are taken while none is handed in."""
        if not self.choose():
            return [int(self.turn[layout.NEXT_LEAF])]
        self.sync[ABORT] = 1  # who would wait for others leaves
        return list(iter(self.take, -1))


def test_small_leaves_are_taken_by_gain_as_long_as_all_may_still_be_split():
    assert Frontier(max_leaves=40).chosen() == [1, 3, 2, 0]
    assert Frontier(max_leaves=7).chosen() == [1, 3, 2]  # three splits to come
    assert Frontier(max_leaves=5).chosen() == [1]
    assert Frontier(max_leaves=4).chosen() == [-1]


def test_a_leaf_waits_for_its_turn_where_it_is_large_or_numbers_of_nodes_count_or_a_member_is_alone():
    large = turns.ALONE_ROWS // 2
    assert not Frontier(n_rows=(100, large, 100, 100), max_leaves=40).choose()
    assert Frontier(n_rows=(100, large - 1, 100, 100), max_leaves=40).choose()
    assert not Frontier(n_rows=(100, large - 1, 100, 100), max_leaves=40, members=3).choose()
    assert Frontier(n_rows=(100, 100, large, 100), max_leaves=40).chosen() == [1, 3]
    assert Frontier(max_leaves=40, n_node=1).chosen() == [1]
    assert Frontier(max_leaves=40, noise=1.0).chosen() == [1]
    assert Frontier(max_leaves=40, n_groups=1).chosen() == [1]
    assert Frontier(max_leaves=40, members=1).chosen() == [1]


def test_leaves_that_wait_with_their_children_count_among_those_that_will_be_split():
    """Four splits to come, for which two leaves wait already."""
    one = Frontier(gains=(1.0, 8.0, 2.0, 4.0, 3.0), n_rows=(100,) * 5, max_leaves=9)
    one.leaves.ints[[0, 2], layout.LEAF_STATE] = layout.EXPANDED
    assert one.chosen() == [1, 3]


def test_slots_are_kept_for_all_splits_to_come():
    """Four splits to come take four; each leaf before its turn may take one for nothing."""
    assert Frontier(max_leaves=8, n_slots=7).chosen() == [1, 3, 2, 0]
    assert Frontier(max_leaves=8, n_slots=6).chosen() == [1, 3, 2]
    assert Frontier(max_leaves=8, n_slots=4).chosen() == [1]
    none = Frontier(max_leaves=8, n_slots=0)
    assert none.chosen() == [1]
    assert none.turn[layout.NEW_HISTS] == -1


def test_who_takes_a_leaf_has_a_slot_of_its_own():
    one = Frontier(max_leaves=40)
    one.choose()
    assert [one.take(member=0), one.take(member=1)] == [1, 3]
    assert one.turn[layout.NEW_HISTS :].tolist() == [0, 1]
    assert one.turn[layout.N_EXPANDING] == 2


def test_a_leaf_handed_in_is_split_when_those_before_it_are():
    """The leaf of gain 4 is ready first; it waits for the one of gain 8."""
    one = Frontier(max_leaves=40)
    one.choose()
    first, second = one.take(member=0), one.take(member=1)
    one.take(second, member=1)
    assert one.nodes.info[layout.N_LEAVES] == 4
    one.take(first, member=0)
    assert one.nodes.info[layout.N_LEAVES] == 6
    assert one.sync[LOCK] == 0


def test_who_finds_nothing_to_do_waits_for_what_others_bring():
    """One split to come: the second member waits until the first hands in, and then there is nothing left."""
    one, found = Frontier(max_leaves=5), []
    one.choose()
    leaf = one.take(member=0)
    waiting = threading.Thread(target=lambda: found.append(one.take(member=1)))
    waiting.start()
    waiting.join(0.05)
    assert waiting.is_alive()
    assert one.take(leaf, member=0) == -1
    waiting.join(20)
    assert found == [-1]


def test_leaves_are_left_to_all_members_once_a_large_one_is_next():
    one = Frontier(gains=(1.0, 8.0), n_rows=(turns.ALONE_ROWS, 100))
    one.choose()
    leaf = one.take()
    assert leaf == 1
    assert one.take(leaf) == -1
    assert not one.choose()
    assert one.turn[layout.NEXT_LEAF] == 0


def test_what_waits_is_split_in_the_order_of_growth():
    one = Frontier()
    integers, numbers = one.leaves
    for leaf in (1, 2):  # the two of gains 8 and 2; the one of gain 4 between them has no children yet
        integers[leaf, layout.LEAF_STATE] = 1
        children = slice(one.max_leaves + 2 * leaf, one.max_leaves + 2 * leaf + 2)
        integers[children, layout.LEAF_BEGIN] = 10 * leaf, 10 * leaf + 1
        numbers[children, layout.LEAF_GAIN] = 3.0, 0.5
    leaf_queue.commit_expanded(one.rules, one.leaves, one.nodes)
    assert one.nodes.info[: layout.N_LEAVES + 1].tolist() == [9, 5]
    assert integers[[1, 4], layout.LEAF_BEGIN].tolist() == [10, 11]
    assert integers[[1, 4], layout.LEAF_NODE].tolist() == [7, 8]
    assert one.nodes.ints[4, layout.NODE_LEFT] == 7
    assert numbers[:5, layout.LEAF_GAIN].tolist() == [1.0, 3.0, 2.0, 4.0, 0.5]
