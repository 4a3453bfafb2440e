"""Check the parameters of single trees and resolve them for a table."""

from __future__ import annotations

from typing import Any

from sapwood.classic.node_limits import feature_count, row_count
from sapwood.classic.trees.settings import GAIN_RATIO, GrowSettings
from sapwood.errors import ParameterError
from sapwood.params.resolve import resolve_seed
from sapwood.params.validators import integer, is_bool, number

CLASS_CRITERIA, NUMBER_CRITERIA = ("gini", "entropy", GAIN_RATIO), ("squared_error", "absolute_error")
CATEGORY_SPLITS, MISSING = ("auto", "multiway", "binary"), ("learned", "fractional")
# Names of scikit-learn and of textbooks, and what to write instead.
CLASS_HINTS = {
    "log_loss": "it is criterion='entropy' here",
    "id3": "ID3 is criterion='entropy' with categorical columns",
    "c4.5": "C4.5 is criterion='gain_ratio' with missing='fractional'",
    "c45": "C4.5 is criterion='gain_ratio' with missing='fractional'",
    "cart": "CART is criterion='gini' with category_splits='binary'",
}
NUMBER_HINTS = {
    "mse": "use 'squared_error'",
    "mae": "use 'absolute_error'",
    "friedman_mse": "use 'squared_error'",
    "cart": "CART is criterion='squared_error' with category_splits='binary'",
    "poisson": "use SapwoodRegressor(objective='poisson', n_estimators=1, learning_rate=1.0)",
}
IS_FOR_CLASSES = "it is for classes: use SapwoodTreeClassifier"
IS_FOR_NUMBERS = "it is for numbers: use SapwoodTreeRegressor"
CRITERION_HINTS = {
    CLASS_CRITERIA: dict.fromkeys((*NUMBER_CRITERIA, *NUMBER_HINTS), IS_FOR_NUMBERS) | CLASS_HINTS,
    NUMBER_CRITERIA: dict.fromkeys((*CLASS_CRITERIA, *CLASS_HINTS), IS_FOR_CLASSES) | NUMBER_HINTS,
}


def resolve_settings(
    tree: Any, criteria: tuple[str, ...], n_classes: int, n_features: int, n_rows: int, total_weight: float
) -> GrowSettings:
    """Return the settings of a grower from the parameters of an estimator."""
    criterion = _one_of("criterion", tree.criterion, criteria, CRITERION_HINTS[criteria])
    category_splits = _one_of("category_splits", tree.category_splits, CATEGORY_SPLITS)
    is_fractional = _one_of("missing", tree.missing, MISSING) == "fractional"
    is_multiway = category_splits == "multiway" or (category_splits == "auto" and criterion in ("entropy", GAIN_RATIO))
    max_leaves = tree.max_leaf_nodes
    min_leaf = row_count("min_samples_leaf", tree.min_samples_leaf, n_rows, 1)
    min_fraction = number(0.0, 0.5).check("min_weight_fraction_leaf", tree.min_weight_fraction_leaf)
    # Parts of rows are counted by weight, as in C4.5.
    min_weight = max(min_fraction * total_weight, min_leaf * (total_weight / n_rows) if is_fractional else 0.0)
    number(0.0).check("ccp_alpha", tree.ccp_alpha)
    if not is_bool(tree.oblique):
        raise ParameterError(f"oblique must be True or False, got {tree.oblique!r}")
    return GrowSettings(
        criterion=criterion,
        n_classes=n_classes,
        max_depth=n_rows if tree.max_depth is None else integer(1).check("max_depth", tree.max_depth),
        min_samples_split=row_count("min_samples_split", tree.min_samples_split, n_rows, 2),
        min_samples_leaf=min_leaf,
        min_weight=min_weight,
        min_impurity_decrease=number(0.0).check("min_impurity_decrease", tree.min_impurity_decrease),
        max_leaf_nodes=None if max_leaves is None else integer(2).check("max_leaf_nodes", max_leaves),
        max_features=feature_count(tree.max_features, n_features),
        is_multiway=is_multiway,
        is_fractional=is_fractional,
        is_oblique=bool(tree.oblique),
        seed=resolve_seed(tree.random_state),
    )


def _one_of(name: str, value: Any, allowed: tuple[str, ...], hints: dict[str, str] | None = None) -> str:
    if isinstance(value, str) and value in allowed:
        return value
    hint = (hints or {}).get(str(value).lower())
    raise ParameterError(
        f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}{'' if hint is None else f': {hint}'}"
    )
