"""All trees of a model, concatenated into flat read-only arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sapwood.model.linear_leaves import LeafCoefficients, join_coefficients
from sapwood.model.tree import LEAF, NODE_FIELDS, Tree, check_coefficients, frozen_array, node_depths, node_shapes
from sapwood.model.tree_weights import TreeRescaling, undo_factors


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Trees in the order in which their answers are added.

    Tree k has the nodes ``tree_start[k]`` to ``tree_start[k + 1]``, belongs to round ``tree_round[k]`` and adds to
    score ``tree_output[k]``, or to all scores when its leaves carry ``n_outputs`` values (``width``). ``left`` counts
    within the tree. The node arrays and ``terms`` are those of :class:`Tree`. ``rescalings`` tell what later rounds
    did to the answers of earlier ones.
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
            raise ValueError(f"ensemble: leaves carry {width} values, expected 1 or {self.n_outputs}")
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
            leaf_coefficients=self._terms_of(nodes.start, nodes.stop),
        )

    def __iter__(self) -> Iterator[Tree]:
        return (self[k] for k in range(self.n_trees))

    def slice(self, start: int = 0, stop: int | None = None) -> Ensemble:
        """The trees of rounds ``start`` to ``stop`` (excluded), rounds counted from 0 again.

        They answer what they did after ``stop`` rounds of training.
        """
        stop = self.n_rounds if stop is None else min(stop, self.n_rounds)
        if any(one.round >= stop for one in self.rescalings):
            return self._before(stop).slice(start, stop)
        first, last = np.searchsorted(self.tree_round, [start, max(start, stop)])
        nodes = slice(int(self.tree_start[first]), int(self.tree_start[last]))
        return Ensemble(
            n_outputs=self.n_outputs,
            tree_start=self.tree_start[first : last + 1] - self.tree_start[first],
            tree_output=self.tree_output[first:last],
            tree_round=self.tree_round[first:last] - np.int32(start),
            **{name: getattr(self, name)[nodes] for name in NODE_FIELDS},
            leaf_coefficients=self._terms_of(nodes.start, nodes.stop),
            rescalings=tuple(one.shifted(-start) for one in self.rescalings if one.round >= start),
        )

    def scaled(self, factors: np.ndarray) -> Ensemble:
        """The same trees, the answers of each round multiplied by its factor."""
        of_node = factors[self.tree_round][self.tree_of_node()]
        terms = None if self.leaf_coefficients is None else self.leaf_coefficients.scaled(of_node)
        return replace(self, value=self.value * of_node[:, None], leaf_coefficients=terms)

    def _before(self, stop: int) -> Ensemble:
        """The trees with what rounds from ``stop`` on did to their answers undone."""
        factors = np.ones(self.n_rounds)
        factors[:stop] = undo_factors(self.rescalings, stop)
        kept = tuple(one for one in self.rescalings if one.round < stop)
        return replace(self.scaled(factors), rescalings=kept)

    def _terms_of(self, first: int, last: int) -> LeafCoefficients | None:
        return None if self.leaf_coefficients is None else self.leaf_coefficients.slice(first, last)

    def concatenate(self, other: Ensemble) -> Ensemble:
        """These trees, then those of ``other``, whose rounds are counted on."""
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
            **{name: np.concatenate([getattr(self, name), getattr(other, name)]) for name in NODE_FIELDS},
            leaf_coefficients=join_coefficients(
                [(self.leaf_coefficients, self.value), (other.leaf_coefficients, other.value)]
            ),
            rescalings=self.rescalings + tuple(one.shifted(self.n_rounds, self.n_rounds) for one in other.rescalings),
        )

    def used(self, n_features: int) -> np.ndarray:
        """Which features some tree splits on."""
        found = np.bincount(self.feature[self.feature != LEAF], minlength=n_features) > 0
        if self.leaf_coefficients is not None:
            found[self.leaf_coefficients.feature] = True
        return found

    def renumbered(self, place: np.ndarray, first: int = 0) -> Ensemble:
        """The same trees, feature f of those from tree ``first`` on being called ``place[f]``."""
        feature = self.feature.copy()
        later = feature[self.tree_start[first] :]
        later[later != LEAF] = place[later[later != LEAF]]
        terms = self.leaf_coefficients
        if terms is not None:
            of_terms = terms.feature.copy()
            changed = terms.nodes() >= self.tree_start[first]
            of_terms[changed] = place[of_terms[changed]]
            terms = replace(terms, feature=of_terms)
        return replace(self, feature=feature, leaf_coefficients=terms)

    def tree_of_node(self) -> np.ndarray:
        """The number of the tree of each node."""
        return np.repeat(np.arange(self.n_trees), np.diff(self.tree_start))

    def node_depths(self) -> np.ndarray:
        """Number of splits above each node."""
        return node_depths(self.feature, self.left, self.tree_start[:-1])

    def to_table(self, names: Sequence[str] | None = None) -> dict[str, np.ndarray]:
        """One column per property and one line per node, all trees below one another.

        ``node``, ``left`` and ``right`` count within the tree; leaves have -1 there and in ``feature``, an empty name
        and NaN as threshold. Vector leaves have one column ``value_k`` (``hessian_k``, ...) per output; linear leaves
        have an ``intercept`` and a number of terms, which ``terms_table`` lists.
        """
        tree = self.tree_of_node()
        leaf = self.feature == LEAF
        names = [f"f{f}" for f in range(int(self.feature.max(initial=-1)) + 1)] if names is None else list(names)
        columns = {
            "tree": tree,
            "round": self.tree_round[tree],
            "output": self.tree_output[tree],
            "node": np.arange(self.n_nodes) - self.tree_start[tree],
            "depth": self.node_depths(),
            "feature": self.feature,
            "name": np.array([*names, ""])[self.feature],
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
        """One line per slope of a linear leaf, leaf after leaf; without lines where all leaves are constant."""
        terms = LeafCoefficients.none(self.value) if self.leaf_coefficients is None else self.leaf_coefficients
        node = terms.nodes()
        tree = self.tree_of_node()[node]
        names = [f"f{f}" for f in range(int(terms.feature.max(initial=-1)) + 1)] if names is None else list(names)
        return {
            "tree": tree,
            "node": node - self.tree_start[tree],
            "feature": terms.feature,
            "name": np.array([*names, ""])[terms.feature],
            "centre": terms.centre,
            "slope": terms.slope,
        }


def _columns(name: str, values: np.ndarray) -> dict[str, np.ndarray]:
    if values.ndim == 1:
        return {name: values}
    if values.shape[1] == 1:
        return {name: values[:, 0]}
    return {f"{name}_{k}": values[:, k] for k in range(values.shape[1])}


def join_trees(trees: Sequence[Tree], width: int) -> dict[str, Any]:
    """The arrays of several trees, one behind the other, and where each begins."""
    shapes = node_shapes(0, width)
    fields: dict[str, Any] = {}
    for name, dtype in NODE_FIELDS.items():
        fields[name] = np.concatenate([np.zeros(shapes[name], dtype), *(getattr(tree, name) for tree in trees)])
    fields["tree_start"] = np.cumsum([0, *(tree.n_nodes for tree in trees)])
    return fields | {"leaf_coefficients": join_coefficients([(tree.leaf_coefficients, tree.value) for tree in trees])}


class EnsembleBuilder:
    """Collects trees while a model is trained; ``join`` makes arrays of them when all are there."""

    def __init__(
        self, n_outputs: int = 1, width: int = 1, join: Callable[[Sequence[Any], int], dict[str, Any]] = join_trees
    ) -> None:
        self.n_outputs = n_outputs
        self.width = width
        self._join = join
        self._trees: list[Any] = []
        self._outputs: list[int] = []
        self._rounds: list[int] = []

    def __len__(self) -> int:
        return len(self._trees)

    def append(self, tree: Any, output: int = 0, round: int = 0) -> None:
        """Add a tree to score ``output`` in ``round``: that of the tree before or the next, from 0."""
        if tree.width != self.width:
            raise ValueError(f"the tree has {tree.width} values per leaf, expected {self.width}")
        if not 0 <= output < self.n_outputs:
            raise ValueError(f"output {output} is not among the {self.n_outputs} outputs")
        last = self._rounds[-1] if self._rounds else -1
        if round not in (max(last, 0), last + 1):
            raise ValueError(f"a tree of round {round} cannot follow one of round {last}")
        self._trees.append(tree)
        self._outputs.append(output)
        self._rounds.append(round)

    def build(self, rounds: int | None = None) -> Ensemble:
        """Join the trees of the first ``rounds`` rounds (all by default)."""
        built = Ensemble(
            n_outputs=self.n_outputs,
            tree_output=np.array(self._outputs, dtype=np.int32),
            tree_round=np.array(self._rounds, dtype=np.int32),
            **self._join(self._trees, self.width),
        )
        return built if rounds is None or rounds >= built.n_rounds else built.slice(0, rounds)
