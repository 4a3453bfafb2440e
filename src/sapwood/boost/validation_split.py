"""Split rows into parts by the hashes of their numbers: for validation, and for folds."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.boost.labeled_rows import LabeledRows
from sapwood.errors import InputError
from sapwood.kernels.numeric.random import FOLDS, VALIDATION_SPLIT, draw_many
from sapwood.params.declaration import Params
from sapwood.params.options import LastRows

DEFAULT_FRACTION = 0.1


def rows_to_split_off(
    params: Params, rows: LabeledRows, classes: np.ndarray | None, has_eval_sets: bool
) -> np.ndarray | None:
    """Return which rows to validate on as booleans, or None where the parameters ask for none."""
    settings = params.evaluation
    if has_eval_sets:
        return None
    fraction: Any = settings.validation_fraction
    if fraction is None:
        if settings.early_stopping_rounds is None:
            return None
        fraction = DEFAULT_FRACTION
    whole = rows.whole()
    strata = None if classes is None else whole.y
    chosen = validation_rows(fraction, whole.row_ids, params.run.random_state, strata, rows.groups)
    if classes is not None:
        _check_classes(classes, whole.y, whole.y[~chosen])
    return chosen[whole.own]


def _check_classes(classes: np.ndarray, every: np.ndarray, kept: np.ndarray) -> None:
    lost = np.setdiff1d(every, kept)
    if len(lost):
        label = classes.tolist()[int(lost[0])]
        raise InputError(
            f"all rows of class {label!r} would be split off for validation: give eval_set, or another "
            "validation_fraction"
        )


def validation_rows(
    share: float | LastRows, row_ids: np.ndarray, seed: int, strata: np.ndarray | None, groups: np.ndarray | None
) -> np.ndarray:
    """The places of the rows to validate on, as booleans: about ``share`` of them, and never all.

    ``strata`` are class numbers, each of which gives its share; ``groups`` are numbers of groups, which stay whole.
    """
    n = len(row_ids)
    fraction = share.fraction if isinstance(share, LastRows) else share
    wanted = max(1, min(n - 1, int(fraction * n + 0.5)))
    if n < 2:
        raise InputError(f"no row can be split off for validation, there is only {n} sample: give eval_set")
    chosen = np.zeros(n, dtype=bool)
    if isinstance(share, LastRows):
        chosen[n - wanted :] = True
    elif groups is not None:
        chosen = _whole_groups(hashes(row_ids, seed, VALIDATION_SPLIT), groups, wanted)
    else:
        order, counts = _by_stratum(hashes(row_ids, seed, VALIDATION_SPLIT), strata)
        starts = np.cumsum(counts) - counts
        for start, count in zip(starts, shares(counts, fraction, wanted), strict=True):
            chosen[order[start : start + count]] = True
    return chosen


def fold_of_rows(
    n_folds: int, row_ids: np.ndarray, seed: int, strata: np.ndarray | None, groups: np.ndarray | None
) -> np.ndarray:
    """The fold of each row, from 0: of the same size, every class alike in all; groups stay whole."""
    bits = hashes(row_ids, seed, FOLDS)
    things, n_things = ("rows", len(row_ids)) if groups is None else ("groups", int(groups.max()) + 1)
    if n_folds > n_things:
        raise InputError(f"{n_folds} folds cannot be made of {n_things} {things}: ask for at most {n_things}")
    if groups is not None:
        return _balanced_groups(n_folds, bits, groups)
    order, _ = _by_stratum(bits, strata)
    folds = np.empty(len(row_ids), dtype=np.int64)
    folds[order] = np.arange(len(row_ids)) % n_folds
    return folds


def hashes(row_ids: np.ndarray, seed: int, purpose: int) -> np.ndarray:
    """The random bits of each row."""
    out = np.empty(len(row_ids), dtype=np.uint64)
    draw_many(seed, purpose, 0, row_ids, out)
    return out


def shares(counts: np.ndarray, fraction: float, wanted: int) -> np.ndarray:
    """How many rows each stratum gives, ``wanted`` in all: shares rounded by largest remainders, never the last row."""
    exact = counts * fraction
    most = np.maximum(counts - 1, 0)
    given = np.minimum(np.floor(exact).astype(np.int64), most)
    while given.sum() < wanted and (given < most).any():
        behind = np.where(given < most, exact - given, -np.inf)
        given[np.argmax(behind)] += 1
    if not given.any():
        raise InputError("no row can be split off for validation, every class has a single one: give eval_set")
    return given


def _by_stratum(bits: np.ndarray, strata: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """The rows by stratum and hash, and the number of rows of each stratum."""
    if strata is None:
        return np.argsort(bits), np.array([len(bits)])
    numbers = strata.astype(np.int64)
    return np.lexsort((bits, numbers)), np.bincount(numbers)


def _group_bits(bits: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """The random bits of each group: the least of those of its rows."""
    least = np.full(int(groups.max()) + 1, np.iinfo(np.uint64).max, dtype=np.uint64)
    np.minimum.at(least, groups, bits)
    return least


def _whole_groups(bits: np.ndarray, groups: np.ndarray, wanted: int) -> np.ndarray:
    sizes = np.bincount(groups)
    if len(sizes) < 2:
        raise InputError("no group can be split off for validation, there is only one: give eval_set")
    order = np.argsort(_group_bits(bits, groups))
    totals = np.cumsum(sizes[order])[:-1]
    n_groups = int(np.argmin(np.abs(totals - wanted))) + 1
    return np.isin(groups, order[:n_groups])


def _balanced_groups(n_folds: int, bits: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Large groups first, each to the smallest fold so far."""
    sizes = np.bincount(groups)
    fold_sizes = np.zeros(n_folds, dtype=np.int64)
    fold_of_group = np.empty(len(sizes), dtype=np.int64)
    for group in np.lexsort((_group_bits(bits, groups), -sizes)):
        fold = int(np.argmin(fold_sizes))
        fold_of_group[group] = fold
        fold_sizes[fold] += sizes[group]
    return fold_of_group[groups]
