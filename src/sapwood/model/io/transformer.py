"""Recipes as tensors: texts of levels, cuts of crossed numbers, and the tables of the columns made of them.

An array that several columns share is written once. In the metadata every column is the number of a user's column, or
an object that names its tensors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.data.categories.transformer import (
    FREQUENCY,
    MEMBER,
    RANK,
    SET,
    STATISTIC,
    DerivedFeature,
    FeatureTransformer,
)
from sapwood.data.categories.vocabulary import Vocabulary
from sapwood.data.tables.schema import Schema
from sapwood.errors import ModelFileError
from sapwood.model.io.safetensors_file import damaged
from sapwood.model.io.string_tensors import decode_strings, encode_strings

KINDS = (STATISTIC, FREQUENCY, MEMBER, RANK, SET)
MAX_SOURCES = 64
SETS = "table_sets"  # the words of all sets, a line each
CUT = "cut"  # the columns of numbers that have cuts; files without such columns lack it


def to_tensors(recipe: FeatureTransformer | None) -> tuple[dict[str, Any] | None, dict[str, np.ndarray]]:
    """The description of a recipe in JSON, and its tensors."""
    if recipe is None:
        return None, {}
    tensors: dict[str, np.ndarray] = {}
    for f, vocabulary in recipe.vocabularies.items():
        tensors[f"levels_{f}"], tensors[f"levels_{f}_ends"] = encode_strings(vocabulary.texts)
    for f, cuts in recipe.cuts.items():
        tensors[f"cuts_{f}"] = cuts
    names: dict[int, str] = {}

    def named(array: np.ndarray | None) -> str | None:
        if array is None:
            return None
        name = names.setdefault(id(array), f"table_{len(names)}")
        tensors[name] = array
        return name

    sets: list[np.ndarray] = []

    def described(c: DerivedFeature) -> dict[str, Any]:
        if c.members is not None:
            sets.append(c.members)
            return {"sources": list(c.sources), "kind": c.kind, "sums": named(c.sums), "set": len(sets) - 1}
        return {
            "sources": list(c.sources), "kind": c.kind, "part": c.part, "prior": c.prior, "weight": c.weight,
            "sums": named(c.sums), "counts": named(c.counts), "keys": named(c.keys),
        }  # fmt: skip

    columns = [c if isinstance(c, int) else described(c) for c in recipe.columns]
    if sets:
        tensors[SETS] = np.stack(sets)
    told = {"categories": sorted(recipe.vocabularies), "columns": columns}
    return told | ({CUT: list(recipe.cuts)} if recipe.cuts else {}), tensors


def from_tensors(described: Any, tensors: dict[str, np.ndarray], schema: Schema) -> FeatureTransformer | None:
    """The recipe that ``to_tensors`` took apart; its tensors are taken out of ``tensors``."""
    if described is None:
        if schema.categories:
            raise damaged("it has category columns but no levels")
        return None
    try:
        if described["categories"] != list(schema.categories):
            raise damaged(f"its levels are of columns {described['categories']!r}, not {list(schema.categories)}")
        vocabularies = {f: _vocabulary(f, tensors) for f in schema.categories}
        cuts = {f: tensors[f"cuts_{f}"] for f in described.get(CUT, [])}
        columns = [c if type(c) is int else _derived(c, tensors) for c in described["columns"]]
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise damaged(f"the description of its category columns cannot be read ({error!r})") from error
    for name in [name for name in tensors if name.startswith(("levels_", "cuts_", "table_"))]:
        del tensors[name]
    recipe = FeatureTransformer(vocabularies, tuple(columns), cuts)
    check_transformer(recipe, schema)
    return recipe


def check_transformer(recipe: FeatureTransformer | None, schema: Schema) -> None:
    """Raise ModelFileError unless the columns of trees can be made safely."""
    if recipe is None:
        return
    numbers = [f for f in range(schema.n_features) if f not in schema.categories]
    if [c for c in recipe.columns if isinstance(c, int)] != numbers or recipe.n_columns < schema.n_features:
        raise damaged("its trees do not see the columns of numbers one by one")
    for f, cuts in recipe.cuts.items():
        _check_cuts(f, cuts, numbers)
    for column in recipe.columns:
        if isinstance(column, DerivedFeature):
            _check_derived(column, recipe, schema)


def _check_cuts(feature: Any, cuts: np.ndarray, numbers: list[int]) -> None:
    if type(feature) is not int or feature not in numbers:
        raise damaged(f"column {feature!r} is cut into levels, but is not one of numbers")
    if cuts.dtype != np.float64 or cuts.ndim != 1 or np.isnan(cuts).any() or np.any(cuts[1:] <= cuts[:-1]):
        raise damaged(f"the cuts of column {feature} are not numbers that ascend")


def _check_derived(column: DerivedFeature, recipe: FeatureTransformer, schema: Schema) -> None:
    known = all(type(f) is int and (f in schema.categories or f in recipe.cuts) for f in column.sources)
    known = known and (len(column.sources) > 1 or column.sources[0] in schema.categories)
    if not known or not 1 <= len(column.sources) <= MAX_SOURCES or column.kind not in KINDS:
        raise damaged(f"a column is made of {column.sources!r} in the way {column.kind!r}")
    single = len(column.sources) == 1
    n = len(column.sums)
    if column.sums.shape != (n,) or column.counts.shape != (n,) or n == 0:
        raise damaged("the tables of a category column are not of one length")
    if single != (column.keys is None):
        raise damaged("crossed columns have keys, and others do not")
    if column.keys is not None and (column.keys.shape != (n - 1,) or np.any(column.keys[1:] <= column.keys[:-1])):
        raise damaged("the keys of crossed columns do not ascend")
    numbers = np.array([column.prior, column.weight])
    if not (np.isfinite(numbers).all() and column.weight > 0.0 and np.isfinite(column.sums).all()):
        raise damaged("a statistic of a category column is not finite")
    if (column.kind == SET) != (column.members is not None):
        raise damaged("sets of levels have members, and other columns do not")
    if column.members is not None:
        _check_set(column)
    if not np.isfinite(column.counts).all() or (column.counts < 0.0).any():
        raise damaged("a level of a category column has a negative count")


def _check_set(column: DerivedFeature) -> None:
    from sapwood.kernels.layout import BITSET_WORDS, MAX_CATEGORY_BINS  # models without categories do not need it

    whole = (column.sums == np.floor(column.sums)) & (column.sums >= 0.0) & (column.sums <= MAX_CATEGORY_BINS)
    if len(column.sources) != 1 or column.members is None or column.members.shape != (BITSET_WORDS,) or not whole.all():
        raise damaged("the ranks of the levels in a set cannot be")


def _vocabulary(feature: int, tensors: dict[str, np.ndarray]) -> Vocabulary:
    texts = decode_strings(tensors[f"levels_{feature}"], tensors[f"levels_{feature}_ends"], "level")
    if len(set(texts)) != len(texts):
        raise damaged(f"a level of column {feature} stands twice")
    return Vocabulary(tuple(texts))


def _derived(described: dict[str, Any], tensors: dict[str, np.ndarray]) -> DerivedFeature:
    if described["kind"] == SET:
        return _set(described, tensors)
    keys = described["keys"]
    column = DerivedFeature(
        sources=tuple(described["sources"]),
        kind=described["kind"],
        sums=tensors[described["sums"]],
        counts=tensors[described["counts"]],
        prior=float(described["prior"]),
        weight=float(described["weight"]),
        keys=None if keys is None else tensors[keys],
        part=str(described["part"]),
    )
    if column.sums.dtype != np.float64 or column.counts.dtype != np.float64:
        raise damaged("the tables of a category column are not of type float64")
    if column.keys is not None and column.keys.dtype != np.uint64:
        raise damaged("the keys of crossed columns are not of type uint64")
    return column


def _set(described: dict[str, Any], tensors: dict[str, np.ndarray]) -> DerivedFeature:
    ranks, sets, number = tensors[described["sums"]], tensors[SETS], described["set"]
    if ranks.dtype != np.float64 or sets.dtype != np.int64 or sets.ndim != 2:
        raise damaged("its sets of levels are not of type int64, or their ranks not of type float64")
    if type(number) is not int or not 0 <= number < len(sets):
        raise damaged(f"there is no set of levels {number!r}")
    return DerivedFeature(tuple(described["sources"]), SET, ranks, ranks, members=sets[number])
