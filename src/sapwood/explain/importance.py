"""Feature importances: splits, gain and cover of each feature."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np

from sapwood.errors import ParameterError
from sapwood.model.ensemble import Ensemble
from sapwood.model.model import Model
from sapwood.model.tree import LEAF

KINDS = {
    "weight": "number of splits",
    "frequency": "splits of the feature, in percent of all splits",
    "gain": "mean gain of its splits",
    "total_gain": "sum of the gains of its splits",
    "cover": "mean sum of hessians over its splits",
    "total_cover": "sum of hessians over its splits",
    "cover_rows": "mean number of training rows over its splits",
    "total_cover_rows": "number of training rows over its splits",
}
ALIASES = {"split": "weight"}


class FeatureImportance(np.ndarray):
    """Importances in the order of the columns of X, with their names: an array that prints as a sorted table.

    Attributes
    ----------
    names : tuple of str
        Names of the features.
    kind : str
        Definition of importance, as in ``importance(kind)``.

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

    @classmethod
    def of(cls, values: np.ndarray, names: Sequence[str], kind: str) -> FeatureImportance:
        """Attach names and the kind of importance to an array of values.

        Parameters
        ----------
        values : array-like (features,)
            Importance of each feature.
        names : list of str
            Names of the features.
        kind : str
            Definition of importance.

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
        table.names, table.kind = tuple(names), kind
        return table

    def __array_finalize__(self, other: np.ndarray | None) -> None:
        self.names, self.kind = getattr(other, "names", ()), getattr(other, "kind", "")

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
        pandas.DataFrame
            Columns ``feature`` and ``importance``, the most important feature first.

        Examples
        --------
        >>> from sapwood.explain.importance import FeatureImportance
        >>> table = FeatureImportance.of([1.0, 3.0], ["age", "income"], "total_gain")
        >>> table.to_frame()
          feature  importance
        0  income         3.0
        1     age         1.0
        """
        import pandas as pd

        return pd.DataFrame(self.items(), columns=["feature", "importance"])

    def __repr__(self) -> str:
        if self.ndim != 1 or len(self.names) != len(self):
            return repr(np.asarray(self))
        width = max((len(name) for name in self.names), default=0)
        lines = [f"{name:<{width}}  {value:.6g}" for name, value in self.items()]
        return "\n".join([f"importance ({self.kind})", *lines])

    __str__ = __repr__


def importance(model: Model, kind: str = "total_gain", *, percent: bool = False) -> FeatureImportance:
    """Return the importance of each feature; with ``percent``, scaled to sum to 100.

    A split counts if rows go to both sides: levels of symmetric trees also split nodes that all rows of one side leave
    empty.

    Gains are decreases of the objective with its factor 1/2: XGBoost and LightGBM report twice as much. LightGBM's
    ``split`` is ``weight``, its ``gain`` is ``total_gain``.
    """
    kind = ALIASES.get(kind, kind)
    if kind not in KINDS:
        near = get_close_matches(str(kind), [*KINDS, *ALIASES], n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise ParameterError(f"importance: kind must be one of {', '.join(KINDS)}, got {kind!r}{hint}")
    values = _values(model, kind)
    if percent or kind == "frequency":
        values = _normalized(values) * 100.0
    return FeatureImportance.of(values, [model.schema.name_of(f) for f in range(model.n_features)], kind)


def feature_importances(model: Model) -> np.ndarray:
    """Return the total gain of each feature, scaled to sum to 1; all 0 if no tree has a split."""
    return _normalized(_values(model, "total_gain"))


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
