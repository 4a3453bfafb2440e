"""Check regression targets and sample weights, and encode class labels."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from sapwood.data.tables import conversion
from sapwood.data.tables.conversion import short_repr
from sapwood.distributed.workers import LOCAL, Workers
from sapwood.errors import InputError, InputTypeError, warn_user

CLASSES_SHOWN = 10
MIN_WEIGHT, MAX_WEIGHT = 1e-200, 1e70
MAX_LABEL_RANGE = 1 << 16  # of integers that are counted to find the distinct ones
WARN_ABOVE_CLASSES = 20  # above, and with fewer than two rows per class, labels look like a regression target


def check_target(y: Any, n_rows: int) -> np.ndarray:
    """Return a regression target as float64, one finite number per row."""
    values = read_numbers(
        read_column(y, n_rows, "y"), "y", "convert it to a number, or use SapwoodClassifier if it is a class"
    )
    _check_finite(values, "y", "drop the row or give it a value")
    return values


def check_weight(
    weight: Any, n_rows: int, name: str = "sample_weight", may_be_zero: bool = False
) -> np.ndarray | None:  # fmt: skip
    """Return sample weights as float64: finite, not negative, and not all zero unless ``may_be_zero``.

    None, for equal weights, is returned as None.
    """
    if weight is None:
        return None
    values = read_numbers(read_column(weight, n_rows, name), name, "give every row a number")
    _check_finite(values, name, "to exclude the row, give it weight 0")
    if (values < 0).any():
        row = int(np.argmax(values < 0))
        raise InputError(
            f"{name} must not be negative, row {row} has {short_repr(values[row])}: to exclude the row, give it weight "
            "0"
        )
    if not may_be_zero and not values.any():
        raise InputError(f"{name} is zero for every row: at least one row must have a positive weight")
    check_range(values, name)
    return values


def check_range(weight: np.ndarray, name: str) -> None:
    """Raise an error for weights so small or large that their products or sums would underflow or overflow."""
    is_allowed = (weight == 0.0) | ((weight >= MIN_WEIGHT) & (weight <= MAX_WEIGHT))
    if not is_allowed.all():
        row = int(np.argmin(is_allowed))
        raise InputError(
            f"{name} must be 0 or between {MIN_WEIGHT:g} and {MAX_WEIGHT:g}, row {row} has {short_repr(weight[row])}: "
            "divide all weights by their mean, or exclude the row with weight 0"
        )


def encode_labels(y: Any, n_rows: int, n_total: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the sorted classes of labels of one kind, and the class number of each row as float64.

    ``n_total`` is the number of rows of all workers, if others have rows too.
    """
    labels = _read_labels(y, n_rows)
    if labels.dtype.kind == "O":
        classes = np.array(sorted(set(labels.tolist())), dtype=object)
        codes = _encode(labels, classes)
    else:
        classes = _find_classes(labels)
        codes = _encode(labels, classes)
    _check_classes(labels, classes, n_total or n_rows)
    return classes, codes


def _find_classes(labels: np.ndarray) -> np.ndarray:
    """Return the distinct numbers or booleans among labels, ascending; without sorting those of a small range."""
    if labels.dtype.kind in "biu" and len(labels):
        numbers = labels if labels.dtype.kind == "u" else labels.astype(np.uint8 if labels.dtype == bool else np.int64)
        low, high = numbers.min(), numbers.max()
        if int(high) - int(low) < MAX_LABEL_RANGE:
            is_seen = np.zeros(int(high - low) + 1, dtype=bool)
            is_seen[(numbers - low).astype(np.intp)] = True
            return (np.flatnonzero(is_seen).astype(numbers.dtype) + low).astype(labels.dtype)
    return np.unique(labels)


def _check_classes(labels: np.ndarray, classes: np.ndarray, n_rows: int) -> None:
    """Raise an error for continuous labels, and warn of labels that look like a regression target."""
    if labels.dtype.kind == "f" and (labels != np.floor(labels)).any():
        row = int(np.argmax(labels != np.floor(labels)))
        raise InputError(
            f"Unknown label type: continuous, row {row} has {short_repr(labels[row])}: use SapwoodRegressor for a "
            "continuous target, or bin the numbers into classes first"
        )
    if len(classes) > WARN_ABOVE_CLASSES and 2 * len(classes) > n_rows:
        warn_user(
            f"y has {len(classes)} classes in {n_rows} rows: if it is a continuous target, use SapwoodRegressor",
        )


def encode_known_labels(y: Any, n_rows: int, classes: np.ndarray) -> np.ndarray:
    """Return the number of each label among the known ``classes`` as float64."""
    labels = _read_labels(y, n_rows)
    codes = _encode(labels, classes)
    if (codes < 0).any():
        row = int(np.argmax(codes < 0))
        known = ", ".join(short_repr(label) for label in classes[:CLASSES_SHOWN])
        more = ", ..." if len(classes) > CLASSES_SHOWN else ""
        raise InputError(
            f"row {row} of y has the label {short_repr(labels[row])}, which is none of the classes {known}{more}: drop "
            "the row, or include that class in the training rows"
        )
    return codes


def read_column(y: Any, n_rows: int, name: str) -> np.ndarray:
    """Return targets, weights or labels as a one-dimensional array of their own type with ``n_rows`` values."""
    if y is None:
        raise InputError(f"{name} is None: it must have one value for each of the {n_rows} rows of X")
    if hasattr(y, "nnz"):
        raise InputTypeError(f"{name} is a sparse matrix: pass {name}.toarray().ravel()")
    try:
        array = y if conversion.is_masked_array(y) else np.asarray(y)
    except ValueError as error:
        raise InputError(f"{name} cannot be read as one value per row: {error}") from error
    if isinstance(y, list | tuple) and (
        array.dtype.kind in "UST" or (array.dtype.kind == "f" and _exceeds_exact_integers(array))
    ):
        # NumPy turned numbers into strings or rounded them: keep the values as given.
        array = np.asarray(y, dtype=object)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InputError(
            f"{name} should be a 1d array, got an array of shape {array.shape} instead: give one value for each of the "
            f"{n_rows} rows of X"
        )
    if len(array) != n_rows:
        raise InputError(
            f"Found input variables with inconsistent numbers of samples: X has {n_rows} rows, {name} has "
            f"{len(array)}; give one value for each row of X"
        )
    return array


def _exceeds_exact_integers(values: np.ndarray) -> bool:
    """Return whether some number is beyond the integers that float64 represents exactly."""
    return bool((np.abs(values.astype(np.float64)) >= 2.0**53).any())


def read_numbers(array: np.ndarray, name: str, remedy: str) -> np.ndarray:
    """Return the values of an array as float64, NaN where missing; dates and strings raise an error."""
    if array.dtype.kind in "mM":
        raise InputTypeError(
            f"{name} holds dates or times (type {array.dtype}), row 0 has {short_repr(array[0])}: convert them to "
            f"numbers, for example ({name} - start) / np.timedelta64(1, 'D')"
        )
    if array.dtype.kind in "USTO":
        _check_numbers(np.asarray(array), name, remedy)
        array = array.astype(object)
    conversion.check_type(array.dtype, name)
    return np.ascontiguousarray(conversion.to_floats(array, conversion.Position(name=name)), dtype=np.float64)


def _check_numbers(objects: np.ndarray, name: str, remedy: str) -> None:
    for (row, *_), value in np.ndenumerate(objects):
        if isinstance(value, (str, bytes, complex, *conversion.TIME_TYPES)) or not (
            conversion.is_missing(value) or conversion.is_number(value)
        ):
            kind = type(value).__name__
            raise InputTypeError(
                f"{name} must hold numbers, row {row} has {short_repr(value)} of type {kind}: {remedy}"
            )


def _check_finite(values: np.ndarray, name: str, remedy: str) -> None:
    finite = np.isfinite(values)
    if not finite.all():
        row = int(np.argmin(finite))
        raise InputError(
            f"{name} must be finite: it contains NaN or infinity, row {row} has {short_repr(values[row])}; {remedy}"
        )


def _encode(labels: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the number of each label among the classes, which ascend; -1 if it is not one of them."""
    if labels.dtype.kind == classes.dtype.kind and labels.dtype.kind in "biuf" and len(classes):
        codes = np.searchsorted(classes, labels)
        codes[codes == len(classes)] = 0
        return np.where(classes[codes] == labels, codes.astype(np.float64), -1.0)
    code_of = {label: float(code) for code, label in enumerate(classes.tolist())}
    return np.array([code_of.get(label, -1.0) for label in labels.tolist()], dtype=np.float64)


def _read_labels(y: Any, n_rows: int) -> np.ndarray:
    """Return labels as an array of numbers or booleans, or of strings as objects."""
    labels = read_column(y, n_rows, "y")
    if conversion.is_masked_array(labels) and np.ma.is_masked(labels):
        raise InputError(
            f"y must have a label in every row: row {int(np.argmax(np.ma.getmaskarray(labels)))} is masked; drop the "
            "row or give it a label"
        )
    labels = np.asarray(labels)
    if labels.dtype.kind == "c":
        raise InputError(f"Complex data not supported: y is of type {labels.dtype}. Convert labels to strings.")
    if labels.dtype.kind in "mMSV":
        raise InputTypeError(
            f"row 0 of y has the label {short_repr(labels[0])} (type {labels.dtype}): labels must be strings, numbers "
            "or booleans; convert them to strings"
        )
    if labels.dtype.kind == "O":
        labels = _check_same_kind(labels)
    if labels.dtype.kind == "f":
        _check_finite(labels, "y", "drop the row or give it a label")
    return labels


def _check_same_kind(labels: np.ndarray) -> np.ndarray:
    """Return objects of one kind as an array of that kind; raise an error for missing or mixed labels."""
    first_row: dict[str, int] = {}
    for label_type in set(map(type, labels.tolist())):
        row = next(row for row, label in enumerate(labels) if type(label) is label_type)
        kind = _kind(labels[row])
        first_row[kind] = min(row, first_row.get(kind, row))
    if "missing" in first_row or "number" in first_row:
        for row, label in enumerate(labels):
            if conversion.is_missing(label) or label != label:
                raise InputError(
                    f"y must have a label in every row: it contains NaN or None, row {row} has {label!r}; drop the row "
                    "or give it a label"
                )
    if len(first_row) > 1:
        rows = sorted(first_row.items(), key=lambda item: item[1])
        found = ", ".join(f"{kind} (row {row}: {short_repr(labels[row])})" for kind, row in rows)
        raise InputTypeError(
            f"y mixes labels of different kinds, {found}: convert them all to strings or all to numbers"
        )
    [(kind, row)] = first_row.items()
    if kind == "string":
        return labels
    converted = np.array(labels.tolist()) if kind in ("boolean", "number") else labels
    is_rounded = converted.dtype.kind == "f" and all(isinstance(label, Integral) for label in labels)
    if converted.dtype.kind not in "biuf" or is_rounded:
        raise InputTypeError(
            f"row {row} of y has the label {short_repr(labels[row])}: labels must be strings, numbers or booleans; "
            "convert them to strings"
        )
    return converted


def _kind(label: Any) -> str:
    if isinstance(label, str):
        return "string"
    if isinstance(label, bool | np.bool_):
        return "boolean"
    if conversion.is_missing(label):
        return "missing"
    return "number" if conversion.is_number(label) else type(label).__name__


def read_groups(groups: Any, n_rows: int, workers: Workers = LOCAL) -> np.ndarray | None:
    """Return the group number of each row, from 0 in the order of appearance; None, for no groups, stays None.

    A group has the same number at all workers.
    """
    if groups is None:
        workers.number_labels(None, "groups")
        return None
    labels = read_column(groups, n_rows, "groups")
    number_of: dict[Any, int] = {}
    numbers = np.empty(n_rows, dtype=np.int64)
    for row, label in enumerate(labels.tolist()):  # masked entries become None
        try:
            has_label = not conversion.is_missing(label) and label == label
            numbers[row] = number_of.setdefault(label, len(number_of))
        except (TypeError, ValueError) as error:
            raise InputTypeError(
                f"groups must hold strings or numbers: row {row} has {short_repr(label)} of type {type(label).__name__}"
            ) from error
        if not has_label:
            raise InputError(
                f"groups must have a label in every row: row {row} has {label!r}; give it a group of its own"
            )
    return workers.number_labels(list(number_of), "groups")[numbers] if workers.splits_rows else numbers
