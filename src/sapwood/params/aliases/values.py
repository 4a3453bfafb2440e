"""Values of parameters in other libraries, and what they are here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# By parameter, from their value (strings in lower case) to ours as it is typed.
VALUES: dict[str, dict[Any, str]] = {
    "init": {"zero": "0"},
    "categorical_features": {"from_dtype": "'auto'"},
    "growth": {
        "depthwise": "'levelwise'",
        "lossguide": "'leafwise'",
        "symmetrictree": "'symmetric'",
        "oblivious": "'symmetric'",
    },
    "split_search": {"hist": "'histogram'", "gpu_hist": "'histogram'", "approx": "'histogram'"},
    "max_leaves": {0: "None", -1: "None"},
    "max_depth": {0: "None", -1: "None"},
    "min_child_samples": {0: "1"},
    "boosting": {
        "gbdt": "'plain'",
        "gbrt": "'plain'",
        "gbtree": "'plain'",
        "rf": "'forest'",
        "random_forest": "'forest'",
        "goss": "sampling='goss'",
    },
    "sampling": {
        "bernoulli": "'uniform'",
        "bagging": "'uniform'",
        "poisson": "Uniform(replacement=True)",
        "gradient_based": "'mvs'",
        "no": "'none'",
    },
    "early_stopping_rounds": {0: "None", -1: "None"},
    "n_jobs": {0: "None"},
    "verbose": {-1: "0"},
}


def value_here(parameter: str, value: Any, accepts: Callable[[Any], bool]) -> str | None:
    """Return our value, as it is typed, for one that a parameter does not accept; None if it is not known."""
    if isinstance(value, str):
        value = value.lower()
        if accepts(value):
            return repr(value)
    elif not isinstance(value, int):
        return None
    return VALUES.get(parameter, {}).get(value)
