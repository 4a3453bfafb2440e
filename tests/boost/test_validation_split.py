"""Parts of the rows: their sizes, what stays together, and what they depend on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.boost.validation_split import allocate, fold_of_rows, validation_rows
from sapwood.errors import InputError
from sapwood.params.options import LastRows


def ids(n: int) -> np.ndarray:
    return np.arange(n, dtype=np.uint64)


def split(share, n: int, seed: int = 0, strata=None, groups=None) -> np.ndarray:
    return validation_rows(share, ids(n), seed, strata, groups)


@given(st.integers(2, 300), st.floats(0.001, 0.999), st.integers(0, 2**62))
def test_a_random_part_has_the_size_asked_for_and_leaves_some_rows(n, fraction, seed):
    chosen = split(fraction, n, seed)
    assert chosen.sum() == max(1, min(n - 1, int(fraction * n + 0.5)))


def test_the_part_depends_on_the_seed_alone():
    assert np.array_equal(split(0.3, 100, seed=1), split(0.3, 100, seed=1))
    assert not np.array_equal(split(0.3, 100, seed=1), split(0.3, 100, seed=2))


def test_rows_keep_their_draw_when_others_are_left_out():
    """Of the rows drawn in a table, those that remain are drawn first again when other rows are gone."""
    whole, kept = split(0.5, 1000), np.arange(1000) % 3 > 0
    part = validation_rows(0.5, ids(1000)[kept], 0, None, None)
    assert np.mean(part == whole[kept]) > 0.95


@given(st.lists(st.integers(0, 4), min_size=12, max_size=200), st.floats(0.05, 0.9))
def test_every_class_gives_its_share_and_keeps_a_row(labels, fraction):
    strata = np.unique(labels, return_inverse=True)[1].astype(np.float64)
    counts = np.bincount(strata.astype(int))
    if counts.max() == 1:
        return
    chosen = split(fraction, len(strata), strata=strata)
    taken = np.bincount(strata[chosen].astype(int), minlength=len(counts))
    assert (taken < counts).all()
    assert (np.abs(taken - counts * fraction) <= np.maximum(1.0, len(counts))).all()


def test_shares_go_to_the_largest_remainders():
    assert allocate(np.array([10, 7, 3]), 0.25, 5).tolist() == [2, 2, 1]


def test_a_class_of_one_row_stays_in_training():
    strata = np.array([0.0] * 9 + [1.0])
    assert not split(0.5, 10, strata=strata)[9]


def test_classes_of_one_row_each_cannot_be_split():
    with pytest.raises(InputError, match="every class has a single one: pass eval_set"):
        split(0.5, 3, strata=np.arange(3.0))


def test_one_row_cannot_be_split():
    with pytest.raises(InputError, match="there is only 1 sample: pass eval_set"):
        split(0.5, 1)


@given(st.lists(st.integers(0, 9), min_size=5, max_size=200), st.integers(0, 99))
def test_groups_stay_whole(labels, seed):
    groups = np.unique(labels, return_inverse=True)[1]
    if groups.max() == 0:
        return
    chosen = split(0.3, len(groups), seed, groups=groups)
    assert not set(groups[chosen]) & set(groups[~chosen])
    assert chosen.any() and not chosen.all()


def test_many_small_groups_come_close_to_the_share():
    groups = np.repeat(np.arange(200), 5)
    assert split(0.25, 1000, groups=groups).sum() == 250


def test_one_group_cannot_be_split():
    with pytest.raises(InputError, match="there is only one: pass eval_set"):
        split(0.5, 4, groups=np.zeros(4, dtype=np.int64))


def test_last_rows_are_the_last():
    assert np.flatnonzero(split(LastRows(0.2), 10)).tolist() == [8, 9]


@pytest.mark.parametrize("share", [0.0, 1.0, -1.0])
def test_last_rows_need_a_fraction(share):
    with pytest.raises(ValueError, match="LastRows: fraction must be a number between 0 and 1"):
        LastRows(share)


@given(st.integers(2, 6), st.lists(st.integers(0, 3), min_size=6, max_size=120))
def test_folds_have_the_same_size_and_the_same_share_of_every_class(n_folds, labels):
    strata = np.array(labels, dtype=np.float64)
    folds = fold_of_rows(n_folds, ids(len(labels)), 0, strata, None)
    sizes = np.bincount(folds, minlength=n_folds)
    assert sizes.max() - sizes.min() <= 1
    for label in np.unique(strata):
        of_class = np.bincount(folds[strata == label], minlength=n_folds)
        assert of_class.max() - of_class.min() <= 1


@given(st.lists(st.integers(0, 30), min_size=10, max_size=200))
def test_folds_keep_groups_whole_and_are_balanced(labels):
    groups = np.unique(labels, return_inverse=True)[1]
    if groups.max() < 2:
        return
    folds = fold_of_rows(3, ids(len(groups)), 0, None, groups)
    assert all(len(set(folds[groups == g])) == 1 for g in np.unique(groups))
    sizes = np.bincount(folds, minlength=3)
    assert sizes.max() - sizes.min() <= np.bincount(groups).max()


def test_more_folds_than_rows_are_refused():
    with pytest.raises(InputError, match="5 folds cannot be made of 3 rows: use at most 3"):
        fold_of_rows(5, ids(3), 0, None, None)
