"""Explanations of predictions: Shapley values with base values, data and names."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sapwood.errors import InputError


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Shapley values of the scores (before the link function) of some rows.

    For every row and output, ``base_values`` plus the sum of ``values`` over the features is the raw score.
    ``explanation[row]`` explains one row, ``explanation[rows]`` some, ``explanation[..., output]`` one output, which is
    also found by name: ``explanation.for_output("birch")``.

    It has the attributes of ``shap.Explanation``. Where ``shap`` is installed, its plots take it as one, and other
    attributes and methods, such as ``abs`` and ``cohorts``, are those of ``to_shap()``.

    Attributes
    ----------
    values : ndarray (rows, features) or (rows, features, outputs)
        Contribution of each feature; without the first axis for a single row.
    base_values : ndarray (rows,) or (rows, outputs)
        Expected score over the training rows.
    data : ndarray (rows, features) of floats
        Values of the features; categories are numbered in alphabetical order.
    display_data : ndarray (rows, features)
        Values of the features with the names of categories; ``data`` if no column is categorical.
    feature_names : list of str
    output_names : list of str or None
        Classes, or outputs by number; None with one output.
    """

    values: np.ndarray
    base_values: np.ndarray
    data: np.ndarray
    display_data: np.ndarray
    feature_names: list[str]
    output_names: list[str] | None = None
    library: Any = "pandas"

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """The class for ``isinstance``: plots of ``shap`` take a ``shap.Explanation`` only."""
        shap = sys.modules.get("shap")
        return getattr(shap, "Explanation", type(self))

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of ``values``."""
        return self.values.shape

    @property
    def is_row(self) -> bool:
        """Whether this explains a single row, without an axis for rows."""
        return self.data.ndim == 1

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        outputs = "" if self.output_names is None else f", {len(self.output_names)} outputs"
        rows = "1 row" if self.is_row else f"{len(self.values)} rows"
        return f"<sapwood Explanation: {rows}, {len(self.feature_names)} features{outputs}>"

    def __getitem__(self, key: Any) -> Any:
        """Return the explanation of rows, then features, then outputs, by number, slice or list; names too."""
        if isinstance(key, tuple) and len(key) == 2 and key[0] is Ellipsis and self.output_names is not None:
            return self.for_output(key[1])
        keys = key if isinstance(key, tuple) else (key,)
        if not self.is_row and len(keys) == 1 and not isinstance(keys[0], str):
            return self._rows(keys[0])
        return self.to_shap()[key]

    def for_output(self, output: int | str) -> Explanation:
        """Return the explanation of one output, by number or name."""
        if self.output_names is None:
            raise InputError("the explanation is that of a single output: there is none to choose")
        if isinstance(output, str):
            if output not in self.output_names:
                raise InputError(f"output {output!r} is not among {', '.join(map(repr, self.output_names))}")
            output = self.output_names.index(output)
        return self.changed(
            values=self.values[..., output], base_values=self.base_values[..., output], output_names=None
        )

    def _rows(self, rows: Any) -> Explanation:
        chosen = {name: getattr(self, name)[rows] for name in ("values", "base_values", "data", "display_data")}
        return self.changed(**chosen)

    def changed(self, **changes: Any) -> Explanation:
        """Return a copy with other values of some attributes; ``dataclasses.replace`` would make a ``shap`` object."""
        return Explanation(**{name: getattr(self, name) for name in self.__dataclass_fields__} | changes)

    def __reduce__(self) -> tuple[Any, ...]:
        return Explanation, tuple(getattr(self, name) for name in self.__dataclass_fields__)

    def __getattr__(self, name: str) -> Any:
        """Return what only ``shap.Explanation`` has, where ``shap`` is installed."""
        if name.startswith("__") or name in self.__dataclass_fields__:
            raise AttributeError(name)
        try:
            return getattr(self.to_shap(), name)
        except ImportError:
            raise AttributeError(f"an Explanation has no attribute {name!r} unless shap is installed") from None

    def to_shap(self) -> Any:
        """Return a ``shap.Explanation``; requires the package ``shap``."""
        import shap

        base = self.base_values
        return shap.Explanation(
            self.values, base_values=float(base) if np.ndim(base) == 0 else base, data=self.data,
            display_data=self.display_data, feature_names=self.feature_names, output_names=self.output_names,
        )  # fmt: skip

    def to_frame(self) -> Any:
        """Return the values as a data frame of the library that X came from (pandas for arrays), a column per feature.

        With several outputs, there is a column per feature and output, named ``feature: output``.
        """
        import narwhals as nw

        values = self.values[None] if self.is_row else self.values
        columns = dict(self._columns(values))
        return nw.from_dict(columns, backend=self.library).to_native()

    def _columns(self, values: np.ndarray) -> Sequence[tuple[str, np.ndarray]]:
        if self.output_names is None:
            return [(name, values[:, f]) for f, name in enumerate(self.feature_names)]
        return [
            (f"{name}: {output}", values[:, f, k])
            for f, name in enumerate(self.feature_names)
            for k, output in enumerate(self.output_names)
        ]
