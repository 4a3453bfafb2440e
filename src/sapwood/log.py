"""The logger ``sapwood``: silent until the program configures logging.

INFO reports what was chosen and why (parameters, encodings, validation rows, early stopping, threads, precision), the
start and the end of training, DEBUG every round::

    logging.basicConfig(level=logging.INFO)

A program that has not imported ``logging`` has nobody who listens, so that it is not imported for it either.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import logging

DEBUG, INFO = 10, 20  # levels of ``logging``


class _Logger:
    """Passes messages on to the logger ``sapwood`` of ``logging``, if that is imported."""

    def isEnabledFor(self, level: int) -> bool:  # noqa: N802 (the name in logging)
        """Return whether messages of a level are shown anywhere."""
        return "logging" in sys.modules and _standard_logger().isEnabledFor(level)

    def info(self, message: str, *args: Any) -> None:
        """Log a message at level INFO."""
        if self.isEnabledFor(INFO):
            _standard_logger().info(message, *args, stacklevel=2)

    def debug(self, message: str, *args: Any) -> None:
        """Log a message at level DEBUG."""
        if self.isEnabledFor(DEBUG):
            _standard_logger().debug(message, *args, stacklevel=2)


@cache
def _standard_logger() -> logging.Logger:
    import logging

    standard = logging.getLogger("sapwood")
    standard.addHandler(logging.NullHandler())
    return standard


logger = _Logger()
