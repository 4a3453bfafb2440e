"""The condition of a split in words: which values of the user's columns go to the left child, which to the right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sapwood.data.categories.transformer import DerivedFeature
from sapwood.data.categories.vocabulary import MISSING
from sapwood.model.model import Model

CATEGORIES_SHOWN = 4
IS_MISSING, IS_NOT_MISSING = "is missing", "is not missing"


@dataclass(frozen=True)
class SplitCondition:
    """The condition of a split.

    ``name`` is the column, or the combination and its statistic; ``left`` and ``right`` are the conditions of the two
    children, to be read after the name, without the missing values, which go left if ``missing_left``.
    ``left_categories`` and ``right_categories`` are those of a categorical column, empty for numbers.
    """

    name: str
    left: str
    right: str
    missing_left: bool
    sources: tuple[int, ...]
    left_categories: tuple[str, ...] = ()
    right_categories: tuple[str, ...] = ()

    def describe(self, goes_left: bool) -> str:
        """Return the condition of a child as text, as in "age ≤ 38.5 or missing"."""
        text = self.left if goes_left else self.right
        names_missing = goes_left == self.missing_left and text not in (IS_MISSING, IS_NOT_MISSING)
        return f"{self.name} {text}{' or missing' if names_missing else ''}"


def split_condition(model: Model, feature: int, threshold: float, missing_left: bool) -> SplitCondition:
    """Return the condition of a split at ``threshold`` of a column of the trees."""
    column: int | DerivedFeature = feature if model.transformer is None else model.transformer.columns[feature]
    if isinstance(column, DerivedFeature) and len(column.sources) == 1:
        return _category_condition(model, column, threshold, missing_left)
    if isinstance(column, DerivedFeature):
        assert model.transformer is not None
        name, sources = column.name(model.schema, model.transformer.vocabularies), column.sources
    else:
        name, sources = model.schema.name_of(column), (column,)
    shown = f"{threshold:.6g}"
    return SplitCondition(name, f"≤ {shown}", f"> {shown}", missing_left, sources)


def _category_condition(
    model: Model, column: DerivedFeature, threshold: float, missing_left: bool
) -> SplitCondition:  # fmt: skip
    """Return the condition on a categorical column as the categories of the two sides."""
    assert model.transformer is not None
    source = column.sources[0]
    vocabulary = model.transformer.vocabularies.get(source)
    values = column.table
    goes_left = np.where(np.isnan(values), missing_left, values <= threshold)
    if vocabulary is None:  # cut points of a numeric column stand for categories
        name = column.name(model.schema, model.transformer.vocabularies)
        return SplitCondition(name, f"≤ {threshold:.6g}", f"> {threshold:.6g}", bool(goes_left[MISSING]), (source,))
    known = min(len(vocabulary.categories), len(values) - 2)
    left = tuple(vocabulary.categories[k] for k in range(known) if goes_left[k + 1])
    right = tuple(vocabulary.categories[k] for k in range(known) if not goes_left[k + 1])
    # Categories that did not occur in training are on the side that is described as "not" the others.
    lists_left = not goes_left[-1]
    is_listed, is_not = _list(left if lists_left else right)
    texts = (is_listed, is_not) if lists_left else (is_not, is_listed)
    return SplitCondition(
        model.schema.name_of(source), *texts, bool(goes_left[MISSING]), (source,), left, right
    )  # fmt: skip


def _list(categories: Sequence[str]) -> tuple[str, str]:
    """Return "is a, b, c, d or 3 more" and its negation; a side without categories has missing values only."""
    if not categories:
        return IS_MISSING, IS_NOT_MISSING
    shown = list(categories[:CATEGORIES_SHOWN])
    if len(categories) > CATEGORIES_SHOWN:
        shown.append(f"{len(categories) - CATEGORIES_SHOWN} more")
    text = shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"
    return f"is {text}", f"is not {text}"
