"""Parts of the rows: their sizes, what stays together, and what they depend on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood import SapwoodClassifier, SapwoodRegressor
from sapwood.boost.validation_split import allocate, fold_of_rows, validation_rows
from sapwood.errors import InputError, ParameterError, SapwoodWarning
from sapwood.params.options import LastRows
from tests.boost.examples import FAST, example, labelled


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


@pytest.mark.parametrize("share", [0.25, LastRows(0.25)], ids=["random", "time"])
def test_the_rows_split_off_are_as_good_as_given_apart(share):
    X, y = example()
    chosen = validation_rows(share, np.arange(400, dtype=np.uint64), 0, None, None)
    settings = {"n_estimators": 50, "early_stopping_rounds": 5, "max_bins": 300, **FAST}
    split = SapwoodRegressor(validation_fraction=share, **settings).fit(X, y)
    given = SapwoodRegressor(**settings).fit(X[~chosen], y[~chosen], eval_set=(X[chosen], y[chosen]))
    assert split.evals_result_ == given.evals_result_
    assert split.model_.fingerprint() == given.model_.fingerprint()
    assert split.model_.metadata["n_rows"] == 300


def test_early_stopping_splits_off_a_tenth_by_itself():
    fitted = SapwoodRegressor(early_stopping_rounds=5).fit(*example())
    assert fitted.model_.metadata["n_rows"] == 360


def test_a_fraction_without_early_stopping_is_measured_only():
    fitted = SapwoodRegressor(validation_fraction=0.5, n_estimators=30, **FAST).fit(*example())
    assert len(fitted.evals_result_["validation"]["rmse"]) == fitted.n_iter_ == 30


def test_classes_are_split_alike():
    X, y = labelled()
    seen = []

    def share_of_classes(y, prediction, weight):
        seen.append(np.bincount(y.astype(int)) / len(y))
        return 0.0

    SapwoodClassifier(validation_fraction=0.25, eval_metric=share_of_classes, n_estimators=1).fit(X, y)
    assert np.allclose(seen[0], np.unique(y, return_counts=True)[1] / len(y), atol=0.01)


def test_groups_are_not_torn_apart():
    """Rows of a group are copies: split by rows they would be known, split by groups they are not."""
    X, y = (np.repeat(part, 10, axis=0) for part in example(60))
    groups = np.repeat([f"group {k}" for k in range(60)], 10)
    settings = {"n_estimators": 40, "early_stopping_rounds": 10, "min_child_samples": 1, "learning_rate": 0.3}
    torn = SapwoodRegressor(**settings).fit(X, y)
    whole = SapwoodRegressor(**settings).fit(X, y, groups=groups)
    assert torn.best_score_ < 0.2 < whole.best_score_


def test_weights_of_rows_and_classes_count_in_validation():
    X, y = labelled()
    weight = np.linspace(0.5, 2.0, len(y))
    seen = []

    def keep_weight(y, prediction, weight):
        seen.append((y, weight))
        return 0.0

    made = SapwoodClassifier(validation_fraction=0.25, eval_metric=keep_weight, class_weight={"low": 4.0})
    made.set_params(n_estimators=1).fit(X, y, sample_weight=weight)
    codes = np.unique(y, return_inverse=True)[1]
    chosen = validation_rows(0.25, np.arange(400, dtype=np.uint64), 0, codes.astype(float), None)
    assert np.array_equal(seen[0][1], np.where(y == "low", 4.0, 1.0)[chosen] * weight[chosen])


def test_rows_of_weight_zero_are_not_split_off():
    X, y = example()
    weight = (np.arange(400) < 100).astype(float)
    settings = {"early_stopping_rounds": 5, **FAST}
    weighted = SapwoodRegressor(**settings).fit(X, y, sample_weight=weight)
    assert weighted.model_.fingerprint() == SapwoodRegressor(**settings).fit(X[:100], y[:100]).model_.fingerprint()


def test_a_fraction_and_a_given_set_are_refused_together():
    with pytest.raises(InputError, match=r"validation_fraction=0\.2 is not supported with eval_set"):
        SapwoodRegressor(validation_fraction=0.2).fit(*example(), eval_set=example(seed=1))


def test_a_class_that_would_be_split_off_whole_is_named():
    X, y = labelled()
    y = np.where(np.arange(400) < 380, y, "new")
    with pytest.raises(InputError, match="all rows of class 'new' would be split off for validation"):
        SapwoodClassifier(validation_fraction=LastRows(0.1)).fit(X, y)


def test_one_row_cannot_be_stopped_early():
    with pytest.raises(InputError, match="no row can be split off for validation, there is only 1"):
        SapwoodRegressor(early_stopping_rounds=1).fit([[1.0]], [1.0])


def test_two_rows_can_be_stopped_early():
    assert SapwoodRegressor(early_stopping_rounds=1).fit([[1.0], [2.0]], [1.0, 2.0]).n_iter_ >= 1


def test_one_class_needs_no_validation_rows():
    with pytest.warns(SapwoodWarning, match="y has one class"):
        assert SapwoodClassifier(early_stopping_rounds=5).fit([[0.0], [1.0]], ["a", "a"]).n_iter_ == 0


@pytest.mark.parametrize("share", [0.0, 1.0, -0.5, "half", True])
def test_a_fraction_out_of_range_is_refused(share):
    with pytest.raises(ParameterError, match="validation_fraction must be a number between 0 and 1"):
        SapwoodRegressor(validation_fraction=share).fit(*example())
