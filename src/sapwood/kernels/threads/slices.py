"""The rows that each member of a team works on."""

from __future__ import annotations

import numpy as np

from sapwood.native.runtime.kernel import kernel


@kernel()
def share(member, members, n):
    """The first of n rows that belongs to ``member``; that of ``member + 1`` is where its share ends.

    Unsigned: an index that may be negative costs a test at every access and keeps loops from becoming vector code.
    """
    return np.uint64(member * n // members)
