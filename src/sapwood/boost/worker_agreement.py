"""Check that the workers of a distributed fit train the same model, and that they can."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sapwood.boost.checkpoint.run_fingerprint import digest, parameters
from sapwood.boost.eval_sets import read_eval_sets
from sapwood.boost.fit_arguments import FitArguments
from sapwood.boost.labeled_rows import LabeledRows
from sapwood.boost.learning_task import LearningTask
from sapwood.errors import InputError, ParameterError
from sapwood.params.options import Uniform, conflicts_of, linear_of, sampling_of

OPTIONAL_ARGUMENTS = ("sample_weight", "init_score", "eval_set", "eval_sample_weight")


def check_workers(task: LearningTask, rows: LabeledRows, arguments: FitArguments) -> None:
    """Raise an error if workers differ in parameters or data, or if the fit needs more than one worker has."""
    workers = rows.workers
    if workers.is_local:
        return
    workers.check_same(parameters(task.params) | _facts(task, rows, arguments))
    if task.params.run.checkpoint is not None:
        raise ParameterError("checkpoint is not supported in a distributed fit; unset it")
    if workers.splits_rows:
        workers.count_rows(len(rows.y) if rows.weight is None else int(np.count_nonzero(rows.weight)))
        if rows.bins is not None:
            raise InputError(
                "X is a Dataset, whose bins come from the rows of one worker: pass the table itself, or split features "
                "(by='features')"
            )
        for option, remedy in _unsupported(task):
            raise ParameterError(f"{option} needs all rows on one worker: {remedy}, or split features (by='features')")


def _facts(task: LearningTask, rows: LabeledRows, arguments: FitArguments) -> dict[str, Any]:
    """Return facts besides the parameters that must be the same at all workers."""
    schema, warm_start = task.schema, task.init.warm_start
    facts: dict[str, Any] = {
        f"whether {name} is given": getattr(arguments, name) is not None for name in OPTIONAL_ARGUMENTS
    }
    facts |= {
        "the number of columns of X": schema.n_features,
        "the names of the columns of X": None if schema.names is None else list(schema.names),
        "the type of X": str(rows.table.dtype),
        "whether X is sparse": rows.table.is_sparse,
        "the names of eval_set": list(read_eval_sets(arguments.eval_set, arguments.eval_sample_weight)),
        "the fingerprint of init_model": None if warm_start is None else warm_start.model.fingerprint(),
    }
    if not rows.workers.splits_rows:
        facts["the number of rows"] = rows.table.n_rows
        facts["the digest of y, sample_weight, init_score and groups"] = digest(
            rows.y, rows.weight, rows.init_score, rows.groups
        )
    return facts


def _unsupported(task: LearningTask) -> Iterator[tuple[str, str]]:
    """Return the options that are not supported where each worker has rows of its own, each with a remedy."""
    params, sampling = task.params, sampling_of(task.params.boost.sampling)
    if task.schema.categories:
        yield "a category column", "pass numbers in its place"
    if linear_of(params.tree.leaf_model) is not None:
        yield "leaf_model='linear'", "unset it"
    if params.boost.boosting == "ordered":
        yield "boosting='ordered'", "use 'plain'"
    if params.boost.leaf_steps > 1:
        yield f"leaf_steps={params.boost.leaf_steps}", "use 1"
    if conflicts_of(params.tree.bundle) > 0.0:
        yield f"bundle={params.tree.bundle!r}", "unset it"
    if hasattr(params.task.init, "fit"):
        yield "an estimator as init", "pass init_score"
    if isinstance(sampling, Uniform) and sampling.by == "groups":
        yield f"sampling={sampling!r}", "sample rows"
