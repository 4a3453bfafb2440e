"""Check targets and weights, and number the classes of labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.data import conversion
from sapwood.errors import InputError, InputTypeError

CLASSES_SHOWN = 10


def check_target(y: Any, n_rows: int) -> np.ndarray:
    """The target of regression as float64, one finite number per row."""
    values = _numbers(y, n_rows, "y")
    _check_finite(values, "y", "drop the row or give it a value")
    return values


def check_weight(weight: Any, n_rows: int) -> np.ndarray | None:
    """Sample weights as float64: finite, not negative, not all zero. None stays None."""
    if weight is None:
        return None
    values = _numbers(weight, n_rows, "sample_weight")
    _check_finite(values, "sample_weight", "a row that must not count has the weight 0")
    if (values < 0).any():
        row = int(np.argmax(values < 0))
        raise InputError(
            f"sample_weight must not be negative, row {row} has {_shown(values[row])}: leave a row out with 0"
        )
    if not values.any():
        raise InputError("sample_weight is zero for every row: at least one row must have a positive weight")
    return values


def encode_labels(y: Any, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """The classes of labels of any one kind, sorted, and each row's class number as float64."""
    labels = _labels(y, n_rows)
    if labels.dtype.kind == "O":
        classes = np.array(sorted(set(labels.tolist())), dtype=object)
        return classes, _places(labels, classes)
    classes, codes = np.unique(labels, return_inverse=True)
    return classes, codes.reshape(-1).astype(np.float64)


def code_labels(y: Any, n_rows: int, classes: np.ndarray) -> np.ndarray:
    """Each row's number among the known ``classes``, as float64."""
    labels = _labels(y, n_rows)
    codes = _places(labels, classes)
    if (codes < 0).any():
        row = int(np.argmax(codes < 0))
        known = ", ".join(_shown(label) for label in classes[:CLASSES_SHOWN])
        more = ", ..." if len(classes) > CLASSES_SHOWN else ""
        raise InputError(f"row {row} has the label {_shown(labels[row])}, which is none of the classes {known}{more}")
    return codes


def column_of(y: Any, n_rows: int, name: str) -> np.ndarray:
    """A target, weight or label vector as a one-dimensional array of its own type, its length checked."""
    if y is None:
        raise InputError(f"{name} is None: it must have one value for each of the {n_rows} rows of X")
    if hasattr(y, "nnz"):
        raise InputTypeError(f"{name} is a sparse matrix: pass {name}.toarray().ravel()")
    try:
        array = y if isinstance(y, np.ma.MaskedArray) else np.asarray(y)
    except ValueError as error:
        raise InputError(f"{name} cannot be read as one value per row: {error}") from error
    if array.dtype.kind in "UST" and isinstance(y, list | tuple):
        array = np.asarray(y, dtype=object)  # numbers beside a text were turned into text: look at them as given
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InputError(f"{name} should be a 1d array, got an array of shape {array.shape} instead.")
    if len(array) != n_rows:
        raise InputError(
            f"Found input variables with inconsistent numbers of samples: X has {n_rows} rows, {name} has {len(array)}"
        )
    return array


def _numbers(y: Any, n_rows: int, name: str) -> np.ndarray:
    array = column_of(y, n_rows, name)
    if array.dtype.kind in "UST":
        array = array.astype(object)
    conversion.check_type(array.dtype, name)
    return np.ascontiguousarray(conversion.to_floats(array, conversion.Place(name=name)), dtype=np.float64)


def _check_finite(values: np.ndarray, name: str, remedy: str) -> None:
    finite = np.isfinite(values)
    if not finite.all():
        row = int(np.argmin(finite))
        raise InputError(
            f"{name} must be finite: it contains NaN or infinity, row {row} has {_shown(values[row])}; {remedy}"
        )


def _places(labels: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """The place of each label among the classes, -1 if it has none."""
    place_of = {label: float(place) for place, label in enumerate(classes.tolist())}
    return np.array([place_of.get(label, -1.0) for label in labels.tolist()], dtype=np.float64)


def _labels(y: Any, n_rows: int) -> np.ndarray:
    """Labels of a plain type, or texts as objects."""
    labels = column_of(y, n_rows, "y")
    if np.ma.is_masked(labels):
        raise InputError(
            f"y must have a label in every row: row {int(np.argmax(np.ma.getmaskarray(labels)))} is masked"
        )
    labels = np.ma.getdata(labels)
    if labels.dtype.kind == "c":
        raise InputError(f"Complex data not supported: y is of type {labels.dtype}")
    if labels.dtype.kind == "f":
        _check_finite(labels, "y", "drop the row or give it a label")
    return _of_one_kind(labels) if labels.dtype.kind == "O" else labels


def _of_one_kind(labels: np.ndarray) -> np.ndarray:
    first_of: dict[str, int] = {}
    for of_type in set(map(type, labels.tolist())):
        row = next(row for row, label in enumerate(labels) if type(label) is of_type)
        kind = _kind(labels[row])
        first_of[kind] = min(row, first_of.get(kind, row))
    if "missing" in first_of or "number" in first_of:
        for row, label in enumerate(labels):
            if conversion.is_missing(label) or label != label:
                raise InputError(f"y must have a label in every row: it contains NaN or None, row {row} has {label!r}")
    if len(first_of) > 1:
        rows = sorted(first_of.items(), key=lambda item: item[1])
        found = ", ".join(f"{kind} (row {row}: {_shown(labels[row])})" for kind, row in rows)
        raise InputTypeError(f"y mixes labels of different kinds, {found}: make them all texts or all numbers")
    if first_of.keys() <= {"boolean", "number"}:
        return np.array(labels.tolist())
    [(kind, row)] = first_of.items()
    if kind != "text":
        raise InputTypeError(f"row {row} of y has the label {labels[row]!r}: labels must be texts, numbers or booleans")
    return labels


def _kind(label: Any) -> str:
    if isinstance(label, str):
        return "text"
    if isinstance(label, bool | np.bool_):
        return "boolean"
    if conversion.is_missing(label):
        return "missing"
    return "number" if isinstance(label, conversion.NUMBERS) else type(label).__name__


def _shown(label: Any) -> str:
    return repr(label.item() if isinstance(label, np.generic) else label)
