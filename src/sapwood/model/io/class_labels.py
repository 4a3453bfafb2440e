"""Class labels as tensors: numbers as they are, strings as UTF-8 bytes with the end of each."""

from __future__ import annotations

import numpy as np

from sapwood.errors import InputTypeError, ModelFileError
from sapwood.model.io.safetensors_file import DTYPE_NAMES, damaged
from sapwood.model.io.string_tensors import decode_strings, encode_strings

NUMBERS, TEXT, TEXT_OBJECTS = "numbers", "text", "text_objects"
LABELS, ENDS = "classes", "classes_ends"


def to_tensors(classes: np.ndarray | None) -> tuple[str | None, dict[str, np.ndarray]]:
    """Return the kind of the labels, and their tensors."""
    if classes is None:
        return None, {}
    if classes.dtype.newbyteorder("<") in DTYPE_NAMES:
        return NUMBERS, {LABELS: classes}
    others = [label for label in classes.tolist() if not isinstance(label, str)]
    if others:
        raise InputTypeError(
            f"a model with class labels such as {others[0]!r} of type {type(others[0]).__name__} cannot be saved: "
            "labels must be strings, integers, floats or booleans, all of one type"
        )
    data, ends = encode_strings(classes.tolist())
    tensors: dict[str, np.ndarray] = {ENDS: ends, LABELS: data}
    return (TEXT_OBJECTS if classes.dtype.kind == "O" else TEXT), tensors


def from_tensors(kind: object, tensors: dict[str, np.ndarray]) -> np.ndarray | None:
    """Return the labels of the tensors that ``to_tensors`` returned; other tensors are an error."""
    expected = {None: set(), NUMBERS: {LABELS}, TEXT: {LABELS, ENDS}, TEXT_OBJECTS: {LABELS, ENDS}}
    if not isinstance(kind, str | None) or kind not in expected:
        raise damaged(f"its class labels are of the unknown kind {kind!r}")
    if set(tensors) != expected[kind]:
        raise damaged(f"its tensors {sorted(tensors)} do not fit class labels of kind {kind}")
    if kind is None:
        return None
    return tensors[LABELS] if kind == NUMBERS else _strings(tensors, object if kind == TEXT_OBJECTS else np.str_)


def check_labels(classes: np.ndarray | None, n_outputs: int) -> None:
    """Raise a ModelFileError unless labels are unique and as many as ``n_outputs`` scores distinguish."""
    if classes is None:
        return
    allowed = (1, 2) if n_outputs == 1 else (n_outputs,)
    if classes.ndim != 1 or len(classes) not in allowed or len(set(classes.tolist())) != len(classes):
        raise ModelFileError(f"the model is not valid, {classes.size} class labels do not fit {n_outputs} scores")


def _strings(tensors: dict[str, np.ndarray], dtype: type) -> np.ndarray:
    if tensors[ENDS].shape == (0,):
        raise damaged("the tensors of its class labels are not bytes with their ends")
    return np.array(decode_strings(tensors[LABELS], tensors[ENDS], "class label"), dtype=dtype)
