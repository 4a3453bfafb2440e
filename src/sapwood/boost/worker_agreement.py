"""Check that the workers of a distributed fit train the same model."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.boost.eval_sets import read_eval_sets
from sapwood.boost.fit_arguments import FitArguments
from sapwood.boost.labeled_rows import LabeledRows
from sapwood.boost.learning_task import LearningTask
from sapwood.errors import InputError

OPTIONAL_ARGUMENTS = ("sample_weight", "init_score", "eval_set", "eval_sample_weight")


def check_workers(task: LearningTask, rows: LabeledRows, arguments: FitArguments) -> None:
    """Raise an error if workers differ in parameters or data."""
    workers = rows.workers
    if workers.is_local:
        return
    from sapwood.boost.checkpoint.run_fingerprint import describe_params

    workers.check_same(describe_params(task.params) | _facts(task, rows, arguments))
    if workers.splits_rows and rows.weight is not None and not workers.count_rows(int(np.count_nonzero(rows.weight))):
        raise InputError("sample_weight is zero for every row of all workers: give a row a positive weight")


def _facts(task: LearningTask, rows: LabeledRows, arguments: FitArguments) -> dict[str, Any]:
    """Return facts besides the parameters that must be the same at all workers."""
    schema, warm_start = task.schema, task.init.warm_start
    facts: dict[str, Any] = {
        f"whether {name} is given": getattr(arguments, name) is not None for name in OPTIONAL_ARGUMENTS
    }
    facts |= {
        "the number of columns of X": schema.n_features,
        "the names of the columns of X": None if schema.names is None else list(schema.names),
        "the categorical columns": [schema.name_of(f) for f in schema.categorical_columns],
        "the type of X": str(rows.table.dtype),
        "whether X is sparse": rows.table.is_sparse,
        "the names of eval_set": list(read_eval_sets(arguments.eval_set, arguments.eval_sample_weight)),
        "the fingerprint of init_model": None if warm_start is None else warm_start.model.fingerprint(),
    }
    if not rows.workers.splits_rows:
        from sapwood.boost.checkpoint.run_fingerprint import digest

        facts["the number of rows"] = rows.table.n_rows
        facts["the digest of y, sample_weight, init_score and groups"] = digest(
            rows.y, rows.weight, rows.init_score, rows.groups
        )
    return facts
