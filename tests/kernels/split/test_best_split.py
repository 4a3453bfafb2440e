"""Choosing a leaf's split among candidates, with exact leaf sizes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from sapwood.kernels import layout
from sapwood.kernels.split import best_split
from sapwood.params.declaration import TreeParams
from tests.grow.small_tables import Example, grow_fast, grow_slowly
from tests.reference.grower import TooCloseError


def make_params(**chosen) -> layout.GrowParams:
    return layout.GrowParams(**dict.fromkeys(layout.GrowParams._fields, 0) | chosen)


@pytest.mark.parametrize(
    ("gains", "best"), [([0.0], 0), ([1.0, 2.0, 2.0], 1), ([3.0, 1.0], 0), ([0.0, 0.0], 0), ([-1.0, 0.5], 1)]
)
def test_the_first_feature_of_the_largest_gain_is_the_best(gains, best):
    assert best_split.best_feature(np.array(gains), 0, len(gains), 0, make_params()) == best


@pytest.mark.parametrize(
    ("gains", "members", "feature_ids", "best"),
    [
        ([1.0, 2.0, 2.0, 0.0], ([0, 1], [2, 3]), [0, 1, 2, 3], 1),
        ([1.0, 2.0, 2.0, 0.0], ([0, 1], [2, 3]), [3, 2, 1, 0], 2),
        ([1.0, 2.0, 2.0, 0.0], ([0, 1, 2], [3]), [3, 0, 1, 2], 1),
        ([9.0, 2.0, 3.0, 9.0], ([1], [2]), [0, 1, 2, 3], 2),
        ([9.0, 1.0, 9.0, 1.0], ([1], [3]), [0, 1, 2, 3], 1),
        ([9.0, 0.0, 0.0, 9.0], ([1], [2]), [0, 1, 2, 3], -1),
        ([9.0, 9.0, 9.0, 9.0], ([], []), [0, 1, 2, 3], -1),
    ],
)
def test_the_best_feature_is_one_that_may_be_split_and_of_equals_the_one_of_the_smallest_id(
    gains, members, feature_ids, best
):
    size = max(2, len(members[0]))
    active = np.full(2 + 4, 99, np.int32)
    for t, features in enumerate(members):
        active[t] = len(features)
        active[2 + size * t : 2 + size * t + len(features)] = features
    slices = np.array([0, size, 4, 0, 4])
    assert (
        best_split.best_active_feature(active, slices, np.array(feature_ids), np.array(gains), 0, make_params()) == best
    )


@np.errstate(over="ignore")
def test_noise_is_drawn_once_for_a_node_and_a_feature_and_has_the_chosen_deviation():
    params = make_params(split_noise=2.0, split_noise_key=12345)
    drawn = np.array([[best_split.draw_split_noise(params, node, f) for f in range(60)] for node in range(60)])
    assert best_split.draw_split_noise(params, 7, 9) == drawn[7, 9]
    assert len(np.unique(drawn)) > 0.95 * drawn.size
    assert abs(drawn.mean()) < 3.0 * 2.0 / 60.0
    assert abs(drawn.std() - 2.0) < 0.1
    assert best_split.draw_split_noise(make_params(split_noise=2.0, split_noise_key=54321), 7, 9) != drawn[7, 9]


@np.errstate(over="ignore")
def test_the_noise_of_a_feature_goes_by_its_id():
    params, feature_ids = make_params(split_noise=3.0, split_noise_key=77), np.array([4, 2, 0, 3, 1])
    active, slices = np.array([5, *range(5)], dtype=np.int32), np.array([0, 5, 0, 5])
    for node in range(20):
        noisiest = np.argmax([best_split.draw_split_noise(params, node, feature_ids[f]) for f in range(5)])
        assert best_split.best_active_feature(active, slices, feature_ids, np.ones(5), node, params) == noisiest


@np.errstate(over="ignore")
def test_no_noise_is_added_to_a_feature_without_gain():
    params = make_params(split_noise=100.0, split_noise_key=3)
    for node in range(20):
        assert best_split.best_feature(np.array([0.0, 1e-3, 0.0, 1e-3]), 0, 4, node, params) in (1, 3)


# --- whole choices ----------------------------------------------------------------------------------------------------


@st.composite
def stumps(draw) -> Example:
    """Tables on which the feature_ids of rows decides, and the hessian says little about it."""
    n, n_features = draw(st.integers(4, 60)), draw(st.integers(1, 4))
    seed = draw(st.integers(0, 2**32 - 1))
    source = np.random.default_rng(seed)
    X = source.integers(0, draw(st.integers(2, 8)), (n, n_features)).astype(float)
    X[source.uniform(size=X.shape) < draw(st.sampled_from([0.0, 0.3]))] = np.nan
    spread = draw(st.sampled_from([0.0, 1.0, 3.0, 6.0]))
    pairs = np.stack([source.normal(size=n), np.exp(source.normal(size=n) * spread)], axis=1).astype(np.float32)
    params = TreeParams(
        max_leaves=draw(st.sampled_from([2, 2, 6])),
        min_child_samples=draw(st.integers(2, 20)),
        min_child_weight=0.0,
        reg_lambda=draw(st.sampled_from([0.0, 1.0])),
        precision=draw(st.sampled_from(["packed", "wide"])),
    )
    return Example(X, pairs, None, params)


@settings(max_examples=250)
@given(stumps())
def test_the_split_is_the_best_that_leaves_enough_rows_on_both_sides(example):
    try:
        slow = grow_slowly(example)
    except TooCloseError:
        reject()
    grown = grow_fast(example)
    assert grown.feature.tolist() == [-1 if node.cut is None else node.cut.feature for node in slow.nodes]
    assert grown.bin.tolist() == [0 if node.cut is None else node.cut.bin for node in slow.nodes]
    assert grown.missing_left.tolist() == [0 if node.cut is None else node.cut.missing_left for node in slow.nodes]
    assert grown.count.tolist() == [len(node.rows) for node in slow.nodes]


@settings(max_examples=60)
@given(stumps(), st.integers(0, 10**6), st.sampled_from([0.3, 0.8]))
def test_rows_that_carry_nothing_are_counted_all_the_same(example, seed, share):
    """Gradient and hessian 0, on any side and missing or not: no leaf is ever smaller than allowed."""
    example.pairs[np.random.default_rng(seed).uniform(size=len(example.pairs)) < share] = 0.0
    grown = grow_fast(example)
    leaf = grown.feature == -1
    assert len(grown.feature) == 1 or (grown.count[leaf] >= example.params.min_child_samples).all()


def test_a_split_with_missing_values_keeps_the_side_it_was_counted_with():
    """The missing row carries nothing, so that its cell is 0; it was counted on the right and has to go there."""
    X = np.array([[0.0], [0.0], [1.0], [np.nan]])
    pairs = np.array([[1, 3], [1, 3], [-2, 1], [0, 0]], dtype=np.float32)
    params = TreeParams(max_leaves=2, min_child_samples=2, min_child_weight=0.0, precision="wide")
    grown = grow_fast(Example(X, pairs, None, params))
    assert grown.count.tolist() == [4, 2, 2]
    assert grown.missing_left[0] == 0


def test_the_values_of_a_counted_candidate_are_not_zero():
    """scan_feature writes 0: nothing counted yet."""
    assert 0 not in (best_split.COUNTED, best_split.COUNTED_WITH_MISSING)
    assert layout.CANDIDATE_COUNTED < layout.CANDIDATE_SUMS
