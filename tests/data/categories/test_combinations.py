"""Feature combinations: chosen by how well they predict, the same codes for training and new rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import sapwood
from sapwood import Crossing, Ordered, SapwoodClassifier, SapwoodRegressor
from sapwood.data.binning.bin_mapper import BinMapper
from sapwood.data.categories import combinations as combinations_module
from sapwood.data.categories.combination_codes import encode_numbers
from sapwood.data.categories.combinations import CombinationLimits, CombinationSearch, search_combinations
from sapwood.data.categories.derived_feature import DerivedFeature
from sapwood.data.categories.encode import encode_categories
from sapwood.data.categories.encoders import Combination, EncodingInputs
from sapwood.data.categories.fixed_point_target import FixedPointTarget
from sapwood.data.categories.vocabulary import Vocabulary
from sapwood.data.tables.schema import Schema
from sapwood.data.tables.table import read_table
from sapwood.distributed.row_order import RowOrder
from sapwood.params.encodings import Greedy


def found_combinations(*given):
    """The combinations that are found for all leaves."""
    return search_combinations(*given).combinations


def make_inputs(columns: list[np.ndarray], y: np.ndarray) -> tuple[EncodingInputs, object]:
    table = read_table(np.array(columns, dtype=object).T)
    vocabularies = {f: Vocabulary.of(table.categorical_column(f).observed) for f in range(len(columns))}
    codes = {f: vocabulary.encode(table.categorical_column(f)) for f, vocabulary in vocabularies.items()}
    order = RowOrder(np.random.default_rng(0).permutation(len(y)).astype(np.uint32), len(y))
    return EncodingInputs(vocabularies, codes, FixedPointTarget.of(y), [order], np.zeros(len(y), dtype=bool)), table


def drawn(n: int = 600) -> tuple[list[np.ndarray], np.ndarray]:
    """Four columns; the target is whether the second and fourth agree, and the first has a copy."""
    source = np.random.default_rng(1)
    columns = [source.choice(list("abcd"), n) for _ in range(4)]
    return [*columns, np.char.add(columns[0], "'")], (columns[1] == columns[3]).astype(float)


def test_the_combination_that_predicts_the_target_comes_first():
    columns, y = drawn()
    inputs, _ = make_inputs(columns, y)
    assert [one.sources for one in found_combinations(range(5), CombinationLimits(2, 1), 1, inputs)] == [(1, 3)]


def test_a_combination_that_divides_no_further_is_left_out():
    columns, y = drawn()
    inputs, _ = make_inputs(columns, y)
    found = [one.sources for one in found_combinations(range(5), CombinationLimits(4, 1000, 1000), 1, inputs)]
    assert not [sources for sources in found if {0, 4} <= set(sources)]
    assert found == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]  # those of the copy would be the same again


@pytest.mark.parametrize("max_columns", [2, 3, 4])
def test_larger_combinations_grow_as_long_as_they_predict_better(max_columns):
    source = np.random.default_rng(7)
    columns = [source.choice(list("ab"), 3000) for _ in range(6)]
    y = (np.array(columns[:4]) == "a").all(axis=0).astype(float)
    inputs, _ = make_inputs(columns, y)
    found = [one.sources for one in found_combinations(range(6), CombinationLimits(max_columns, 1000, 5), 1, inputs)]
    larger = [sources for sources in found if len(sources) > 2]
    assert len(found) - len(larger) == 15
    assert {sources for sources in larger if 4 not in sources and 5 not in sources} == {
        sources for sources in [(0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3), (0, 1, 2, 3)] if len(sources) <= max_columns
    }
    assert len([sources for sources in larger if len(sources) == 3]) <= 5


def with_number(inputs: EncodingInputs, feature: int, values: np.ndarray, cuts: np.ndarray) -> EncodingInputs:
    codes = {**inputs.codes, feature: encode_numbers(values, cuts)}
    return replace(inputs, cuts={**inputs.cuts, feature: cuts}, codes=codes)


def test_numbers_join_categories_where_they_help():
    columns, _ = drawn()
    source = np.random.default_rng(3)
    useful, useless = source.normal(size=(2, 600))
    y = ((useful > 0.0) ^ np.isin(columns[1], ["a", "b"])).astype(float)
    inputs, _ = make_inputs(columns[:3], y)
    for feature, values in ((3, useful), (4, useless)):
        inputs = with_number(inputs, feature, values, np.array([-0.7, 0.0, 0.7]))
    found = [one.sources for one in found_combinations(range(3), CombinationLimits(2, 40, 0, 3), 1, inputs)]
    assert {sources for sources in found if max(sources) > 2} == {(1, 3), (0, 1, 3), (1, 2, 3)}
    assert [one for one in found if max(one) < 3] == [(0, 1), (0, 2), (1, 2)]
    alone = [one.sources for one in found_combinations(range(3), CombinationLimits(1, 40, 0, 1), 1, inputs)]
    assert alone == [(1, 3)]
    assert not [
        one for one in found_combinations([0, 2], CombinationLimits(1, 40, 0, 9), 1, inputs) if 4 in one.sources
    ]


def test_combinations_stay_within_memory(monkeypatch):
    columns, y = drawn()
    inputs, _ = make_inputs(columns, y)
    monkeypatch.setattr(combinations_module, "MAX_VALUES", 3 * 2 * len(y) + 5)
    assert len(found_combinations(range(5), CombinationLimits(4, 1000), 2, inputs)) == 3
    monkeypatch.setattr(combinations_module, "MAX_VALUES", 10)
    assert found_combinations(range(5), CombinationLimits(4, 1000), 2, inputs) == []


def test_statistics_of_combined_categories_are_those_of_the_pairs():
    columns, y = drawn()
    inputs, table = make_inputs(columns, y)
    encodings = [Greedy(priors=(0.0,))]
    done = encode_categories(
        table, dict.fromkeys(range(5), encodings), [(Combination.encode_all([(1, 3)], inputs)[0], encodings)], inputs
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


def test_statistics_in_bins_only_have_the_bins_of_their_values():
    columns, y = drawn()
    inputs, table = make_inputs(columns, y)
    orders = [RowOrder(np.random.default_rng(k).permutation(len(y)).astype(np.uint32), len(y)) for k in range(3)]
    inputs = replace(inputs, permutations=orders)
    planned = [(one, [Ordered(bins=7, permutations=2)]) for one in Combination.encode_all([(1, 3), (0, 2, 4)], inputs)]
    plan = {key: [Ordered(priors=(0.0, 1.0), bins=16, permutations=2), Ordered(permutations=3)] for key in range(5)}
    values = encode_categories(table, plan, planned, inputs)
    bins = encode_categories(table, plan, planned, replace(inputs, needs_values=False))
    assert len(values.tables) == len(bins.tables) == len(bins.bins) == 3
    assert len(bins.bins[0]) == 12 and values.edges.keys() == bins.edges.keys()
    for k, edges in values.edges.items():
        np.testing.assert_array_equal(bins.edges[k], edges)
    limits = {k: values.edges.get(k, np.array([0.3, 0.5])) for k in range(values.transformer.n_columns)}
    mapper = BinMapper(Schema.of(values.tables[0]), tuple(limits[k] for k in range(values.transformer.n_columns)))
    for s in range(3):
        expected, found = mapper.encode(values.tables[s]), mapper.encode(bins.tables[s], known=bins.bins[s])
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])


@pytest.mark.parametrize("sources", [(0, 1), (0, 1, 2), (0, 1, 2, 3)])
def test_every_combination_numbers_the_categories_that_are_there(sources):
    columns, y = drawn()
    inputs, _ = make_inputs(columns, y)
    combined = Combination.encode_all([sources], inputs)[0]
    texts = ["|".join(row) for row in np.array(columns)[list(sources)].T]
    assert combined.n_codes - 1 == len(set(texts))
    assert len({(text, code) for text, code in zip(texts, combined.codes.tolist(), strict=True)}) == len(set(texts))


def test_combinations_are_evaluated_by_their_ordered_statistics():
    columns, y = drawn()
    inputs, table = make_inputs(columns, y)
    search = CombinationSearch(range(5), inputs)
    search.evaluate([(1, 3)])
    combinations = [(one, [Ordered()]) for one in Combination.encode_all([(1, 3)], inputs)]
    made = encode_categories(table, {0: [Ordered()]}, combinations, inputs).tables[0]
    statistic = np.concatenate([m for _, m in made.matrices(100, made.n_features - 1)])[:, 0]
    assert search._errors[(1, 3)] == pytest.approx(np.sum((statistic - y) ** 2) - np.sum(y**2))


def draw_pairs(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    source = np.random.default_rng(seed)
    rows = pd.DataFrame({name: source.choice(list("abcdefgh"), n) for name in "pqr"})
    chance = np.where((rows["p"].map(ord) * 5 + rows["q"].map(ord) * 3) % 8 < 4, 0.1, 0.9)
    return rows, (source.uniform(size=n) < chance).astype(int)


def test_two_combined_columns_find_what_neither_predicts_alone(tmp_path):
    (rows, y), (test, y_test) = draw_pairs(2000, 0), draw_pairs(1000, 1)
    params = {"category_encoding": "ordered", "max_leaves": 4, "n_estimators": 10}
    alone = SapwoodClassifier(max_combination=1, **params).fit(rows, y)
    combined = SapwoodClassifier(max_combination=2, **params).fit(rows, y)
    assert combined.score(test, y_test) > 0.85 > alone.score(test, y_test)
    importances = combined.feature_importances_
    assert importances[2] < 0.1
    assert importances[0] == pytest.approx(importances[1], rel=0.3)
    combined.save(tmp_path / "m.sapwood")
    loaded = sapwood.load(tmp_path / "m.sapwood")
    np.testing.assert_array_equal(loaded.predict_response(pl.from_pandas(test)), combined.predict_proba(test)[:, 1])
    assert "p × q (ordered)" in loaded.column_names


def test_columns_that_no_tree_uses_are_not_kept():
    rows, y = draw_pairs(500, 0)
    fitted = SapwoodClassifier(category_encoding="ordered", max_combination=3, n_estimators=1, max_leaves=2).fit(
        rows, y
    )
    assert fitted.model_.n_columns <= 4


LARGER_NAMES = ["a", "b", "c", "d", "e"]


LARGER_STUMPS = {"category_encoding": "ordered", "n_estimators": 1, "learning_rate": 1.0, "max_leaves": 2, "n_jobs": 1}


def draw_rows(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """The target is whether the first four columns all have one of three categories: more columns predict it better."""
    source = np.random.default_rng(seed)
    rows = pd.DataFrame({name: source.choice(list("uvwx"), n) for name in LARGER_NAMES})
    y = rows[LARGER_NAMES[:4]].isin(["u", "v", "w"]).all(axis=1)
    rows.loc[source.uniform(size=n) < 0.02, "e"] = None
    return rows, y.to_numpy().astype(int)


LARGER_ROWS, LARGER_Y = draw_rows(6000, 0)


LARGER_TEST, LARGER_Y_TEST = draw_rows(500, 1)


def largest(model: Any) -> int:
    return max(map(len, model.model_.transformer.sources))


@pytest.mark.parametrize("columns", [2, 3, 4])
def test_each_larger_combination_improves_a_stump(columns, tmp_path):
    model = SapwoodClassifier(**LARGER_STUMPS, max_combination=columns).fit(LARGER_ROWS, LARGER_Y)
    assert largest(model) == columns
    assert (model.score(LARGER_TEST, LARGER_Y_TEST) > 0.99) == (columns == 4)
    expected = model.predict_proba(LARGER_TEST)[:, 1]
    model.save(tmp_path / "m.sapwood")
    loaded = sapwood.load(tmp_path / "m.sapwood")
    frame = pl.from_pandas(LARGER_TEST)
    for rows in (LARGER_TEST, frame, frame.select(LARGER_NAMES[::-1]), frame.to_arrow()):
        np.testing.assert_array_equal(loaded.predict_response(rows), expected)
    assert loaded.fingerprint() == model.model_.fingerprint()


@pytest.mark.parametrize(
    "params",
    [
        {"growth": "symmetric", "max_depth": 2},
        {"growth": "levelwise", "max_depth": 2},
        {"boosting": "ordered"},
        {"category_encoding": Ordered(priors=(0.0, 1.0), bins=16, permutations=3)},
        {"category_encoding": "holdout"},
        {"max_combination": Crossing(4, number_levels=4)},
        {"preset": "catboost", "category_encoding": Ordered()},
    ],
)
def test_any_number_of_threads_finds_the_same_larger_combinations(params, monkeypatch):
    table = LARGER_ROWS[:2000].assign(number=np.arange(2000) % 7)
    found = set()
    for members in ("1", "2", "3", "8"):
        monkeypatch.setenv("SAPWOOD_TEAM", members)
        model = SapwoodClassifier(**LARGER_STUMPS | {"max_combination": 4, "n_estimators": 3} | params).fit(
            table, LARGER_Y[:2000]
        )
        found.add(model.model_.fingerprint())
    assert len(found) == 1


def test_combinations_have_priors_of_their_own():
    """C1: (Σ y + a·p)/(count + a), with another p than single columns."""
    params = LARGER_STUMPS | {"max_leaves": 8, "category_encoding": Ordered(priors=(0.0, 1.0))}
    model = SapwoodClassifier(**params, max_combination=Crossing(3, 0, priors=(None,))).fit(LARGER_ROWS, LARGER_Y)
    priors = {(len(c.sources) > 1, c.prior) for c in model.model_.transformer.columns if isinstance(c, DerivedFeature)}
    assert priors >= {(True, LARGER_Y.mean())}
    assert priors <= {(True, LARGER_Y.mean()), (False, 0.0), (False, 1.0)}


def test_numbers_and_several_classes_have_larger_combinations():
    three = LARGER_Y + (LARGER_ROWS["e"] == "u").to_numpy()
    assert (
        largest(SapwoodClassifier(**LARGER_STUMPS | {"max_leaves": 8}, max_combination=4).fit(LARGER_ROWS, three)) > 2
    )
    assert largest(SapwoodRegressor(**LARGER_STUMPS, max_combination=4).fit(LARGER_ROWS, LARGER_Y * 3.0)) == 4
