"""The rows that a report looks at: table, target and predictions, and a sample of them for slow parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sapwood.cached_property import cached_property
from sapwood.data.dataset import unwrap_dataset
from sapwood.data.tables.row_selection import select_rows
from sapwood.data.tables.table import Table, read_table
from sapwood.explain.fitted_model import REGRESSION, FittedModel

MAX_CELLS = 4_000_000  # of a sample of numbers
CALLER = "report"


@dataclass(frozen=True, eq=False)
class Column:
    """Values of a column in the sampled rows.

    Numbers are floats with NaN where missing, categories are codes of ``categories``, −1 where missing; ``is_unseen``
    marks categories that did not occur in training.
    """

    name: str
    values: np.ndarray
    categories: tuple[str, ...] | None = None
    is_unseen: np.ndarray | None = None

    @property
    def is_missing(self) -> np.ndarray:
        """Mask of the missing values."""
        return np.isnan(self.values) if self.categories is None else self.values < 0


@dataclass(frozen=True, eq=False)
class EvaluatedRows:
    """Rows with targets and predictions: values, or probabilities (rows, classes); y and prediction may be absent."""

    fitted: FittedModel
    X: Any
    table: Table
    y: np.ndarray | None
    prediction: np.ndarray
    weight: np.ndarray | None

    @classmethod
    def read(cls, fitted: FittedModel, X: Any, y: Any, sample_weight: Any = None) -> EvaluatedRows:
        """Read and check a table and its target, and predict."""
        X = unwrap_dataset(X)
        table = fitted.model.schema.align(read_table(X), fitted.name)
        target = None if y is None else fitted.target(y, table.n_rows, CALLER)
        weight = fitted.weight(sample_weight, table.n_rows)
        return cls(fitted, X, table, target, fitted.predict(X), weight)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.table.n_rows

    @property
    def shown_prediction(self) -> np.ndarray:
        """One number per row: the value, the probability of the second of two classes, or that of the likeliest."""
        if self.prediction.ndim == 1:
            return self.prediction
        if self.fitted.task == REGRESSION:
            return self.prediction[:, self.prediction.shape[1] // 2]
        return self.prediction[:, 1] if self.prediction.shape[1] == 2 else self.prediction.max(axis=1)

    def sample(self, n: int) -> np.ndarray:
        """Return the numbers of at most ``n`` rows, always the same, in ascending order."""
        if n >= self.n_rows:
            return np.arange(self.n_rows)
        return np.sort(np.random.default_rng(0).choice(self.n_rows, n, replace=False))

    def rows_of(self, rows: np.ndarray) -> Any:
        """Return some rows of X in the user's container."""
        return select_rows(self.X, rows)

    @cached_property
    def sampled_rows(self) -> np.ndarray:
        """Rows of which columns are described: all, unless the table is large."""
        return self.sample(max(1000, MAX_CELLS // self.table.n_features))

    @cached_property
    def columns(self) -> list[Column]:
        """Values of every column in the sampled rows."""
        schema, transformer = self.fitted.model.schema, self.fitted.model.transformer
        table = self.table if len(self.sampled_rows) == self.n_rows else self.table.take(self.sampled_rows)
        numeric = [f for f in range(schema.n_features) if f not in schema.categorical_columns]
        numbers = _read_numbers(table, numeric)
        columns = []
        for f in range(schema.n_features):
            if f not in schema.categorical_columns:
                columns.append(Column(schema.name_of(f), numbers[:, numeric.index(f)]))
                continue
            column = table.categorical_column(f)
            is_unseen = None
            if transformer is not None and f in transformer.vocabularies:
                vocabulary = transformer.vocabularies[f]
                is_unseen = vocabulary.encode(column) == vocabulary.n_codes - 1
            columns.append(Column(schema.name_of(f), column.codes, column.categories, is_unseen))
        return columns


def _read_numbers(table: Table, features: list[int]) -> np.ndarray:
    if not features:
        return np.empty((table.n_rows, 0))
    parts = [np.asarray(matrix, dtype=np.float64) for _, matrix in table.select(features).matrices(table.chunk_rows())]
    return np.concatenate(parts)
