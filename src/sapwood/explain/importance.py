"""Feature importances: of splits, of leaf values, of the loss on data, of Shapley values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np

from sapwood.data.tables.table import frame_library
from sapwood.errors import InputError, ParameterError
from sapwood.explain.loss_importance import loss_function_change, permutation_importance, read_rows
from sapwood.explain.prediction_difference import prediction_difference
from sapwood.explain.shapley import shap_interaction_values, shap_values
from sapwood.explain.value_importance import feature_pairs, prediction_values_change
from sapwood.model.ensemble import Ensemble
from sapwood.model.model import Model
from sapwood.model.tree import LEAF

# Kinds that are computed from the statistics of splits alone, and all kinds.
SPLIT_KINDS = {
    "weight": "number of splits",
    "frequency": "splits of the feature, in percent of all splits",
    "gain": "mean gain of its splits",
    "total_gain": "sum of the gains of its splits",
    "cover": "mean sum of hessians over its splits",
    "total_cover": "sum of hessians over its splits",
    "cover_rows": "mean number of training rows over its splits",
    "total_cover_rows": "number of training rows over its splits",
}
KINDS = SPLIT_KINDS | {
    "prediction_values_change": "change of the score from one side of its splits to the other, in percent",
    "internal": "the same of each column of the trees: derived features and combinations, in percent",
    "interaction": "interaction of each pair of features",
    "loss_function_change": "increase of the loss when its splits are averaged out",
    "permutation": "mean increase of the loss when its values are permuted",
    "mean_abs_shap": "mean of |Shapley value| over rows",
    "prediction_diff": "largest change of the difference between two rows that reverses their order",
}
ALIASES = {
    "split": "weight",
    "PredictionValuesChange": "prediction_values_change",
    "FeatureImportance": "prediction_values_change",
    "InternalFeatureImportance": "internal",
    "Interaction": "interaction",
    "LossFunctionChange": "loss_function_change",
    "PredictionDiff": "prediction_diff",
    "ShapValues": "mean_abs_shap",
}


class FeatureImportance(np.ndarray):
    """Importances in the order of the columns of X, with their names: an array that prints as a sorted table.

    Attributes
    ----------
    names : tuple of str
        Names of the features.
    kind : str
        Definition of importance, as in ``importance(kind)``.
    errors : ndarray or None
        Standard error of each importance, where it is estimated.
    library : str
        Library of the data frame that ``to_frame`` returns.

    Examples
    --------
    >>> import numpy as np
    >>> import sapwood
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> sapwood.train({"n_estimators": 10}, X, X[:, 1]).importance("weight").kind
    'weight'
    """

    names: tuple[str, ...]
    kind: str
    errors: np.ndarray | None
    library: Any

    @classmethod
    def of(
        cls,
        values: np.ndarray,
        names: Sequence[str],
        kind: str,
        errors: np.ndarray | None = None,
        library: str = "pandas",
    ) -> FeatureImportance:
        """Attach names and the kind of importance to an array of values.

        Parameters
        ----------
        values : array-like (features,)
            Importance of each feature.
        names : list of str
            Names of the features.
        kind : str
            Definition of importance.
        errors : ndarray (features,), optional
            Standard error of each importance.
        library : str, default='pandas'
            Library of data frames.

        Returns
        -------
        FeatureImportance
            The values with their names.

        Examples
        --------
        >>> from sapwood.explain.importance import FeatureImportance
        >>> table = FeatureImportance.of([1.0, 3.0], ["age", "income"], "total_gain")
        >>> table
        importance (total_gain)
        income  3
        age     1
        """
        table = np.asarray(values, dtype=np.float64).view(cls)
        table.names, table.kind, table.errors, table.library = tuple(names), kind, errors, library
        return table

    def __array_finalize__(self, other: np.ndarray | None) -> None:
        self.names, self.kind = getattr(other, "names", ()), getattr(other, "kind", "")
        self.errors, self.library = getattr(other, "errors", None), getattr(other, "library", "pandas")

    def items(self) -> list[tuple[str, float]]:
        """Return the name and the importance of every feature.

        Returns
        -------
        list of (str, float)
            The most important feature first.

        Examples
        --------
        >>> from sapwood.explain.importance import FeatureImportance
        >>> table = FeatureImportance.of([1.0, 3.0], ["age", "income"], "total_gain")
        >>> table.items()
        [('income', 3.0), ('age', 1.0)]
        """
        order = np.argsort(-np.asarray(self), kind="stable")
        return [(self.names[f], float(self[f])) for f in order]

    def to_dict(self) -> dict[str, float]:
        """Return the importance of each feature by name.

        Returns
        -------
        dict
            The most important feature first.

        Examples
        --------
        >>> from sapwood.explain.importance import FeatureImportance
        >>> table = FeatureImportance.of([1.0, 3.0], ["age", "income"], "total_gain")
        >>> table.to_dict()
        {'income': 3.0, 'age': 1.0}
        """
        return dict(self.items())

    def to_frame(self) -> Any:
        """Return the importance of each feature as a data frame.

        Returns
        -------
        data frame
            Columns ``feature`` and ``importance``, and ``standard_error`` where it is estimated, the most important
            feature first. It is of the library of X, pandas by default.

        Examples
        --------
        >>> from sapwood.explain.importance import FeatureImportance
        >>> table = FeatureImportance.of([1.0, 3.0], ["age", "income"], "total_gain")
        >>> table.to_frame()
          feature  importance
        0  income         3.0
        1     age         1.0
        """
        import narwhals as nw

        order = np.argsort(-np.asarray(self), kind="stable")
        columns: dict[str, Any] = {"feature": [self.names[f] for f in order], "importance": np.asarray(self)[order]}
        if self.errors is not None:
            columns["standard_error"] = self.errors[order]
        return nw.from_dict(columns, backend=self.library).to_native()

    def __repr__(self) -> str:
        if self.ndim != 1 or len(self.names) != len(self):
            return repr(np.asarray(self))
        width = max((len(name) for name in self.names), default=0)
        lines = [f"{name:<{width}}  {value:.6g}" for name, value in self.items()]
        if self.errors is not None:
            order = np.argsort(-np.asarray(self), kind="stable")
            lines = [f"{line} ± {error:.2g}" for line, error in zip(lines, self.errors[order], strict=True)]
        return "\n".join([f"importance ({self.kind})", *lines])

    __str__ = __repr__


def importance(
    model: Model, kind: str = "total_gain", X: Any = None, y: Any = None, *, percent: bool = False, **options: Any
) -> FeatureImportance:
    """Return the importance of each feature; with ``percent``, scaled to sum to 100 (see ``KINDS``).

    A split counts if rows go to both sides: levels of symmetric trees also split nodes that all rows of one side leave
    empty. Gains are decreases of the objective with its factor 1/2: XGBoost and LightGBM report twice as much.

    ``options`` are ``sample_weight``, ``n_repeats`` and ``random_state``, for the kinds that measure a loss, and
    ``n_jobs``.
    """
    found = ALIASES.get(kind, kind) if isinstance(kind, str) else kind
    if found not in KINDS:
        near = get_close_matches(str(kind), [*KINDS, *ALIASES], n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise ParameterError(f"importance: kind must be one of {', '.join(KINDS)}, got {kind!r}{hint}")
    names, values, errors = model.feature_names, np.empty(0), None
    if found in ("internal", "interaction"):
        names, values = _named_values(model, found, X, options.get("n_jobs"))
    elif found in ("permutation", "loss_function_change", "mean_abs_shap", "prediction_diff"):
        values, errors = _values_on_data(model, found, X, y, options)
    elif found == "prediction_values_change":
        values = _by_feature(model, prediction_values_change(model))
    else:
        values = _values(model, found)
    if percent or found == "frequency":
        errors = None if errors is None else 100.0 * errors / (np.abs(values.sum()) or 1.0)
        values = _normalized(values) * 100.0
    return FeatureImportance.of(values, names, found, errors, frame_library(X) or "pandas")


def _values_on_data(
    model: Model, kind: str, X: Any, y: Any, options: Mapping[str, Any]
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the importances that are measured on rows, and their standard errors."""
    n_jobs = options.get("n_jobs")
    if kind == "prediction_diff":
        return prediction_difference(model, X, n_jobs), None
    if kind == "mean_abs_shap":
        if X is None:
            raise InputError("importance: kind 'mean_abs_shap' is a mean over rows: pass X")
        values = np.abs(shap_values(model, X, n_jobs=n_jobs))
        return values.mean(axis=0) if values.ndim == 2 else values.mean(axis=0).sum(axis=1), None
    rows = read_rows(model, X, y, options.get("sample_weight"), kind)
    if kind == "loss_function_change":
        return loss_function_change(model, rows, n_jobs), None
    return permutation_importance(model, rows, options.get("n_repeats", 5), options.get("random_state", 0), n_jobs)


def _named_values(model: Model, kind: str, X: Any, n_jobs: int | None) -> tuple[list[str], np.ndarray]:
    """Return importances of columns of the trees, or of pairs of features, with their names."""
    if kind == "internal":
        values = prediction_values_change(model)
        used = np.flatnonzero(model.ensemble.used_features(model.n_columns))
        return [model.column_names[k] for k in used], values[used]
    if X is None:
        strength, names = feature_pairs(model), model.column_names
    else:
        names = model.feature_names
        pairs = 2.0 * np.abs(shap_interaction_values(model, X, n_jobs=n_jobs)).mean(axis=0)
        pairs = pairs if pairs.ndim == 2 else pairs.sum(axis=2)
        strength = {(a, b): float(pairs[a, b]) for a in range(len(names)) for b in range(a + 1, len(names))}
        strength = {pair: value for pair, value in strength.items() if value > 0.0}
    return [f"{names[a]} × {names[b]}" for a, b in strength], np.array(list(strength.values()))


def feature_importances(model: Model) -> np.ndarray:
    """Return the total gain of each feature, scaled to sum to 1; all 0 if no tree has a split."""
    return _normalized(_values(model, "total_gain"))


def tree_importances(model: Model) -> np.ndarray:
    """Return the total gain of each feature in each tree (trees, features), scaled to sum to 1 in every tree."""
    ensemble, n_columns = model.ensemble, model.n_columns
    inner = ensemble.feature != LEAF
    cells = ensemble.tree_of_node()[inner] * n_columns + ensemble.feature[inner]
    gains = np.bincount(cells, weights=ensemble.gain[inner], minlength=ensemble.n_trees * n_columns)
    by_tree = [_normalized(_by_feature(model, row)) for row in gains.reshape(ensemble.n_trees, n_columns)]
    return np.array(by_tree).reshape(ensemble.n_trees, model.n_features)


def _values(model: Model, kind: str) -> np.ndarray:
    ensemble = model.ensemble
    inner = ensemble.feature != LEAF
    features = ensemble.feature[inner]
    is_split = _divides_rows(ensemble)[inner].astype(np.float64)
    splits = _by_feature(model, np.bincount(features, weights=is_split, minlength=model.n_columns))
    if kind in ("weight", "frequency"):
        return splits
    totals = _by_feature(
        model, np.bincount(features, weights=_split_statistic(ensemble, kind)[inner], minlength=model.n_columns)
    )
    if kind.startswith("total_"):
        return totals
    return np.divide(totals, splits, out=np.zeros(model.n_features), where=splits > 0)


def _divides_rows(ensemble: Ensemble) -> np.ndarray:
    """Return whether training rows go to both children of each inner node."""
    inner = ensemble.feature != LEAF
    left = np.where(inner, ensemble.left + ensemble.tree_start[ensemble.tree_of_node()], 0)
    right = np.where(inner, left + 1, 0)
    return inner & (ensemble.count[left] > 0) & (ensemble.count[right] > 0)


def _by_feature(model: Model, values: np.ndarray) -> np.ndarray:
    """Sum values of tree features by column of X; those of a combination are divided equally among its columns."""
    return values if model.transformer is None else model.transformer.to_user_columns(values, model.n_features)


def _split_statistic(ensemble: Ensemble, kind: str) -> np.ndarray:
    """Return the statistic of each node that an importance adds up."""
    if kind.endswith("gain"):
        return ensemble.gain
    if kind.endswith("cover"):
        return ensemble.hessian if ensemble.hessian.ndim == 1 else ensemble.hessian.sum(axis=1)
    return ensemble.count.astype(np.float64)


def _normalized(values: np.ndarray) -> np.ndarray:
    total = values.sum()
    return values / total if total > 0 else np.zeros_like(values)
