"""Crossed categories: chosen by what they tell, the same levels for training and new rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sapwood.data.categories import combinations as combining
from sapwood.data.categories.combination_codes import encode_numbers
from sapwood.data.categories.combinations import CombinationLimits, CombinationSearch, search_combinations
from sapwood.data.categories.encode import encode_categories
from sapwood.data.categories.encoders import Combination, EncodingInputs
from sapwood.data.categories.fixed_point_target import FixedPointTarget
from sapwood.data.categories.vocabulary import Vocabulary
from sapwood.data.tables.table import read_table
from sapwood.params.encodings import Greedy, Ordered


def ingredients(columns: list[np.ndarray], y: np.ndarray) -> tuple[EncodingInputs, object]:
    table = read_table(np.array(columns, dtype=object).T)
    vocabularies = {f: Vocabulary.of(table.categorical_column(f)) for f in range(len(columns))}
    codes = {f: vocabulary.encode(table.categorical_column(f)) for f, vocabulary in vocabularies.items()}
    order = np.random.default_rng(0).permutation(len(y)).astype(np.uint32)
    return EncodingInputs(vocabularies, codes, FixedPointTarget.of(y), [order], np.zeros(len(y), dtype=bool)), table


def drawn(n: int = 600) -> tuple[list[np.ndarray], np.ndarray]:
    """Four columns; the target is whether the second and fourth agree, and the first has a copy."""
    source = np.random.default_rng(1)
    columns = [source.choice(list("abcd"), n) for _ in range(4)]
    return [*columns, np.char.add(columns[0], "'")], (columns[1] == columns[3]).astype(float)


def test_the_crossing_that_tells_the_target_comes_first():
    columns, y = drawn()
    stuff, _ = ingredients(columns, y)
    assert [one.sources for one in search_combinations(range(5), CombinationLimits(2, 1), 1, stuff)] == [(1, 3)]


def test_a_crossing_that_divides_no_further_is_left_out():
    columns, y = drawn()
    stuff, _ = ingredients(columns, y)
    found = [one.sources for one in search_combinations(range(5), CombinationLimits(4, 1000, 1000), 1, stuff)]
    assert not [sources for sources in found if {0, 4} <= set(sources)]
    assert found == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]  # those of the copy would be the same again


@pytest.mark.parametrize("n_crossed", [2, 3, 4])
def test_larger_crossings_grow_as_far_as_they_tell_more(n_crossed):
    source = np.random.default_rng(7)
    columns = [source.choice(list("ab"), 3000) for _ in range(6)]
    y = (np.array(columns[:4]) == "a").all(axis=0).astype(float)
    stuff, _ = ingredients(columns, y)
    found = [one.sources for one in search_combinations(range(6), CombinationLimits(n_crossed, 1000, 5), 1, stuff)]
    larger = [sources for sources in found if len(sources) > 2]
    assert len(found) - len(larger) == 15
    assert {sources for sources in larger if 4 not in sources and 5 not in sources} == {
        sources for sources in [(0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3), (0, 1, 2, 3)] if len(sources) <= n_crossed
    }
    assert len([sources for sources in larger if len(sources) == 3]) <= 5


def with_number(stuff: EncodingInputs, feature: int, values: np.ndarray, cuts: np.ndarray) -> EncodingInputs:
    codes = {**stuff.codes, feature: encode_numbers(values, cuts)}
    return replace(stuff, cuts={**stuff.cuts, feature: cuts}, codes=codes)


def test_numbers_join_categories_where_they_help():
    columns, _ = drawn()
    source = np.random.default_rng(3)
    useful, useless = source.normal(size=(2, 600))
    y = ((useful > 0.0) ^ np.isin(columns[1], ["a", "b"])).astype(float)
    stuff, _ = ingredients(columns[:3], y)
    for feature, values in ((3, useful), (4, useless)):
        stuff = with_number(stuff, feature, values, np.array([-0.7, 0.0, 0.7]))
    found = [one.sources for one in search_combinations(range(3), CombinationLimits(2, 40, 0, 3), 1, stuff)]
    assert {sources for sources in found if max(sources) > 2} == {(1, 3), (0, 1, 3), (1, 2, 3)}
    assert [one for one in found if max(one) < 3] == [(0, 1), (0, 2), (1, 2)]
    alone = [one.sources for one in search_combinations(range(3), CombinationLimits(1, 40, 0, 1), 1, stuff)]
    assert alone == [(1, 3)]
    assert not [
        one for one in search_combinations([0, 2], CombinationLimits(1, 40, 0, 9), 1, stuff) if 4 in one.sources
    ]


def test_crossings_stay_within_memory(monkeypatch):
    columns, y = drawn()
    stuff, _ = ingredients(columns, y)
    monkeypatch.setattr(combining, "MAX_VALUES", 3 * 2 * len(y) + 5)
    assert len(search_combinations(range(5), CombinationLimits(4, 1000), 2, stuff)) == 3
    monkeypatch.setattr(combining, "MAX_VALUES", 10)
    assert search_combinations(range(5), CombinationLimits(4, 1000), 2, stuff) == []


def test_statistics_of_crossed_levels_are_those_of_the_pairs():
    columns, y = drawn()
    stuff, table = ingredients(columns, y)
    encodings = [Greedy(priors=(0.0,))]
    done = encode_categories(
        table, dict.fromkeys(range(5), encodings), [(Combination.encode_all([(1, 3)], stuff)[0], encodings)], stuff
    )
    column = np.concatenate([m for _, m in done.tables[0].matrices(100)])[:, 5]
    for a in "abcd":
        for b in "abcd":
            rows = (columns[1] == a) & (columns[3] == b)
            np.testing.assert_allclose(column[rows], y[rows].sum() / (rows.sum() + 1))
    new = np.array([["a", "b", "c", "b", "x"], ["a", "b", "c", "never", "x"]], dtype=object)
    fresh = np.concatenate([m for _, m in done.transformer.transform(read_table(new)).matrices(100)])[:, 5]
    n = np.count_nonzero((columns[1] == "b") & (columns[3] == "b"))
    np.testing.assert_allclose(fresh, [n / (n + 1), 0.0])


@pytest.mark.parametrize("sources", [(0, 1), (0, 1, 2), (0, 1, 2, 3)])
def test_every_crossing_numbers_the_levels_that_are_there(sources):
    columns, y = drawn()
    stuff, _ = ingredients(columns, y)
    crossed = Combination.encode_all([sources], stuff)[0]
    texts = ["|".join(row) for row in np.array(columns)[list(sources)].T]
    assert crossed.n_codes - 1 == len(set(texts))
    assert len({(text, code) for text, code in zip(texts, crossed.codes.tolist(), strict=True)}) == len(set(texts))


def test_ordered_is_what_crossings_are_judged_by():
    columns, y = drawn()
    stuff, table = ingredients(columns, y)
    judge = CombinationSearch(range(5), stuff)
    judge.evaluate([(1, 3)])
    crossings = [(one, [Ordered()]) for one in Combination.encode_all([(1, 3)], stuff)]
    made = encode_categories(table, {0: [Ordered()]}, crossings, stuff).tables[0]
    statistic = np.concatenate([m for _, m in made.matrices(100, made.n_features - 1)])[:, 0]
    assert judge._errors[(1, 3)] == pytest.approx(np.sum((statistic - y) ** 2) - np.sum(y**2))
