"""A trained model: prediction, inspection of its trees, and saving."""

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
from sapwood.data.tables.table import Table, materialize, read_table
from sapwood.data.tables.zero_as_missing import row_zeros_to_missing
from sapwood.errors import ParameterError
from sapwood.model.arithmetic import add_models, every_round, scale_model
from sapwood.model.ensemble import Ensemble
from sapwood.model.info import CATEGORIES, model_info
from sapwood.model.io.fingerprint import fingerprint
from sapwood.model.predict import batch_predictor
from sapwood.model.predict.bitsets import BitsetTransformer
from sapwood.model.predict.row_predictor import RowPredictor
from sapwood.model.predict.tree_packing import PackedTrees, pack_trees
from sapwood.model.tree import frozen_array
from sapwood.native.threads.team import current_team
from sapwood.objectives.links import Link, link_from_name
from sapwood.params.aliases.alias import PREDICT
from sapwood.params.unknown_arguments import explains_arguments
from sapwood.params.validators import is_integer, is_number


@dataclass(frozen=True, eq=False)
class Model:
    """Trees, the base scores they are added to, and the link from scores to predictions; immutable.

    ``objective`` is a dictionary with the name and settings of the loss, ``classes`` are the labels in the order of the
    probabilities (None for regression), ``metadata`` holds facts about training as JSON values. With categorical
    columns, a ``transformer`` computes the features of the trees from the columns of the user's table.

    Methods that predict take X as an array, a list of rows, a data frame or a sparse matrix. A
    :class:`~sapwood.data.tables.table.Table` is taken as one that ``schema.align`` returned and is not aligned again.
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
        """Number of columns of the training table."""
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
        """Names of the columns of the training table; f0, f1, ... if it had none."""
        return [self.schema.name_of(f) for f in range(self.n_features)]

    @property
    def n_columns(self) -> int:
        """Number of features of the trees: numeric columns and features derived from categorical columns."""
        return self.n_features if self.transformer is None else self.transformer.n_columns

    @property
    def column_names(self) -> list[str]:
        """Names of the features of the trees."""
        return self.feature_names if self.transformer is None else self.transformer.column_names(self.schema)

    @property
    def encodings(self) -> dict[str, Any]:
        """Encodings of each categorical column by name, with its number of categories and the reason for the choice."""
        return self.metadata.get(CATEGORIES, {})

    def __len__(self) -> int:
        return self.n_iterations

    def __getitem__(self, rounds: slice) -> Model:
        """Return the model with some of its rounds only: ``model[:50]`` has the first 50, ``model[::2]`` every other.

        With a step, trees keep the values that they have: those of a forest are not averaged anew.
        """
        if not isinstance(rounds, slice):
            raise ParameterError(f"a model is indexed by a slice of rounds, as in model[:50]; got {rounds!r}")
        try:
            start, stop, step = rounds.indices(self.n_iterations)
        except (TypeError, ValueError) as error:
            raise ParameterError(f"the rounds of a slice must be integers, as in model[:50]; got {rounds!r}") from error
        if step < 1:
            raise ParameterError(f"the step of a slice of rounds must be at least 1, as in model[::2]; got {rounds!r}")
        ensemble = self.ensemble.slice(start, stop)
        return replace(self, ensemble=ensemble if step == 1 else every_round(ensemble, step))

    def __add__(self, other: Model) -> Model:
        """Return the model whose scores are the sums of those of two models of the same columns and outputs."""
        return add_models(self, other) if isinstance(other, Model) else NotImplemented

    def __radd__(self, other: Any) -> Model:
        """Return the model itself if it is added to 0, so that ``sum(models)`` works."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __mul__(self, factor: float) -> Model:
        """Return the model whose scores are multiplied by a number: ``0.5 * a + 0.5 * b`` has the mean scores."""
        return scale_model(self, factor) if is_number(factor) else NotImplemented

    __rmul__ = __mul__

    # --- prediction ---------------------------------------------------------------------------------------------------

    @explains_arguments(PREDICT)
    def predict(self, X: Any, iterations: int | None = None, n_jobs: int | None = None) -> np.ndarray:
        """Predict values (regression) or probabilities: of the second class if there are two, else (rows, classes)."""
        _check_jobs(n_jobs)
        if iterations is None and (prediction := self.predict_plain_row(X)) is not None:
            return prediction
        table = self.align(X)
        if table.n_rows == 1 and iterations is None and self.transformer is None and not table.is_sparse:
            _, matrix = next(table.matrices(1))
            return np.array([self._row_predictor.predict(matrix[0])])
        scores = self._scores(self.transform(table), iterations, n_jobs)
        return self._link.predict(scores, current_team(n_jobs, scores.size).run)

    def predict_plain_row(self, X: Any) -> np.ndarray | None:
        """Return the prediction if X is a float array of one row that needs no transformation, else None."""
        if type(X) is not np.ndarray or X.shape != self._plain_row_shape or X.dtype.char not in "fd":
            return None
        return np.array([self._row_predictor.predict(X[0])])

    @explains_arguments(PREDICT)
    def predict_raw(self, X: Any, iterations: int | None = None, n_jobs: int | None = None) -> np.ndarray:
        """Return the scores before the link, (rows,) or (rows, outputs), after ``iterations`` rounds (default: all)."""
        return _by_row(self._scores(self.transform(self.align(X)), iterations, n_jobs))

    def staged_predict(self, X: Any, n_jobs: int | None = None) -> Iterator[np.ndarray]:
        """Yield the predictions after 1, 2, ... rounds."""
        return (self._link.predict(scores) for scores in self._staged_scores(X, n_jobs))

    def staged_predict_raw(self, X: Any, n_jobs: int | None = None) -> Iterator[np.ndarray]:
        """Yield the scores before the link after 1, 2, ... rounds."""
        return (_by_row(scores) for scores in self._staged_scores(X, n_jobs))

    def predictor(self) -> RowPredictor:
        """Return a predictor of single rows, much faster than ``predict`` on tables of one row."""
        packed = pack_trees(self.ensemble, with_tops=False, bitsets=self.bitsets)
        transform_row: Any = row_zeros_to_missing if self.schema.zero_as_missing else None
        if self.bitsets is not None:
            transform_row = partial(self.bitsets.transformer.transform_row, schema=self.schema)
        return RowPredictor(packed, self.n_features, self.base_scores, self._link, transform_row)

    def leaf_indices(self, X: Any, iterations: int | None = None, n_jobs: int | None = None) -> np.ndarray:
        """Return the leaf of each row in each tree as its node number within the tree: int32 (rows, trees)."""
        _check_jobs(n_jobs)
        trees = self._trees_of(0, self.checked_rounds(iterations))
        return batch_predictor.leaf_indices(self._packed_trees, self.transform(self.align(X)), trees, n_jobs)

    @cached_property
    def _plain_row_shape(self) -> tuple[int, ...]:
        """Shape of an array of one row, empty if rows must be transformed before they reach the trees."""
        return (1, self.n_features) if self.transformer is None and not self.schema.zero_as_missing else ()

    @cached_property
    def _row_predictor(self) -> RowPredictor:
        return self.predictor()

    @cached_property
    def _packed_trees(self) -> PackedTrees:
        return pack_trees(self.ensemble, bitsets=self.bitsets)

    @cached_property
    def bitsets(self) -> BitsetTransformer | None:
        """Feature transformer for prediction, which packs category sets into bitsets; None without categories."""
        return None if self.transformer is None else BitsetTransformer.of(self.transformer)

    @cached_property
    def _link(self) -> Link:
        return link_from_name(self.link)

    def align(self, X: Any) -> Table:
        """Return X as a table with the columns of training; a Table is returned unchanged."""
        return X if isinstance(X, Table) else self.schema.align(read_table(X))

    def transform(self, table: Table) -> Table:
        """Return the features of the trees for an aligned table."""
        return table if self.bitsets is None else self.bitsets.transformer.transform(table)

    def _initial_scores(self, table: Table) -> np.ndarray:
        return np.repeat(self.base_scores[:, None], table.n_rows, axis=1)

    def _scores(self, features: Table, iterations: int | None, n_jobs: int | None) -> np.ndarray:
        """Return the scores (outputs, rows) after ``iterations`` rounds."""
        _check_jobs(n_jobs)
        rounds = self.checked_rounds(iterations)
        if rounds < self.n_iterations and self.ensemble.rescalings:
            return self[:rounds]._scores(features, None, n_jobs)
        scores = self._initial_scores(features)
        batch_predictor.add_scores(self._packed_trees, features, self._trees_of(0, rounds), scores, n_jobs)
        return scores

    def _staged_scores(self, X: Any, n_jobs: int | None) -> Iterator[np.ndarray]:
        """Check the arguments and return an iterator over the scores (outputs, rows) after each round."""
        _check_jobs(n_jobs)
        return self._score_stages(materialize(self.transform(self.align(X))), n_jobs)

    def _score_stages(self, features: Table, n_jobs: int | None) -> Iterator[np.ndarray]:
        if self.ensemble.rescalings:
            for n_rounds in range(1, self.n_iterations + 1):
                yield self._scores(features, n_rounds, n_jobs)
            return
        scores = self._initial_scores(features)
        for round in range(self.n_iterations):
            batch_predictor.add_scores(self._packed_trees, features, self._trees_of(round, round + 1), scores, n_jobs)
            yield scores.copy()

    def checked_rounds(self, iterations: int | None) -> int:
        """Return the number of rounds to use: all for None; raise a ParameterError if there are fewer."""
        if iterations is None:
            return self.n_iterations
        if not is_integer(iterations) or not 0 <= iterations <= self.n_iterations:
            raise ParameterError(
                f"iterations must be between 0 and {self.n_iterations}, the number of rounds of the model, got "
                f"{iterations!r}"
            )
        return int(iterations)

    def _trees_of(self, start: int, stop: int) -> range:
        first, last = np.searchsorted(self.ensemble.tree_round, [start, stop])
        return range(int(first), int(last))

    # --- inspection ---------------------------------------------------------------------------------------------------

    @property
    def trees(self) -> dict[str, np.ndarray]:
        """All nodes as a table: one column per property, one row per node (see :meth:`Ensemble.to_table`)."""
        return self.ensemble.to_table(self.column_names)

    @property
    def leaf_coefficients(self) -> dict[str, np.ndarray]:
        """Coefficients of linear leaves as a table, one row per slope (see :meth:`Ensemble.coefficients_table`)."""
        return self.ensemble.coefficients_table(self.column_names)

    @property
    def terms(self) -> dict[str, np.ndarray]:
        """Alias of ``leaf_coefficients``, the name in version 0.1."""
        return self.leaf_coefficients

    def to_text(self) -> str:
        """Return all trees as text, one line per node."""
        parts = [f"base scores: {', '.join(f'{score:.6g}' for score in self.base_scores)}"]
        names = self.column_names
        for k, tree in enumerate(self.ensemble):
            title = f"tree {k} (round {self.ensemble.tree_round[k]}, output {self.ensemble.tree_output[k]})"
            parts.append(f"{title}\n{tree.to_text(names)}")
        return "\n\n".join(parts) + "\n"

    # --- explanation --------------------------------------------------------------------------------------------------
    # sapwood.explain imports this module, so its modules are imported by name when they are used.

    def importance(self, kind: str = "total_gain", percent: bool = False) -> np.ndarray:
        """Return the importance of each feature, an array that prints as a table (see ``explain/importance.py``)."""
        return importlib.import_module("sapwood.explain.importance").importance(self, kind, percent=percent)

    def explain(self, X: Any, iterations: int | None = None, n_jobs: int | None = None) -> Any:
        """Explain the scores of all rows by Shapley values: an :class:`~sapwood.explain.explanation.Explanation`."""
        return importlib.import_module("sapwood.explain.shapley").explain(self, X, iterations, n_jobs)

    def shap_values(self, X: Any, iterations: int | None = None, n_jobs: int | None = None) -> np.ndarray:
        """Return the Shapley values of the scores of all rows: (rows, features) or (rows, features, outputs)."""
        return importlib.import_module("sapwood.explain.shapley").shap_values(self, X, iterations, n_jobs)

    def info(self) -> dict[str, Any]:
        """Return what the model is and how it was trained.

        The values are numbers, strings, lists and dictionaries; a model that was saved and loaded has the same.

        Returns
        -------
        dict
            Objective, link and classes; number of rows, columns with their names and encodings; numbers of rounds,
            trees and leaves; the reason for which training ended, the best round and its score, the monitored metric,
            sizes of the validation sets; ``params``, all parameters in force that decide the model; the fingerprint
            and the version of Sapwood that trained it.

        Examples
        --------
        >>> import sapwood
        >>> X = [[float(i)] for i in range(50)]
        >>> info = sapwood.train({"n_estimators": 3}, X, list(range(50))).info()
        >>> info["objective"], info["n_rows"], info["n_iterations"], info["params"]["max_bins"], info["stopped"]
        ('squared', 50, 3, 255, 'n_estimators')
        """
        return model_info(self)

    def refit_leaves(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        init_score: Any = None,
        decay_rate: float = 0.9,
        objective: Any = None,
        n_jobs: int | None = None,
    ) -> Model:
        """Return the model with leaf values refitted to other rows; its splits stay as they are.

        Rounds are refitted one after the other with the loss, the penalties and the learning rate of the training, each
        to the gradients that the refitted rounds before leave. Leaves that no row reaches keep their values.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Dataset
            Rows with the columns of training.
        y : array-like
            Target of each row; classes must be among those of the model.
        sample_weight : array-like, optional
            Weight of each row.
        init_score : array-like (rows,) or (rows, outputs), optional
            Offset of the scores.
        decay_rate : float, default=0.9
            Fraction of the old value that a leaf keeps: 0 forgets the rows of training.
        objective : str, Objective or callable, optional
            Loss of the training, if that was a function, which a model does not contain.
        n_jobs : int, optional
            Number of threads.

        Returns
        -------
        Model
            A model of the same trees. Gains, counts and sums of their nodes are those of the training.

        Examples
        --------
        >>> import numpy as np
        >>> import sapwood
        >>> X = np.arange(100.0)[:, None]
        >>> model = sapwood.train({"n_estimators": 50, "learning_rate": 0.5, "reg_lambda": 0}, X, X[:, 0])
        >>> moved = model.refit_leaves(X, X[:, 0] + 10.0, decay_rate=0.0)
        >>> bool(np.abs(moved.predict(X) - model.predict(X) - 10.0).max() < 0.01)
        True
        """
        update = importlib.import_module("sapwood.boost.leaf_update")  # it imports this module
        arguments = update.RefitArguments(X, y, sample_weight, init_score, decay_rate, objective, n_jobs)
        return update.refit_leaves(self, arguments)

    def fingerprint(self) -> str:
        """Return the hexadecimal sha256 of everything that decides a prediction (see ``model/io/fingerprint.py``)."""
        return fingerprint(self)

    # --- files --------------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file that ``sapwood.load`` reads; an existing file is replaced atomically."""
        from sapwood.model.io import serialize

        serialize.save(self, path)

    def __reduce__(self) -> tuple[Any, ...]:
        from sapwood.model.io import serialize

        return serialize.from_bytes, (serialize.to_bytes(self),)


def _check_jobs(n_jobs: Any) -> None:
    if n_jobs is not None and not (is_integer(n_jobs) and n_jobs != 0):
        raise ParameterError(f"n_jobs must be an integer other than 0, or None (as many as allowed), got {n_jobs!r}")


def _by_row(scores: np.ndarray) -> np.ndarray:
    """Transpose scores (outputs, rows) to (rows, outputs), or (rows,) if there is one output."""
    return scores[0] if len(scores) == 1 else np.ascontiguousarray(scores.T)
