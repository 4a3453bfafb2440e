"""Option objects: values of a parameter that carry settings of their own, such as ``sampling=Goss(0.2, 0.1)``."""

from __future__ import annotations

from sapwood.params.options.boosting import Dart, dart_of, is_boosting
from sapwood.params.options.class_weight import EffectiveNumber, is_class_weight
from sapwood.params.options.columns import (
    CROSS_KINDS,
    AutoCategorical,
    Bundle,
    NumericCrosses,
    conflicts_of,
    crosses_of,
    is_bundle,
    is_categorical_features,
)
from sapwood.params.options.early_stopping import (
    EarlyStopping,
    LastRows,
    early_stopping_of,
    is_early_stopping,
    is_validation_fraction,
)
from sapwood.params.options.sampling import (
    SAMPLINGS,
    Bayesian,
    Goss,
    Mvs,
    Sampling,
    Uniform,
    is_sampling,
    register_sampling,
    sampling_of,
)
from sapwood.params.options.trees import Linear, Symmetric, is_growth, is_leaf_model, linear_of, symmetric_of

__all__ = [
    "AutoCategorical",
    "Bayesian",
    "Bundle",
    "CROSS_KINDS",
    "Dart",
    "EarlyStopping",
    "EffectiveNumber",
    "Goss",
    "LastRows",
    "Linear",
    "Mvs",
    "NumericCrosses",
    "SAMPLINGS",
    "Sampling",
    "Symmetric",
    "Uniform",
    "conflicts_of",
    "crosses_of",
    "dart_of",
    "early_stopping_of",
    "is_boosting",
    "is_bundle",
    "is_categorical_features",
    "is_class_weight",
    "is_early_stopping",
    "is_growth",
    "is_leaf_model",
    "is_sampling",
    "is_validation_fraction",
    "linear_of",
    "register_sampling",
    "sampling_of",
    "symmetric_of",
]
