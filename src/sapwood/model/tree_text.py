"""Trees as text: the condition under which a row goes left, in the words of the user's columns."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sapwood.data.categories.derived_feature import FREQUENCY, MEMBER, SET, STATISTIC, DerivedFeature
from sapwood.data.categories.numeric_cross import NumericCross
from sapwood.data.categories.vocabulary import MISSING, Vocabulary
from sapwood.model.tree import LEAF, Tree

if TYPE_CHECKING:
    from sapwood.model.model import Model

CATEGORIES_SHOWN = 12  # of a set
COLUMNS_WITH_MISSING = "columns_with_missing"  # key of a model's metadata: columns of X that had missing values


class Split(NamedTuple):
    """A split in words: the condition under which a row goes left, and the side of missing values if it is known."""

    condition: str
    missing_side: str = ""


class TreeText:
    """Writes trees with one line per node, children indented below their parent, the left one first.

    ``names`` are those of the features; without them feature k is ``fk``.
    """

    def __init__(self, names: Sequence[str] | None = None) -> None:
        self._names = names

    def feature_name(self, feature: int) -> str:
        """Return the name of a feature of the trees."""
        return self._names[feature] if self._names is not None else f"f{feature}"

    def write(self, tree: Tree) -> str:
        """Return the text of a tree."""
        lines: list[str] = []
        pending = [(0, "")]
        while pending:
            node, indent = pending.pop()
            lines.append(indent + self._describe(tree, node))
            if tree.feature[node] != LEAF:
                left = int(tree.left[node])
                pending += [(left + 1, indent + "  "), (left, indent + "  ")]
        return "\n".join(lines)

    def _describe(self, tree: Tree, node: int) -> str:
        if tree.feature[node] == LEAF:
            value = ", ".join(map(short_number, tree.value[node]))
            slopes = "" if tree.leaf_coefficients is None else tree.leaf_coefficients.describe(node, self._names)
            return f"{node}: leaf {slopes or value} (rows {tree.count[node]})"
        split = self.describe_split(int(tree.feature[node]), tree.threshold[node], bool(tree.missing_left[node]))
        facts = [f"missing {split.missing_side}"] if split.missing_side else []
        facts += [f"gain {tree.gain[node]:.6g}", f"rows {tree.count[node]}"]
        return f"{node}: {split.condition} ({', '.join(facts)})"

    def describe_split(self, feature: int, threshold: float, missing_left: bool) -> Split:
        """Return a split in words."""
        name = self.feature_name(feature)
        if threshold == np.inf and not missing_left:
            return Split(f"{name} is not missing")
        if threshold == -np.inf and missing_left:
            return Split(f"{name} is missing or -inf")
        return Split(f"{name} <= {short_number(threshold)}", "left" if missing_left else "right")


class ModelTreeText(TreeText):
    """Writes the trees of a model: sets of categories by name, statistics in words, the side of missing values.

    The side is shown for columns that had missing values in training, for others it was not learned.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._has_missing: Collection[int] = model.metadata.get(COLUMNS_WITH_MISSING, range(model.n_features))
        columns = range(model.n_features) if model.transformer is None else model.transformer.columns
        super().__init__([self._describe_column(column) for column in columns])

    def describe_split(self, feature: int, threshold: float, missing_left: bool) -> Split:
        """Return a split in words."""
        split, transformer = super().describe_split(feature, threshold, missing_left), self._model.transformer
        column = feature if transformer is None else transformer.columns[feature]
        if isinstance(column, int):
            return split if column in self._has_missing else split._replace(missing_side="")
        if column.kind in (SET, MEMBER) and len(column.sources) == 1 and transformer is not None:
            vocabulary = transformer.vocabularies[column.sources[0]]
            return Split(_category_condition(self._sources(column), column.table <= threshold, column, vocabulary))
        return split if isinstance(column, NumericCross) else split._replace(missing_side="")

    def _sources(self, column: DerivedFeature) -> str:
        return " × ".join(self._model.schema.name_of(f) for f in column.sources)

    def _describe_column(self, column: int | DerivedFeature) -> str:
        """Return the name of a column of the user, or what a derived feature is."""
        if isinstance(column, int):
            return self._model.schema.name_of(column)
        if isinstance(column, NumericCross):
            return column.name(self._model.schema, {})
        sources = self._sources(column)
        if column.kind == STATISTIC:
            return self._describe_statistic(column, sources)
        return f"frequency of {sources}" if column.kind == FREQUENCY else f"{sources} ({column.part or column.kind})"

    def _describe_statistic(self, column: DerivedFeature, sources: str) -> str:
        classes = self._model.classes
        if classes is None:
            return f"mean target of {sources} ({column.part})"
        of_class = re.search(r", class (\d+)", column.part)
        number = int(of_class[1]) if of_class else len(classes) - 1
        part = column.part.replace(of_class[0], "") if of_class else column.part
        return f"share of class {classes.tolist()[number]!r} in {sources} ({part})"


def _category_condition(name: str, goes_left: np.ndarray, column: DerivedFeature, vocabulary: Vocabulary) -> str:
    """Return which categories go left; ``goes_left`` has an entry per code, that of unknown categories last."""
    chosen, word = goes_left, "in"
    if column.kind == MEMBER:  # one category goes right, the others and unknown ones left
        chosen, word = ~goes_left, "not in"
    codes = np.flatnonzero(chosen[:-1])
    if column.kind == SET:
        codes = codes[column.sums[codes] > 0.0]  # categories without a rank of their own go with unknown ones
    shown = ["missing" if k == MISSING else repr(vocabulary.categories[k - 1]) for k in codes[:CATEGORIES_SHOWN]]
    if len(codes) > CATEGORIES_SHOWN:
        shown.append(f"and {len(codes) - CATEGORIES_SHOWN} more")
    if chosen[-1]:
        shown.append("others")
    return f"{name} {word} {{{', '.join(shown)}}}"


def short_number(value: float) -> str:
    """Return the shortest decimal number that reads back as the same float; whole numbers have no decimal point."""
    return repr(float(value)).removesuffix(".0")
