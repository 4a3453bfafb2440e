"""The condition of a split in words: which values of the user's columns go to the left child, which to the right."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from sapwood.data.categories.derived_feature import DerivedFeature
from sapwood.data.categories.vocabulary import MISSING, Vocabulary
from sapwood.model.model import Model
from sapwood.model.tree_text import COLUMNS_WITH_MISSING, ModelTreeText

CATEGORIES_SHOWN = 4
IS_MISSING, IS_NOT_MISSING = "is missing", "is not missing"


@dataclass(frozen=True)
class SplitCondition:
    """The condition of a split.

    ``name`` is the column, or what is computed from several; ``left`` and ``right`` are the conditions of the two
    children, to be read after the name, without the missing values: they go left if ``missing_left``, right if not;
    None if a column of numbers had none in training. ``left_categories`` and ``right_categories`` are those of a
    categorical column, empty for numbers.
    """

    name: str
    left: str
    right: str
    missing_left: bool | None
    sources: tuple[int, ...]
    left_categories: tuple[str, ...] = ()
    right_categories: tuple[str, ...] = ()

    def describe(self, goes_left: bool) -> str:
        """Return the condition of a child as text, as in "age ≤ 38.5 or missing"."""
        text = self.left if goes_left else self.right
        names_missing = goes_left is self.missing_left and text not in (IS_MISSING, IS_NOT_MISSING)
        return f"{self.name} {text}{' or missing' if names_missing else ''}"


class SplitConditions:
    """Conditions of the splits of a model."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._text = ModelTreeText(model)
        self._has_missing: Collection[int] = model.metadata.get(COLUMNS_WITH_MISSING, range(model.n_features))

    def of(self, feature: int, threshold: float, missing_left: bool) -> SplitCondition:
        """Return the condition of a split at ``threshold`` of a column of the trees."""
        transformer = self._model.transformer
        column: int | DerivedFeature = feature if transformer is None else transformer.columns[feature]
        if isinstance(column, DerivedFeature) and len(column.sources) == 1 and transformer is not None:
            vocabulary = transformer.vocabularies.get(column.sources[0])
            if vocabulary is not None:
                return self._of_categories(column, vocabulary, threshold, missing_left)
        sources = column.sources if isinstance(column, DerivedFeature) else (column,)
        texts = f"≤ {threshold:.6g}", f"> {threshold:.6g}"
        if threshold == np.inf and not missing_left:
            texts = IS_NOT_MISSING, IS_MISSING
        is_known = len(sources) == 1 and sources[0] in self._has_missing
        return SplitCondition(self._text.feature_name(feature), *texts, missing_left if is_known else None, sources)

    def _of_categories(
        self, column: DerivedFeature, vocabulary: Vocabulary, threshold: float, missing_left: bool
    ) -> SplitCondition:
        """Return the condition on a categorical column as the categories of the two sides."""
        source, values = column.sources[0], column.table
        goes_left = np.where(np.isnan(values), missing_left, values <= threshold)
        known = min(len(vocabulary.categories), len(values) - 2)
        left = tuple(vocabulary.categories[k] for k in range(known) if goes_left[k + 1])
        right = tuple(vocabulary.categories[k] for k in range(known) if not goes_left[k + 1])
        # Categories that did not occur in training are on the side that is described as "not" the others.
        lists_left = not goes_left[-1]
        is_listed, is_not = _list(left if lists_left else right)
        texts = (is_listed, is_not) if lists_left else (is_not, is_listed)
        name = self._model.schema.name_of(source)
        return SplitCondition(name, *texts, bool(goes_left[MISSING]), (source,), left, right)


def _list(categories: Sequence[str]) -> tuple[str, str]:
    """Return "is a, b, c, d or 3 more" and its negation; a side without categories has missing values only."""
    if not categories:
        return IS_MISSING, IS_NOT_MISSING
    shown = list(categories[:CATEGORIES_SHOWN])
    if len(categories) > CATEGORIES_SHOWN:
        shown.append(f"{len(categories) - CATEGORIES_SHOWN} more")
    text = shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"
    return f"is {text}", f"is not {text}"
