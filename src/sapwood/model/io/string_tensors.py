"""Strings as tensors: the UTF-8 bytes of all strings, and the end of each."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sapwood.model.io.safetensors_file import damaged


def encode_strings(strings: Iterable[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the bytes of all strings, and the end of each."""
    encoded = [text.encode("utf-8", "surrogatepass") for text in strings]
    ends = np.cumsum([len(part) for part in encoded], dtype=np.int64)
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), ends


def decode_strings(data: np.ndarray, ends: np.ndarray, what: str) -> list[str]:
    """Return the strings that ``encode_strings`` encoded; ``what`` names one of them in errors."""
    if data.dtype != np.uint8 or data.ndim != 1 or ends.dtype != np.int64 or ends.ndim != 1:
        raise damaged(f"the tensors of its {what} strings are not bytes with their ends")
    starts = np.concatenate([np.zeros(1, np.int64), ends])[:-1]
    last = int(ends[-1]) if len(ends) else 0
    if last != len(data) or np.any(starts < 0) or np.any(ends < starts):
        raise damaged(f"the ends of its {what} strings do not divide their bytes")
    joined = data.tobytes()
    try:
        return [joined[a:b].decode("utf-8", "surrogatepass") for a, b in zip(starts, ends, strict=True)]
    except UnicodeDecodeError as error:
        raise damaged(f"a {what} is not valid UTF-8 ({error})") from error
