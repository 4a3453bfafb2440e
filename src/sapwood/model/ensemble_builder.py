"""Collect the trees of a training and join them into an ensemble."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sapwood.model.ensemble import Ensemble
from sapwood.model.linear_leaves import join_coefficients
from sapwood.model.tree import NODE_FIELDS, Tree, node_shapes, owned_arrays


def join_trees(trees: Sequence[Tree], width: int) -> dict[str, Any]:
    """Concatenate the arrays of trees; return them with ``tree_start`` as arguments of ``Ensemble``."""
    shapes = node_shapes(0, width)
    fields: dict[str, Any] = {}
    for name, dtype in NODE_FIELDS.items():
        fields[name] = np.concatenate([np.zeros(shapes[name], dtype), *(getattr(tree, name) for tree in trees)])
    fields["tree_start"] = np.cumsum([0, *(tree.n_nodes for tree in trees)])
    return fields | {"leaf_coefficients": join_coefficients([(tree.leaf_coefficients, tree.value) for tree in trees])}


class EnsembleBuilder:
    """Collects the trees of a model during training; ``join`` concatenates their arrays at the end."""

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
        """Append a tree of score ``output``; its ``round`` is that of the tree before, or the next one, from 0."""
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
        """Return the ensemble of the first ``rounds`` rounds (all by default)."""
        built = Ensemble(
            n_outputs=self.n_outputs,
            tree_output=np.array(self._outputs, dtype=np.int32),
            tree_round=np.array(self._rounds, dtype=np.int32),
            **owned_arrays(self._join(self._trees, self.width)),
        )
        return built if rounds is None or rounds >= built.n_rounds else built.slice(0, rounds)
