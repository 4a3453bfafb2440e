"""Coefficients of linear leaves, which predict with a linear model instead of a constant."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sapwood.lazy_dataclass import dataclass
from sapwood.model.tree import frozen_array

COEFFICIENT_FIELDS: dict[str, type] = {"feature": np.int32, "centre": np.float64, "slope": np.float64}


@dataclass(frozen=True, eq=False)
class LeafCoefficients:
    """Node i predicts ``intercept[i]`` plus the sum of slope · (x[feature] − centre) over its coefficients.

    Its coefficients are those from ``start[i]`` to ``start[i + 1]``. A node without coefficients has its value as
    intercept. A row in which a feature of the node is missing or infinite gets the node's value instead.
    """

    start: np.ndarray
    intercept: np.ndarray
    feature: np.ndarray
    centre: np.ndarray
    slope: np.ndarray

    def __post_init__(self) -> None:
        for name, dtype in {"start": np.int64, "intercept": np.float64, **COEFFICIENT_FIELDS}.items():
            object.__setattr__(self, name, frozen_array(getattr(self, name), dtype))
        n_coefficients = (len(self.feature),)
        shapes = {"start": (len(self.intercept) + 1,), "centre": n_coefficients, "slope": n_coefficients}
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape:
                raise ValueError(f"leaf coefficients: {name} has shape {getattr(self, name).shape}, expected {shape}")

    @classmethod
    def constant(cls, value: np.ndarray) -> LeafCoefficients:
        """Return those of constant nodes with these values (nodes, 1): intercepts without slopes."""
        empty = np.empty(0)
        return cls(np.zeros(len(value) + 1, np.int64), value[:, 0], empty, empty, empty)

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.intercept)

    def __len__(self) -> int:
        return len(self.feature)

    def scaled(self, factor: float | np.ndarray) -> LeafCoefficients:
        """Multiply the predictions of all nodes by a number, or of each node by its own."""
        slope_factor = factor if isinstance(factor, float) else factor[self.nodes()]
        return LeafCoefficients(
            self.start, self.intercept * factor, self.feature, self.centre, self.slope * slope_factor
        )

    def slice(self, first: int, last: int) -> LeafCoefficients:
        """Return the coefficients of nodes ``first`` to ``last`` (excluded)."""
        begin, end = self.start[first], self.start[last]
        fields = {name: getattr(self, name)[begin:end] for name in COEFFICIENT_FIELDS}
        return LeafCoefficients(
            start=self.start[first : last + 1] - begin, intercept=self.intercept[first:last], **fields
        )

    def nodes(self) -> np.ndarray:
        """Return the node of each coefficient."""
        return np.repeat(np.arange(self.n_nodes), np.diff(self.start))

    def describe(self, node: int, names: Sequence[str] | None) -> str:
        """Return the formula of a node as text, empty if it has no coefficients; numbers read back as they are."""
        begin, end = int(self.start[node]), int(self.start[node + 1])
        parts = [repr(float(self.intercept[node]))] if begin < end else []
        for k in range(begin, end):
            feature = int(self.feature[k])
            name = names[feature] if names is not None else f"f{feature}"
            slope, centre = float(self.slope[k]), float(self.centre[k])
            parts.append(f"{_signed(slope)} * ({name} {_signed(-centre)})")
        return " ".join(parts)


def _signed(value: float) -> str:
    return f"{'-' if value < 0 else '+'} {abs(value)!r}"


def join_coefficients(parts: Sequence[tuple[LeafCoefficients | None, np.ndarray]]) -> LeafCoefficients | None:
    """Concatenate the coefficients of groups of nodes, each with the values of its nodes; None if no group has any."""
    if all(coefficients is None for coefficients, _ in parts):
        return None
    groups = [LeafCoefficients.constant(value) if group is None else group for group, value in parts]
    offsets = np.cumsum([0, *(len(group) for group in groups)])
    start = [group.start[:-1] + offset for group, offset in zip(groups, offsets[:-1], strict=True)]
    fields = {name: np.concatenate([getattr(group, name) for group in groups]) for name in COEFFICIENT_FIELDS}
    intercept = np.concatenate([group.intercept for group in groups])
    return LeafCoefficients(start=np.concatenate([*start, offsets[-1:]]), intercept=intercept, **fields)
