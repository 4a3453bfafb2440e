"""Class labels as tensors: numbers as they are, texts as one run of UTF-8 bytes and the ends of each."""

from __future__ import annotations

import numpy as np

from sapwood.errors import InputTypeError, ModelFileError
from sapwood.model.io.safetensors_file import DTYPE_NAMES, damaged
from sapwood.model.io.string_tensors import decode_strings, encode_strings

NUMBERS, TEXT, TEXT_OBJECTS = "numbers", "text", "text_objects"
LABELS, ENDS = "classes", "classes_ends"


def to_tensors(classes: np.ndarray | None) -> tuple[str | None, dict[str, np.ndarray]]:
    """The kind of labels, and the tensors that hold them."""
    if classes is None:
        return None, {}
    if classes.dtype.newbyteorder("<") in DTYPE_NAMES:
        return NUMBERS, {LABELS: classes}
    strange = [label for label in classes.tolist() if not isinstance(label, str)]
    if strange:
        raise InputTypeError(
            f"a model with class labels such as {strange[0]!r} of type {type(strange[0]).__name__} cannot be saved: "
            "labels must be texts, integers, floats or booleans, all of one type"
        )
    data, ends = encode_strings(classes.tolist())
    tensors: dict[str, np.ndarray] = {ENDS: ends, LABELS: data}
    return (TEXT_OBJECTS if classes.dtype.kind == "O" else TEXT), tensors


def from_tensors(kind: object, tensors: dict[str, np.ndarray]) -> np.ndarray | None:
    """The labels that ``to_tensors`` took apart; no other tensor may be left."""
    expected = {None: set(), NUMBERS: {LABELS}, TEXT: {LABELS, ENDS}, TEXT_OBJECTS: {LABELS, ENDS}}
    if not isinstance(kind, str | None) or kind not in expected:
        raise damaged(f"its class labels are of the unknown kind {kind!r}")
    if set(tensors) != expected[kind]:
        raise damaged(f"its tensors {sorted(tensors)} do not fit class labels of kind {kind}")
    if kind is None:
        return None
    return tensors[LABELS] if kind == NUMBERS else _texts(tensors, object if kind == TEXT_OBJECTS else np.str_)


def check_labels(classes: np.ndarray | None, n_outputs: int) -> None:
    """Raise ModelFileError unless each label stands once and there are as many as ``n_outputs`` scores tell apart."""
    if classes is None:
        return
    allowed = (1, 2) if n_outputs == 1 else (n_outputs,)
    if classes.ndim != 1 or len(classes) not in allowed or len(set(classes.tolist())) != len(classes):
        raise ModelFileError(f"the model is not valid, {classes.size} class labels do not fit {n_outputs} scores")


def _texts(tensors: dict[str, np.ndarray], dtype: type) -> np.ndarray:
    if tensors[ENDS].shape == (0,):
        raise damaged("its class labels are not bytes with their ends")
    return np.array(decode_strings(tensors[LABELS], tensors[ENDS], "class label"), dtype=dtype)
