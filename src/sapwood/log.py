"""The logger ``sapwood``: silent until the program configures logging.

INFO reports what was chosen and why (parameters, encodings, validation rows, early stopping, threads, precision), the
start and the end of training, DEBUG every round::

    logging.basicConfig(level=logging.INFO)
"""

from __future__ import annotations

import logging

logger = logging.getLogger("sapwood")
logger.addHandler(logging.NullHandler())
