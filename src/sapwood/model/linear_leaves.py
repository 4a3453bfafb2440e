"""The slopes of leaves that answer by a linear model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sapwood.model.tree import frozen_array

COEFFICIENT_FIELDS: dict[str, type] = {"feature": np.int32, "centre": np.float64, "slope": np.float64}


@dataclass(frozen=True, eq=False)
class LeafCoefficients:
    """Node i answers ``intercept[i]`` plus slope · (x[feature] − centre) for each of its terms.

    Its terms are ``start[i]`` to ``start[i + 1]``. A node without terms has its value as
    intercept. A row that lacks a finite value of a term's feature gets the node's value instead.
    """

    start: np.ndarray
    intercept: np.ndarray
    feature: np.ndarray
    centre: np.ndarray
    slope: np.ndarray

    def __post_init__(self) -> None:
        for name, dtype in {"start": np.int64, "intercept": np.float64, **COEFFICIENT_FIELDS}.items():
            object.__setattr__(self, name, frozen_array(getattr(self, name), dtype))
        n_terms = (len(self.feature),)
        shapes = {"start": (len(self.intercept) + 1,), "centre": n_terms, "slope": n_terms}
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape:
                raise ValueError(f"terms: {name} has shape {getattr(self, name).shape}, expected {shape}")

    @classmethod
    def none(cls, value: np.ndarray) -> LeafCoefficients:
        """Those of nodes with these values (nodes, 1) and no slope."""
        empty = np.empty(0)
        return cls(np.zeros(len(value) + 1, np.int64), value[:, 0], empty, empty, empty)

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.intercept)

    def __len__(self) -> int:
        return len(self.feature)

    def scaled(self, factor: float | np.ndarray) -> LeafCoefficients:
        """The terms of answers times a number, or one for each node."""
        of_terms = factor if isinstance(factor, float) else factor[self.nodes()]
        return LeafCoefficients(self.start, self.intercept * factor, self.feature, self.centre, self.slope * of_terms)

    def slice(self, first: int, last: int) -> LeafCoefficients:
        """The terms of nodes ``first`` to ``last`` (excluded)."""
        begin, end = self.start[first], self.start[last]
        kept = {name: getattr(self, name)[begin:end] for name in COEFFICIENT_FIELDS}
        return LeafCoefficients(
            start=self.start[first : last + 1] - begin, intercept=self.intercept[first:last], **kept
        )

    def nodes(self) -> np.ndarray:
        """The node of each term."""
        return np.repeat(np.arange(self.n_nodes), np.diff(self.start))

    def describe(self, node: int, names: Sequence[str] | None) -> str:
        """A node's terms in words, empty if it has none."""
        parts = [f"{self.intercept[node]:.6g}"] if self.start[node] < self.start[node + 1] else []
        for k in range(self.start[node], self.start[node + 1]):
            feature = int(self.feature[k])
            name = names[feature] if names is not None else f"f{feature}"
            parts.append(f"{self.slope[k]:+.6g} * ({name} - {self.centre[k]:.6g})")
        return " ".join(parts)


def join_coefficients(parts: Sequence[tuple[LeafCoefficients | None, np.ndarray]]) -> LeafCoefficients | None:
    """The terms of nodes one after another, each part with the values of its nodes; None if no part has any."""
    if all(terms is None for terms, _ in parts):
        return None
    every = [LeafCoefficients.none(value) if terms is None else terms for terms, value in parts]
    starts = np.cumsum([0, *(len(terms) for terms in every)])
    start = [terms.start[:-1] + begin for terms, begin in zip(every, starts[:-1], strict=True)]
    kept = {name: np.concatenate([getattr(terms, name) for terms in every]) for name in COEFFICIENT_FIELDS}
    intercept = np.concatenate([terms.intercept for terms in every])
    return LeafCoefficients(start=np.concatenate([*start, starts[-1:]]), intercept=intercept, **kept)
