"""Combinations of category columns against slow twins."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood.data.categories.combination_codes import CombinationWorkspace, combination_keys
from sapwood.kernels.encode.combinations import (
    combination_key,
    encode_combinations,
    hash_categories,
    score_combinations,
    sort_combination_keys,
)
from sapwood.native.threads.team import current_team
from tests.guarded import Guards

CHOSEN = np.array([[0, 1, -1, -1], [2, -1, -1, -1], [0, 1, 2, 3], [3, 0, 2, -1], [1, 1, -1, -1]], dtype=np.int32)


def drawn(n: int = 70) -> np.ndarray:
    source = np.random.default_rng(5)
    return np.array([source.integers(0, size, n) for size in (3, 9, 1, 40)], dtype=np.int32)


SIZES = np.array([3, 9, 1, 40])
TEAMS = [("1", 8), ("2", 8), ("3", 8), ("8", 8), ("8", 2)]  # members, and for how many there are workspaces


def slow_categories(codes: np.ndarray) -> list[list[int]]:
    """The category of every row in each combination, numbered as they appear."""
    categories = []
    for line in CHOSEN:
        texts = [tuple(codes[[k for k in line if k >= 0], row].tolist()) for row in range(codes.shape[1])]
        known = {text: number for number, text in enumerate(dict.fromkeys(texts))}
        categories.append([known[text] for text in texts])
    return categories


def slow_error(categories: list[int], targets: np.ndarray, weights: np.ndarray, units: np.ndarray, priors: np.ndarray):
    """The error of predictions by the rows before, looked for one by one."""
    error = 0.0
    for row, category in enumerate(categories):
        before = [r for r in range(row) if categories[r] == category]
        weight = float(sum(int(weights[r]) for r in before)) * units[-1] + 1.0
        row_weight = float(weights[row]) * units[-1]
        for k in range(len(targets)):
            statistic = (float(sum(int(targets[k, r]) for r in before)) * units[k] + priors[k]) / weight
            error += statistic * (row_weight * statistic - 2.0 * (float(targets[k, row]) * units[k]))
    return error


@pytest.mark.parametrize(("members", "n_workspaces"), TEAMS)
def test_categories_are_numbered_as_they_appear(monkeypatch, members, n_workspaces):
    monkeypatch.setenv("SAPWOOD_TEAM", members)
    codes = drawn()
    room, n = CombinationWorkspace.of(codes.shape[1], len(CHOSEN)), len(CHOSEN)
    room.slots[:], room.keys[:] = 7, 7
    out, firsts = (np.full((n, codes.shape[1]), -7, np.int32) for _ in range(2))
    counts = np.full(n, -7, dtype=np.int64)
    current_team(None, 10**9).run(
        encode_combinations,
        codes,
        SIZES,
        CHOSEN,
        room.slots[:n_workspaces],
        room.keys[:n_workspaces],
        out,
        firsts,
        counts,
    )
    expected = slow_categories(codes)
    assert out.tolist() == expected
    for categories, first, count in zip(expected, firsts, counts, strict=True):
        assert first[:count].tolist() == [categories.index(number) for number in range(max(categories) + 1)]
        assert (first[count:] == -7).all()


@pytest.mark.parametrize(("members", "n_workspaces"), TEAMS)
def test_combinations_are_scored_by_the_rows_before(monkeypatch, members, n_workspaces):
    monkeypatch.setenv("SAPWOOD_TEAM", members)
    codes, source = drawn(), np.random.default_rng(6)
    n = codes.shape[1]
    targets, weights = source.integers(-(2**30), 2**30, (2, n)), source.integers(0, 4, n)
    units, priors = np.array([2.0**-30, 2.0**-29, 0.5]), np.array([0.25, 1.5])
    room = CombinationWorkspace.of(n, len(CHOSEN))
    sums, errors = np.full((room.n_members, n, 3), 9), np.full(len(CHOSEN), np.nan)
    counts = np.full(len(CHOSEN), -1)
    current_team(None, 10**9).run(
        score_combinations, codes, SIZES, CHOSEN, targets, weights, units, priors,
        room.slots[:n_workspaces], room.keys[:n_workspaces], sums, errors, counts,
    )  # fmt: skip
    categories = slow_categories(codes)
    assert counts.tolist() == [max(found) + 1 for found in categories]
    assert errors.tolist() == [slow_error(found, targets, weights, units, priors) for found in categories]


def numbered(codes: np.ndarray, sizes: np.ndarray, n_entries: int) -> list[int]:
    """The categories of all columns combined, by the function itself: Python checks its indices."""
    n = codes.shape[1]
    room = np.full((1, n_entries), 7, np.int32), np.full((1, n), 7, np.uint64)
    out, firsts, counts = np.empty((1, n), np.int32), np.empty((1, n), np.int32), np.empty(1, np.int64)
    chosen = np.arange(len(codes), dtype=np.int32)[None]
    with np.errstate(all="ignore"):
        encode_combinations.function(0, 1, None, codes, sizes, chosen, *room, out, firsts, counts)
    return out[0].tolist()


def test_as_many_code_tuples_as_table_entries_have_one_each_and_one_more_are_found_by_keys():
    for sizes in ([4, 32], [3, 43]):
        last = np.array(sizes) - 1
        codes = np.stack([last, last * 0, last, last * 0], axis=1).astype(np.int32)
        assert numbered(codes, np.array(sizes), 128) == [0, 1, 0, 1]


def test_a_search_for_a_key_goes_on_at_the_first_entry_after_the_last():
    columns = np.zeros(1, np.int32)
    with np.errstate(all="ignore"):
        keys = [int(combination_key(np.array([[code]], np.int32), columns, 0)) for code in range(100)]
    at_the_end = [code for code, key in enumerate(keys) if key % 8 == 7][:3]
    codes = np.array([at_the_end + at_the_end], np.int32)
    assert numbered(codes, np.array([100]), 8) == [0, 1, 2, 0, 1, 2]


@pytest.mark.parametrize(("members", "n_workspaces"), TEAMS)
def test_keys_of_each_combination_are_sorted(monkeypatch, members, n_workspaces):
    """Random keys, and some whose first bits are all equal; combinations of no, one and many keys."""
    monkeypatch.setenv("SAPWOOD_TEAM", members)
    source, sizes = np.random.default_rng(2), [70, 0, 1, 2, 33, 64, 65]
    keys = [source.permutation(2**64 - 1 - np.arange(n, dtype=np.uint64)) for n in sizes]
    keys[0] = source.integers(0, 2**64, 70, dtype=np.uint64)
    start = np.concatenate([[0], np.cumsum(sizes)])
    guards = Guards()
    counts, order = guards.array((n_workspaces, 2 * 70 + 1), np.int64), guards.array(start[-1], np.int32)
    current_team(None, 10**9).run(sort_combination_keys, np.concatenate(keys), start, counts, order)
    guards.check()
    expected = [sorted(range(len(one)), key=one.tolist().__getitem__) for one in keys]
    assert order.tolist() == [number for one in expected for number in one]


@pytest.mark.parametrize("members", ["1", "2", "8"])
def test_categories_have_the_keys_of_the_codes_of_their_first_rows(monkeypatch, members):
    monkeypatch.setenv("SAPWOOD_TEAM", members)
    codes, firsts = drawn(), np.array([[5, 9], [0, 1], [3, -7], [8, 2], [-7, -7]], dtype=np.int32)
    counts, guards = [2, 2, 1, 2, 0], Guards()
    start = np.concatenate([[0], np.cumsum(counts)])
    out = guards.array(start[-1], np.uint64)
    current_team(None, 10**9).run(hash_categories, codes, CHOSEN, firsts, start, out)
    guards.check()
    expected = [
        combination_keys([codes[k][rows[:n]] for k in line if k >= 0])
        for line, rows, n in zip(CHOSEN, firsts, counts, strict=True)
    ]
    assert out.tolist() == np.concatenate(expected).tolist()
