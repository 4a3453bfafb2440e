"""Numeric crosses: the difference, product or ratio of two numeric columns, or a number centred by a category."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sapwood.data.categories.derived_feature import DerivedFeature
from sapwood.data.categories.vocabulary import Vocabulary
from sapwood.data.tables.schema import Schema
from sapwood.lazy_dataclass import dataclass

# Kinds of numeric crosses, as written to model files.
DIFFERENCE, PRODUCT, RATIO, CENTRED = "difference", "product", "ratio", "centred"
CROSS_KINDS = (DIFFERENCE, PRODUCT, RATIO, CENTRED)
NO_TABLE = np.empty(0)


@dataclass(frozen=True, eq=False)
class NumericCross(DerivedFeature):
    """A column computed from two columns of the user's table, missing where it is not a finite number.

    The sources are two numeric columns; of a centred number, the numeric and the categorical one. Its ``table`` has the
    mean of the number in each category, with ``weight`` rows of the overall mean ``prior`` added, which is that of
    unknown categories.
    """

    @classmethod
    def of(cls, kind: str, first: int, second: int) -> NumericCross:
        """Return a cross of two numeric columns."""
        return cls((first, second), kind, NO_TABLE, NO_TABLE)

    @property
    def number_sources(self) -> tuple[int, ...]:
        """Numbers of the numeric source columns."""
        return self.sources[:1] if self.kind == CENTRED else self.sources

    def cross(self, numbers: Mapping[int, np.ndarray], codes: Mapping[int, np.ndarray]) -> np.ndarray:
        """Return the value of each row from the numbers, and the codes of categories, of the sources."""
        a = numbers[self.sources[0]].astype(np.float64)
        with np.errstate(all="ignore"):
            if self.kind == CENTRED:
                values = a - self.table[np.minimum(codes[self.sources[1]], len(self.table) - 1)]
            else:
                b = numbers[self.sources[1]].astype(np.float64)
                values = a - b if self.kind == DIFFERENCE else a * b if self.kind == PRODUCT else a / b
        return np.where(np.isfinite(values), values, np.nan)

    def name(self, schema: Schema, vocabularies: Mapping[int, Vocabulary]) -> str:
        """Return the formula with the names of the sources."""
        a, b = (schema.name_of(f) for f in self.sources)
        formulas = {DIFFERENCE: f"{a} − {b}", PRODUCT: f"{a} · {b}", RATIO: f"{a} / {b}"}
        return formulas.get(self.kind, f"{a} − its mean by {b}")
