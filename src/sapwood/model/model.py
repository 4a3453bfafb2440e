"""A trained model: prediction, inspection of its trees, and saving."""

from __future__ import annotations

import importlib
import os
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sapwood.data.categories.transformer import FeatureTransformer
from sapwood.data.tables.schema import Schema
from sapwood.errors import ParameterError
from sapwood.lazy_dataclass import dataclass
from sapwood.model.arithmetic import add_models, every_round, scale_model
from sapwood.model.ensemble import Ensemble
from sapwood.model.explanation_methods import ExplanationMethods
from sapwood.model.info import CATEGORIES, DECISIONS, model_info
from sapwood.model.intervals import Intervals
from sapwood.model.io.fingerprint import fingerprint
from sapwood.model.prediction_methods import PredictionMethods
from sapwood.model.tree import frozen_array
from sapwood.params.validators import is_number


@dataclass(frozen=True, eq=False)
class Model(ExplanationMethods, PredictionMethods):
    """Trees, the base scores they are added to, and the link from scores to predictions; immutable.

    ``sapwood.train``, ``sapwood.load`` and fitted estimators (``model_``) give models. Methods that predict take X as
    an array, a list of rows, a data frame or a sparse matrix. A :class:`~sapwood.data.tables.table.Table` is taken as
    one that ``schema.align`` returned and is not aligned again.

    Attributes
    ----------
    schema : Schema
        Names and kinds of the columns of the training table.
    ensemble : Ensemble
        The trees.
    base_scores : ndarray (outputs,)
        Scores before the first tree.
    link : str
        Name of the link function from scores to predictions.
    classes : ndarray or None
        Labels in the order of the probabilities; None for regression.
    objective : dict
        Name and settings of the loss.
    metadata : dict
        Facts about training as JSON values; see ``info``.
    transformer : FeatureTransformer or None
        What computes the features of the trees from categorical columns; None without such columns.
    intervals : Intervals or None
        Quantiles of ``predict_interval``; None if the model was trained without them.

    Examples
    --------
    >>> import sapwood
    >>> X = [[float(i)] for i in range(100)]
    >>> model = sapwood.train({"n_estimators": 10}, X, list(range(100)))
    >>> model
    <sapwood.Model: 1 features, 1 outputs, 10 rounds, 10 trees, link identity>
    >>> model.predict(X).shape, len(model[:5])
    ((100,), 5)
    """

    schema: Schema
    ensemble: Ensemble
    base_scores: np.ndarray
    link: str = "identity"
    classes: np.ndarray | None = None
    objective: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    transformer: FeatureTransformer | None = None
    intervals: Intervals | None = None

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

    def _repr_html_(self) -> str:
        from sapwood.model.html_summary import html_summary  # for notebooks only

        return html_summary(self, "sapwood.Model")

    # --- size ---------------------------------------------------------------------------------------------------------

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

    @property
    def decisions(self) -> list[dict[str, Any]]:
        """Choices that ``effort`` made: the candidates, their losses on validation rows, what was chosen and why."""
        return self.metadata.get(DECISIONS, [])

    def __len__(self) -> int:
        return self.n_iterations

    def __getitem__(self, rounds: slice) -> Model:
        """Return the model with some of its rounds only: ``model[:50]`` has the first 50, ``model[::2]`` every other.

        The trees of a forest are averaged anew; others keep the values that they have.

        Parameters
        ----------
        rounds : slice
            Rounds to keep, counted from 0.

        Returns
        -------
        Model
            A model with these rounds.

        Examples
        --------
        >>> import sapwood
        >>> X = [[float(i)] for i in range(100)]
        >>> model = sapwood.train({"n_estimators": 10}, X, list(range(100)))
        >>> len(model[:4]), len(model[::2])
        (4, 5)
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

    if not TYPE_CHECKING:  # for type checkers an unknown attribute is an error

        def __getattr__(self, name):
            if hasattr(type(self), name):  # a property raised an AttributeError, which is raised again
                return object.__getattribute__(self, name)
            from sapwood.params.unknown_attributes import unknown_attribute

            raise unknown_attribute("Model", name)

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
        """Return all trees as text, one line per node; a row for which the condition holds goes to the first child.

        ``city in {'Oslo', 'Rome', missing}`` names the categories that go left; ``others`` are those that did not occur
        in training. The side of missing values is shown for columns that had some in training.

        Returns
        -------
        str
            The base scores, and then the trees.

        Examples
        --------
        >>> import sapwood
        >>> X = [[float(i)] for i in range(100)]
        >>> model = sapwood.train({"n_estimators": 10}, X, list(range(100)))
        >>> model.to_text().splitlines()[0]
        'base scores: 49.5'
        """
        from sapwood.model.tree_text import ModelTreeText, short_number

        parts = [f"base scores: {', '.join(map(short_number, self.base_scores))}"]
        text = ModelTreeText(self)
        for k, tree in enumerate(self.ensemble):
            title = f"tree {k} (round {self.ensemble.tree_round[k]}, output {self.ensemble.tree_output[k]})"
            parts.append(f"{title}\n{text.write(tree)}")
        return "\n\n".join(parts) + "\n"

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
        """Return a digest of everything that decides a prediction.

        Returns
        -------
        str
            A hexadecimal sha256; names of columns and statistics of nodes are left out.

        Examples
        --------
        >>> import sapwood
        >>> X = [[float(i)] for i in range(100)]
        >>> model = sapwood.train({"n_estimators": 10}, X, list(range(100)))
        >>> model.fingerprint() == sapwood.train({"n_estimators": 10, "n_jobs": 1}, X, list(range(100))).fingerprint()
        True
        """
        return fingerprint(self)

    # --- files --------------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file that ``sapwood.load`` reads.

        Parameters
        ----------
        path : str or path
            File to write; an existing one is replaced atomically.

        Examples
        --------
        >>> import sapwood
        >>> X = [[float(i)] for i in range(100)]
        >>> model = sapwood.train({"n_estimators": 10}, X, list(range(100)))
        >>> model.save("model.sapwood")
        >>> sapwood.load("model.sapwood").fingerprint() == model.fingerprint()
        True
        """
        from sapwood.model.io import serialize

        serialize.save(self, path)

    def __reduce__(self) -> tuple[Any, ...]:
        from sapwood.model.io import serialize

        return serialize.from_bytes, (serialize.to_bytes(self),)
