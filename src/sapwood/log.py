"""The logger ``sapwood``: quiet unless the program that uses it asks to hear.

INFO tells when a training begins and ends, DEBUG every round::

    logging.basicConfig(level=logging.INFO)
"""

from __future__ import annotations

import logging

logger = logging.getLogger("sapwood")
logger.addHandler(logging.NullHandler())
