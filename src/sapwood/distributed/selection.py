"""Quantiles and smallest keys among rows that are split between workers: none of the rows is sent.

They are found digit by digit: in each of eight steps, workers add up the weights of a leaf's residuals by the next
eight bits of their sort keys, and go on with the residuals that have the digit in which the quantile lies.
"""

from __future__ import annotations

import numpy as np

from sapwood.distributed.workers import LOCAL, Workers
from sapwood.kernels.leaves.quantile import weight_scale
from sapwood.lazy_dataclass import dataclass

DIGIT_BITS, KEY_BITS = 8, 64
DIGITS = 1 << DIGIT_BITS
SIGN = np.uint64(1 << 63)
MAX_KEY = np.uint64((1 << 64) - 1)
MAX_GATHERED = 1 << 14  # so many keys are quicker to send than to count once more


@dataclass(eq=False)
class Selection:
    """Sort keys of the residuals of this worker that may be the quantile of their ``leaf``, and their weights.

    ``below`` are the weights of smaller residuals at all workers, by leaf.
    """

    leaf: np.ndarray
    keys: np.ndarray
    weights: np.ndarray
    below: np.ndarray

    def take_digit(self, shift: int, target: np.ndarray, workers: Workers) -> tuple[np.ndarray, np.ndarray]:
        """Return the digit of each leaf's quantile at ``shift`` and the weight up to it; keep the keys with it."""
        n_leaves = len(self.below)
        digit = ((self.keys >> np.uint64(shift)) & np.uint64(DIGITS - 1)).astype(np.int64)
        sums = np.zeros(n_leaves * DIGITS, dtype=np.int64)
        np.add.at(sums, self.leaf * DIGITS + digit, self.weights)  # several times quicker than with two indices
        up_to = self.below[:, None] + np.cumsum(workers.sum(sums).reshape(n_leaves, DIGITS), axis=1)
        is_enough = (up_to > 0) & (up_to.astype(np.float64) >= target[:, None])
        chosen = np.argmax(is_enough, axis=1)
        leaves = np.arange(n_leaves)
        self.below = np.where(chosen > 0, up_to[leaves, chosen - 1], self.below)
        is_kept = digit == chosen[self.leaf]
        self.leaf, self.keys, self.weights = self.leaf[is_kept], self.keys[is_kept], self.weights[is_kept]
        return chosen, up_to[leaves, chosen]


def select_quantiles(
    leaf: np.ndarray, residuals: np.ndarray, weight: np.ndarray, n_leaves: int, quantile: float, workers: Workers
) -> np.ndarray:
    """Return what the kernel ``leaf_quantiles`` finds for the rows of all workers.

    ``leaf``, ``residuals`` and ``weight`` are those of the rows of this worker.
    """
    largest, counts = np.zeros(n_leaves), np.bincount(leaf, minlength=n_leaves).astype(np.int64)
    np.maximum.at(largest, leaf, weight)
    largest, counts = workers.max(largest), workers.sum(counts)
    has_weight = largest > 0.0
    scale = np.array([weight_scale(*one) if one[0] > 0.0 else 0.0 for one in zip(largest, counts, strict=True)])
    weights = np.rint(weight * scale[leaf]).astype(np.int64)
    total = np.zeros(n_leaves, dtype=np.int64)
    np.add.at(total, leaf, weights)
    total = workers.sum(total)
    target = quantile * total.astype(np.float64)

    selection = Selection(leaf, _sort_keys(residuals), weights, np.zeros(n_leaves, dtype=np.int64))
    keys, weight_up_to = np.zeros(n_leaves, dtype=np.uint64), total
    for shift in range(KEY_BITS - DIGIT_BITS, -1, -DIGIT_BITS):
        digit, weight_up_to = selection.take_digit(shift, target, workers)
        keys |= digit.astype(np.uint64) << np.uint64(shift)
    found = np.where(has_weight, _from_sort_keys(keys), 0.0)
    if quantile != 0.5:
        return found
    is_larger = (residuals > found[leaf]) & (weights > 0)
    larger = np.full(n_leaves, np.inf)
    np.minimum.at(larger, leaf[is_larger], residuals[is_larger])
    larger = -workers.max(-larger)
    is_between = has_weight & (2 * weight_up_to == total)
    return np.where(is_between, 0.5 * found + 0.5 * np.where(is_between, larger, 0.0), found)


def kth_smallest(keys: np.ndarray, k: int, n_keys: int, workers: Workers = LOCAL) -> tuple[int, int] | None:
    """Return the k-th smallest (from 1) of the ``n_keys`` uint64 of all workers, and the number of keys up to it.

    None if there are fewer than k keys. Workers narrow the range of the key until few keys are left, and gather these.
    """
    if not 0 < k <= n_keys:
        return None
    n_below = 0
    while workers.splits_rows and n_keys > MAX_GATHERED:
        bounds = np.array([~keys.min(initial=MAX_KEY), keys.max(initial=0)], dtype=np.uint64)
        negative_low, high = workers.max(bounds)
        low, n_bits = ~negative_low, int(high - ~negative_low).bit_length()
        if n_bits == 0:
            return int(high), n_below + n_keys
        digit = ((keys - low) >> np.uint64(max(0, n_bits - DIGIT_BITS))).astype(np.int64)
        counts = workers.sum(np.bincount(digit, minlength=DIGITS))
        up_to = np.cumsum(counts)
        chosen = int(np.searchsorted(up_to, k))
        n_smaller, n_keys = int(up_to[chosen] - counts[chosen]), int(counts[chosen])
        n_below, k, keys = n_below + n_smaller, k - n_smaller, keys[digit == chosen]
    keys = workers.gather_rows(keys)
    bound = np.partition(keys, k - 1)[k - 1]
    return int(bound), n_below + int(np.count_nonzero(keys <= bound))


def smallest_keys(keys: np.ndarray, group: np.ndarray, counts: np.ndarray, workers: Workers) -> np.ndarray:
    """Return a mask of the rows that have the ``counts[g]`` smallest keys (uint64) of each group g at all workers.

    No group has fewer rows than that.
    """
    if not workers.splits_rows:
        order = np.lexsort((keys, group))
        sizes = np.bincount(group, minlength=len(counts))
        place = np.arange(len(keys)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        mask = np.empty(len(keys), dtype=bool)
        mask[order] = place < counts[group[order]]
        return mask
    selection = Selection(group, keys, np.ones(len(keys), dtype=np.int64), np.zeros(len(counts), dtype=np.int64))
    largest, target = np.zeros(len(counts), dtype=np.uint64), np.maximum(counts, 1).astype(np.float64)
    for shift in range(KEY_BITS - DIGIT_BITS, -1, -DIGIT_BITS):
        digit, _ = selection.take_digit(shift, target, workers)
        largest |= digit.astype(np.uint64) << np.uint64(shift)
    return (keys <= largest[group]) & (counts[group] > 0)


def group_ids(groups: np.ndarray, row_ids: np.ndarray, workers: Workers = LOCAL) -> np.ndarray:
    """Return a number for the group of each row that does not depend on workers: the smallest number of its rows."""
    n_groups = int(workers.max(np.array([groups.max(initial=-1)]))[0]) + 1
    return smallest_of_groups(row_ids.astype(np.uint64), groups, n_groups, workers)[groups]


def smallest_of_groups(numbers: np.ndarray, groups: np.ndarray, n_groups: int, workers: Workers = LOCAL) -> np.ndarray:
    """Return the smallest number (uint64) of the rows of each group; the largest there is for one without rows."""
    smallest = np.full(n_groups, np.iinfo(np.uint64).max, dtype=np.uint64)
    np.minimum.at(smallest, groups, numbers)
    return workers.min(smallest)


def _sort_keys(values: np.ndarray) -> np.ndarray:
    """Return unsigned integers in the order of floats; -0.0 counts as 0.0."""
    bits = (values + 0.0).view(np.uint64)
    return np.where(bits & SIGN, ~bits, bits | SIGN)


def _from_sort_keys(keys: np.ndarray) -> np.ndarray:
    return np.where(keys & SIGN, keys ^ SIGN, ~keys).view(np.float64)
