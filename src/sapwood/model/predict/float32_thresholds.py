"""Thresholds of splits for values of type float64 and, rounded down, of type float32."""

from __future__ import annotations

import numpy as np

from sapwood.cached_property import cached_property


class Thresholds:
    """Thresholds that values of either type are compared with; those for float32 are computed when first used."""

    def __init__(self, float64: np.ndarray) -> None:
        self.float64 = float64

    @cached_property
    def float32(self) -> np.ndarray:
        """The thresholds for float32 values."""
        return round_down_to_float32(self.float64)

    def of_type(self, dtype: np.dtype) -> np.ndarray:
        """Return the thresholds for values of this type."""
        return self.float32 if dtype == np.float32 else self.float64


def round_down_to_float32(thresholds: np.ndarray) -> np.ndarray:
    """Return the largest float32 not above each threshold: float32 values compare with it as with the threshold."""
    with np.errstate(all="ignore"):
        rounded = thresholds.astype(np.float32)
        is_above = rounded > thresholds
        rounded[is_above] = np.nextafter(rounded[is_above], np.float32(-np.inf))
    return rounded
