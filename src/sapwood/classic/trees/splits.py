"""The kinds of splits of a decision tree: by a threshold, by categories, by a linear combination of columns.

A split says to which child a row goes. Rows come as a matrix (columns, rows) of float64: numbers, NaN where missing,
and codes of categories, 0 where missing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import numpy as np

from sapwood.lazy_dataclass import dataclass

UNDECIDED = -1  # instead of the number of a child: the value is missing, or a category without a child
CATEGORIES_SHOWN = 8


class Names(Protocol):
    """Names of columns and categories, for text."""

    def column(self, feature: int) -> str:
        """Return the name of a column."""

    def category(self, feature: int, code: int) -> str:
        """Return the name of a category."""


class Split(Protocol):
    """A split of a node into ``n_children`` children."""

    @property
    def n_children(self) -> int:
        """Number of children."""

    @property
    def features(self) -> tuple[int, ...]:
        """Columns that the split reads."""

    def children_of(self, values: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return the child of each of ``rows`` as int32, or ``UNDECIDED``."""

    def condition(self, child: int, names: Names) -> str:
        """Return the condition under which a row goes to a child."""


@dataclass(frozen=True)
class Threshold:
    """Values up to ``threshold`` go to the first child; missing ones go there if ``missing_left``, None: undecided."""

    feature: int
    threshold: float
    missing_left: bool | None
    has_missing: bool = False

    n_children = 2

    @property
    def features(self) -> tuple[int, ...]:
        """The column."""
        return (self.feature,)

    def children_of(self, values: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return the child of each of ``rows``."""
        x = values[self.feature, rows]
        child = (~(x <= self.threshold)).astype(np.int32)
        if self.missing_left is None:
            child[np.isnan(x)] = UNDECIDED
        elif self.missing_left:
            child[np.isnan(x)] = 0
        return child

    def condition(self, child: int, names: Names) -> str:
        """Return the condition of a child."""
        name = names.column(self.feature)
        if self.threshold == np.inf and self.missing_left is False:
            return f"{name} is {'missing' if child else 'not missing'}"
        sign = ">" if child else "<="
        takes_missing = self.has_missing and self.missing_left is not None and self.missing_left == (child == 0)
        return f"{name} {sign} {shown_threshold(self.threshold)}{' or missing' if takes_missing else ''}"


@dataclass(frozen=True, eq=False)
class CategorySet:
    """Categories whose code has ``goes_left`` go to the first child, others to the second.

    ``goes_left`` has an entry per code: missing first, unknown categories last. ``present`` are the codes of the node.
    """

    feature: int
    goes_left: np.ndarray
    present: tuple[int, ...]
    is_known_only: bool = False

    n_children = 2

    @property
    def features(self) -> tuple[int, ...]:
        """The column."""
        return (self.feature,)

    def children_of(self, values: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return the child of each of ``rows``."""
        codes = values[self.feature, rows].astype(np.intp)
        child = (~self.goes_left[codes]).astype(np.int32)
        if self.is_known_only:
            child[codes == 0] = UNDECIDED
        return child

    def condition(self, child: int, names: Names) -> str:
        """Return the condition of a child."""
        chosen = [code for code in self.present if self.goes_left[code] == (child == 0)]
        shown = [names.category(self.feature, code) for code in chosen[:CATEGORIES_SHOWN]]
        if len(chosen) > CATEGORIES_SHOWN:
            shown.append(f"{len(chosen) - CATEGORIES_SHOWN} more")
        return f"{names.column(self.feature)} in {{{', '.join(shown)}}}"


@dataclass(frozen=True, eq=False)
class CategoryBranches:
    """One child per category: ``child_of_code`` has an entry per code, ``UNDECIDED`` for those without a child."""

    feature: int
    child_of_code: np.ndarray
    n_children: int

    @property
    def features(self) -> tuple[int, ...]:
        """The column."""
        return (self.feature,)

    def children_of(self, values: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return the child of each of ``rows``."""
        return self.child_of_code[values[self.feature, rows].astype(np.intp)]

    def condition(self, child: int, names: Names) -> str:
        """Return the condition of a child."""
        code = int(np.flatnonzero(self.child_of_code == child)[0])
        name = names.column(self.feature)
        return f"{name} is missing" if code == 0 else f"{name} = {names.category(self.feature, code)}"


@dataclass(frozen=True, eq=False)
class Hyperplane:
    """Rows with Σ ``coefficients`` · x up to ``threshold`` go to the first child; missing values count as ``means``."""

    features: tuple[int, ...]
    coefficients: tuple[float, ...]
    means: tuple[float, ...]
    threshold: float

    n_children = 2

    def at(self, threshold: float) -> Hyperplane:
        """Return the hyperplane with another threshold."""
        return replace(self, threshold=threshold)

    def project(self, values: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return the linear combination of each of ``rows``, added in the order of the columns."""
        z = np.zeros(len(rows))
        for feature, coefficient, mean in zip(self.features, self.coefficients, self.means, strict=True):
            x = values[feature, rows]
            z += coefficient * np.where(np.isnan(x), mean, x)
        return z

    def children_of(self, values: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return the child of each of ``rows``."""
        return (~(self.project(values, rows) <= self.threshold)).astype(np.int32)

    def condition(self, child: int, names: Names) -> str:
        """Return the condition of a child."""
        terms = [
            f"{'-' if c < 0.0 else '+'} {'' if abs(c) == 1.0 else f'{abs(c):.4g}*'}{names.column(f)}"
            for f, c in zip(self.features, self.coefficients, strict=True)
        ]
        return f"{' '.join(terms).removeprefix('+ ')} {'>' if child else '<='} {shown_threshold(self.threshold)}"


def shown_threshold(threshold: float) -> str:
    """Return a threshold with up to ten digits, which tell apart neighbouring ones of long numbers."""
    return f"{threshold:.10g}"
