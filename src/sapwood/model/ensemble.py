"""All trees of a model, concatenated into flat read-only arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from sapwood.lazy_dataclass import dataclass
from sapwood.model.linear_leaves import LeafCoefficients, join_coefficients
from sapwood.model.tree import (
    LEAF,
    NODE_FIELDS,
    Tree,
    check_coefficients,
    frozen_array,
    node_depths,
    node_shapes,
    owned_arrays,
)
from sapwood.model.tree_weights import TreeRescaling, average_rescalings, is_average, round_value, undo_factors


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Trees in the order in which they are added to the scores.

    Tree k has the nodes ``tree_start[k]`` to ``tree_start[k + 1]``, belongs to round ``tree_round[k]`` and adds to
    score ``tree_output[k]``, or to all scores when its leaves have ``n_outputs`` values (``width``). ``left`` counts
    within the tree. The node arrays and ``leaf_coefficients`` are those of :class:`Tree`. ``rescalings`` are the
    multiplications of trees by later rounds that are already contained in their values.
    """

    n_outputs: int
    tree_start: np.ndarray
    tree_output: np.ndarray
    tree_round: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    missing_left: np.ndarray
    value: np.ndarray
    gain: np.ndarray
    gradient: np.ndarray
    hessian: np.ndarray
    weight: np.ndarray
    count: np.ndarray
    leaf_coefficients: LeafCoefficients | None = None
    rescalings: tuple[TreeRescaling, ...] = ()

    def __post_init__(self) -> None:
        types = {"tree_start": np.int64, "tree_output": np.int32, "tree_round": np.int32, **NODE_FIELDS}
        for name, dtype in types.items():
            object.__setattr__(self, name, frozen_array(getattr(self, name), dtype))
        n_trees, width = len(self.tree_output), self.value.shape[1]
        shapes = node_shapes(len(self.feature), width)
        shapes |= {"tree_start": (n_trees + 1,), "tree_output": (n_trees,), "tree_round": (n_trees,)}
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape:
                raise ValueError(f"ensemble: {name} has shape {getattr(self, name).shape}, expected {shape}")
        if width not in (1, self.n_outputs):
            raise ValueError(f"ensemble: leaves have {width} values, expected 1 or {self.n_outputs}")
        check_coefficients(self.leaf_coefficients, self.value, "ensemble")

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.tree_output)

    @property
    def n_rounds(self) -> int:
        """Number of boosting rounds."""
        return int(self.tree_round[-1]) + 1 if self.n_trees else 0

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all trees."""
        return len(self.feature)

    @property
    def width(self) -> int:
        """Number of values per leaf: 1, or ``n_outputs``."""
        return self.value.shape[1]

    def __len__(self) -> int:
        return self.n_trees

    def __getitem__(self, k: int) -> Tree:
        if not -self.n_trees <= k < self.n_trees:
            raise IndexError(f"tree {k} is not among the {self.n_trees} trees")
        k %= self.n_trees
        nodes = slice(int(self.tree_start[k]), int(self.tree_start[k + 1]))
        return Tree(
            **{name: getattr(self, name)[nodes] for name in NODE_FIELDS},
            leaf_coefficients=_slice_of(self.leaf_coefficients, nodes),
        )

    def __iter__(self) -> Iterator[Tree]:
        return (self[k] for k in range(self.n_trees))

    def slice(self, start: int = 0, stop: int | None = None) -> Ensemble:
        """Return the trees of rounds ``start`` to ``stop`` (excluded), with their rounds counted from 0.

        Their values are those after ``stop`` rounds of training: later rescalings are undone. Rounds of a forest are
        averaged anew.
        """
        stop = self.n_rounds if stop is None else min(stop, self.n_rounds)
        if self.is_average:
            return self.unscaled().slice(start, stop).averaged()
        if any(rescaling.round >= stop for rescaling in self.rescalings):
            return self._before_round(stop).slice(start, stop)
        first, last = np.searchsorted(self.tree_round, [start, max(start, stop)])
        nodes = slice(int(self.tree_start[first]), int(self.tree_start[last]))
        return Ensemble(
            n_outputs=self.n_outputs,
            tree_start=self.tree_start[first : last + 1] - self.tree_start[first],
            tree_output=self.tree_output[first:last],
            tree_round=self.tree_round[first:last] - np.int32(start),
            **{name: getattr(self, name)[nodes] for name in NODE_FIELDS},
            leaf_coefficients=_slice_of(self.leaf_coefficients, nodes),
            rescalings=tuple(r.shifted(-start) for r in self.rescalings if r.round >= start),
        )

    def scaled(self, factors: np.ndarray) -> Ensemble:
        """Multiply the trees of each round by its factor."""
        node_factors = factors[self.tree_round][self.tree_of_node()]
        coefficients = None if self.leaf_coefficients is None else self.leaf_coefficients.scaled(node_factors)
        values = owned_arrays({"value": self.value * node_factors[:, None]})
        return replace(self, **values, leaf_coefficients=coefficients)

    @property
    def is_average(self) -> bool:
        """Whether the scores are the mean over the rounds, as in a forest of at least two."""
        return is_average(self.rescalings, self.n_rounds)

    def averaged(self) -> Ensemble:
        """Divide all trees by the number of rounds, which is recorded, so that any slice can be averaged anew."""
        if self.n_rounds == 0:
            return self
        factor = 1.0 / self.n_rounds
        averaged = self._with_values(lambda value: round_value(value) * factor)
        return replace(averaged, rescalings=average_rescalings(self.n_rounds))

    def unscaled(self) -> Ensemble:
        """Return the trees of an average with their own values, bit for bit those that were averaged."""
        n_rounds = float(self.n_rounds)
        return replace(self._with_values(lambda value: round_value(value * n_rounds)), rescalings=())

    def _with_values(self, function: Callable[[np.ndarray], np.ndarray]) -> Ensemble:
        """Apply a function to the values, intercepts and slopes of all leaves."""
        coefficients = self.leaf_coefficients
        if coefficients is not None:
            intercept, slope = function(coefficients.intercept), function(coefficients.slope)
            coefficients = replace(coefficients, intercept=intercept, slope=slope)
        return replace(self, value=function(self.value), leaf_coefficients=coefficients)

    def _before_round(self, stop: int) -> Ensemble:
        """Undo the rescalings by rounds from ``stop`` on."""
        factors = np.ones(self.n_rounds)
        factors[:stop] = undo_factors(self.rescalings, stop)
        remaining = tuple(rescaling for rescaling in self.rescalings if rescaling.round < stop)
        return replace(self.scaled(factors), rescalings=remaining)

    def concatenate(self, other: Ensemble) -> Ensemble:
        """Append the trees of ``other``; their rounds continue the count of these."""
        if (self.n_outputs, self.width) != (other.n_outputs, other.width):
            raise ValueError(
                f"cannot join trees of {self.n_outputs} outputs and {self.width} values per leaf with trees of "
                f"{other.n_outputs} outputs and {other.width} values per leaf"
            )
        return Ensemble(
            n_outputs=self.n_outputs,
            tree_start=np.concatenate([self.tree_start[:-1], other.tree_start + self.n_nodes]),
            tree_output=np.concatenate([self.tree_output, other.tree_output]),
            tree_round=np.concatenate([self.tree_round, other.tree_round + np.int32(self.n_rounds)]),
            **owned_arrays({name: np.concatenate([getattr(self, name), getattr(other, name)]) for name in NODE_FIELDS}),
            leaf_coefficients=join_coefficients(
                [(self.leaf_coefficients, self.value), (other.leaf_coefficients, other.value)]
            ),
            rescalings=self.rescalings + tuple(r.shifted(self.n_rounds, self.n_rounds) for r in other.rescalings),
        )

    def used_features(self, n_features: int) -> np.ndarray:
        """Return a mask of the features that splits or linear leaves use."""
        is_used = np.bincount(self.feature[self.feature != LEAF], minlength=n_features) > 0
        if self.leaf_coefficients is not None:
            is_used[self.leaf_coefficients.feature] = True
        return is_used

    def renumber_features(self, new_number: np.ndarray, first_tree: int = 0) -> Ensemble:
        """Replace feature f by ``new_number[f]`` in all trees from ``first_tree`` on."""
        feature = self.feature.copy()
        renumbered = feature[self.tree_start[first_tree] :]
        renumbered[renumbered != LEAF] = new_number[renumbered[renumbered != LEAF]]
        coefficients = self.leaf_coefficients
        if coefficients is not None:
            coefficient_feature = coefficients.feature.copy()
            changed = coefficients.nodes() >= self.tree_start[first_tree]
            coefficient_feature[changed] = new_number[coefficient_feature[changed]]
            coefficients = replace(coefficients, feature=coefficient_feature)
        return replace(self, feature=feature, leaf_coefficients=coefficients)

    def tree_of_node(self) -> np.ndarray:
        """Return the tree of each node."""
        return np.repeat(np.arange(self.n_trees), np.diff(self.tree_start))

    def node_depths(self) -> np.ndarray:
        """Return the number of splits above each node."""
        return node_depths(self.feature, self.left, self.tree_start[:-1])

    def to_table(self, names: Sequence[str] | None = None) -> dict[str, np.ndarray]:
        """Return all nodes as a table: one column per property, one row per node, tree after tree.

        ``node``, ``left`` and ``right`` count within the tree; leaves have -1 there and in ``feature``, an empty name
        and NaN as threshold. Vector leaves have one column ``value_k`` (``hessian_k``, ...) per output; linear leaves
        have an ``intercept`` and a number ``n_terms`` of coefficients, which ``coefficients_table`` lists.
        """
        tree = self.tree_of_node()
        leaf = self.feature == LEAF
        columns = {
            "tree": tree,
            "round": self.tree_round[tree],
            "output": self.tree_output[tree],
            "node": np.arange(self.n_nodes) - self.tree_start[tree],
            "depth": self.node_depths(),
            "feature": self.feature,
            "name": _names_of(self.feature, names),
            "threshold": np.where(leaf, np.nan, self.threshold),
            "missing_left": self.missing_left.astype(bool),
            "left": np.where(leaf, -1, self.left),
            "right": np.where(leaf, -1, self.left + 1),
        }
        for name in ("value", "gain", "gradient", "hessian", "weight", "count"):
            columns |= _columns(name, getattr(self, name))
        if self.leaf_coefficients is not None:
            columns |= {"intercept": self.leaf_coefficients.intercept, "n_terms": np.diff(self.leaf_coefficients.start)}
        return columns

    def coefficients_table(self, names: Sequence[str] | None = None) -> dict[str, np.ndarray]:
        """Return the coefficients of linear leaves as a table, one row per slope; empty if all leaves are constant."""
        coefficients = self.leaf_coefficients
        if coefficients is None:
            coefficients = LeafCoefficients.constant(self.value)
        node = coefficients.nodes()
        tree = self.tree_of_node()[node]
        return {
            "tree": tree,
            "node": node - self.tree_start[tree],
            "feature": coefficients.feature,
            "name": _names_of(coefficients.feature, names),
            "centre": coefficients.centre,
            "slope": coefficients.slope,
        }


def _slice_of(coefficients: LeafCoefficients | None, nodes: slice) -> LeafCoefficients | None:
    return None if coefficients is None else coefficients.slice(nodes.start, nodes.stop)


def _names_of(feature: np.ndarray, names: Sequence[str] | None) -> np.ndarray:
    """Return the name of each feature, empty for the -1 of leaves."""
    known = [f"f{f}" for f in range(int(feature.max(initial=-1)) + 1)] if names is None else names
    return np.array([*known, ""])[feature]


def _columns(name: str, values: np.ndarray) -> dict[str, np.ndarray]:
    if values.ndim == 1:
        return {name: values}
    if values.shape[1] == 1:
        return {name: values[:, 0]}
    return {f"{name}_{k}": values[:, k] for k in range(values.shape[1])}
