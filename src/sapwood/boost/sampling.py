"""The rows that a tree is grown on."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.random import ROWS, draw_all
from sapwood.params import BoostParams

HASH_RANGE = 2.0**64


def sample_rows(params: BoostParams, seed: int, round: int, row_ids: np.ndarray) -> np.ndarray | None:
    """The places of the rows drawn for a round, ascending u32; None for all of them.

    A row is drawn when the hash of its number falls below ``subsample``, so the draw of one row depends on no other.
    At least one row is drawn.
    """
    if params.sampling == "none" or params.subsample >= 1.0:
        return None
    hashes = np.empty(len(row_ids), dtype=np.uint64)
    draw_all(seed, ROWS, round, row_ids, hashes)
    drawn = np.flatnonzero(hashes < np.uint64(params.subsample * HASH_RANGE))
    if len(drawn) == 0:
        drawn = np.array([np.argmin(hashes)])
    return drawn.astype(np.uint32)
