"""Check targets and weights, and number the classes of labels."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any

import numpy as np

from sapwood.data.tables import conversion
from sapwood.data.tables.conversion import is_missing, shown
from sapwood.errors import InputError, InputTypeError, SapwoodWarning

CLASSES_SHOWN = 10
LEAST_WEIGHT, LARGEST_WEIGHT = 1e-200, 1e70
MANY_CLASSES = 20  # where most rows have a class of their own, labels look like numbers to be predicted


def check_target(y: Any, n_rows: int) -> np.ndarray:
    """The target of regression as float64, one finite number per row."""
    values = read_numbers(
        read_column(y, n_rows, "y"), "y", "turn it into a number, or use SapwoodClassifier if it is a class"
    )
    _check_finite(values, "y", "drop the row or give it a value")
    return values


def check_weight(
    weight: Any, n_rows: int, name: str = "sample_weight", may_be_zero: bool = False
) -> np.ndarray | None:  # fmt: skip
    """Sample weights as float64: finite, not negative, not all zero unless they may be. None stays None."""
    if weight is None:
        return None
    values = read_numbers(read_column(weight, n_rows, name), name, "give every row a number")
    _check_finite(values, name, "a row that must not count has the weight 0")
    if (values < 0).any():
        row = int(np.argmax(values < 0))
        raise InputError(f"{name} must not be negative, row {row} has {shown(values[row])}: leave a row out with 0")
    if not may_be_zero and not values.any():
        raise InputError(f"{name} is zero for every row: at least one row must have a positive weight")
    check_range(values, name)
    return values


def check_range(weight: np.ndarray, name: str) -> None:
    """Refuse weights so small or large that products and sums of them could not be told apart."""
    fits = (weight == 0.0) | ((weight >= LEAST_WEIGHT) & (weight <= LARGEST_WEIGHT))
    if not fits.all():
        row = int(np.argmin(fits))
        raise InputError(
            f"{name} must be 0 or between {LEAST_WEIGHT:g} and {LARGEST_WEIGHT:g}, row {row} has {shown(weight[row])}: "
            "divide all weights by their mean, or leave the row out with 0"
        )


def encode_labels(y: Any, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """The classes of labels of any one kind, sorted, and each row's class number as float64."""
    labels = _labels(y, n_rows)
    if labels.dtype.kind == "O":
        classes = np.array(sorted(set(labels.tolist())), dtype=object)
        codes = _places(labels, classes)
    else:
        classes, codes = np.unique(labels, return_inverse=True)
        codes = codes.reshape(-1).astype(np.float64)
    _check_classes(labels, classes)
    return classes, codes


def _check_classes(labels: np.ndarray, classes: np.ndarray) -> None:
    """Refuse labels that are measurements, and warn of those that look like it."""
    if labels.dtype.kind == "f" and (labels != np.floor(labels)).any():
        row = int(np.argmax(labels != np.floor(labels)))
        raise InputError(
            f"Unknown label type: continuous, row {row} has {shown(labels[row])}: use SapwoodRegressor for a number, "
            "or turn the numbers into classes first, as texts or integers"
        )
    if len(classes) > MANY_CLASSES and 2 * len(classes) > len(labels):
        warnings.warn(
            f"y has {len(classes)} classes in {len(labels)} rows: if it is a number to be predicted, use "
            "SapwoodRegressor",
            SapwoodWarning,
            stacklevel=6,
        )


def encode_known_labels(y: Any, n_rows: int, classes: np.ndarray) -> np.ndarray:
    """Each row's number among the known ``classes``, as float64."""
    labels = _labels(y, n_rows)
    codes = _places(labels, classes)
    if (codes < 0).any():
        row = int(np.argmax(codes < 0))
        known = ", ".join(shown(label) for label in classes[:CLASSES_SHOWN])
        more = ", ..." if len(classes) > CLASSES_SHOWN else ""
        raise InputError(
            f"row {row} of y has the label {shown(labels[row])}, which is none of the classes {known}{more}: drop the "
            "row, or train on rows of that class too"
        )
    return codes


def read_column(y: Any, n_rows: int, name: str) -> np.ndarray:
    """A target, weight or label vector as a one-dimensional array of its own type, its length checked."""
    if y is None:
        raise InputError(f"{name} is None: it must have one value for each of the {n_rows} rows of X")
    if hasattr(y, "nnz"):
        raise InputTypeError(f"{name} is a sparse matrix: pass {name}.toarray().ravel()")
    try:
        array = y if isinstance(y, np.ma.MaskedArray) else np.asarray(y)
    except ValueError as error:
        raise InputError(f"{name} cannot be read as one value per row: {error}") from error
    if isinstance(y, list | tuple) and (array.dtype.kind in "UST" or (array.dtype.kind == "f" and _has_huge(array))):
        array = np.asarray(y, dtype=object)  # numbers were turned into text or rounded: look at them as given
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


def _has_huge(values: np.ndarray) -> bool:
    """Tell whether there are numbers that floats do not tell apart."""
    return bool((np.abs(values.astype(np.float64)) >= 2.0**53).any())


def read_numbers(array: np.ndarray, name: str, remedy: str) -> np.ndarray:
    """The values of an array of rows as float64, NaN where there is none; dates and texts are refused."""
    if array.dtype.kind in "mM":
        raise InputTypeError(
            f"{name} holds dates or times (type {array.dtype}), row 0 has {shown(array[0])}: say in which unit they "
            f"count, for example ({name} - start) / np.timedelta64(1, 'D')"
        )
    if array.dtype.kind in "USTO":
        _check_numbers(np.ma.getdata(array), name, remedy)
        array = array.astype(object)
    conversion.check_type(array.dtype, name)
    return np.ascontiguousarray(conversion.to_floats(array, conversion.Place(name=name)), dtype=np.float64)


def _check_numbers(objects: np.ndarray, name: str, remedy: str) -> None:
    for (row, *_), value in np.ndenumerate(objects):
        if isinstance(value, (str, bytes, complex, *conversion.TIMES)) or not (
            conversion.is_missing(value) or isinstance(value, conversion.NUMBERS)
        ):
            kind = type(value).__name__
            raise InputTypeError(f"{name} must hold numbers, row {row} has {shown(value)} of type {kind}: {remedy}")


def _check_finite(values: np.ndarray, name: str, remedy: str) -> None:
    finite = np.isfinite(values)
    if not finite.all():
        row = int(np.argmin(finite))
        raise InputError(
            f"{name} must be finite: it contains NaN or infinity, row {row} has {shown(values[row])}; {remedy}"
        )


def _places(labels: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """The place of each label among the classes, -1 if it has none."""
    place_of = {label: float(place) for place, label in enumerate(classes.tolist())}
    return np.array([place_of.get(label, -1.0) for label in labels.tolist()], dtype=np.float64)


def _labels(y: Any, n_rows: int) -> np.ndarray:
    """Labels of a plain type, or texts as objects."""
    labels = read_column(y, n_rows, "y")
    if np.ma.is_masked(labels):
        raise InputError(
            f"y must have a label in every row: row {int(np.argmax(np.ma.getmaskarray(labels)))} is masked; drop the "
            "row or give it a label"
        )
    labels = np.ma.getdata(labels)
    if labels.dtype.kind == "c":
        raise InputError(f"Complex data not supported: y is of type {labels.dtype}. Turn labels into texts.")
    if labels.dtype.kind in "mMSV":
        raise InputTypeError(
            f"row 0 of y has the label {shown(labels[0])} (type {labels.dtype}): labels must be texts, numbers or "
            "booleans, turn them into texts"
        )
    if labels.dtype.kind == "O":
        labels = _of_one_kind(labels)
    if labels.dtype.kind == "f":
        _check_finite(labels, "y", "drop the row or give it a label")
    return labels


def _of_one_kind(labels: np.ndarray) -> np.ndarray:
    first_of: dict[str, int] = {}
    for of_type in set(map(type, labels.tolist())):
        row = next(row for row, label in enumerate(labels) if type(label) is of_type)
        kind = _kind(labels[row])
        first_of[kind] = min(row, first_of.get(kind, row))
    if "missing" in first_of or "number" in first_of:
        for row, label in enumerate(labels):
            if conversion.is_missing(label) or label != label:
                raise InputError(
                    f"y must have a label in every row: it contains NaN or None, row {row} has {label!r}; drop the row "
                    "or give it a label"
                )
    if len(first_of) > 1:
        rows = sorted(first_of.items(), key=lambda item: item[1])
        found = ", ".join(f"{kind} (row {row}: {shown(labels[row])})" for kind, row in rows)
        raise InputTypeError(f"y mixes labels of different kinds, {found}: make them all texts or all numbers")
    [(kind, row)] = first_of.items()
    if kind == "text":
        return labels
    plain = np.array(labels.tolist()) if kind in ("boolean", "number") else labels
    is_rounded = plain.dtype.kind == "f" and all(isinstance(label, Integral) for label in labels)
    if plain.dtype.kind not in "biuf" or is_rounded:
        raise InputTypeError(
            f"row {row} of y has the label {shown(labels[row])}: labels must be texts, numbers or booleans; turn them "
            "into texts"
        )
    return plain


def _kind(label: Any) -> str:
    if isinstance(label, str):
        return "text"
    if isinstance(label, bool | np.bool_):
        return "boolean"
    if conversion.is_missing(label):
        return "missing"
    return "number" if isinstance(label, conversion.NUMBERS) else type(label).__name__


def read_groups(given: Any, n_rows: int) -> np.ndarray | None:
    """The number of each row's group, from 0."""
    if given is None:
        return None
    labels = read_column(given, n_rows, "groups")
    number_of: dict[Any, int] = {}
    groups = np.empty(n_rows, dtype=np.int64)
    for row, label in enumerate(labels.tolist()):  # a masked entry is listed as None
        try:
            is_named = not is_missing(label) and label == label
            groups[row] = number_of.setdefault(label, len(number_of))
        except (TypeError, ValueError) as error:
            raise InputTypeError(
                f"groups must hold texts or numbers: row {row} has {shown(label)} of type {type(label).__name__}"
            ) from error
        if not is_named:
            raise InputError(
                f"groups must name the group of every row: row {row} has {label!r}; give it a group of its own"
            )
    return groups
