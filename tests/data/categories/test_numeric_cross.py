"""Numeric crosses: their formulas, missing values, means by category."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.data.categories.cross_means import centred_cross
from sapwood.data.categories.numeric_cross import CENTRED, DIFFERENCE, PRODUCT, RATIO, NumericCross
from sapwood.data.categories.transformer import FeatureTransformer, TransformedTable
from sapwood.data.categories.vocabulary import Vocabulary
from sapwood.data.tables.schema import Schema
from sapwood.data.tables.table import read_table
from sapwood.native.runtime.kernel import run_serial

SCHEMA = Schema(3, ("width", "height", "wood"), categorical_columns=(2,))
NUMBERS = st.one_of(st.just(0.0), st.floats(1e-6, 1e6), st.floats(-1e6, -1e-6))
VOCABULARIES = {2: Vocabulary(("oak", "elm"))}


def transformed(width, height, codes, crosses=()) -> TransformedTable:
    table = read_table(np.stack([width, height, codes], axis=1).astype(np.float64))
    transformer = FeatureTransformer(VOCABULARIES, (0, 1)).with_crosses(crosses)
    return TransformedTable(table, transformer, {2: np.asarray(codes, dtype=np.int32)})


@pytest.mark.parametrize(("kind", "expected"), [(DIFFERENCE, 4.0), (PRODUCT, 12.0), (RATIO, 3.0)])
def test_the_formula_of_two_numbers(kind, expected):
    """6 and 2: 6 - 2, 6 · 2, 6 / 2."""
    cross = NumericCross.of(kind, 0, 1)
    assert cross.cross({0: np.array([6.0]), 1: np.array([2.0])}, {}).tolist() == [expected]


@pytest.mark.parametrize(
    ("kind", "a", "b"),
    [
        (DIFFERENCE, math.nan, 1.0), (PRODUCT, 1.0, math.nan), (RATIO, 1.0, 0.0), (RATIO, 0.0, 0.0),
        (PRODUCT, 1e200, 1e200), (DIFFERENCE, math.inf, math.inf), (RATIO, 1e300, 1e-300),
    ],
)  # fmt: skip
def test_what_is_not_a_finite_number_is_missing(kind, a, b):
    assert np.isnan(NumericCross.of(kind, 0, 1).cross({0: np.array([a]), 1: np.array([b])}, {})).all()


def test_a_number_is_centred_by_the_mean_of_its_category():
    """Oak: 1, 3 and one row of the overall mean 3: 7/3. Elm: 5 and that: 4. Unknown: 3. NaN does not count."""
    table = transformed([1.0, 3.0, 5.0, np.nan], np.zeros(4), [1, 1, 2, 2])
    cross = centred_cross(0, 2, table, run_serial)
    assert (cross.kind, cross.sources, cross.number_sources) == (CENTRED, (0, 2), (0,))
    np.testing.assert_allclose(cross.table, [3.0, 7 / 3, 4.0, 3.0])
    values = cross.cross({0: np.array([1.0, 5.0, 9.0, 2.0])}, {2: np.array([1, 2, 3, 77])})
    np.testing.assert_allclose(values, [1 - 7 / 3, 1.0, 6.0, -1.0])


@given(st.lists(st.tuples(NUMBERS, NUMBERS, st.integers(0, 3)), min_size=1, max_size=40))
def test_a_table_has_the_values_of_each_row_alone(rows):
    width, height, codes = (np.array(column) for column in zip(*rows, strict=True))
    centre = centred_cross(1, 2, transformed(width, height, codes), run_serial)
    crosses = [NumericCross.of(kind, 0, 1) for kind in (DIFFERENCE, PRODUCT, RATIO)] + [centre]
    table = transformed(width, height, codes, crosses)
    [(_, matrix)] = table.matrices(1000)
    for k in range(len(rows)):
        a, b = width[k], height[k]
        quotient = float(a) / float(b) if b else math.nan
        expected = [a, b, a - b, a * b, quotient, b - centre.table[codes[k]]]
        np.testing.assert_array_equal(matrix[k], expected)


def test_names_are_formulas():
    crosses = [NumericCross.of(kind, 0, 1) for kind in (DIFFERENCE, PRODUCT, RATIO)]
    crosses.append(NumericCross((1, 2), CENTRED, np.zeros(3), np.zeros(3)))
    names = [cross.name(SCHEMA, VOCABULARIES) for cross in crosses]
    assert names == ["width − height", "width · height", "width / height", "height − its mean by wood"]
