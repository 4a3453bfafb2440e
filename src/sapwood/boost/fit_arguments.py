"""The arguments of a fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sapwood.distributed.workers import LOCAL, Workers
from sapwood.lazy_dataclass import dataclass

REGRESSION, CLASSIFICATION = "regression", "classification"


@dataclass(frozen=True, eq=False)
class FitArguments:
    """Arguments of a fit: parameters as the user set them, and data.

    ``task`` is "regression" or "classification"; None lets the objective decide. ``held_out`` sets (X, y, weight) are
    evaluated like those of ``eval_set`` but never stop training. With ``counts_earlier_rounds``, the rounds of
    ``init_model`` count among ``n_estimators``. ``caller`` is the name used in errors. In a
    distributed fit, ``row_numbers`` are the numbers of this worker's rows among those of all ``workers``.
    """

    params: Mapping[str, Any]
    X: Any
    y: Any
    sample_weight: Any = None
    eval_set: Any = None
    eval_sample_weight: Any = None
    init_score: Any = None
    groups: Any = None
    init_model: Any = None
    task: str | None = None
    held_out: Mapping[str, tuple[Any, Any, Any]] | None = None
    workers: Workers = LOCAL
    row_numbers: np.ndarray | None = None
    caller: str = "sapwood.train"
    counts_earlier_rounds: bool = False
