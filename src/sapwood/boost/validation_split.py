"""Split off validation rows, and assign rows to folds, by hashes of the row numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.boost.labeled_rows import LabeledRows
from sapwood.distributed.row_order import RowOrder
from sapwood.distributed.selection import smallest_keys, smallest_of_groups
from sapwood.distributed.workers import LOCAL, Workers
from sapwood.errors import InputError
from sapwood.kernels.numeric.random import FOLDS, VALIDATION_SPLIT, draw_many
from sapwood.params.declaration import Params
from sapwood.params.options import LastRows

DEFAULT_FRACTION = 0.1


def rows_to_split_off(
    params: Params, rows: LabeledRows, classes: np.ndarray | None, has_eval_sets: bool
) -> np.ndarray | None:
    """Return a mask of the rows to validate on, None if the parameters ask for none."""
    settings = params.evaluation
    if has_eval_sets:
        return None
    fraction: Any = settings.validation_fraction
    if fraction is None:
        if settings.early_stopping_rounds is None:
            return None
        fraction = DEFAULT_FRACTION
    strata = None if classes is None else rows.y
    chosen = validation_rows(fraction, rows.row_ids, params.run.random_state, strata, rows.groups, rows.workers)
    if classes is not None:
        _check_classes(classes, rows.y, chosen, rows.workers)
    return chosen


def _check_classes(classes: np.ndarray, y: np.ndarray, chosen: np.ndarray, workers: Workers) -> None:
    masks = (np.ones(len(y), dtype=bool), ~chosen)
    counts = [np.bincount(y[mask].astype(np.int64), minlength=len(classes)) for mask in masks]
    n_rows, n_left = workers.sum(np.array(counts))
    lost = np.flatnonzero((n_rows > 0) & (n_left == 0))
    if len(lost):
        label = classes.tolist()[int(lost[0])]
        raise InputError(
            f"all rows of class {label!r} would be split off for validation: pass eval_set, or use "
            "another validation_fraction"
        )


def validation_rows(
    spec: float | LastRows,
    row_ids: np.ndarray,
    seed: int,
    strata: np.ndarray | None,
    groups: np.ndarray | None,
    workers: Workers = LOCAL,
) -> np.ndarray:
    """Return a mask of the rows to validate on: about the fraction ``spec`` of the rows of all workers, never all.

    Every stratum (class number) contributes this fraction; groups are not divided.
    """
    n = workers.count_rows(len(row_ids))
    fraction = spec.fraction if isinstance(spec, LastRows) else spec
    n_validation = max(1, min(n - 1, int(fraction * n + 0.5)))
    if n < 2:
        raise InputError(f"no row can be split off for validation, there is only {n} sample: pass eval_set")
    stratum = np.zeros(len(row_ids), dtype=np.int64)
    if isinstance(spec, LastRows):
        return ~smallest_keys(row_ids.astype(np.uint64), stratum, np.array([n - n_validation]), workers)
    hashes = hash_rows(row_ids, seed, VALIDATION_SPLIT)
    if groups is not None:
        return _choose_groups(hashes, groups, n_validation, workers)
    stratum = stratum if strata is None else strata.astype(np.int64)
    counts = _count(stratum, workers)
    return smallest_keys(hashes, stratum, allocate(counts, fraction, n_validation), workers)


def _count(numbers: np.ndarray, workers: Workers) -> np.ndarray:
    """Return how many rows of all workers have each number from 0 on."""
    n_numbers = int(workers.max(np.array([numbers.max(initial=-1)]))[0]) + 1
    return workers.sum(np.bincount(numbers, minlength=n_numbers).astype(np.int64))


def count_units(row_ids: np.ndarray, groups: np.ndarray | None, workers: Workers = LOCAL) -> int:
    """Return the number of rows of all workers, or of their groups, which are not divided."""
    return workers.count_rows(len(row_ids)) if groups is None else int(np.count_nonzero(_count(groups, workers)))


def fold_of_rows(
    n_folds: int,
    row_ids: np.ndarray,
    seed: int,
    strata: np.ndarray | None,
    groups: np.ndarray | None,
    workers: Workers = LOCAL,
) -> np.ndarray:
    """Return the fold of each row: folds have equal sizes and class frequencies; groups are not divided.

    Rows of several workers have no strata.
    """
    hashes = hash_rows(row_ids, seed, FOLDS)
    unit, n_units = "rows" if groups is None else "groups", count_units(row_ids, groups, workers)
    if n_folds > n_units:
        raise InputError(f"{n_folds} folds cannot be made of {n_units} {unit}: use at most {n_units}")
    if groups is not None:
        return _balance_groups(n_folds, hashes, groups, workers)
    folds = np.empty(len(row_ids), dtype=np.int64)
    if strata is None:
        order = RowOrder.of(hashes, row_ids, workers)
        folds[order.permutation] = order.places % n_folds
    else:
        folds[np.lexsort((hashes, strata.astype(np.int64)))] = np.arange(len(row_ids)) % n_folds
    return folds


def hash_rows(row_ids: np.ndarray, seed: int, purpose: int) -> np.ndarray:
    """Return a random hash of each row number."""
    out = np.empty(len(row_ids), dtype=np.uint64)
    draw_many(seed, purpose, 0, row_ids, out)
    return out


def allocate(counts: np.ndarray, fraction: float, total: int) -> np.ndarray:
    """Return the number of validation rows of each stratum, ``total`` in all, by the largest remainder method.

    No stratum gives all of its rows.
    """
    exact = counts * fraction
    largest = np.maximum(counts - 1, 0)
    chosen = np.minimum(np.floor(exact).astype(np.int64), largest)
    while chosen.sum() < total and (chosen < largest).any():
        remainder = np.where(chosen < largest, exact - chosen, -np.inf)
        chosen[np.argmax(remainder)] += 1
    if not chosen.any():
        raise InputError("no row can be split off for validation, every class has a single one: pass eval_set")
    return chosen


def _choose_groups(hashes: np.ndarray, groups: np.ndarray, n_validation: int, workers: Workers) -> np.ndarray:
    """Return a mask of the rows of random groups that have about ``n_validation`` rows together."""
    sizes = _count(groups, workers)
    n_with_rows = np.count_nonzero(sizes)
    if n_with_rows < 2:
        raise InputError("no group can be split off for validation, there is only one: pass eval_set")
    order = np.argsort(smallest_of_groups(hashes, groups, len(sizes), workers))[:n_with_rows]
    totals = np.cumsum(sizes[order])[:-1]
    n_groups = int(np.argmin(np.abs(totals - n_validation))) + 1
    return np.isin(groups, order[:n_groups])


def _balance_groups(n_folds: int, hashes: np.ndarray, groups: np.ndarray, workers: Workers) -> np.ndarray:
    """Assign groups to folds, the largest first, each to the smallest fold so far."""
    sizes = _count(groups, workers)
    fold_sizes = np.zeros(n_folds, dtype=np.int64)
    fold_of_group = np.empty(len(sizes), dtype=np.int64)
    for group in np.lexsort((smallest_of_groups(hashes, groups, len(sizes), workers), -sizes)):
        fold = int(np.argmin(fold_sizes))
        fold_of_group[group] = fold
        fold_sizes[fold] += sizes[group]
    return fold_of_group[groups]
