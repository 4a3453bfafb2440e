"""Statistics of categories by hand: C1 for four kinds and three tasks, C2 and C3."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood.data.categories.encode import encode_categories
from sapwood.data.categories.encoders import EncodingInputs
from sapwood.data.categories.fixed_point_target import FixedPointTarget
from sapwood.data.categories.vocabulary import Vocabulary
from sapwood.data.tables.table import read_table
from sapwood.distributed.row_order import RowOrder
from sapwood.params.encodings import Frequency, Greedy, Holdout, LeaveOneOut, OneHot, Ordered

STRINGS = ["a", "b", "a", None, "a", "b"]
ORDER = np.array([4, 0, 3, 1, 2, 5], dtype=np.uint32)
HELD_OUT = np.array([True, True, False, True, False, False])
NEW = ["a", "b", "unknown", None]


def encoded(texts, y, encodings, weight=None, n_classes=0, permutations=(ORDER,), held_out=HELD_OUT):
    """The columns of training rows, and of the new ones."""
    table = read_table(np.array(texts, dtype=object)[:, None])
    vocabulary = Vocabulary.of(table.categorical_column(0).observed)
    target = FixedPointTarget.of(np.asarray(y, dtype=float), weight, n_classes)
    orders = [RowOrder(permutation, len(permutation)) for permutation in permutations]
    inputs = EncodingInputs(
        {0: vocabulary}, {0: vocabulary.encode(table.categorical_column(0))}, target, orders, held_out
    )
    done = encode_categories(table, {0: encodings}, [], inputs)
    new = done.transformer.transform(read_table(np.array(NEW, dtype=object)[:, None]))
    return [columns_of(one) for one in (*done.tables, new)]


def columns_of(table) -> np.ndarray:
    return np.concatenate([matrix for _, matrix in table.matrices(3)]).T


BINARY = [1, 0, 0, 1, 1, 1]  # a: rows 0, 2, 4 with targets 1, 0, 1; b: rows 1, 5 with 0, 1; missing: row 3 with 1
P = 0.5


def test_greedy_statistics_of_two_classes():
    train, new = encoded(STRINGS, BINARY, [Greedy(priors=(P,))])
    a, b, missing = (2 + P) / (3 + 1), (1 + P) / (2 + 1), (1 + P) / (1 + 1)
    np.testing.assert_allclose(train[0], [a, b, a, missing, a, b])
    np.testing.assert_allclose(new[0], [a, b, P, missing])


def test_leave_one_out_statistics_of_two_classes():
    train, new = encoded(STRINGS, BINARY, [LeaveOneOut(priors=(P,))])
    expected = [(1 + P) / 3, (1 + P) / 2, (2 + P) / 3, P, (1 + P) / 3, (0 + P) / 2]
    np.testing.assert_allclose(train[0], expected)
    np.testing.assert_allclose(new[0], [(2 + P) / 4, (1 + P) / 3, P, (1 + P) / 2])


def test_holdout_statistics_come_from_the_rows_held_out():
    train, new = encoded(STRINGS, BINARY, [Holdout(priors=(P,))])
    a, b, missing = (1 + P) / 2, (0 + P) / 2, (1 + P) / 2
    np.testing.assert_allclose(train[0], [a, b, a, missing, a, b])
    np.testing.assert_allclose(new[0], [a, b, P, missing])


def test_ordered_statistics_look_at_earlier_rows_only():
    train, new = encoded(STRINGS, BINARY, [Ordered(priors=(P,))])
    # in the order 4, 0, 3, 1, 2, 5: a has targets 1, 1, 0 and b 0, 1
    expected = {4: P, 0: (1 + P) / 2, 3: P, 1: P, 2: (2 + P) / 3, 5: (0 + P) / 2}
    np.testing.assert_allclose(train[0], [expected[row] for row in range(6)])
    np.testing.assert_allclose(new[0], [(2 + P) / 4, (1 + P) / 3, P, (1 + P) / 2])


def test_statistics_of_numbers_have_the_mean_as_prior():
    y = [1.5, 2.0, -1.0, 4.0, 0.5, 5.0]
    train, new = encoded(STRINGS, y, [Ordered()])
    mean = 2.0
    expected = {4: mean, 0: (0.5 + mean) / 2, 3: mean, 1: mean, 2: (2.0 + mean) / 3, 5: (2.0 + mean) / 2}
    np.testing.assert_allclose(train[0], [expected[row] for row in range(6)])
    np.testing.assert_allclose(new[0], [(1.0 + mean) / 4, (7.0 + mean) / 3, mean, (4.0 + mean) / 2])


def test_each_of_several_classes_has_its_statistic():
    y = [0, 2, 1, 2, 0, 1]
    _, new = encoded(STRINGS, y, [Greedy(prior_weight=2.0)], n_classes=3)
    means = [2 / 6, 2 / 6, 2 / 6]
    counts = {"a": [2, 1, 0], "b": [0, 1, 1], "missing": [0, 0, 1]}
    for k in range(3):
        by_hand = [(counts[level][k] + 2 * means[k]) / (sum(counts[level]) + 2) for level in counts]
        np.testing.assert_allclose(new[k], [by_hand[0], by_hand[1], means[k], by_hand[2]])


def test_every_prior_makes_a_column():
    train, _ = encoded(STRINGS, BINARY, [Ordered(priors=(0.0, 0.5, 1.0))])
    np.testing.assert_allclose(train[:, 5], [0.0, 0.25, 0.5])


def test_weights_count_like_repeated_rows():
    repeats = np.array([1, 3, 2, 1, 2, 1])
    weighted = encoded(STRINGS, BINARY, [Greedy(), Frequency()], weight=repeats.astype(float))
    rows = np.repeat(np.arange(6), repeats)
    repeated = encoded(np.array(STRINGS, dtype=object)[rows], np.array(BINARY)[rows], [Greedy(), Frequency()])
    np.testing.assert_allclose(weighted[-1], repeated[-1])


def test_frequencies_are_fractions_of_the_rows():
    train, new = encoded(STRINGS, BINARY, [Frequency()])
    np.testing.assert_allclose(train[0], np.array([3, 2, 3, 1, 3, 2]) / 6)
    np.testing.assert_allclose(new[0], [3 / 6, 2 / 6, 0, 1 / 6])


def test_one_hot_has_a_column_per_category_and_missing_is_one():
    train, new = encoded(STRINGS, BINARY, [OneHot()])
    np.testing.assert_array_equal(train, [[0, 0, 0, 1, 0, 0], [1, 0, 1, 0, 1, 0], [0, 1, 0, 0, 0, 1]])
    np.testing.assert_array_equal(new.sum(axis=0), [1, 1, 0, 1])


def test_each_order_of_rows_has_its_own_table():
    backwards = ORDER[::-1].copy()
    one, two, _ = encoded(STRINGS, BINARY, [Ordered(permutations=2)], permutations=(ORDER, backwards))
    alone = encoded(STRINGS, BINARY, [Ordered()], permutations=(backwards,))[0]
    assert not np.array_equal(one, two)
    np.testing.assert_array_equal(two, alone)


def test_tables_do_not_depend_on_the_order_of_rows():
    source = np.random.default_rng(0)
    texts, y, weight = source.choice(["a", "b", "c"], 500), source.normal(size=500) * 1e6, source.gamma(1.0, size=500)
    shuffled = source.permutation(500)
    nothing = np.zeros(500, dtype=bool)
    orders = [np.arange(500, dtype=np.uint32)]
    encodings = [Ordered(), Greedy(), Frequency()]
    first = encoded(texts, y, encodings, weight, 0, orders, nothing)[-1]
    second = encoded(texts[shuffled], y[shuffled], encodings, weight[shuffled], 0, orders, nothing)[-1]
    np.testing.assert_array_equal(first, second)


# --- C2: what training rows may know of themselves --------------------------------------------------------------------


def separates(train: np.ndarray, y: np.ndarray) -> bool:
    """Whether one threshold tells the classes of training rows apart."""
    low, high = train[y == 0], train[y == 1]
    return bool(low.max() < high.min() or high.max() < low.min())


def drawn(n: int = 200) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    source = np.random.default_rng(1)
    y = (source.uniform(size=n) < 0.5).astype(float)
    return y, source.uniform(size=n) < 0.5, [source.permutation(n).astype(np.uint32)]


@pytest.mark.parametrize(
    ("encoding", "expected"), [(Greedy, True), (LeaveOneOut, False), (Holdout, False), (Ordered, False)]
)
def test_only_greedy_statistics_of_unique_categories_predict_the_target(encoding, expected):
    y, held_out, orders = drawn()
    train = encoded([f"id{k}" for k in range(len(y))], y, [encoding(priors=(0.5,))], None, 0, orders, held_out)[0][0]
    used = ~held_out if encoding is Holdout else slice(None)
    assert separates(train[used], y[used]) == expected


def test_leave_one_out_of_a_constant_column_predicts_the_target():
    y, held_out, orders = drawn()
    n, n_plus, a, p = len(y), y.sum(), 1.0, 0.5
    train = encoded(["same"] * n, y, [LeaveOneOut(priors=(p,))], None, 0, orders, held_out)[0][0]
    threshold = (n_plus - 0.5 + a * p) / (n - 1 + a)
    np.testing.assert_array_equal(train < threshold, y == 1)


@pytest.mark.parametrize("encoding", [Greedy, Holdout, Ordered])
def test_others_of_a_constant_column_do_not(encoding):
    y, held_out, orders = drawn()
    train = encoded(["same"] * len(y), y, [encoding(priors=(0.5,))], None, 0, orders, held_out)[0][0]
    used = ~held_out if encoding is Holdout else slice(None)
    assert not separates(train[used], y[used])


@pytest.mark.parametrize(
    ("encoding", "n_levels"), [(Ordered, 1), (Ordered, 20), (Ordered, 2000), (Greedy, 20), (Greedy, 2000)]
)
def test_an_ordered_statistic_does_not_lean_on_its_own_target_as_a_greedy_one_does(n_levels, encoding):
    """P1: given the category, statistic and target of a training row are uncorrelated, as they are for a fresh row."""
    n, products = 300, []
    for seed in range(80):
        source = np.random.default_rng(seed)
        codes = source.integers(0, n_levels, n)
        chance = 0.3 + 0.4 * (codes % 2)
        y = (source.uniform(size=n) < chance).astype(float)
        orders = [source.permutation(n).astype(np.uint32)]
        nothing = np.zeros(n, dtype=bool)
        train = encoded(codes.astype(str), y, [encoding(priors=(0.5,))], None, 0, orders, nothing)[0][0]
        products.append(np.mean(train * (y - chance)))
    is_clean = abs(np.mean(products)) < 3 * np.std(products) / np.sqrt(len(products))
    assert is_clean == (encoding is Ordered)
