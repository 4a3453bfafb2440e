"""Feature transformers as tensors: categories, edges of discretised numeric columns, tables of derived features.

An array that several columns share is written once. In the metadata each column of the trees is the number of a column
of X, or an object that names its tensors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.data.categories.derived_feature import FREQUENCY, MEMBER, RANK, SET, STATISTIC, DerivedFeature
from sapwood.data.categories.numeric_cross import CENTRED, DIFFERENCE, NO_TABLE, PRODUCT, RATIO, NumericCross
from sapwood.data.categories.transformer import FeatureTransformer
from sapwood.data.categories.vocabulary import Vocabulary
from sapwood.data.tables.schema import Schema
from sapwood.errors import ModelFileError
from sapwood.model.io.safetensors_file import damaged
from sapwood.model.io.string_tensors import decode_strings, encode_strings

KINDS = (STATISTIC, FREQUENCY, MEMBER, RANK, SET)
MAX_SOURCES = 64
SETS = "table_sets"  # tensor with the bitset of each set of categories in a row
DISCRETISED = "cut"  # key of the numeric columns in combinations; absent if there are none


def to_tensors(transformer: FeatureTransformer | None) -> tuple[dict[str, Any] | None, dict[str, np.ndarray]]:
    """Return the description of a transformer in JSON, and its tensors."""
    if transformer is None:
        return None, {}
    tensors: dict[str, np.ndarray] = {}
    for f, vocabulary in transformer.vocabularies.items():
        tensors[f"levels_{f}"], tensors[f"levels_{f}_ends"] = encode_strings(vocabulary.categories)
    for f, edges in transformer.cuts.items():
        tensors[f"cuts_{f}"] = edges
    names: dict[int, str] = {}

    def name_of(array: np.ndarray | None) -> str | None:
        if array is None:
            return None
        name = names.setdefault(id(array), f"table_{len(names)}")
        tensors[name] = array
        return name

    sets: list[np.ndarray] = []

    def describe(feature: DerivedFeature) -> dict[str, Any]:
        described: dict[str, Any] = {"sources": list(feature.sources), "kind": feature.kind}
        if feature.members is not None:
            sets.append(feature.members)
            return described | {"sums": name_of(feature.sums), "set": len(sets) - 1}
        if isinstance(feature, NumericCross) and feature.kind != CENTRED:
            return described
        described |= {"part": feature.part, "prior": feature.prior, "weight": feature.weight}
        return described | {name: name_of(getattr(feature, name)) for name in ("sums", "counts", "keys")}

    columns = [c if isinstance(c, int) else describe(c) for c in transformer.columns]
    if sets:
        tensors[SETS] = np.stack(sets)
    described = {"categories": sorted(transformer.vocabularies), "columns": columns}
    return described | ({DISCRETISED: list(transformer.cuts)} if transformer.cuts else {}), tensors


def from_tensors(described: Any, tensors: dict[str, np.ndarray], schema: Schema) -> FeatureTransformer | None:
    """Return the transformer that ``to_tensors`` described; its tensors are removed from ``tensors``."""
    if described is None:
        if schema.categorical_columns:
            raise damaged("it has categorical columns but no categories")
        return None
    try:
        if described["categories"] != list(schema.categorical_columns):
            raise damaged(
                f"its categories are of columns {described['categories']!r}, not {list(schema.categorical_columns)}"
            )
        vocabularies = {f: _vocabulary(f, tensors) for f in schema.categorical_columns}
        edges = {f: tensors[f"cuts_{f}"] for f in described.get(DISCRETISED, [])}
        columns = [c if type(c) is int else _derived_feature(c, tensors) for c in described["columns"]]
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise damaged(f"the description of its categorical columns cannot be read ({error!r})") from error
    for name in [name for name in tensors if name.startswith(("levels_", "cuts_", "table_"))]:
        del tensors[name]
    transformer = FeatureTransformer(vocabularies, tuple(columns), edges)
    check_transformer(transformer, schema)
    return transformer


def check_transformer(transformer: FeatureTransformer | None, schema: Schema) -> None:
    """Raise a ModelFileError unless the features of the trees can be computed safely."""
    if transformer is None:
        return
    numeric = [f for f in range(schema.n_features) if f not in schema.categorical_columns]
    columns = transformer.columns
    if [c for c in columns if isinstance(c, int)] != numeric or len(columns) < schema.n_features:
        raise damaged("its trees do not have each numeric column as a feature")
    for f, edges in transformer.cuts.items():
        _check_edges(f, edges, numeric)
    for column in columns:
        if isinstance(column, NumericCross):
            _check_cross(column, schema)
        elif isinstance(column, DerivedFeature):
            _check_derived_feature(column, transformer, schema)


def _check_edges(column: Any, edges: np.ndarray, numeric: list[int]) -> None:
    if type(column) is not int or column not in numeric:
        raise damaged(f"column {column!r} is discretised, but is not numeric")
    if edges.dtype != np.float64 or edges.ndim != 1 or np.isnan(edges).any() or np.any(edges[1:] <= edges[:-1]):
        raise damaged(f"the edges of the discretised column {column} are not ascending numbers")


def _check_cross(cross: NumericCross, schema: Schema) -> None:
    sources, is_centred = cross.sources, cross.kind == CENTRED
    exist = len(sources) == 2 and all(type(f) is int and 0 <= f < schema.n_features for f in sources)
    if not exist or [f in schema.categorical_columns for f in sources] != [False, is_centred]:
        raise damaged(f"a numeric cross of kind {cross.kind!r} is computed from the columns {sources!r}")
    if not is_centred:
        return
    n, numbers = len(cross.sums), np.array([cross.prior, cross.weight])
    if n == 0 or cross.sums.shape != (n,) or cross.counts.shape != (n,) or cross.keys is not None:
        raise damaged("the tables of a centred number differ in length")
    if not np.isfinite(np.concatenate([cross.sums, cross.counts, numbers])).all():
        raise damaged("a mean of a centred number is not finite")
    if cross.weight <= 0.0 or (cross.counts < 0.0).any():
        raise damaged("a category of a centred number has a negative count")


def _check_derived_feature(feature: DerivedFeature, transformer: FeatureTransformer, schema: Schema) -> None:
    sources, keys, n = feature.sources, feature.keys, len(feature.sums)
    exist = all(type(f) is int and (f in schema.categorical_columns or f in transformer.cuts) for f in sources)
    exist = exist and (len(sources) > 1 or sources[0] in schema.categorical_columns)
    if not exist or not 1 <= len(sources) <= MAX_SOURCES or feature.kind not in KINDS:
        raise damaged(f"a feature of kind {feature.kind!r} is derived from the columns {sources!r}")
    if feature.sums.shape != (n,) or feature.counts.shape != (n,) or n == 0:
        raise damaged("the tables of a derived feature differ in length")
    if (len(sources) == 1) != (keys is None):
        raise damaged("a combination has no keys, or another feature has")
    if keys is not None and (keys.shape != (n - 1,) or np.any(keys[1:] <= keys[:-1])):
        raise damaged("the keys of a combination are not ascending")
    prior = np.array([feature.prior, feature.weight])
    if not (np.isfinite(prior).all() and feature.weight > 0.0 and np.isfinite(feature.sums).all()):
        raise damaged("a statistic of a derived feature is not finite")
    if (feature.kind == SET) != (feature.members is not None):
        raise damaged("a set of categories has no members, or another feature has")
    if feature.members is not None:
        _check_set(feature)
    if not np.isfinite(feature.counts).all() or (feature.counts < 0.0).any():
        raise damaged("a category has a negative count")


def _check_set(feature: DerivedFeature) -> None:
    from sapwood.kernels.layout import BITSET_WORDS, MAX_CATEGORY_BINS  # not needed by models without categories

    bins, members = feature.sums, feature.members
    is_valid = (bins == np.floor(bins)) & (bins >= 0.0) & (bins <= MAX_CATEGORY_BINS)
    if len(feature.sources) != 1 or members is None or members.shape != (BITSET_WORDS,) or not is_valid.all():
        raise damaged("the bins of the categories in a set are out of range")


def _vocabulary(column: int, tensors: dict[str, np.ndarray]) -> Vocabulary:
    texts = decode_strings(tensors[f"levels_{column}"], tensors[f"levels_{column}_ends"], "category")
    if len(set(texts)) != len(texts):
        raise damaged(f"a category of column {column} is listed twice")
    return Vocabulary(tuple(texts))


def _derived_feature(described: dict[str, Any], tensors: dict[str, np.ndarray]) -> DerivedFeature:
    if described["kind"] == SET:
        return _set(described, tensors)
    if described["kind"] in (DIFFERENCE, PRODUCT, RATIO):
        return NumericCross(tuple(described["sources"]), described["kind"], NO_TABLE, NO_TABLE)
    keys = described["keys"]
    feature = (NumericCross if described["kind"] == CENTRED else DerivedFeature)(
        sources=tuple(described["sources"]),
        kind=described["kind"],
        sums=tensors[described["sums"]],
        counts=tensors[described["counts"]],
        prior=float(described["prior"]),
        weight=float(described["weight"]),
        keys=None if keys is None else tensors[keys],
        part=str(described["part"]),
    )
    if feature.sums.dtype != np.float64 or feature.counts.dtype != np.float64:
        raise damaged("the tables of a derived feature are not of type float64")
    if feature.keys is not None and feature.keys.dtype != np.uint64:
        raise damaged("the keys of a combination are not of type uint64")
    return feature


def _set(described: dict[str, Any], tensors: dict[str, np.ndarray]) -> DerivedFeature:
    bins, sets, number = tensors[described["sums"]], tensors[SETS], described["set"]
    if bins.dtype != np.float64 or sets.dtype != np.int64 or sets.ndim != 2:
        raise damaged("its sets of categories are not of type int64, or their bins not of type float64")
    if type(number) is not int or not 0 <= number < len(sets):
        raise damaged(f"there is no set of categories {number!r}")
    return DerivedFeature(tuple(described["sources"]), SET, bins, bins, members=sets[number])
