"""A finished model: what it takes to answer, and to say where the answer comes from."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from sapwood.cached_property import cached_property
from sapwood.data.categories.transformer import FeatureTransformer
from sapwood.data.tables.schema import Schema
from sapwood.data.tables.table import Table, in_memory, read_table
from sapwood.data.tables.zero_as_missing import row_zeros_to_missing
from sapwood.errors import ParameterError
from sapwood.model.ensemble import Ensemble
from sapwood.model.io.fingerprint import fingerprint
from sapwood.model.predict import batch_predictor as predictor
from sapwood.model.predict.bitsets import BitsetTransformer
from sapwood.model.predict.row_predictor import RowPredictor
from sapwood.model.predict.tree_packing import PackedTrees, pack_trees
from sapwood.model.tree import frozen_array
from sapwood.native.threads.team import current_team
from sapwood.objectives.links import Link, link_from_name
from sapwood.params.validators import is_integer


@dataclass(frozen=True, eq=False)
class Model:
    """Trees, the constants they start from, and the link from scores to predictions; nothing in it changes.

    ``objective`` is a dictionary with the loss's name and settings, ``classes`` are the labels in the order of the
    probabilities (None for regression), ``metadata`` is anything about training that JSON can hold. Where some columns
    are categories, a ``recipe`` makes the columns of the trees out of the user's.
    """

    schema: Schema
    ensemble: Ensemble
    base_scores: np.ndarray
    link: str = "identity"
    classes: np.ndarray | None = None
    objective: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    transformer: FeatureTransformer | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "base_scores", frozen_array(self.base_scores, np.float64))
        if self.base_scores.shape != (self.ensemble.n_outputs,):
            raise ValueError(f"base_scores has shape {self.base_scores.shape}, expected ({self.ensemble.n_outputs},)")
        if self.classes is not None:
            classes = np.asarray(self.classes)
            object.__setattr__(self, "classes", frozen_array(classes, classes.dtype))

    def __repr__(self) -> str:
        shape = f"{self.n_features} features, {self.n_outputs} outputs, {self.n_iterations} rounds"
        return f"<sapwood.Model: {shape}, {self.ensemble.n_trees} trees, link {self.link}>"

    # --- size ---------------------------------------------------------------------------------------------------------

    @property
    def n_features(self) -> int:
        """Number of columns the model was trained on."""
        return self.schema.n_features

    @property
    def n_outputs(self) -> int:
        """Number of scores per row."""
        return self.ensemble.n_outputs

    @property
    def n_iterations(self) -> int:
        """Number of boosting rounds."""
        return self.ensemble.n_rounds

    @property
    def feature_names(self) -> list[str]:
        """The names of the columns, made up if they had none."""
        return [self.schema.name_of(f) for f in range(self.n_features)]

    @property
    def n_columns(self) -> int:
        """Number of columns that the trees see: the user's, and what is made of categories."""
        return self.n_features if self.transformer is None else self.transformer.n_columns

    @property
    def column_names(self) -> list[str]:
        """The names of the columns that the trees see."""
        return self.feature_names if self.transformer is None else self.transformer.names(self.schema)

    @property
    def encodings(self) -> dict[str, Any]:
        """What became of each category column, by its name: the number of levels, the encodings, and why these."""
        return self.metadata.get("categories", {})

    def __len__(self) -> int:
        return self.n_iterations

    def __getitem__(self, rounds: slice) -> Model:
        """The model with these rounds only: ``model[:50]`` stops after 50."""
        if not isinstance(rounds, slice) or rounds.step not in (None, 1):
            raise ParameterError(f"a model is cut by a slice of rounds without step, as in model[:50]; got {rounds!r}")
        try:
            start, stop, _ = rounds.indices(self.n_iterations)
        except TypeError as error:
            raise ParameterError(
                f"rounds of a model are counted by integers, as in model[:50]; got {rounds!r}"
            ) from error
        return replace(self, ensemble=self.ensemble.slice(start, stop))

    # --- prediction ---------------------------------------------------------------------------------------------------

    def predict(self, X: Any, iterations: int | None = None, n_jobs: int | None = None) -> np.ndarray:
        """Predict values (regression) or probabilities: of the second class if there are two, else (rows, classes)."""
        _check_jobs(n_jobs)
        if iterations is None and (answer := self.predict_plain_row(X)) is not None:
            return answer
        table = self._table(X)
        if table.n_rows == 1 and iterations is None and self.transformer is None and not table.is_sparse:
            _, matrix = next(table.matrices(1))
            return np.array([self._of_one_row.predict(matrix[0])])
        scores = self._scores(table, iterations, n_jobs)
        return self._link.predict(scores, current_team(n_jobs, scores.size).run)

    def predict_plain_row(self, X: Any) -> np.ndarray | None:
        """What ``predict`` answers if X is an array of one row that goes to the trees as it is, else None."""
        if type(X) is not np.ndarray or X.shape != self._plain_shape or X.dtype.char not in "fd":
            return None
        return np.array([self._of_one_row.predict(X[0])])

    def predict_raw(self, X: Any, iterations: int | None = None, n_jobs: int | None = None) -> np.ndarray:
        """The scores before the link, (rows,) or (rows, outputs), after so many rounds (all by default)."""
        return _by_row(self._scores(self._table(X), iterations, n_jobs))

    def staged_predict(self, X: Any, n_jobs: int | None = None) -> Iterator[np.ndarray]:
        """Yield the predictions after 1, 2, ... rounds: what the model of so many rounds answers."""
        _check_jobs(n_jobs)
        return self._stages(in_memory(self._table(X)), n_jobs)

    def _stages(self, table: Table, n_jobs: int | None) -> Iterator[np.ndarray]:
        if self.ensemble.rescalings:
            for done in range(1, self.n_iterations + 1):
                yield self._link.predict(self._scores(table, done, n_jobs))
            return
        scores = self._first_scores(table)
        for done in range(self.n_iterations):
            predictor.add_scores(self._packed, table, self._trees_of(done, done + 1), scores, n_jobs)
            yield self._link.predict(scores.copy())

    def predictor(self) -> RowPredictor:
        """What answers for one row at a time, much faster than ``predict`` does for a table of one row."""
        packed = pack_trees(self.ensemble, with_tops=False, compact=self._compact)
        prepare: Any = row_zeros_to_missing if self.schema.zero_as_missing else None
        if self._compact is not None:
            prepare = partial(self._compact.transformer.row, schema=self.schema)
        return RowPredictor(packed, self.n_features, self.base_scores, self._link, prepare)

    def leaf_indices(self, X: Any, iterations: int | None = None, n_jobs: int | None = None) -> np.ndarray:
        """The node in which each row ends, counted within the tree: int32 (rows, trees)."""
        _check_jobs(n_jobs)
        trees = self._trees_of(0, self._rounds(iterations))
        return predictor.leaf_indices(self._packed, self._table(X), trees, n_jobs)

    @cached_property
    def _plain_shape(self) -> tuple[int, ...]:
        """The shape of one row, if rows go to the trees as they are."""
        return (1, self.n_features) if self.transformer is None and not self.schema.zero_as_missing else ()

    @cached_property
    def _of_one_row(self) -> RowPredictor:
        return self.predictor()

    @cached_property
    def _packed(self) -> PackedTrees:
        return pack_trees(self.ensemble, compact=self._compact)

    @cached_property
    def _compact(self) -> BitsetTransformer | None:
        return None if self.transformer is None else BitsetTransformer.of(self.transformer)

    @cached_property
    def _link(self) -> Link:
        return link_from_name(self.link)

    def _table(self, X: Any) -> Table:
        table = self.schema.align(read_table(X))
        return table if self._compact is None else self._compact.transformer.apply(table)

    def _first_scores(self, table: Table) -> np.ndarray:
        return np.repeat(self.base_scores[:, None], table.n_rows, axis=1)

    def _scores(self, table: Table, iterations: int | None, n_jobs: int | None) -> np.ndarray:
        _check_jobs(n_jobs)
        rounds = self._rounds(iterations)
        if rounds < self.n_iterations and self.ensemble.rescalings:
            return self[:rounds]._scores(table, None, n_jobs)
        scores = self._first_scores(table)
        predictor.add_scores(self._packed, table, self._trees_of(0, rounds), scores, n_jobs)
        return scores

    def _rounds(self, iterations: int | None) -> int:
        if iterations is None:
            return self.n_iterations
        if not is_integer(iterations) or not 0 <= iterations <= self.n_iterations:
            raise ParameterError(
                f"iterations must be between 0 and {self.n_iterations}, the rounds of the model, got {iterations!r}"
            )
        return int(iterations)

    def _trees_of(self, start: int, stop: int) -> range:
        first, last = np.searchsorted(self.ensemble.tree_round, [start, stop])
        return range(int(first), int(last))

    # --- looking inside -----------------------------------------------------------------------------------------------

    @property
    def trees(self) -> dict[str, np.ndarray]:
        """All nodes as a table: one column per property, one line per node (see :meth:`Ensemble.to_table`)."""
        return self.ensemble.to_table(self.column_names)

    @property
    def leaf_coefficients(self) -> dict[str, np.ndarray]:
        """The slopes of linear leaves as a table (see :meth:`Ensemble.terms_table`)."""
        return self.ensemble.coefficients_table(self.column_names)

    @property
    def terms(self) -> dict[str, np.ndarray]:
        """Alias of ``leaf_coefficients``, the name in version 0.1."""
        return self.leaf_coefficients

    def to_text(self) -> str:
        """Draw all trees."""
        parts = [f"base scores: {', '.join(f'{score:.6g}' for score in self.base_scores)}"]
        names = self.column_names
        for k, tree in enumerate(self.ensemble):
            title = f"tree {k} (round {self.ensemble.tree_round[k]}, output {self.ensemble.tree_output[k]})"
            parts.append(f"{title}\n{tree.to_text(names)}")
        return "\n\n".join(parts) + "\n"

    def importance(self, kind: str = "gain", percent: bool = False) -> np.ndarray:
        """The importance of each feature (see :func:`sapwood.explain.importance.importance`)."""
        # Explanations stand above models; they are looked up by name, when they are asked for.
        return importlib.import_module("sapwood.explain.importance").importance(self, kind, percent=percent)

    def fingerprint(self) -> str:
        """A sha256, in hexadecimal, of everything that decides a prediction (see ``model/io/fingerprint.py``)."""
        return fingerprint(self)

    # --- files --------------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file that ``sapwood.load`` reads; an older file is replaced in one step."""
        from sapwood.model.io import serialize

        serialize.save(self, path)

    def __reduce__(self) -> tuple[Any, ...]:
        from sapwood.model.io import serialize

        return serialize.from_bytes, (serialize.to_bytes(self),)


def _check_jobs(n_jobs: Any) -> None:
    if n_jobs is not None and not (is_integer(n_jobs) and n_jobs != 0):
        raise ParameterError(f"n_jobs must be an integer other than 0, or None (as many as allowed), got {n_jobs!r}")


def _by_row(scores: np.ndarray) -> np.ndarray:
    return scores[0] if len(scores) == 1 else np.ascontiguousarray(scores.T)
