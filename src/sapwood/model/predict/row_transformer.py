"""Compute the features of the trees for one row, with the tables of its categories prepared in advance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from sapwood.data.categories.combination_codes import encode_numbers
from sapwood.data.categories.derived_feature import DerivedFeature
from sapwood.data.categories.numeric_cross import NumericCross
from sapwood.data.categories.transformer import FeatureTransformer
from sapwood.data.categories.vocabulary import MISSING, Vocabulary
from sapwood.data.tables.conversion import Position, object_to_float
from sapwood.data.tables.schema import Schema
from sapwood.errors import InputTypeError

FLOAT_TYPES = frozenset({float, int, bool, np.float64, np.float32})
MAX_TABLE_VALUES = 1 << 20  # of the features of one categorical column that are looked up together


class RowTransformer:
    """Writes the features of the trees for a row of the user's values into an array.

    ``transformer`` is None if the features are the numeric columns as they are.
    """

    def __init__(self, transformer: FeatureTransformer | None, schema: Schema) -> None:
        self._schema = schema
        self._zero_as_missing = schema.zero_as_missing
        if transformer is None:
            self.n_columns = schema.n_features
            self._numeric: list[int] | None = None
            return
        self.n_columns = transformer.n_columns
        self._numeric = [c for c in transformer.columns if isinstance(c, int)]
        self._numeric_places = np.array([k for k, c in enumerate(transformer.columns) if isinstance(c, int)], np.intp)
        self._categories = [_CategoricalColumn.of(f, transformer, schema) for f in transformer.vocabularies]
        self._cuts = transformer.cuts
        crossed = set(transformer.number_sources)
        self._crossed = [(c, k) for k, c in enumerate(transformer.columns) if isinstance(c, int) and c in crossed]
        looked_up = {int(k) for column in self._categories for k in column.places}
        self._others = [
            (k, c) for k, c in enumerate(transformer.columns) if isinstance(c, DerivedFeature) and k not in looked_up
        ]

    def write(self, row: Sequence[Any] | np.ndarray, out: np.ndarray) -> None:
        """Write the features of a row, given in the order of the user's columns, to ``out`` (n_columns,)."""
        if self._numeric is None:
            self._write_numbers(row, out, slice(None))
            return
        self._write_numbers([row[f] for f in self._numeric], out, self._numeric_places)
        codes = [column.code_of(row[column.feature]) for column in self._categories]
        for column, code in zip(self._categories, codes, strict=True):
            out[column.places] = column.table[code]
        if self._others:
            self._write_others(row, codes, out)

    def _write_numbers(self, values: Sequence[Any] | np.ndarray, out: np.ndarray, places: Any) -> None:
        is_plain = isinstance(values, np.ndarray) and values.dtype.kind in "biuf"
        if not is_plain and not FLOAT_TYPES.issuperset(map(type, values)):
            values = [self._to_float(value, k) for k, value in enumerate(values)]
        if self._zero_as_missing:
            values = np.array(values, dtype=np.float64)
            values[values == 0.0] = np.nan
        out[places] = values

    def _to_float(self, value: Any, k: int) -> float:
        feature = k if self._numeric is None else self._numeric[k]
        name = self._schema.name_of(feature)
        if isinstance(value, str):
            raise InputTypeError(
                f"column {name!r} holds the string {value!r}, but the model expects a number: pass a number, or None "
                "if it is missing"
            )
        return object_to_float(value, Position(0, feature, name))

    def _write_others(self, row: Sequence[Any] | np.ndarray, codes: list[int], out: np.ndarray) -> None:
        """Write numeric crosses, combinations, and features of columns with too many categories to be looked up."""
        by_column = {c.feature: np.array([code], np.int32) for c, code in zip(self._categories, codes, strict=True)}
        for feature, cuts in self._cuts.items():
            value = object_to_float(row[feature], Position(0, feature, self._schema.name_of(feature)))
            if self._zero_as_missing and value == 0.0:
                value = np.nan
            by_column[feature] = encode_numbers(np.array([value]), cuts)
        numbers = {f: out[place : place + 1] for f, place in self._crossed}
        for k, derived in self._others:
            if isinstance(derived, NumericCross):
                out[k] = derived.cross(numbers, by_column)[0]
            else:
                out[k] = derived.values(by_column)[0]


class _CategoricalColumn(NamedTuple):
    """A categorical column: the numbers of the features derived from it alone, and their values for each code."""

    feature: int
    code_of: Callable[[Any], int]
    places: np.ndarray
    table: np.ndarray

    @classmethod
    def of(cls, feature: int, transformer: FeatureTransformer, schema: Schema) -> _CategoricalColumn:
        vocabulary = transformer.vocabularies[feature]
        places = [
            k
            for k, c in enumerate(transformer.columns)
            if isinstance(c, DerivedFeature) and c.sources == (feature,) and c.keys is None
        ]
        # Bitsets are copied as floats, bit by bit.
        codes = {feature: np.arange(vocabulary.n_codes, dtype=np.int32)}
        if vocabulary.n_codes * len(places) > MAX_TABLE_VALUES:
            places = []
        derived = [c for c in (transformer.columns[k] for k in places) if isinstance(c, DerivedFeature)]
        table = np.empty((vocabulary.n_codes, len(derived)))
        for k, one in enumerate(derived):
            table[:, k] = one.values(codes)
        return cls(feature, _code_lookup(vocabulary, schema.name_of(feature)), np.array(places, np.intp), table)


def _code_lookup(vocabulary: Vocabulary, name: str) -> Callable[[Any], int]:
    codes, unknown, column = vocabulary.codes, vocabulary.n_codes - 1, f"column {name!r}"

    def code_of(value: Any) -> int:
        if type(value) is str:
            return codes.get(value, unknown)
        return MISSING if value is None else vocabulary.code_of(value, column)

    return code_of
