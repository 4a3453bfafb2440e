"""Feature importances: splits, gain and cover of each feature."""

from __future__ import annotations

from difflib import get_close_matches

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


def importance(model: Model, kind: str = "gain", *, percent: bool = False) -> np.ndarray:
    """Return the importance of each feature; with ``percent``, scaled to sum to 100.

    Gains are decreases of the objective with its factor 1/2: XGBoost and LightGBM report twice as much. LightGBM's
    ``split`` is ``weight``, its ``gain`` is ``total_gain``.
    """
    kind = ALIASES.get(kind, kind)
    if kind not in KINDS:
        near = get_close_matches(str(kind), [*KINDS, *ALIASES], n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise ParameterError(f"importance: kind must be one of {', '.join(KINDS)}, got {kind!r}{hint}")
    values = _values(model, kind)
    return _normalized(values) * 100.0 if percent or kind == "frequency" else values


def feature_importances(model: Model) -> np.ndarray:
    """Return the total gain of each feature, scaled to sum to 1; all 0 if no tree has a split."""
    return _normalized(_values(model, "total_gain"))


def _values(model: Model, kind: str) -> np.ndarray:
    ensemble = model.ensemble
    inner = ensemble.feature != LEAF
    features = ensemble.feature[inner]
    splits = _by_feature(model, np.bincount(features, minlength=model.n_columns).astype(np.float64))
    if kind in ("weight", "frequency"):
        return splits
    totals = _by_feature(
        model, np.bincount(features, weights=_split_statistic(ensemble, kind)[inner], minlength=model.n_columns)
    )
    if kind.startswith("total_"):
        return totals
    return np.divide(totals, splits, out=np.zeros(model.n_features), where=splits > 0)


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
