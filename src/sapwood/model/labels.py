"""Class labels as tensors: numbers as they are, texts as one run of UTF-8 bytes and the ends of each."""

from __future__ import annotations

import numpy as np

from sapwood.errors import InputTypeError, ModelFileError
from sapwood.model.container import NAMES, damaged

NUMBERS, TEXT, TEXT_OBJECTS = "numbers", "text", "text_objects"
LABELS, ENDS = "classes", "classes_ends"


def to_tensors(classes: np.ndarray | None) -> tuple[str | None, dict[str, np.ndarray]]:
    """The kind of labels, and the tensors that hold them."""
    if classes is None:
        return None, {}
    if classes.dtype.newbyteorder("<") in NAMES:
        return NUMBERS, {LABELS: classes}
    strange = [label for label in classes.tolist() if not isinstance(label, str)]
    if strange:
        raise InputTypeError(
            f"a model with class labels such as {strange[0]!r} of type {type(strange[0]).__name__} cannot be saved: "
            "labels must be texts, integers, floats or booleans, all of one type"
        )
    encoded = [label.encode("utf-8", "surrogatepass") for label in classes.tolist()]
    ends = np.cumsum([len(label) for label in encoded], dtype=np.int64)
    tensors: dict[str, np.ndarray] = {ENDS: ends, LABELS: np.frombuffer(b"".join(encoded), dtype=np.uint8)}
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
    data, ends = tensors[LABELS], tensors[ENDS]
    if data.dtype != np.uint8 or data.ndim != 1 or ends.dtype != np.int64 or ends.ndim != 1 or len(ends) == 0:
        raise damaged("its class labels are not bytes with their ends")
    starts = np.concatenate([[0], ends[:-1]])
    if ends[-1] != len(data) or starts.min() < 0 or np.any(ends < starts):
        raise damaged("the ends of its class labels do not divide their bytes")
    joined = data.tobytes()
    try:
        texts = [joined[a:b].decode("utf-8", "surrogatepass") for a, b in zip(starts, ends, strict=True)]
    except UnicodeDecodeError as error:
        raise damaged(f"a class label is not UTF-8 ({error})") from error
    return np.array(texts, dtype=dtype)
