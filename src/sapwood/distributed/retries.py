"""Attempts of a fit: another one begins when a worker was lost."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from sapwood.distributed.inbox import WorkerLostError
from sapwood.errors import ParameterError, TrainingError

Result = TypeVar("Result")


def read_retries(retries: Any) -> int:
    """Return the number of further attempts; raise ParameterError if it is none."""
    if isinstance(retries, bool) or not isinstance(retries, int | np.integer) or retries < 0:
        raise ParameterError(f"retries must be an integer of at least 0, got {retries!r}")
    return int(retries)


def fit_with_retries(attempt: Callable[[int], Result], retries: int, logger: logging.Logger) -> Result:
    """Return the result of ``attempt(number)``, of the first number from 0 on in which no worker is lost."""
    reason = ""
    for number in range(retries + 1):
        try:
            return attempt(number)
        except WorkerLostError as error:
            reason = str(error)
            logger.warning("attempt %d of %d ended: %s", number + 1, retries + 1, reason)
    raise TrainingError(
        f"workers were lost in each of {retries + 1} attempts, in the last one because {reason}: look into the logs of "
        "the workers (memory is the usual cause), or raise retries"
    )
