"""Arrays full of garbage between canaries: a kernel must write all that it promises and nothing around it."""

from __future__ import annotations

import numpy as np

MARGIN = 16


class Guards:
    """Makes arrays, and tells afterwards whether anything beside them was touched."""

    def __init__(self) -> None:
        self._kept: list[tuple[np.ndarray, np.ndarray]] = []
        self._source = np.random.default_rng(99)

    def array(self, shape: int | tuple[int, ...], dtype: type) -> np.ndarray:
        """An array of random bytes."""
        size = int(np.prod(shape))
        item = np.dtype(dtype).itemsize
        buffer = self._source.integers(0, 256, (size + 2 * MARGIN) * item, dtype=np.uint8).view(dtype)
        self._kept.append((buffer, buffer.copy()))
        return buffer[MARGIN : MARGIN + size].reshape(shape)

    def copy(self, values: np.ndarray) -> np.ndarray:
        """An array with these values."""
        made = self.array(values.shape, values.dtype.type)
        made[...] = values
        return made

    def check(self) -> None:
        """Fail if a canary has changed."""
        for buffer, before in self._kept:
            assert buffer[:MARGIN].tobytes() == before[:MARGIN].tobytes()
            assert buffer[-MARGIN:].tobytes() == before[-MARGIN:].tobytes()
