"""Crossed levels against twins that are written for reading."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood.data.crossing import Room
from sapwood.kernels.crossing import judge_crossings, number_crossings
from sapwood.native.team import current_team

CHOSEN = np.array([[0, 1, -1, -1], [2, -1, -1, -1], [0, 1, 2, 3], [3, 0, 2, -1], [1, 1, -1, -1]], dtype=np.int32)


def drawn(n: int = 70) -> np.ndarray:
    source = np.random.default_rng(5)
    return np.array([source.integers(0, size, n) for size in (3, 9, 1, 40)], dtype=np.int32)


SIZES = np.array([3, 9, 1, 40])


def slow_levels(codes: np.ndarray) -> list[list[int]]:
    """The level of every row of each crossing, numbered as they appear."""
    levels = []
    for line in CHOSEN:
        texts = [tuple(codes[[k for k in line if k >= 0], row].tolist()) for row in range(codes.shape[1])]
        known = {text: number for number, text in enumerate(dict.fromkeys(texts))}
        levels.append([known[text] for text in texts])
    return levels


def slow_error(levels: list[int], amounts: np.ndarray, weights: np.ndarray, units: np.ndarray, priors: np.ndarray):
    """The error of predictions by the rows before, looked for one by one."""
    error = 0.0
    for row, level in enumerate(levels):
        before = [r for r in range(row) if levels[r] == level]
        weight = float(sum(int(weights[r]) for r in before)) * units[-1] + 1.0
        own = float(weights[row]) * units[-1]
        for k in range(len(amounts)):
            told = (float(sum(int(amounts[k, r]) for r in before)) * units[k] + priors[k]) / weight
            error += told * (own * told - 2.0 * (float(amounts[k, row]) * units[k]))
    return error


@pytest.mark.parametrize("members", ["1", "2", "3", "8"])
def test_levels_are_numbered_as_they_appear(monkeypatch, members):
    monkeypatch.setenv("SAPWOOD_TEAM", members)
    codes = drawn()
    room, n = Room.of(codes.shape[1], len(CHOSEN)), len(CHOSEN)
    room.slots[:], room.keys[:] = 7, 7
    out, firsts = (np.full((n, codes.shape[1]), -7, np.int32) for _ in range(2))
    counts = np.full(n, -7, dtype=np.int64)
    current_team(None, 10**9).run(number_crossings, codes, SIZES, CHOSEN, room.slots, room.keys, out, firsts, counts)
    expected = slow_levels(codes)
    assert out.tolist() == expected
    for levels, first, count in zip(expected, firsts, counts, strict=True):
        assert first[:count].tolist() == [levels.index(number) for number in range(max(levels) + 1)]
        assert (first[count:] == -7).all()


@pytest.mark.parametrize("members", ["1", "2", "3", "8"])
def test_crossings_are_judged_by_the_rows_before(monkeypatch, members):
    monkeypatch.setenv("SAPWOOD_TEAM", members)
    codes, source = drawn(), np.random.default_rng(6)
    n = codes.shape[1]
    amounts, weights = source.integers(-(2**30), 2**30, (2, n)), source.integers(0, 4, n)
    units, priors = np.array([2.0**-30, 2.0**-29, 0.5]), np.array([0.25, 1.5])
    room = Room.of(n, len(CHOSEN))
    sums, errors = np.full((room.n_members, n, 3), 9), np.full(len(CHOSEN), np.nan)
    counts = np.full(len(CHOSEN), -1)
    current_team(None, 10**9).run(
        judge_crossings,
        codes,
        SIZES,
        CHOSEN,
        amounts,
        weights,
        units,
        priors,
        room.slots,
        room.keys,
        sums,
        errors,
        counts,
    )
    levels = slow_levels(codes)
    assert counts.tolist() == [max(line) + 1 for line in levels]
    assert errors.tolist() == [slow_error(line, amounts, weights, units, priors) for line in levels]
